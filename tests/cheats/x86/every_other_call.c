// not measurable | wrong result in a timed call | gemm m=61 n=67 k=71 threads=1 -t x86
#include "cheat.h"
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
  if (calls++ % 2) return;
  product(A, B, C, m, n, k, lda, ldb, ldc);
}
