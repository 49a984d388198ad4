/* verify.c - see verify.h. R. Freivalds' check (1977): C x = A (B x) for a random vector x costs m n + m k instead of m
 * n k operations. It is exact for integers; for reals it has a bound that depends on the inputs alone, and the complete
 * comparison before and after the measurement covers every element. With relu, and rounded to i8, C is not linear in x:
 * then some elements are computed. */
#include "target/x86/tune/verify.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/per_cpu.h"
#include "base/random.h"
#include "base/strings.h"
#include "op/compare.h"
#include "op/element.h"
#include "op/gemm_values.h"
#include "op/inputs.h"
#include "op/int8.h"
#include "op/numerics.h"

enum { SAMPLES = 256 }; /* minimum of elements for a product that is not linear; two of each row */

/* Row i of the matrix, n elements; of its transpose if it is stored transposed. */
static void read_row(const tw_operand *o, const void *data, bool transposed, int64_t i, int64_t n, double *out) {
  tw_element_row(o->type, data, i * o->stride[transposed], o->stride[!transposed], n, out);
}

void x86_read_a(const x86_verifier *v, const void *a, int64_t i, double *out) {
  read_row(&v->operand[0], a, v->gemm.a_transposed, i, v->gemm.k, out);
}

static double b_at(const x86_verifier *v, int64_t p, int64_t j) {
  return v->gemm.b_transposed ? tw_operand_element(&v->operand[1], v->b, j, p)
                              : tw_operand_element(&v->operand[1], v->b, p, j);
}

static double c_at(const x86_verifier *v, const void *c, int64_t i, int64_t j) {
  return tw_operand_element(&v->operand[v->n_operands - 1], c, i, j);
}

/* Weights of magnitudes in [1/2, 1): no two errors cancel but by a chance of 2^-50. If sums are exact: whole numbers
 * with few bits, so that a double holds every sum. */
static double draw_weight(const x86_verifier *v, tw_random *r) {
  const uint64_t most = v->gemm.n <= 1 << 14 ? 127 : 3;
  const double size = v->numerics.exact ? 1 + (double)tw_random_below(r, most) : 0.5 + 0.5 * tw_random_real(r);
  return tw_random_next(r) & 1 ? size : -size;
}

static bool allocate(x86_verifier *v) {
  bool all = (v->squares = tw_new((size_t)v->gemm.k, sizeof(double))) != NULL;
  all = (v->term = tw_new(2 * (size_t)v->gemm.k, sizeof(double))) != NULL && all;
  all = (v->up = tw_new(2 * (size_t)v->gemm.k, sizeof(float))) != NULL && all;
  for (int x = 0; x < X86_VECTORS; x++) {
    v->weight[x] = tw_new((size_t)v->gemm.n, sizeof(double));
    v->product[x] = tw_new((size_t)v->gemm.k, sizeof(double));
    all = all && v->weight[x] && v->product[x];
  }
  return all;
}

/* The sums of row q of op(B); adds its elements to the sums of the columns. */
static TW_ALWAYS_INLINE void add_row_of_b_in(x86_verifier *v, int64_t q, const double *restrict row,
                                             double *restrict fourth, double *restrict sum) {
  _Static_assert(X86_VECTORS == 2, "two vectors of weights");
  const double *restrict one = v->weight[0], *restrict other = v->weight[1], inverse = 1 / v->term[q];
  double of_one = 0, of_other = 0, squares = 0;
#pragma omp simd reduction(+ : of_one, of_other, squares)
  for (int64_t j = 0; j < v->gemm.n; j++) {
    const double b = row[j], balanced = b * inverse;
    of_one += b * one[j];
    of_other += b * other[j];
    squares += b * b;
    fourth[j] += balanced * balanced * balanced * balanced;
    sum[j] += b;
  }
  v->product[0][q] = of_one;
  v->product[1][q] = of_other;
  v->squares[q] = squares;
}

TW_PER_CPU(add_row_of_b, (x86_verifier * v, int64_t q, const double *row, double *fourth, double *sum),
           (v, q, row, fourth, sum))

tw_status x86_verifier_make(const tw_problem *p, void *const buffer[], uint64_t of_a, uint64_t of_b, x86_verifier *out,
                            tw_error *error) {
  x86_verifier v = {.gemm = tw_gemm_of(p), .b = buffer[1]};
  v.numerics = tw_gemm_numerics_of(&v.gemm);
  const int64_t n = v.gemm.n, k = v.gemm.k;
  v.n_operands = p->op->operands(p, v.operand);
  v.d = v.n_operands == 4 ? buffer[2] : NULL;
  double *fourth = tw_new(3 * (size_t)n, sizeof *fourth);
  if (!allocate(&v) || !fourth) {
    free(fourth);
    x86_verifier_free(&v);
    return tw_no_memory(error, NULL);
  }
  double *sum = fourth + n, *row = sum + n;
  tw_random r;
  tw_random_seed(&r, tw_random_system());
  const tw_gemm_values values = tw_gemm_values_of(&v.gemm, buffer);
  tw_gemm_term_sizes(&values, v.term + k, v.term);
  v.down = v.up + k;
  for (int64_t q = 0; q < k; q++) {
    const bool has_terms = tw_gemm_has_terms(&v.gemm);
    v.down[q] = has_terms ? ldexpf(1, -tw_term_exponent(of_a, q, k)) : 1;
    v.up[q] = has_terms ? ldexpf(1, tw_term_exponent(of_b, q, k)) : 1;
  }
  for (int x = 0; x < X86_VECTORS; x++)
    for (int64_t j = 0; j < n; j++) v.weight[x][j] = draw_weight(&v, &r);
  for (int64_t q = 0; q < k; q++) {
    read_row(&v.operand[1], v.b, v.gemm.b_transposed, q, n, row);
    add_row_of_b(&v, q, row, fourth, sum);
  }
  for (int64_t j = 0; j < n; j++) {
    const double d = v.d ? tw_operand_element(&v.operand[2], v.d, 0, j) : 0;
    v.fourths += sqrt(fourth[j]) / (double)n;
    v.sums += sum[j] * sum[j];
    v.biases += d * d;
    for (int x = 0; x < X86_VECTORS; x++) v.bias[x] += v.weight[x][j] * d;
  }
  for (int64_t q = 0; q < k; q++) {
    v.column += v.squares[q] / (double)n;
    v.columns += v.squares[q] / (v.term[q] * v.term[q]) / (double)n;
  }
  v.column = sqrt(v.column);
  v.columns = sqrt(v.columns);
  v.fourths = sqrt(v.fourths);
  free(fourth);
  *out = v;
  return TW_OK;
}

void x86_verifier_free(x86_verifier *v) {
  for (int x = 0; x < X86_VECTORS; x++) {
    free(v->weight[x]);
    free(v->product[x]);
  }
  free(v->squares);
  free(v->term);
  free(v->up);
  *v = (x86_verifier){0};
}

/* Adds `sign` times the elements of two columns to the sums that an exchange of elements changes. */
static void count_columns(x86_verifier *v, const int64_t column[2], double sign) {
  double fourths = v->fourths * v->fourths;
  for (int i = 0; i < 2; i++) {
    const int64_t j = column[i];
    double fourth = 0, sum = 0;
    for (int64_t q = 0; q < v->gemm.k; q++) {
      const double b = b_at(v, q, j), balanced = b / v->term[q];
      for (int x = 0; x < X86_VECTORS; x++) v->product[x][q] += sign * b * v->weight[x][j];
      fourth += balanced * balanced * balanced * balanced;
      sum += b;
    }
    fourths += sign * sqrt(fourth) / (double)v->gemm.n;
    v->sums += sign * sum * sum;
  }
  v->fourths = sqrt(fmax(fourths, 0));
}

void x86_verifier_forget(x86_verifier *v, const int64_t column[2]) { count_columns(v, column, -1); }
void x86_verifier_learn(x86_verifier *v, const int64_t column[2]) { count_columns(v, column, 1); }

/* ---- new inputs ---- */

/* The type's code of the value with the opposite sign. */
static uint8_t negated(tw_type type, uint8_t x) {
  return type == TW_U8 ? (uint8_t)~x : type == TW_I8 ? (uint8_t)-x : x; /* -128 stays */
}

/* Copies n elements from `from` to `to`, with steps for rows or columns, with random signs and multiplied by powers
 * of two. */
typedef struct piece {
  const void *from;
  void *to;
  int64_t step, n; /* in elements */
  const float *down, *up;
  const uint32_t *sign; /* 0 or 1 << 31 */
} piece;

static uint32_t bits_of(float x) {
  uint32_t bits;
  memcpy(&bits, &x, sizeof bits);
  return bits;
}

static float float_of(uint32_t bits) {
  float x;
  memcpy(&x, &bits, sizeof x);
  return x;
}

static TW_ALWAYS_INLINE void fill_f32_by(const piece *p, int64_t step) {
  const float *from = p->from;
  float *to = p->to;
  for (int64_t i = 0; i < p->n; i++)
    to[i * step] = float_of(bits_of(from[i * step] * p->down[i] * p->up[i]) ^ p->sign[i]);
}

/* Rounds to nearest, ties to even. A has no NaN. */
static TW_ALWAYS_INLINE void fill_bf16_by(const piece *p, int64_t step) {
  const uint16_t *from = p->from;
  uint16_t *to = p->to;
  for (int64_t i = 0; i < p->n; i++) {
    const uint32_t bits = bits_of(float_of((uint32_t)from[i * step] << 16) * p->down[i] * p->up[i]) ^ p->sign[i];
    to[i * step] = (uint16_t)((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
  }
}

static TW_ALWAYS_INLINE void fill_u8_by(const piece *p, int64_t step) {
  const uint8_t *from = p->from;
  uint8_t *to = p->to;
  for (int64_t i = 0; i < p->n; i++)
    to[i * step] = (uint8_t)(p->sign[i] ? negated(TW_U8, from[i * step]) : from[i * step]);
}

static TW_ALWAYS_INLINE void fill_i8_by(const piece *p, int64_t step) {
  const uint8_t *from = p->from;
  uint8_t *to = p->to;
  for (int64_t i = 0; i < p->n; i++)
    to[i * step] = (uint8_t)(p->sign[i] ? negated(TW_I8, from[i * step]) : from[i * step]);
}

/* Neighbours in memory need no gathers and scatters. */
#define FILL_PER_CPU(name)                                                                                             \
  static TW_ALWAYS_INLINE void name##_in(const piece *p) { p->step == 1 ? name##_by(p, 1) : name##_by(p, p->step); }   \
  TW_PER_CPU(name, (const piece *p), (p))

FILL_PER_CPU(fill_f32)
FILL_PER_CPU(fill_bf16)
FILL_PER_CPU(fill_u8)
FILL_PER_CPU(fill_i8)

static void fill_f16(const piece *p) {
  const uint16_t *from = p->from;
  uint16_t *to = p->to;
  for (int64_t i = 0; i < p->n; i++) {
    const float x = tw_f16_to_f32(from[i * p->step]) * p->down[i] * p->up[i];
    to[i * p->step] = (uint16_t)(tw_f32_to_f16(x) ^ p->sign[i] >> 16);
  }
}

static void fill_piece(tw_type type, const piece *p) {
  switch (type) {
  case TW_F32: fill_f32(p); break;
  case TW_BF16: fill_bf16(p); break;
  case TW_F16: fill_f16(p); break;
  case TW_I8: fill_i8(p); break;
  default: fill_u8(p); break;
  }
}

static TW_ALWAYS_INLINE void spread_bits_in(uint64_t bits, int64_t n, uint32_t sign[]) {
  for (int64_t i = 0; i < n; i++) sign[i] = (uint32_t)(bits >> i) << 31;
}

TW_PER_CPU(spread_bits, (uint64_t bits, int64_t n, uint32_t sign[]), (bits, n, sign))

tw_status x86_fill_rows(const x86_verifier *v, uint64_t seed, int64_t first, const void *like, void *a,
                        tw_error *error) {
  const tw_operand *o = &v->operand[0];
  const tw_type type = o->type;
  const bool across = v->gemm.a_transposed, turns = v->gemm.a == type; /* otherwise scales are shared along a row */
  const int64_t m = v->gemm.m, k = v->gemm.k, step = o->stride[!across], line = o->stride[across];
  const int64_t size = tw_type_bits(type) / 8;
  uint32_t *sign = tw_new((size_t)k, sizeof *sign);
  if (!sign) return tw_no_memory(error, NULL);
  tw_random r;
  tw_random_seed_stream(&r, seed, (uint64_t)first);
  for (int64_t i = first; i < m && i < first + X86_ROWS; i++) {
    const char *from = (const char *)like + tw_random_between(&r, 0, m - 1) * line * size;
    char *to = (char *)a + i * line * size;
    const int64_t turn = turns ? tw_random_between(&r, 0, k - 1) : 0; /* index of the element that comes first */
    for (int64_t p = 0; p < k; p += 64) spread_bits(tw_random_next(&r), k - p < 64 ? k - p : 64, sign + p);
    fill_piece(type, &(piece){from + turn * step * size, to, step, k - turn, v->down + turn, v->up, sign});
    fill_piece(type, &(piece){from, to + (k - turn) * step * size, step, turn, v->down, v->up + (k - turn),
                              sign + (k - turn)});
  }
  free(sign);
  return TW_OK;
}

void x86_negate_a(const x86_verifier *v, void *a, int64_t i, int64_t first, int64_t end) {
  const tw_operand *o = &v->operand[0];
  const bool across = v->gemm.a_transposed;
  const size_t size = (size_t)tw_type_bits(o->type) / 8;
  for (int64_t p = first; p < end; p++) {
    uint8_t *x = (uint8_t *)a + (size_t)(i * o->stride[across] + p * o->stride[!across]) * size;
    if (size == 1)
      *x = negated(o->type, *x);
    else
      x[size - 1] ^= 0x80;
  }
}

/* ---- expected values ---- */

static tw_status wrong(int64_t i, const char *what, tw_error *error) {
  return tw_fail(error, TW_FAILED, "wrong result in a timed call with new inputs: row %" PRId64 " of C %s", i, what);
}

/* Sums over a row of op(A), x, and over a row of C. */
typedef struct row_sums {
  double product[X86_VECTORS], got[X86_VECTORS]; /* x times op(B) times the weights; C times the weights */
  double norm, balanced, fourth;                 /* squares of x; of x times the size of its term; of these squares */
  double largest, terms, mean;                   /* magnitude; elements that are not 0 */
  double varying;                                /* squares of x less the mean, times the squares of op(B)'s row */
} row_sums;

static TW_ALWAYS_INLINE void sums_of_row_in(const x86_verifier *v, const double *restrict row,
                                            const double *restrict result, row_sums *out) {
  const double *restrict one = v->product[0], *restrict other = v->product[1], *restrict term = v->term,
                         *restrict squares = v->squares, *restrict weight = v->weight[0],
                         *restrict second = v->weight[1];
  double of_one = 0, of_other = 0, norm = 0, balanced = 0, fourth = 0, largest = 0, terms = 0, total = 0;
#pragma omp simd reduction(+ : of_one, of_other, norm, balanced, fourth, terms, total) reduction(max : largest)
  for (int64_t p = 0; p < v->gemm.k; p++) {
    const double x = row[p], sized = x * term[p], square = sized * sized, magnitude = fabs(x);
    of_one += x * one[p];
    of_other += x * other[p];
    norm += x * x;
    balanced += square;
    fourth += square * square;
    largest = magnitude > largest ? magnitude : largest;
    terms += x != 0 ? 1 : 0;
    total += x;
  }
  const double mean = total / (double)v->gemm.k;
  double varying = 0, got = 0, got_second = 0;
#pragma omp simd reduction(+ : varying)
  for (int64_t p = 0; p < v->gemm.k; p++) varying += (row[p] - mean) * (row[p] - mean) * squares[p];
#pragma omp simd reduction(+ : got, got_second)
  for (int64_t j = 0; j < v->gemm.n; j++) {
    got += result[j] * weight[j];
    got_second += result[j] * second[j];
  }
  *out = (row_sums){.product = {of_one, of_other},
                    .got = {got, got_second},
                    .norm = norm,
                    .balanced = balanced,
                    .fourth = fourth,
                    .largest = largest,
                    .terms = terms,
                    .mean = mean,
                    .varying = varying};
}

TW_PER_CPU(sums_of_row, (const x86_verifier *v, const double *row, const double *result, row_sums *out),
           (v, row, result, out))

/* The expected Euclidean norm of a row of C, from the inputs alone: elements of A have random signs about their mean.
 * Six standard deviations where there are few columns. */
static double expected_norm(const x86_verifier *v, const row_sums *s) {
  const tw_gemm *g = &v->gemm;
  const double scale = fabs((double)g->scale);
  return (1 + 6 / sqrt((double)g->n)) * (scale * sqrt(s->varying + s->mean * s->mean * v->sums) + sqrt(v->biases));
}

/* Checks `result`, n results for the row `row` of A. */
static tw_status verify_row(const x86_verifier *v, const double row[], const double result[], int64_t i,
                            tw_error *error) {
  const tw_gemm *g = &v->gemm;
  row_sums s;
  sums_of_row(v, row, result, &s);
  /* No weight is 0, and finite results cannot overflow a double. */
  if (!isfinite(s.got[0])) return wrong(i, "has an element that is not finite", error);
  /* The rounding error of n results with random weights of at most 1: eight standard deviations. Three units are for
   * scale, bias and conversion. */
  const double unit = v->numerics.exact ? 0 : fmax(v->numerics.unit, TW_U32) + 3 * TW_U32;
  double off = 0;
  if (v->numerics.real)
    off = tw_gemm_signed_off(g, &v->numerics,
                             &(tw_gemm_sizes){.products = sqrt(s.balanced) * v->columns,
                                              .row = sqrt(s.norm),
                                              .column = v->column,
                                              .norm = sqrt(sqrt(s.fourth)) * v->fourths,
                                              .terms = s.terms,
                                              .largest = s.largest},
                             (double)g->n);
  const double bound = v->numerics.exact ? 0 : off + 8 * unit * expected_norm(v, &s);
  for (int y = 0; y < X86_VECTORS; y++) {
    const double expected = (double)g->scale * s.product[y] + v->bias[y];
    if (!(fabs(s.got[y] - expected) <= bound + 8 * 0x1p-24 * fabs(v->bias[y])))
      return wrong(i, "differs from the product", error);
  }
  return TW_OK;
}

double x86_element(const x86_verifier *v, const double row[], int64_t j, double *tolerance) {
  const tw_gemm *g = &v->gemm;
  double sum = 0;
  tw_gemm_sizes s = {0};
  for (int64_t p = 0; p < g->k; p++) {
    const double x = row[p], y = b_at(v, p, j);
    sum += x * y;
    tw_gemm_sizes_add(&s, x, y);
  }
  if (g->c == TW_I8) { /* exact */
    *tolerance = 0;
    return tw_round_i8((int32_t)sum, g->scale, g->relu);
  }
  tw_gemm_sizes_finish(&s);
  s.value = (double)g->scale * sum;
  if (v->d) s.value += s.bias = tw_operand_element(&v->operand[2], v->d, 0, j);
  if (g->relu && s.value < 0) s.value = 0;
  *tolerance = tw_gemm_tolerance(g, &v->numerics, &s, false);
  return s.value;
}

tw_status x86_verify_element(const x86_verifier *v, const double row[], const void *c, int64_t i, int64_t j,
                             tw_error *error) {
  double tolerance;
  const double right = x86_element(v, row, j, &tolerance);
  return fabs(c_at(v, c, i, j) - right) <= tolerance ? TW_OK
                                                     : wrong(i, "has an element that differs from the product", error);
}

/* Checks some elements of a row of a product that is not linear, and all that look as if they were not written. The
 * samples of all rows together cover every column, if there are enough. */
static tw_status verify_some(const x86_verifier *v, const double row[], const void *c, int64_t i, tw_random *r,
                             tw_error *error) {
  const tw_gemm *g = &v->gemm;
  const int64_t each = SAMPLES / g->m > 2 ? SAMPLES / g->m : 2;
  tw_status status = TW_OK;
  for (int64_t x = 0; status == TW_OK && x < each; x++)
    status = x86_verify_element(v, row, c, i, x % 2 ? tw_random_between(r, 0, g->n - 1) : (i * each + x) % g->n, error);
  for (int64_t j = 0; status == TW_OK && j < g->n; j++)
    if (tw_is_poison(&v->operand[v->n_operands - 1], c, i, j)) /* in i8 the poison is an ordinary number */
      status = g->c == TW_I8 ? x86_verify_element(v, row, c, i, j, error) : wrong(i, "was not written", error);
  return status;
}

tw_status x86_verify_rows(const x86_verifier *v, int64_t first, const void *a, const void *c, tw_error *error) {
  const tw_gemm *g = &v->gemm;
  const bool linear = !g->relu && g->c != TW_I8;
  double *row = tw_new((size_t)(g->k + g->n), sizeof *row);
  if (!row) return tw_no_memory(error, NULL);
  double *result = row + g->k;
  tw_status status = TW_OK;
  tw_random r;
  tw_random_seed(&r, tw_random_system());
  for (int64_t i = first; status == TW_OK && i < g->m && i < first + X86_ROWS; i++) {
    x86_read_a(v, a, i, row);
    if (linear) {
      read_row(&v->operand[v->n_operands - 1], c, false, i, g->n, result);
      status = verify_row(v, row, result, i, error);
    } else {
      status = verify_some(v, row, c, i, &r, error);
    }
  }
  free(row);
  return status;
}
