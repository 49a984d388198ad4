/* gemm_inputs.c - random inputs of a gemm whose results tell much.
 *
 * int8.h says what makes the results of c=i8 tell much; its full-range lines are rows of A and columns of B.
 * c=i32 uses the whole range everywhere: for k up to 2^20 the chance that a sum leaves 2^30 is below e^-2000
 * (Hoeffding). The range of i16 is what sums of 32 bits allow. Real types: rows of op(A) and columns of op(B) as
 * inputs.h says. */
#include <math.h>
#include <stdlib.h>

#include "base/parallel.h"
#include "base/random.h"
#include "base/strings.h"
#include "op/element.h"
#include "op/gemm_numerics.h"
#include "op/gemm_packed.h"
#include "op/inputs.h"
#include "op/int8.h"
#include "op/numerics.h"

/* Results of 16 bits should use as much of their range as results of 8 bits. */
static bool is_narrow(const tw_gemm *g) { return g->c == TW_I8 || g->c == TW_I16; }
static double narrow_scale(const tw_gemm *g) { return (double)g->scale / (g->c == TW_I16 ? 256 : 1); }

/* B of i4 and ternary: uniform over the values of the type. */
typedef struct range {
  int64_t least, most;
} range;
static range narrow_range(tw_type b) { return b == TW_I4 ? (range){-8, 7} : (range){-1, 1}; }

/* tw_int8_distribution gives A and B equal shares of the deviation of the results. B of i4 and ternary has a fixed
 * deviation, so that of A must be the square of that share divided by B's. The function returns the scale that gives
 * A this share. */
static double scale_for_a(const tw_gemm *g) {
  const double scale = narrow_scale(g);
  if (tw_gemm_numerics_of(g).b == g->b) return scale;
  const range r = narrow_range(g->b);
  const double values = (double)(r.most - r.least + 1), variance = (values * values - 1) / 12;
  return scale * scale * sqrt((double)g->k) * variance / TW_INT8_DEVIATION;
}

static void fill_narrow(const tw_gemm *g, uint64_t seed, const tw_operand *o, int8_t *data) {
  const int64_t least = narrow_range(g->b).least, most = narrow_range(g->b).most;
  for (int64_t row = 0; row < o->dims[0]; row++) {
    tw_random r;
    tw_random_seed_stream(&r, seed, (uint64_t)9 << 32 | (uint64_t)row);
    for (int64_t i = 0; i < o->dims[1]; i++) data[row * o->stride[0] + i] = (int8_t)tw_random_between(&r, least, most);
  }
}

/* `lines_are_columns`: the full-range lines of this operand are columns of the stored matrix. */
static void fill_i8(const tw_gemm *g, uint64_t seed, int operand, const tw_operand *o, bool lines_are_columns,
                    int8_t *data) {
  const tw_distribution usual = is_narrow(g) ? tw_int8_distribution(g->k, scale_for_a(g)) : tw_full_range;
  for (int64_t row = 0; row < o->dims[0]; row++) {
    tw_random r;
    tw_random_seed_stream(&r, seed, (uint64_t)(operand + 8) << 32 | (uint64_t)row);
    int8_t *line = data + row * o->stride[0];
    tw_distribution d = !lines_are_columns && tw_is_full_range(seed, operand, row, o->dims[0], TW_FULL_RANGE_ONE_IN)
                            ? tw_full_range
                            : usual;
    for (int64_t i = 0; i < o->dims[1]; i++) line[i] = tw_draw_i8(&r, d);
  }
  for (int64_t column = 0; lines_are_columns && column < o->dims[1]; column++) {
    if (!tw_is_full_range(seed, operand, column, o->dims[1], TW_FULL_RANGE_ONE_IN)) continue;
    tw_random r;
    tw_random_seed_stream(&r, seed, (uint64_t)(operand + 16) << 32 | (uint64_t)column);
    for (int64_t i = 0; i < o->dims[0]; i++) data[i * o->stride[0] + column] = tw_draw_i8(&r, tw_full_range);
  }
}

/* Elements as large as sums of k products in 32 bits allow; with c=i16 only in the full-range lines, which are rows
 * of the stored matrix. */
static void fill_i16(const tw_gemm *g, uint64_t seed, int operand, bool has_lines, const tw_operand *o, int16_t *data) {
  const double whole = fmin(INT16_MAX, sqrt(0x1p30 / (double)g->k)),
               usual = is_narrow(g) ? fmin(whole, tw_amplitude(g->k, narrow_scale(g))) : whole;
  for (int64_t row = 0; row < o->dims[0]; row++) {
    tw_random r;
    tw_random_seed_stream(&r, seed, (uint64_t)(operand + 8) << 32 | (uint64_t)row);
    const bool full = has_lines && tw_is_full_range(seed, operand, row, o->dims[0], TW_FULL_RANGE_ONE_IN);
    const int64_t most = (int64_t)(full ? whole : usual);
    for (int64_t i = 0; i < o->dims[1]; i++) data[row * o->stride[0] + i] = (int16_t)tw_random_between(&r, -most, most);
  }
}

/* Rounds `lines` lines of k elements to values of a type with scales. Without memory they stay unchanged. */
static void round_lines(const tw_packing *packing, int64_t lines, int64_t k, int64_t next, int64_t step, float *x) {
  tw_packed_size size;
  if (tw_format_sizes(packing, 1, (size_t)k, &size, NULL) != TW_OK) return;
  float *line = tw_new((size_t)k, sizeof *line);
  char *codes = tw_new(size.codes + size.scales + 1, 1);
  for (int64_t j = 0; line && codes && j < lines; j++) {
    for (int64_t p = 0; p < k; p++) line[p] = x[j * next + p * step];
    tw_format_encode(packing, 1, (size_t)k, line, (size_t)k, codes, codes + size.codes, NULL);
    tw_format_decode(packing, 1, (size_t)k, codes, codes + size.codes, line, (size_t)k, NULL);
    for (int64_t p = 0; p < k; p++) x[j * next + p * step] = line[p];
  }
  free(line);
  free(codes);
}

void tw_gemm_round_operands(const tw_gemm *g, void *const buffers[]) {
  const tw_packing block = {.format = tw_format_of_type(g->a)};
  tw_packing packing;
  if (tw_gemm_scaled(g->a))
    round_lines(&block, g->m, g->k, g->a_transposed ? 1 : g->lda, g->a_transposed ? g->lda : 1, buffers[0]);
  if (tw_gemm_weights_only(g) && tw_gemm_packing(g, &packing, NULL) == TW_OK)
    round_lines(&packing, g->n, g->k, g->b_transposed ? g->ldb : 1, g->b_transposed ? 1 : g->ldb, buffers[1]);
}

/* Can the type hold small numbers as well as large ones? */
static bool is_wide(tw_type t) { return tw_is_real(t); }

/* Floats are turned into codes and scales. Without memory these stay zero. */
static void fill_packed(const tw_gemm *g, char name, uint64_t seed, int operand, void *codes, void *scales) {
  tw_gemm_packed planes;
  if (tw_gemm_packed_of(g, name, &planes, NULL) != TW_OK) return;
  const tw_operand lines = tw_operand_dense("lines", TW_F32, 2, (int64_t[]){planes.rows, planes.k});
  float *x = tw_new((size_t)(planes.rows * planes.k), sizeof *x);
  if (x) {
    tw_fill_lines(seed, operand, &lines, TW_LINES_ROWS, true, x);
    tw_gemm_fill_planes(&planes, x, codes, scales);
  }
  free(x);
}

/* Magnitudes 4 to 7 with random signs. Products cancel, because results of 16 bits would round large sums. The
 * second half of a row of op(A) is the reversed and negated first half, except that a few elements are one less. A
 * column of op(B) has its first half reversed as second half, with the same signs. So C is small, and a missing
 * product changes it by 16 or more. An odd k has one unpaired product in the middle. */
static int64_t whole_at(uint64_t seed, int operand, int64_t line, int64_t p, int64_t k) {
  const int64_t half = k / 2, q = p < half ? p : p >= k - half ? k - 1 - p : half;
  tw_random r;
  tw_random_seed_stream(&r, seed ^ (uint64_t)(operand + 1) << 48, (uint64_t)line << 32 ^ (uint64_t)q);
  const uint64_t x = tw_random_next(&r);
  const int64_t value = 4 + (int64_t)(x & 3), sign = x >> 63 ? -1 : 1;
  const bool second = operand == 0 && p >= k - half, odd = (x >> 8 & 0xffffff) * (uint64_t)k < (uint64_t)8 << 24;
  return second ? -sign * (odd && value > 4 ? value - 1 : value) : sign * value;
}

/* An operand in rows, which threads fill: each element or row has its own stream. */
typedef struct rows_of {
  const tw_gemm *g;
  uint64_t seed;
  int operand;
  const tw_operand *o;
  bool lines_are_columns;
  void *data;
} rows_of;

static void fill_rows(rows_of f, tw_parallel_function *fill_row) {
  enum { SMALL = 1 << 16 }; /* elements that are not worth threads */
  tw_parallel_for(f.o->dims[0] * f.o->dims[1] < SMALL ? 1 : 0, (size_t)f.o->dims[0], fill_row, &f);
}

static void fill_whole_row(void *context, size_t index) {
  const rows_of *f = context;
  const int64_t row = (int64_t)index;
  for (int64_t column = 0; column < f->o->dims[1]; column++) {
    const int64_t line = f->lines_are_columns ? column : row, p = f->lines_are_columns ? row : column;
    tw_set_element(f->o->type, f->data, row * f->o->stride[0] + column,
                   (double)whole_at(f->seed, f->operand, line, p, f->g->k));
  }
}

static void fill_whole(const tw_gemm *g, uint64_t seed, int operand, const tw_operand *o, bool lines_are_columns,
                       void *data) {
  fill_rows((rows_of){g, seed, operand, o, lines_are_columns, data}, fill_whole_row);
}

/* A row of op(A) has FEW elements that are not 0, all powers of two; op(B) has numbers of full precision. So for any
 * k a result is a sum of FEW exact products, and every bit counts: a kernel that stores B in fewer bits is found. */
enum { FEW = 4, GATE_LARGEST = 4 };

static void fill_precise_row(void *context, size_t index) {
  const rows_of *f = context;
  tw_random r;
  tw_random_seed_stream(&r, f->seed, (uint64_t)2 << 32 | (uint64_t)index);
  for (int64_t column = 0; column < f->o->dims[1]; column++) {
    const double size = 1 + tw_random_real(&r);
    tw_set_element(f->o->type, f->data, (int64_t)index * f->o->stride[0] + column,
                   tw_random_next(&r) >> 63 ? -size : size);
  }
}

static void fill_few(const tw_gemm *g, uint64_t seed, const tw_operand *a, void *const buffers[], const tw_operand *b) {
  memset(buffers[0], 0, a->bytes);
  for (int64_t i = 0; i < g->m; i++) {
    tw_random r;
    tw_random_seed_stream(&r, seed, (uint64_t)1 << 32 | (uint64_t)i);
    for (int t = 0; t < FEW; t++) { /* one in each quarter of k */
      const int64_t p = tw_random_between(&r, g->k * t / FEW, g->k * (t + 1) / FEW - 1);
      const double value = ldexp(tw_random_next(&r) >> 63 ? -1 : 1, (int)tw_random_below(&r, 3) - 1);
      tw_set_element(a->type, buffers[0], g->a_transposed ? p * a->stride[0] + i : i * a->stride[0] + p, value);
    }
  }
  fill_rows((rows_of){g, seed, 1, b, false, buffers[1]}, fill_precise_row);
}

/* Zeroes a row of op(A) and a column of op(B). */
static void zero_lines(const tw_gemm *g, uint64_t seed, const tw_operand o[], void *const buffers[]) {
  const int64_t row = tw_zero_line(seed, 0, g->m), column = tw_zero_line(seed, 1, tw_gemm_columns(g));
  (g->a_transposed ? tw_zero_column : tw_zero_row)(&o[0], row, buffers[0]);
  if (!g->packed) (g->b_transposed ? tw_zero_row : tw_zero_column)(&o[1], column, buffers[1]);
}

/* Lines of 8-bit integers that reveal narrow sums and a missing case of the least value. Of eight lines one has large
 * values of one sign, so that sums of two such lines are nearly as large as sums of k products can be. Every other line
 * has the least value (of u8: the largest) in one place. */
static void mark_integers(const tw_gemm *g, uint64_t seed, int operand, const tw_operand *o, bool lines_are_columns,
                          int8_t *data) {
  enum { ONE_IN = 8 };
  const bool is_unsigned = o->type == TW_U8;
  const int64_t lines = o->dims[lines_are_columns], step = lines_are_columns ? o->stride[0] : 1,
                next = lines_are_columns ? 1 : o->stride[0];
  for (int64_t line = 0; line < lines; line++) {
    tw_random r;
    tw_random_seed_stream(&r, seed, (uint64_t)(operand + 24) << 32 | (uint64_t)line);
    int8_t *at = data + line * next;
    const bool negative = tw_random_next(&r) >> 63;
    for (int64_t p = 0; line % ONE_IN == (int64_t)(seed % ONE_IN) && p < g->k; p++) {
      const int size = 64 + (int)tw_random_below(&r, 64); /* of u8: with the highest bit */
      at[p * step] = (int8_t)(is_unsigned ? size - 128 : negative ? -size : size);
    }
    if (line % 2) at[tw_random_between(&r, 0, g->k - 1) * step] = is_unsigned ? -1 : INT8_MIN;
  }
}

/* Sums of 32 bits must hold k products of the largest values. */
static void mark_operands(const tw_gemm *g, uint64_t seed, const tw_operand o[], int n, void *const buffers[]) {
  enum { DEEPEST = 1 << 15 };
  if (!tw_seed_is(seed, TW_SEED_KIND) || tw_gemm_narrow_sums(g) || g->k > DEEPEST) return;
  for (int i = 0; i < n; i++)
    if (o[i].type == TW_I8 || o[i].type == TW_U8)
      mark_integers(g, seed, i, &o[i], i ? !g->b_transposed : g->a_transposed, buffers[i]);
}

/* A (0) or B as an array of its elements, where the operand is bytes of 6-bit codes. */
static tw_operand elements_of(const tw_gemm *g, int operand, const tw_operand *o) {
  const tw_type type = operand ? g->b : g->a;
  if (!tw_is_float6(type)) return *o;
  return tw_operand_pitched(o->name, type, 2, (int64_t[]){o->dims[0], g->k}, operand ? g->ldb : g->lda);
}

static void fill_operands(const tw_problem *p, uint64_t seed, tw_operand o[], void *const buffers[]) {
  const tw_gemm g = tw_gemm_of(p);
  for (int i = 0; i < 2; i++) o[i] = elements_of(&g, i, &o[i]);
  bool has_bias = g.bias != TW_GEMM_BIAS_NONE;
  if (tw_seed_is(seed, TW_SEED_KIND) && tw_gemm_has_few(&g)) {
    fill_few(&g, seed, &o[0], buffers, &o[1]);
    return;
  }
  if (tw_seed_is(seed, TW_SEED_WHOLE) && tw_gemm_has_whole(&g)) {
    fill_whole(&g, seed, 0, &o[0], g.a_transposed, buffers[0]);
    fill_whole(&g, seed, 1, &o[1], !g.b_transposed, buffers[1]);
    return;
  }
  if (tw_gemm_numerics_of(&g).real) {
    if (tw_gemm_packs_a(&g))
      fill_packed(&g, 'a', seed, 0, buffers[0], buffers[2]);
    else
      tw_fill_lines(seed, 0, &o[0], g.a_transposed ? TW_LINES_COLUMNS : TW_LINES_ROWS, is_wide(o[0].type), buffers[0]);
    if (g.packed)
      fill_packed(&g, 'b', seed, 1, buffers[1], buffers[tw_gemm_d_index(&g) - 1]);
    else
      tw_fill_lines(seed, 1, &o[1], g.b_transposed ? TW_LINES_ROWS : TW_LINES_COLUMNS, is_wide(o[1].type), buffers[1]);
    if (tw_gemm_has_terms(&g)) {
      const tw_terms of_a = {.seed = seed, .n = g.k, .run = g.a_transposed},
                     of_b = {.seed = seed, .n = g.k, .run = !g.b_transposed, .inverse = true};
      tw_scale_terms(&of_a, &o[0], buffers[0]);
      tw_scale_terms(&of_b, &o[1], buffers[1]);
    }
    for (int i = 2; g.scales && i < 4; i++) tw_fill_factors(seed, i, &o[i], buffers[i]);
    const size_t d = tw_gemm_d_index(&g);
    if (tw_gemm_has_d(&g)) tw_fill_uniform(seed, (int)d, &o[d], tw_gemm_gates_back(&g) ? GATE_LARGEST : 1, buffers[d]);
    const size_t cos = tw_gemm_cos_index(&g);
    for (size_t i = cos; g.rotary && i < cos + 2; i++) tw_fill_uniform(seed, (int)i, &o[i], 1, buffers[i]);
    if (!g.packed) tw_gemm_round_operands(&g, buffers);
    return;
  }
  if (g.a == TW_I16) {
    fill_i16(&g, seed, 0, !g.a_transposed, &o[0], buffers[0]);
    fill_i16(&g, seed, 1, g.b_transposed, &o[1], buffers[1]);
  } else {
    const bool narrow = tw_gemm_numerics_of(&g).b != g.b;
    fill_i8(&g, seed, 0, &o[0], g.a_transposed, buffers[0]);
    if (narrow)
      fill_narrow(&g, seed, &o[1], buffers[1]);
    else
      fill_i8(&g, seed, 1, &o[1], !g.b_transposed, buffers[1]);
    mark_operands(&g, seed, o, narrow ? 1 : 2, buffers);
  }
  if (has_bias)
    tw_fill_bias_i32(seed, is_narrow(&g) ? narrow_scale(&g) : 0, o[2].dims[0], o[2].dims[1], o[2].stride[0],
                     buffers[2]);
}

/* Rows of op(A) and columns of op(B) become far larger or smaller than their neighbours, if the type has exponents of 8
 * bits and each result scales with its line. The bound of sums in bf16 or in blocks assumes elements of A up to 1. */
static void spread_lines(const tw_gemm *g, uint64_t seed, const tw_operand o[], void *const buffers[]) {
  const bool scales_along = (g->c == TW_F32 || g->c == TW_BF16) && !g->gelu && !tw_gemm_pair_key(g) && !g->quantize &&
                            !(tw_gemm_numerics_of(g).of_blocks > 0);
  if (!tw_seed_is(seed, TW_SEED_KIND) || !scales_along) return;
  for (int i = 0; i < 2; i++) {
    const bool transposed = i ? g->b_transposed : g->a_transposed, rows = transposed == (i == 1);
    if ((i ? g->b : g->a) != TW_F32 && (i ? g->b : g->a) != TW_BF16) continue;
    const tw_terms lines = {.seed = seed, .n = i ? g->n : g->m, .run = rows, .inverse = i == 1, .far = true};
    tw_scale_terms(&lines, &o[i], buffers[i]);
  }
}

void tw_gemm_inputs(const tw_problem *p, uint64_t seed, void *const buffers[]) {
  const tw_gemm g = tw_gemm_of(p);
  tw_operand o[TW_OPERANDS_MAX];
  p->op->operands(p, o);
  fill_operands(p, seed, o, buffers);
  spread_lines(&g, seed, o, buffers);
  zero_lines(&g, seed, o, buffers);
}
