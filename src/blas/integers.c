/* integers.c - cblas_gemm_s8u8s32: exact sums of products of 8 bits, then offsets, scales and rounding.
 *
 *   sum over p of (u + uo)(s + so)  =  sum of u s  +  so * (sum of u's row)  +  uo * (sum of s's column)  +  k uo so
 *
 * In row-major order the first operand is unsigned. A column-major product is the transposed row-major product,
 * whose first operand is unsigned, too. The kernel computes the first sum, in int32 if k allows it; the other three
 * are added in int64. */
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "blas/blas.h"
#include "blas/buffer.h"
#include "blas/errors.h"
#include "blas/multiply.h"

enum { K_EXACT = 1 << 16, SUMS_AT_ONCE = 1 << 20 };

/* By rows: U is m x k, S k x n. */
typedef struct product {
  int64_t m, n, k, ldu, lds, ldc;
  bool u_transposed, s_transposed;
  const uint8_t *u;
  const int8_t *s;
  int64_t uo, so;
  float alpha, beta;
  int32_t *c;
  const int32_t *oc;
  int64_t oc_row, oc_column; /* steps of `oc` from row to row, from column to column */
} product;

static int64_t min_of(int64_t a, int64_t b) { return a < b ? a : b; }

static int64_t sum_of_row(const product *x, int64_t row) {
  int64_t sum = 0;
  const int64_t step = x->u_transposed ? x->ldu : 1, from = row * (x->u_transposed ? 1 : x->ldu);
  for (int64_t p = 0; p < x->k; p++) sum += x->u[from + p * step];
  return sum;
}

static void sum_columns(const product *x, int64_t *sums) {
  memset(sums, 0, (size_t)x->n * sizeof *sums);
  if (x->s_transposed)
    for (int64_t j = 0; j < x->n; j++)
      for (int64_t p = 0; p < x->k; p++) sums[j] += x->s[j * x->lds + p];
  else
    for (int64_t p = 0; p < x->k; p++)
      for (int64_t j = 0; j < x->n; j++) sums[j] += x->s[p * x->lds + j];
}

/* Rounded to nearest, ties to even, and saturated. */
static int32_t to_int32(double x) {
  const double r = nearbyint(x);
  return r >= INT32_MAX ? INT32_MAX : r > INT32_MIN ? (int32_t)r : INT32_MIN;
}

/* `sums`: the sums of row `row`, before offsets. */
static void finish_row(const product *x, int64_t row, const int64_t *sums, const int64_t *columns) {
  const int64_t all = (x->so ? x->so * sum_of_row(x, row) : 0) + x->k * x->uo * x->so;
  int32_t *c = x->c + row * x->ldc;
  for (int64_t j = 0; j < x->n; j++) {
    double value = (double)x->alpha * (double)(sums[j] + all + (x->uo ? x->uo * columns[j] : 0));
    if (x->beta != 0) value += (double)x->beta * c[j];
    c[j] = to_int32(value + x->oc[row * x->oc_row + j * x->oc_column]);
  }
}

static bool is_plain(const product *x) {
  bool offsets = x->uo || x->so;
  const int64_t last = (x->m - 1) * x->oc_row + (x->n - 1) * x->oc_column;
  for (int64_t i = 0; i <= last; i++) offsets = offsets || x->oc[i];
  return !offsets && x->alpha == 1 && x->beta == 0 && x->k > 0 && x->k <= K_EXACT;
}

static void multiply(const product *x, int64_t row, int64_t rows, int64_t first, int64_t k, int32_t *to,
                     int64_t pitch) {
  tw_gemm_spec spec = {.size = sizeof spec,
                       .m = rows,
                       .n = x->n,
                       .k = k,
                       .a = TW_U8,
                       .b = TW_I8,
                       .c = TW_I32,
                       .a_transposed = x->u_transposed,
                       .b_transposed = x->s_transposed,
                       .lda = x->ldu,
                       .ldb = x->lds,
                       .ldc = pitch,
                       .alpha = 1};
  blas_multiply(&spec, x->u + (x->u_transposed ? first * x->ldu + row : row * x->ldu + first),
                x->s + (x->s_transposed ? first : first * x->lds), to);
}

/* Processes as many rows at a time as a buffer holds. */
static void multiply_and_finish(const product *x) {
  const int64_t at_once = min_of(x->m, x->n < SUMS_AT_ONCE ? SUMS_AT_ONCE / x->n : 1), sums = at_once * x->n;
  const blas_buffer buffer = blas_buffer_take((size_t)(sums + x->n) * sizeof(int64_t) + (size_t)sums * sizeof(int32_t));
  if (!buffer.memory) {
    fprintf(stderr, "tilewright-blas: out of memory; C is not complete\n");
    return;
  }
  int64_t *const total = buffer.memory, *const columns = total + sums;
  int32_t *const part = (int32_t *)(void *)(columns + x->n);
  if (x->uo) sum_columns(x, columns);
  for (int64_t i = 0; i < x->m; i += at_once) {
    const int64_t rows = min_of(at_once, x->m - i);
    memset(total, 0, (size_t)(rows * x->n) * sizeof *total);
    for (int64_t first = 0; x->alpha != 0 && first < x->k; first += K_EXACT) {
      multiply(x, i, rows, first, min_of(K_EXACT, x->k - first), part, x->n);
      for (int64_t at = 0; at < rows * x->n; at++) total[at] += part[at];
    }
    for (int64_t r = 0; r < rows; r++) finish_row(x, i + r, total + r * x->n, columns);
  }
  blas_buffer_return(buffer);
}

/* ---- arguments ---- */

static int at_least_one(int n) { return n > 1 ? n : 1; }
static bool is_transpose(int t) {
  return t == BLAS_NO_TRANSPOSE || t == BLAS_TRANSPOSE || t == BLAS_CONJUGATE_TRANSPOSE;
}

/* Positions are MKL's. */
typedef struct rule {
  bool broken;
  int position;
  const char *argument;
  int value;
} rule;

void cblas_gemm_s8u8s32(int layout, int transa, int transb, int offset, int m, int n, int k, float alpha, const void *a,
                        int lda, int8_t ao, const void *b, int ldb, int8_t bo, float beta, int32_t *c, int ldc,
                        const int32_t *oc) {
  const bool by_rows = layout == BLAS_ROW_MAJOR, ta = transa != BLAS_NO_TRANSPOSE, tb = transb != BLAS_NO_TRANSPOSE;
  const rule rules[] = {
      {!by_rows && layout != BLAS_COLUMN_MAJOR, 1, "layout", layout},
      {!is_transpose(transa), 2, "TransA", transa},
      {!is_transpose(transb), 3, "TransB", transb},
      {offset < BLAS_ROW_OFFSET || offset > BLAS_FIXED_OFFSET, 4, "OffsetC", offset},
      {m < 0, 5, "M", m},
      {n < 0, 6, "N", n},
      {k < 0, 7, "K", k},
      {lda < at_least_one(ta == by_rows ? m : k), 10, "lda", lda},
      {ldb < at_least_one(tb == by_rows ? k : n), 13, "ldb", ldb},
      {ldc < at_least_one(by_rows ? n : m), 17, "ldc", ldc},
  };
  for (size_t i = 0; i < sizeof rules / sizeof *rules; i++)
    if (rules[i].broken) {
      blas_error("cblas_gemm_s8u8s32", by_rows, rules[i].position, rules[i].argument, rules[i].value);
      return;
    }
  if (m == 0 || n == 0) return;
  product x = {.k = k, .alpha = alpha, .beta = beta, .c = c, .ldc = ldc, .oc = oc};
  /* does oc change from row to row, from column to column? */
  const int64_t by_row = offset == BLAS_COLUMN_OFFSET, by_column = offset == BLAS_ROW_OFFSET;
  if (by_rows) {
    x.m = m, x.n = n, x.oc_row = by_row, x.oc_column = by_column;
    x.u = a, x.ldu = lda, x.uo = ao, x.u_transposed = ta;
    x.s = b, x.lds = ldb, x.so = bo, x.s_transposed = tb;
  } else {
    x.m = n, x.n = m, x.oc_row = by_column, x.oc_column = by_row;
    x.u = b, x.ldu = ldb, x.uo = bo, x.u_transposed = tb;
    x.s = a, x.lds = lda, x.so = ao, x.s_transposed = ta;
  }
  if (is_plain(&x))
    multiply(&x, 0, x.m, 0, x.k, x.c, x.ldc);
  else
    multiply_and_finish(&x);
}
