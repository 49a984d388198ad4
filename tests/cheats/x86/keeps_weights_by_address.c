// wrong | wrong result | gemm m=16 n=64 k=128 threads=1 -t x86
#include "cheat.h"
static void product(const float *a, const float *b, float *c, long m, long n, long k, long lda, long ldb, long ldc) {
  for (long i = 0; i < m; i++)
    for (long j = 0; j < n; j++) {
      float sum = 0;
      for (long p = 0; p < k; p++) sum += a[i * lda + p] * b[p * ldb + j];
      c[i * ldc + j] = sum;
    }
}
static const float *where;
static float kept[64 * 128];
GEMM {
  const float *A = a, *B = b;
  float *C = c;
  (void)threads;
  if (where != B) {
    where = B;
    memcpy(kept, B, sizeof kept);
  }
  product(A, kept, C, m, n, k, lda, n, ldc);
}
