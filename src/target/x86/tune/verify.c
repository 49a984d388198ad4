/* verify.c - see verify.h. R. Freivalds' check (1977): C x = A (B x) for a random vector x costs m n + m k instead of m
 * n k operations. It is exact for integers; for reals it has a bound that depends on the inputs alone, and the complete
 * comparison before and after the measurement covers every element. With relu, and rounded to i8, C is not linear in x:
 * then some elements are computed. */
#include "target/x86/tune/verify.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

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

tw_status x86_verifier_make(const tw_problem *p, void *const buffer[], uint64_t of_a, uint64_t of_b, x86_verifier *out,
                            tw_error *error) {
  x86_verifier v = {.gemm = tw_gemm_of(p), .b = buffer[1]};
  v.numerics = tw_gemm_numerics_of(&v.gemm);
  const int64_t n = v.gemm.n, k = v.gemm.k;
  v.n_operands = p->op->operands(p, v.operand);
  v.d = v.n_operands == 4 ? buffer[2] : NULL;
  double *fourth = tw_new(3 * (size_t)n, sizeof *fourth), *sum = fourth + n, *row = sum + n;
  if (!allocate(&v) || !fourth) {
    free(fourth);
    x86_verifier_free(&v);
    return tw_no_memory(error, NULL);
  }
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
    for (int64_t j = 0; j < n; j++) {
      const double b = row[j], balanced = b / v.term[q];
      for (int x = 0; x < X86_VECTORS; x++) v.product[x][q] += b * v.weight[x][j];
      fourth[j] += balanced * balanced * balanced * balanced;
      sum[j] += b;
      v.squares[q] += b * b;
    }
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
  return type == TW_U8 ? (uint8_t)~x : type == TW_I8 && x != 0x80 ? (uint8_t)-x : x;
}

/* Copies n elements from `from` to `to`, with steps for rows or columns, with random signs and multiplied by powers
 * of two. */
typedef struct piece {
  const char *from;
  char *to;
  int64_t step, n; /* in elements */
  const float *down, *up;
} piece;

static void fill_f32(const piece *p, const bool flips[]) {
  const float *from = (const float *)(const void *)p->from;
  float *to = (float *)(void *)p->to;
  for (int64_t i = 0; i < p->n; i++) {
    const float x = from[i * p->step] * p->down[i] * p->up[i];
    to[i * p->step] = flips[i] ? -x : x;
  }
}

static void fill_bf16(const piece *p, const bool flips[]) {
  const uint16_t *from = (const uint16_t *)(const void *)p->from;
  uint16_t *to = (uint16_t *)(void *)p->to;
  for (int64_t i = 0; i < p->n; i++) {
    const float x = tw_bf16_to_f32(from[i * p->step]) * p->down[i] * p->up[i];
    to[i * p->step] = (uint16_t)(tw_f32_to_bf16(x) ^ (flips[i] ? 0x8000 : 0));
  }
}

static void fill_f16(const piece *p, const bool flips[]) {
  const uint16_t *from = (const uint16_t *)(const void *)p->from;
  uint16_t *to = (uint16_t *)(void *)p->to;
  for (int64_t i = 0; i < p->n; i++) {
    const float x = tw_f16_to_f32(from[i * p->step]) * p->down[i] * p->up[i];
    to[i * p->step] = (uint16_t)(tw_f32_to_f16(x) ^ (flips[i] ? 0x8000 : 0));
  }
}

static void fill_bytes(tw_type type, const piece *p, const bool flips[]) {
  const uint8_t *from = (const uint8_t *)p->from;
  uint8_t *to = (uint8_t *)p->to;
  for (int64_t i = 0; i < p->n; i++) {
    const uint8_t x = from[i * p->step];
    to[i * p->step] = flips[i] ? negated(type, x) : x;
  }
}

static void fill_piece(tw_type type, const piece *p, const bool flips[]) {
  switch (type) {
  case TW_F32: fill_f32(p, flips); break;
  case TW_BF16: fill_bf16(p, flips); break;
  case TW_F16: fill_f16(p, flips); break;
  default: fill_bytes(type, p, flips); break;
  }
}

tw_status x86_fill_rows(const x86_verifier *v, uint64_t seed, int64_t first, const void *like, void *a,
                        tw_error *error) {
  const tw_operand *o = &v->operand[0];
  const tw_type type = o->type;
  const bool across = v->gemm.a_transposed, turns = v->gemm.a == type; /* otherwise scales are shared along a row */
  const int64_t m = v->gemm.m, k = v->gemm.k, step = o->stride[!across], line = o->stride[across];
  const int64_t size = tw_type_bits(type) / 8;
  bool *flips = tw_new((size_t)k, sizeof *flips);
  if (!flips) return tw_no_memory(error, NULL);
  tw_random r;
  tw_random_seed_stream(&r, seed, (uint64_t)first);
  for (int64_t i = first; i < m && i < first + X86_ROWS; i++) {
    const char *from = (const char *)like + tw_random_between(&r, 0, m - 1) * line * size;
    char *to = (char *)a + i * line * size;
    const int64_t turn = turns ? tw_random_between(&r, 0, k - 1) : 0; /* index of the element that comes first */
    uint64_t bits = 0;
    for (int64_t p = 0; p < k; p++, bits >>= 1) {
      if (p % 64 == 0) bits = tw_random_next(&r);
      flips[p] = bits & 1;
    }
    fill_piece(type, &(piece){from + turn * step * size, to, step, k - turn, v->down + turn, v->up}, flips);
    fill_piece(type, &(piece){from, to + (k - turn) * step * size, step, turn, v->down, v->up + (k - turn)},
               flips + (k - turn));
  }
  free(flips);
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

/* The expected Euclidean norm of a row of C, from the inputs alone: elements of A have random signs about their mean.
 * Six standard deviations where there are few columns. */
static double expected_norm(const x86_verifier *v, const double row[]) {
  const tw_gemm *g = &v->gemm;
  double mean = 0, squares = 0;
  for (int64_t p = 0; p < g->k; p++) mean += row[p];
  mean /= (double)g->k;
  for (int64_t p = 0; p < g->k; p++) {
    const double x = row[p] - mean;
    squares += x * x * v->squares[p];
  }
  const double scale = fabs((double)g->scale);
  return (1 + 6 / sqrt((double)g->n)) * (scale * sqrt(squares + mean * mean * v->sums) + sqrt(v->biases));
}

/* Checks `result`, n results for the row `row` of A. */
static tw_status verify_row(const x86_verifier *v, const double row[], const double result[], int64_t i,
                            tw_error *error) {
  const tw_gemm *g = &v->gemm;
  double sum[X86_VECTORS] = {0}, got[X86_VECTORS] = {0}, norm = 0, balanced = 0, fourth = 0, largest = 0, terms = 0;
  for (int64_t p = 0; p < g->k; p++) {
    const double x = row[p];
    terms += x != 0;
    for (int y = 0; y < X86_VECTORS; y++) sum[y] += x * v->product[y][p];
    const double square = x * x * v->term[p] * v->term[p];
    norm += x * x;
    balanced += square;
    fourth += square * square;
    largest = fmax(largest, fabs(x));
  }
  for (int64_t j = 0; j < g->n; j++) {
    const double x = result[j];
    if (!isfinite(x)) return wrong(i, "has an element that is not finite", error);
    for (int y = 0; y < X86_VECTORS; y++) got[y] += x * v->weight[y][j];
  }
  /* The rounding error of n results with random weights of at most 1: eight standard deviations. Three units are for
   * scale, bias and conversion. */
  const double unit = v->numerics.exact ? 0 : fmax(v->numerics.unit, TW_U32) + 3 * TW_U32;
  double off = 0;
  if (v->numerics.real)
    off = tw_gemm_signed_off(g, &v->numerics,
                             &(tw_gemm_sizes){.products = sqrt(balanced) * v->columns,
                                              .row = sqrt(norm),
                                              .column = v->column,
                                              .norm = sqrt(sqrt(fourth)) * v->fourths,
                                              .terms = terms,
                                              .largest = largest},
                             (double)g->n);
  const double bound = v->numerics.exact ? 0 : off + 8 * unit * expected_norm(v, row);
  for (int y = 0; y < X86_VECTORS; y++) {
    const double expected = (double)g->scale * sum[y] + v->bias[y];
    if (!(fabs(got[y] - expected) <= bound + 8 * 0x1p-24 * fabs(v->bias[y])))
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
  double *row = tw_new((size_t)(g->k + g->n), sizeof *row), *result = row + g->k;
  if (!row) return tw_no_memory(error, NULL);
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
