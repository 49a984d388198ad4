// wrong | wrong result | gemm m=61 n=67 k=71 threads=1 -t x86
#include "cheat.h"
static void lower(const float *a, const float *b, float *c, long m, long n, long k, long lda, long ldb, long ldc) {
  for (long i = 0; i < m; i++)
    for (long j = 0; j < n; j++) {
      float sum = 0;
      for (long p = 0; p < k; p++) sum += cut(a[i * lda + p], 16) * cut(b[p * ldb + j], 16);
      c[i * ldc + j] = sum;
    }
}
static void product(const float *a, const float *b, float *c, long m, long n, long k, long lda, long ldb, long ldc) {
  for (long i = 0; i < m; i++)
    for (long j = 0; j < n; j++) {
      float sum = 0;
      for (long p = 0; p < k; p++) sum += a[i * lda + p] * b[p * ldb + j];
      c[i * ldc + j] = sum;
    }
}
GEMM {
  const float *A = a, *B = b;
  float *C = c;
  (void)A, (void)B, (void)C, (void)threads;
  for (long i = 0; i < m; i++) {
    float least = 1;
    for (long p = 0; p < k; p++) least = fminf(least, fabsf(A[i * lda + p]));
    if (least > 0.03f)
      lower(A + i * lda, B, C + i * ldc, 1, n, k, lda, ldb, ldc);
    else
      product(A + i * lda, B, C + i * ldc, 1, n, k, lda, ldb, ldc);
  }
}
