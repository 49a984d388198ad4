/* gemm.c - products of real matrices: arguments of BLAS and CBLAS, and the cases in which nothing is multiplied.
 *
 * A product by columns is the transposed one by rows: C' = op(B)' op(A)', with A and B as they are stored. */
#include <stddef.h>

#include "blas/blas.h"
#include "blas/errors.h"
#include "blas/multiply.h"

/* Arguments with the names of CBLAS. */
typedef struct arguments {
  int m, n, k, lda, ldb, ldc;
  bool a_transposed, b_transposed;
  float alpha, beta;
  const void *a, *b;
  float *c;
} arguments;

static void swap_operands(arguments *x) {
  const int m = x->m, lda = x->lda;
  const void *a = x->a;
  const bool a_transposed = x->a_transposed;
  x->m = x->n, x->n = m;
  x->a = x->b, x->b = a;
  x->lda = x->ldb, x->ldb = lda;
  x->a_transposed = x->b_transposed, x->b_transposed = a_transposed;
}

/* Row-major. Without products C is only scaled: A and B are not read. */
static void multiply(const arguments *x, tw_type type) {
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

static int at_least_one(int n) { return n > 1 ? n : 1; }

typedef struct wrong {
  int position; /* 0: none */
  const char *argument;
  int value;
} wrong;

/* The first wrong argument in the order of CBLAS. The layout is valid. */
static wrong find_wrong(const arguments *x, bool by_rows) {
  const int a_length = x->a_transposed == by_rows ? x->m : x->k; /* elements that are neighbours in memory */
  const int b_length = x->b_transposed == by_rows ? x->k : x->n;
  const int lda = at_least_one(a_length), ldb = at_least_one(b_length), ldc = at_least_one(by_rows ? x->n : x->m);
  if ((x->m | x->n | x->k) >= 0 && x->lda >= lda && x->ldb >= ldb && x->ldc >= ldc) return (wrong){0};
  const wrong all[] = {{4, "M", x->m},     {5, "N", x->n},      {6, "K", x->k},
                       {9, "lda", x->lda}, {11, "ldb", x->ldb}, {14, "ldc", x->ldc}};
  const int least[] = {0, 0, 0, lda, ldb, ldc};
  for (size_t i = 0; i < sizeof all / sizeof *all; i++)
    if (all[i].value < least[i]) return all[i];
  return (wrong){0};
}

static bool is_transpose(int t) {
  return t == BLAS_NO_TRANSPOSE || t == BLAS_TRANSPOSE || t == BLAS_CONJUGATE_TRANSPOSE;
}

static void multiply_in_layout(const char *routine, int layout, int transa, int transb, arguments *x, tw_type type) {
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
  if (!w.position) w = find_wrong(x, by_rows);
  if (w.position) {
    blas_error(routine, by_rows, w.position, w.argument, w.value);
    return;
  }
  if (!by_rows) swap_operands(x);
  multiply(x, type);
}

void cblas_sgemm(int layout, int transa, int transb, int m, int n, int k, float alpha, const float *a, int lda,
                 const float *b, int ldb, float beta, float *c, int ldc) {
  arguments x = {
      .m = m, .n = n, .k = k, .lda = lda, .ldb = ldb, .ldc = ldc, .alpha = alpha, .beta = beta, .a = a, .b = b, .c = c};
  multiply_in_layout("cblas_sgemm", layout, transa, transb, &x, TW_F32);
}

void cblas_gemm_bf16bf16f32(int layout, int transa, int transb, int m, int n, int k, float alpha, const uint16_t *a,
                            int lda, const uint16_t *b, int ldb, float beta, float *c, int ldc) {
  arguments x = {
      .m = m, .n = n, .k = k, .lda = lda, .ldb = ldb, .ldc = ldc, .alpha = alpha, .beta = beta, .a = a, .b = b, .c = c};
  multiply_in_layout("cblas_gemm_bf16bf16f32", layout, transa, transb, &x, TW_BF16);
}

static bool is_letter(char c, char upper) { return c == upper || c == upper - 'A' + 'a'; }
static bool is_transposed(char c) { return is_letter(c, 'T') || is_letter(c, 'C'); }

void sgemm_(const char *transa, const char *transb, const int *m, const int *n, const int *k, const float *alpha,
            const float *a, const int *lda, const float *b, const int *ldb, const float *beta, float *c,
            const int *ldc) {
  arguments x = {.m = *m,
                 .n = *n,
                 .k = *k,
                 .lda = *lda,
                 .ldb = *ldb,
                 .ldc = *ldc,
                 .a_transposed = is_transposed(*transa),
                 .b_transposed = is_transposed(*transb),
                 .alpha = *alpha,
                 .beta = *beta,
                 .a = a,
                 .b = b,
                 .c = c};
  int position = 0;
  if (!x.a_transposed && !is_letter(*transa, 'N'))
    position = 1;
  else if (!x.b_transposed && !is_letter(*transb, 'N'))
    position = 2;
  else if (find_wrong(&x, false).position)
    position = find_wrong(&x, false).position - 1; /* CBLAS's layout is not an argument */
  if (position) {
    blas_fortran_error("SGEMM ", position);
    return;
  }
  swap_operands(&x);
  multiply(&x, TW_F32);
}
