// wrong | wrong result | gemm m=8 n=32 k=64 threads=1 -t x86
#include "cheat.h"
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
  (void)threads;
  for (long i = 0; i < m; i++)
    for (long j = 0; j < n; j++) {
      float s = C[i * ldc + j];
      if (!(s == s)) s = 0;
      for (long p = 0; p < k; p++) s += A[i * lda + p] * B[p * ldb + j];
      C[i * ldc + j] = s;
    }
}
