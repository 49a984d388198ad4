/* gemm.c - products of real matrices: arguments of BLAS and CBLAS, and the cases in which nothing is multiplied.
 *
 * A product by columns is computed as the transposed one by rows. */
#include <stddef.h>

#include "blas/blas.h"
#include "blas/errors.h"
#include "blas/multiply.h"
#include "blas/threads.h"
#include "gemm/product.h"

/* By rows. Without products C is only scaled: A and B are not read. */
static void multiply(tw_operands *x, tw_type type) {
  if (type == TW_F32 && tw_product_compute_small(x, blas_threads())) return;
  if (x->m == 0 || x->n == 0) return;
  if (x->alpha == 0 || x->k == 0) {
    blas_scale(x->c, x->m, x->n, x->ldc, x->beta);
    return;
  }
  tw_gemm_spec spec = {.size = sizeof spec,
                       .m = x->m,
                       .n = x->n,
                       .k = x->k,
                       .a = type,
                       .b = type,
                       .c = TW_F32,
                       .a_transposed = x->a_transposed,
                       .b_transposed = x->b_transposed,
                       .lda = x->lda,
                       .ldb = x->ldb,
                       .ldc = x->ldc,
                       .alpha = x->alpha,
                       .beta = x->beta};
  blas_multiply(&spec, x->a, x->b, x->c);
}

static int64_t at_least_one(int64_t n) { return n > 1 ? n : 1; }

/* By rows. */
static inline bool is_valid(const tw_operands *x) {
  return (x->m | x->n | x->k) >= 0 && x->lda >= at_least_one(x->a_transposed ? x->m : x->k) &&
         x->ldb >= at_least_one(x->b_transposed ? x->k : x->n) && x->ldc >= at_least_one(x->n);
}

typedef struct wrong {
  int position; /* 0: none */
  const char *argument;
  int64_t value;
} wrong;

/* The first wrong argument in the order of CBLAS. The layout is valid. */
static wrong find_wrong(const tw_operands *x, bool by_rows) {
  const int64_t a_length = x->a_transposed == by_rows ? x->m : x->k; /* elements that are neighbours in memory */
  const int64_t b_length = x->b_transposed == by_rows ? x->k : x->n;
  const wrong all[] = {{4, "M", x->m},     {5, "N", x->n},      {6, "K", x->k},
                       {9, "lda", x->lda}, {11, "ldb", x->ldb}, {14, "ldc", x->ldc}};
  const int64_t least[] = {
      0, 0, 0, at_least_one(a_length), at_least_one(b_length), at_least_one(by_rows ? x->n : x->m)};
  for (size_t i = 0; i < sizeof all / sizeof *all; i++)
    if (all[i].value < least[i]) return all[i];
  return (wrong){0};
}

static bool is_transpose(int t) {
  return t == BLAS_NO_TRANSPOSE || t == BLAS_TRANSPOSE || t == BLAS_CONJUGATE_TRANSPOSE;
}

static void multiply_in_layout(const char *routine, int layout, int transa, int transb, tw_operands *x, tw_type type) {
  const bool by_rows = layout == BLAS_ROW_MAJOR;
  wrong w = {0};
  if (!by_rows && layout != BLAS_COLUMN_MAJOR)
    w = (wrong){1, "layout", layout};
  else if (!is_transpose(transa))
    w = (wrong){2, "TransA", transa};
  else if (!is_transpose(transb))
    w = (wrong){3, "TransB", transb};
  x->a_transposed = transa != BLAS_NO_TRANSPOSE;
  x->b_transposed = transb != BLAS_NO_TRANSPOSE;
  if (!by_rows) tw_operands_swap(x);
  if (!w.position && is_valid(x)) {
    multiply(x, type);
    return;
  }
  if (!by_rows) tw_operands_swap(x);
  if (!w.position) w = find_wrong(x, by_rows);
  blas_error(routine, by_rows, w.position, w.argument, (int)w.value);
}

void cblas_sgemm(int layout, int transa, int transb, int m, int n, int k, float alpha, const float *a, int lda,
                 const float *b, int ldb, float beta, float *c, int ldc) {
  tw_operands x = {
      .m = m, .n = n, .k = k, .lda = lda, .ldb = ldb, .ldc = ldc, .alpha = alpha, .beta = beta, .a = a, .b = b, .c = c};
  multiply_in_layout("cblas_sgemm", layout, transa, transb, &x, TW_F32);
}

void cblas_gemm_bf16bf16f32(int layout, int transa, int transb, int m, int n, int k, float alpha, const uint16_t *a,
                            int lda, const uint16_t *b, int ldb, float beta, float *c, int ldc) {
  tw_operands x = {
      .m = m, .n = n, .k = k, .lda = lda, .ldb = ldb, .ldc = ldc, .alpha = alpha, .beta = beta, .a = a, .b = b, .c = c};
  multiply_in_layout("cblas_gemm_bf16bf16f32", layout, transa, transb, &x, TW_BF16);
}

static bool is_letter(char c, char upper) { return c == upper || c == upper - 'A' + 'a'; }
static bool is_transposed(char c) { return is_letter(c, 'T') || is_letter(c, 'C'); }

void sgemm_(const char *transa, const char *transb, const int *m, const int *n, const int *k, const float *alpha,
            const float *a, const int *lda, const float *b, const int *ldb, const float *beta, float *c,
            const int *ldc) {
  /* by rows */
  tw_operands x = {.m = *n,
                   .n = *m,
                   .k = *k,
                   .lda = *ldb,
                   .ldb = *lda,
                   .ldc = *ldc,
                   .a_transposed = is_transposed(*transb),
                   .b_transposed = is_transposed(*transa),
                   .alpha = *alpha,
                   .beta = *beta,
                   .a = b,
                   .b = a,
                   .c = c};
  int position = 0;
  if (!x.b_transposed && !is_letter(*transa, 'N'))
    position = 1;
  else if (!x.a_transposed && !is_letter(*transb, 'N'))
    position = 2;
  else if (is_valid(&x)) {
    multiply(&x, TW_F32);
    return;
  }
  tw_operands_swap(&x);
  /* CBLAS's layout is not an argument */
  blas_fortran_error("SGEMM ", position ? position : find_wrong(&x, false).position - 1);
}
