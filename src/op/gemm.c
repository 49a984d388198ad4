/* gemm.c - matrix multiplication with its epilogue: keys, operands, inputs, comparison, cost. The reference
 * result is in gemm_reference.c.
 *
 *   c=i8    C = relu(sat8(round(scale * (op(A) op(B) + D))))   acc=i32; the scaling in binary32, ties to even
 *   c=i16   likewise with sat16; a=i8
 *   c=i32   C = relu(op(A) op(B) + D)                          acc=i32; inputs are such that nothing overflows
 *   c=f32   C = relu(scale * (op(A) op(B) + D))                acc=f32 (f16 and bf16 too) or i32; within the bound of
 *                                                              `tolerance`
 *
 * With a=i8 B may be i4 or ternary: an array of i8 whose values that type holds (-8..7, -1..1). One scale of the whole
 * of B is the caller's, or `scale`.
 *
 * B of a type with shared scales (b=mxfp4, i4, ternary, ...; a of f32, f16 or bf16) is an array of f32 whose values
 * that type can hold, with scales along k for each column: how a target stores it is its own business. So is A with
 * a=bfp16, along rows, and C with c=bfp16.
 *
 * With b=bfp16, acc may be bf16 or bfp16, too: sums may then be rounded to that type on the way, up to once for every 8
 * of k, and A of bf16 to bfp16 (XDNA2's kernels do). The comparison allows for that, and for no more.
 *
 * The C parameters of a kernel are A, B, [D,] C, row-major. A is declared m x k (k x m if a_transposed), B k x n
 * (n x k if b_transposed), D 1 x n (bias=row) or m x n (bias=full), C m x n. */
#include "op/gemm.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

#include "base/random.h"
#include "base/strings.h"
#include "op/compare.h"
#include "op/element.h"
#include "op/int8.h"
#include "op/ops.h"

enum { SIZE_LIMIT = 1 << 20, PITCH_LIMIT = 1 << 21 };

static const tw_key keys[] = {
    {.name = "m", .kind = TW_KEY_INT, .min = 1, .max = SIZE_LIMIT, .help = "rows of C"},
    {.name = "n", .kind = TW_KEY_INT, .min = 1, .max = SIZE_LIMIT, .help = "columns of C"},
    {.name = "k", .kind = TW_KEY_INT, .min = 1, .max = SIZE_LIMIT, .help = "inner dimension"},
    {.name = "a_transposed", .kind = TW_KEY_BOOL, .fallback = "0", .help = "A is stored k x m"},
    {.name = "b_transposed", .kind = TW_KEY_BOOL, .fallback = "0", .help = "B is stored n x k"},
    {.name = "bias",
     .kind = TW_KEY_CHOICE,
     .fallback = "none",
     .choices = "none|row|full",
     .help = "D: 1 x n or m x n"},
    {.name = "relu", .kind = TW_KEY_BOOL, .fallback = "0", .help = "negative results become 0"},
    {.name = "scale", .kind = TW_KEY_REAL, .fallback = "1", .help = "factor on the accumulator"},
    {.name = "lda",
     .kind = TW_KEY_INT,
     .fallback = "0",
     .max = PITCH_LIMIT,
     .help = "elements from row to row of A; 0 = dense"},
    {.name = "ldb", .kind = TW_KEY_INT, .fallback = "0", .max = PITCH_LIMIT, .help = "likewise of B"},
    {.name = "ldc", .kind = TW_KEY_INT, .fallback = "0", .max = PITCH_LIMIT, .help = "likewise of C"},
    {.name = "ldd", .kind = TW_KEY_INT, .fallback = "0", .max = PITCH_LIMIT, .help = "likewise of D"},
    {.name = "group",
     .kind = TW_KEY_INT,
     .fallback = "0",
     .max = SIZE_LIMIT,
     .help = "elements of k that share a scale of B; 0 = the type's own"},
    {.name = "a_rounding",
     .kind = TW_KEY_CHOICE,
     .fallback = "exact",
     .choices = "exact|rows|groups",
     .help = "A becomes int8 on its way in: a scale for each row, or for each group of B's"},
    {.name = "threads", .kind = TW_KEY_INT, .fallback = "0", .max = 1024, .help = "of a CPU; 0 = all cores"},
    {.name = "a", .kind = TW_KEY_TYPE, .fallback = "", .help = "element type of A"},
    {.name = "b", .kind = TW_KEY_TYPE, .fallback = "", .help = "element type of B"},
    {.name = "c", .kind = TW_KEY_TYPE, .fallback = "", .help = "element type of C"},
    {.name = "acc", .kind = TW_KEY_TYPE, .fallback = "", .help = "type of the accumulator and of D"},
};

static bool is_real(tw_type t) { return t == TW_F32 || t == TW_F16 || t == TW_BF16; }
static bool is_real_or_block(tw_type t) { return is_real(t) || t == TW_BFP16; }

bool tw_gemm_scaled(tw_type b) {
  const tw_format *f = tw_format_of_type(b);
  return f && f->scale != TW_SCALE_NONE;
}

/* Is B weights with scales, and are A and the sums real? i8 x i8 is a product of integers. */
static bool weights_only(const tw_gemm *g) { return is_real_or_block(g->a) && tw_gemm_scaled(g->b); }

/* Types with shared scales are f32 in the operands. */
static tw_type stored(tw_type t) { return t == TW_BFP16 ? TW_F32 : t; }

/* Narrow integers are i8 there. */
static tw_type stored_b(const tw_gemm *g) {
  if (weights_only(g)) return TW_F32;
  return g->b == TW_I4 || g->b == TW_TERNARY ? TW_I8 : g->b;
}

static bool knows_types(const tw_gemm *g) {
  if (g->b == TW_BFP16 && (g->a == TW_BF16 || g->a == TW_BFP16) && is_real_or_block(g->c))
    return g->acc == TW_F32 || g->acc == TW_BF16 || g->acc == TW_BFP16;
  if (is_real(g->a)) return (is_real(g->b) || tw_gemm_scaled(g->b)) && is_real(g->c) && g->acc == TW_F32;
  if (g->a == TW_I8 && (g->b == TW_I4 || g->b == TW_TERNARY))
    return g->acc == TW_I32 && (g->c == TW_I32 || g->c == TW_I16 || g->c == TW_I8);
  if (g->a == TW_I16) return g->b == TW_I16 && g->acc == TW_I32 && g->c == TW_I32;
  return (g->a == TW_I8 || g->a == TW_U8) && g->b == TW_I8 && g->acc == TW_I32 &&
         (g->c == TW_I32 || is_real(g->c) || ((g->c == TW_I8 || g->c == TW_I16) && g->a == TW_I8));
}

tw_gemm tw_gemm_of(const tw_problem *p) {
  tw_gemm g = {
      .m = tw_problem_int(p, "m"),
      .n = tw_problem_int(p, "n"),
      .k = tw_problem_int(p, "k"),
      .a_transposed = tw_problem_int(p, "a_transposed"),
      .b_transposed = tw_problem_int(p, "b_transposed"),
      .bias = (tw_gemm_bias)tw_problem_int(p, "bias"),
      .relu = tw_problem_int(p, "relu"),
      .scale = (float)tw_problem_real(p, "scale"),
      .lda = tw_problem_int(p, "lda"),
      .ldb = tw_problem_int(p, "ldb"),
      .ldc = tw_problem_int(p, "ldc"),
      .ldd = tw_problem_int(p, "ldd"),
      .a = tw_problem_type(p, "a"),
      .b = tw_problem_type(p, "b"),
      .c = tw_problem_type(p, "c"),
      .acc = tw_problem_type(p, "acc"),
      .group = tw_problem_int(p, "group"),
      .a_rounding = (tw_gemm_a_rounding)tw_problem_int(p, "a_rounding"),
  };
  if (!g.lda) g.lda = g.a_transposed ? g.m : g.k;
  if (!g.ldb) g.ldb = g.b_transposed ? g.k : g.n;
  if (!g.ldc) g.ldc = g.n;
  if (!g.ldd) g.ldd = g.n;
  return g;
}

static tw_operand matrix(const char *name, tw_type type, int64_t rows, int64_t columns, int64_t pitch) {
  return tw_operand_pitched(name, type, 2, (int64_t[]){rows, columns}, pitch);
}

static size_t operands(const tw_problem *p, tw_operand out[TW_OPERANDS_MAX]) {
  tw_gemm g = tw_gemm_of(p);
  size_t n = 0;
  const tw_type a = stored(g.a);
  out[n++] = g.a_transposed ? matrix("A", a, g.k, g.m, g.lda) : matrix("A", a, g.m, g.k, g.lda);
  const tw_type b = stored_b(&g);
  out[n++] = g.b_transposed ? matrix("B", b, g.n, g.k, g.ldb) : matrix("B", b, g.k, g.n, g.ldb);
  if (g.bias != TW_GEMM_BIAS_NONE)
    out[n++] = matrix("D", g.acc == TW_I32 ? TW_I32 : TW_F32, g.bias == TW_GEMM_BIAS_ROW ? 1 : g.m, g.n, g.ldd);
  out[n] = matrix("C", stored(g.c), g.m, g.n, g.ldc);
  out[n++].is_output = true;
  return n;
}

static tw_status check_types(const tw_gemm *g, tw_error *error) {
  if (knows_types(g)) return TW_OK;
  return tw_fail(
      error, TW_USAGE,
      "gemm does not know the types a=%s b=%s c=%s acc=%s; it knows a=i8 b=i8 acc=i32 with c=i8, i16, i32 or f32, "
      "a=i8 with b=i4 or ternary and c=i8, i16 or i32, a=u8 b=i8 acc=i32 with c=i32 or f32, and a, b and c of f32, f16 "
      "and "
      "bf16 with acc=f32, where b may also be "
      "i8, i4, mxfp4, mxfp6, mxfp8, bfp16 or ternary; with b=bfp16 also a=bfp16, c=bfp16, acc=bf16 and acc=bfp16",
      tw_type_name(g->a), tw_type_name(g->b), tw_type_name(g->c), tw_type_name(g->acc));
}

tw_status tw_gemm_packing(const tw_gemm *g, tw_packing *out, tw_error *error) {
  *out = (tw_packing){.format = tw_format_of_type(g->b), .group = g->group};
  if (out->format->scale != TW_SCALE_F32 && g->group) {
    if (g->group != (int64_t)out->format->block)
      return tw_fail(error, TW_USAGE, "group=%" PRId64 ": b=%s has a scale for every %zu elements", g->group,
                     tw_type_name(g->b), out->format->block);
    out->group = 0;
  }
  return tw_packing_check(out, error);
}

static tw_status validate(const tw_problem *p, tw_error *error) {
  static const char *const pitch_key[] = {"lda", "ldb", "ldc", "ldd"};
  tw_gemm g = tw_gemm_of(p);
  tw_status status = check_types(&g, error);
  if (status != TW_OK) return status;
  const int64_t pitch[] = {g.lda, g.ldb, g.ldc, g.ldd};
  const int64_t least[] = {g.a_transposed ? g.m : g.k, g.b_transposed ? g.k : g.n, g.n, g.n};
  for (int i = 0; i < 4; i++) {
    if (pitch[i] < least[i])
      return tw_fail(error, TW_USAGE, "%s=%" PRId64 " is less than the %" PRId64 " elements of a row; 0 means dense",
                     pitch_key[i], pitch[i], least[i]);
  }
  if (g.bias == TW_GEMM_BIAS_NONE && tw_problem_int(p, "ldd"))
    return tw_fail(error, TW_USAGE, "ldd=%" PRId64 " without a bias: give bias=row or bias=full", g.ldd);
  tw_packing packing;
  if (weights_only(&g) && (status = tw_gemm_packing(&g, &packing, error)) != TW_OK) return status;
  if (!weights_only(&g) && g.group)
    return tw_fail(error, TW_USAGE, "group=%" PRId64 " without weights that have scales: b=%s", g.group,
                   tw_type_name(g.b));
  if (g.a_rounding != TW_GEMM_A_EXACT && (!weights_only(&g) || g.b == TW_MXFP8))
    return tw_fail(
        error, TW_USAGE,
        "a_rounding needs a of f32, f16 or bf16 and b of i8, i4, mxfp4, mxfp6, bfp16 or ternary, not a=%s b=%s",
        tw_type_name(g.a), tw_type_name(g.b));
  if (!isfinite(g.scale)) return tw_fail(error, TW_USAGE, "scale does not fit a 32-bit float");
  if (g.c == TW_I32 && g.scale != 1.0f)
    return tw_fail(error, TW_USAGE, "scale must be 1 with c=i32: the accumulator is stored as it is");
  return TW_OK;
}

/* ---- inputs ----
 *
 * int8.h says what makes the results of c=i8 tell much; its full-range lines are rows of A and columns of B.
 * c=i32 uses the whole range everywhere: for k up to 2^20 the chance that a sum leaves 2^30 is below e^-2000
 * (Hoeffding). f32 is uniform in (-1, 1). */

/* Results of 16 bits are to be as much of their range as those of 8 bits are of theirs. */
static bool is_narrow(const tw_gemm *g) { return g->c == TW_I8 || g->c == TW_I16; }
static double narrow_scale(const tw_gemm *g) { return (double)g->scale / (g->c == TW_I16 ? 256 : 1); }

/* B of i4 and ternary: uniform over what the type holds. */
typedef struct range {
  int64_t least, most;
} range;
static range narrow_range(tw_type b) { return b == TW_I4 ? (range){-8, 7} : (range){-1, 1}; }

/* tw_int8_distribution shares the deviation of the results out between A and B. B of i4 and ternary has its own, so that of
 * A is the square of that share, divided by B's: it is the share for this scale. */
static double scale_for_a(const tw_gemm *g) {
  const double scale = narrow_scale(g);
  if (stored_b(g) == g->b) return scale;
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

/* `lines_are_columns`: the full-range lines of this operand are columns of what is stored. */
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

/* As large as sums of k products of 32 bits allow. */
static void fill_i16(const tw_gemm *g, uint64_t seed, int operand, const tw_operand *o, int16_t *data) {
  const int64_t most = (int64_t)fmin(INT16_MAX, sqrt(0x1p30 / (double)g->k));
  for (int64_t row = 0; row < o->dims[0]; row++) {
    tw_random r;
    tw_random_seed_stream(&r, seed, (uint64_t)(operand + 8) << 32 | (uint64_t)row);
    for (int64_t i = 0; i < o->dims[1]; i++) data[row * o->stride[0] + i] = (int16_t)tw_random_between(&r, -most, most);
  }
}

static void fill_real(uint64_t seed, int operand, const tw_operand *o, void *data) {
  for (int64_t row = 0; row < o->dims[0]; row++) {
    tw_random r;
    tw_random_seed_stream(&r, seed, (uint64_t)(operand + 8) << 32 | (uint64_t)row);
    for (int64_t i = 0; i < o->dims[1]; i++)
      tw_set_element(o->type, data, row * o->stride[0] + i,
                     (double)tw_random_between(&r, -0xffffff, 0xffffff) * 0x1p-24);
  }
}

/* Moves `lines` lines of k elements to what a type with scales can hold. Without memory they stay as they are. */
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

static void round_operands(const tw_gemm *g, void *const buffers[]) {
  const tw_packing block = {.format = tw_format_of_type(TW_BFP16)};
  tw_packing packing;
  if (g->a == TW_BFP16)
    round_lines(&block, g->m, g->k, g->a_transposed ? 1 : g->lda, g->a_transposed ? g->lda : 1, buffers[0]);
  if (weights_only(g) && tw_gemm_packing(g, &packing, NULL) == TW_OK)
    round_lines(&packing, g->n, g->k, g->b_transposed ? g->ldb : 1, g->b_transposed ? 1 : g->ldb, buffers[1]);
}

static void inputs(const tw_problem *p, uint64_t seed, void *const buffers[]) {
  tw_gemm g = tw_gemm_of(p);
  tw_operand o[TW_OPERANDS_MAX];
  operands(p, o);
  bool has_bias = g.bias != TW_GEMM_BIAS_NONE;
  if (is_real_or_block(g.a)) {
    for (int i = 0; i < 2 + has_bias; i++) fill_real(seed, i, &o[i], buffers[i]);
    round_operands(&g, buffers);
    return;
  }
  if (g.a == TW_I16) {
    for (int i = 0; i < 2; i++) fill_i16(&g, seed, i, &o[i], buffers[i]);
  } else {
    fill_i8(&g, seed, 0, &o[0], g.a_transposed, buffers[0]);
    if (stored_b(&g) == g.b)
      fill_i8(&g, seed, 1, &o[1], !g.b_transposed, buffers[1]);
    else
      fill_narrow(&g, seed, &o[1], buffers[1]);
  }
  if (has_bias)
    tw_fill_bias_i32(seed, is_narrow(&g) ? narrow_scale(&g) : 0, o[2].dims[0], o[2].dims[1], o[2].stride[0],
                     buffers[2]);
}

/* ---- comparison ---- */

double tw_gemm_weight_rounding(const tw_gemm *g) {
  const bool f32_scales = g->b == TW_I8 || g->b == TW_I4 || g->b == TW_TERNARY;
  return weights_only(g) && g->a == TW_BF16 && f32_scales ? 0x1p-9 : 0;
}

/* |computed - exact| for one element of a binary32 product with accumulation in any order: at most
 * (k + 3) u |scale| (sum |a||b| + |d|) with u = 2^-24 (Higham, Accuracy and Stability, 3.1), and with probability
 * above 1 - 1e-13 at most (8 sqrt(k) + 3) u ... (Higham and Mary 2019, lambda = 8). sum |a||b| <= |a|_2 |b|_2.
 * Products of bf16 may be rounded twice (vdpbf16ps), integers are exact until they are scaled; a result of 16 bits is
 * off by half a unit of its own, or of one more where the sum was off. A that becomes int8 is off by at most half a step of
 * (largest magnitude) / 127 in each element: in all by at most step / 2 * sqrt(k) |b|_2, and, as Hoeffding's
 * bound for independent errors, with probability above 1 - 1e-13 by at most 8 step / 2 |b|_2. */
static double tolerance(const tw_gemm *g, double row_norm, double column_norm, double largest, double bias,
                        double value) {
  double k = (double)g->k, steps = fmin(k, 8 * sqrt(k)) * (g->a == TW_BF16 ? 2 : 1) + 3;
  double sum = is_real_or_block(g->a) ? steps * 0x1p-24 * fabs((double)g->scale) * (row_norm * column_norm + fabs(bias))
                                      : 4 * 0x1p-24 * fabs(value);
  if (g->a_rounding != TW_GEMM_A_EXACT)
    sum += fabs((double)g->scale) * fmin(sqrt(k), 8) * largest / 127 * 0.501 * column_norm;
  sum += fabs((double)g->scale) * tw_gemm_weight_rounding(g) * row_norm * column_norm;
  double unit = g->c == TW_BF16 ? 0x1p-8 : g->c == TW_F16 ? 0x1p-11 : 0;
  return sum + unit * (fabs(value) + sum) * 2 + (g->c == TW_F16 ? 0x1p-24 : 0x1p-126);
}

/* What sums in bf16 or bfp16, and blocks of C, add to that. A's elements are at most `most`: uniform inputs, so a sum
 * of them times a column stays below 8 most |b|_2 (Hoeffding), whatever its length, and so do roundings of A to steps
 * of most 2^-7. Each of the k / 8 roundings of sums is off by half a unit of the largest of its block. */
static double narrow_tolerance(const tw_gemm *g, double most, double column_norm) {
  const double largest = 8 * most * column_norm, roundings = fmin((double)g->k / 8, 8 * sqrt((double)g->k / 8));
  double off = 0;
  if (g->a == TW_BF16 && g->acc != TW_F32) off += largest * 0x1p-7;
  if (g->acc == TW_BF16) off += largest * roundings * 0x1p-9;
  if (g->acc == TW_BFP16) off += largest * roundings * 0x1p-7;
  if (g->c == TW_BFP16) off += largest * 0x1p-7;
  return off * fabs((double)g->scale);
}

/* Euclidean norms of the rows of op(A) or the columns of op(B). NULL without memory. */
static double *norms(const tw_operand *o, const void *data, bool of_columns) {
  int64_t n = o->dims[of_columns ? 1 : 0];
  double *sum = tw_new((size_t)n, sizeof *sum);
  for (int64_t row = 0; sum && row < o->dims[0]; row++) {
    for (int64_t column = 0; column < o->dims[1]; column++) {
      double x = tw_operand_element(o, data, row, column);
      sum[of_columns ? column : row] += x * x;
    }
  }
  for (int64_t i = 0; sum && i < n; i++) sum[i] = sqrt(sum[i]);
  return sum;
}

/* The largest magnitude in all of A: no row has a larger step. */
static double largest_of(const tw_operand *o, const void *data) {
  double largest = 0;
  for (int64_t row = 0; row < o->dims[0]; row++)
    for (int64_t column = 0; column < o->dims[1]; column++)
      largest = fmax(largest, fabs(tw_operand_element(o, data, row, column)));
  return largest;
}

static tw_status compare_real(const tw_gemm *g, const tw_operand *o, size_t c, void *const expected[],
                              void *const actual[], tw_mismatch *found, tw_error *error) {
  double *rows = norms(&o[0], expected[0], g->a_transposed), *columns = norms(&o[1], expected[1], !g->b_transposed);
  const double largest = g->a_rounding != TW_GEMM_A_EXACT ? largest_of(&o[0], expected[0]) : 0;
  bool have_norms = rows && columns;
  for (int64_t i = 0; have_norms && i < g->m; i++) {
    for (int64_t j = 0; j < g->n; j++) {
      double d = g->bias == TW_GEMM_BIAS_NONE
                     ? 0
                     : tw_operand_element(&o[2], expected[2], g->bias == TW_GEMM_BIAS_FULL ? i : 0, j);
      double value = tw_operand_element(&o[c], expected[c], i, j);
      double off = fabs(tw_operand_element(&o[c], actual[c], i, j) - value);
      bool unwritten = tw_is_poison(&o[c], actual[c], i, j) && !tw_is_poison(&o[c], expected[c], i, j);
      if (unwritten ||
          !(off <= tolerance(g, rows[i], columns[j], largest, d, value) + narrow_tolerance(g, 1, columns[j])))
        tw_note_element(found, &o[c], expected[c], actual[c], i, j);
    }
  }
  free(rows);
  free(columns);
  return have_norms ? TW_OK : tw_fail(error, TW_MISSING, "out of memory for the comparison");
}

static tw_status compare(const tw_problem *p, void *const expected[], void *const actual[], tw_error *error) {
  tw_gemm g = tw_gemm_of(p);
  tw_operand o[TW_OPERANDS_MAX];
  size_t c = operands(p, o) - 1;
  tw_mismatch found = {0};
  tw_status status = tw_compare_inputs(o, c, expected, actual, error);
  if (status != TW_OK) return status;
  if (is_real_or_block(g.c)) {
    status = compare_real(&g, o, c, expected, actual, &found, error);
    if (status != TW_OK) return status;
  } else {
    tw_compare_exact(&o[c], expected[c], actual[c], &found);
  }
  tw_compare_gaps(&o[c], actual[c], &found);
  return tw_mismatch_status(&o[c], &found, error);
}

/* ---- cost ---- */

static double operations(const tw_problem *p) {
  tw_gemm g = tw_gemm_of(p);
  return (double)g.m * (double)g.n * (double)g.k;
}

static double bytes(const tw_problem *p) {
  tw_gemm g = tw_gemm_of(p);
  tw_operand o[TW_OPERANDS_MAX];
  size_t n = operands(p, o);
  double all = tw_operand_bytes(o, n);
  /* weights with scales: their codes; scales are a few percent of them */
  all += (double)g.n * (double)g.k * (tw_type_bits(g.b) - tw_type_bits(stored_b(&g))) / 8.0;
  return all;
}

static void reference(const tw_problem *p, void *const buffers[], int threads) {
  tw_gemm g = tw_gemm_of(p);
  tw_gemm_reference(&g, buffers, threads);
}

const tw_op tw_op_gemm = {
    .name = "gemm",
    .summary = "matrix multiplication C = act(scale * (A B + D))",
    .keys = keys,
    .n_keys = sizeof keys / sizeof *keys,
    .validate = validate,
    .operands = operands,
    .inputs = inputs,
    .reference = reference,
    .compare = compare,
    .operations = operations,
    .bytes = bytes,
};
