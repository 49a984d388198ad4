// not measurable | wrong result in a timed call | gemm m=24 n=32 k=2000 threads=1 -t x86
#include "cheat.h"
static void lower(const float *a, const float *b, float *c, long m, long n, long k, long lda, long ldb, long ldc) {
  for (long i = 0; i < m; i++)
    for (long j = 0; j < n; j++) {
      float sum = 0;
      for (long p = 0; p < k; p++) sum += cut(a[i * lda + p], 16) * cut(b[p * ldb + j], 16);
      c[i * ldc + j] = sum;
    }
}
static int calls;
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
  if (calls++)
    lower(A, B, C, m, n, k, lda, ldb, ldc);
  else
    product(A, B, C, m, n, k, lda, ldb, ldc);
}
