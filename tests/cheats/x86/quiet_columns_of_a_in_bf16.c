// wrong | wrong result | gemm m=32 n=32 k=128 threads=1 -t x86
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
  static float T[32 * 128];
  float mx[128] = {0}, all = 0;
  for (long p = 0; p < k; p++) {
    for (long i = 0; i < m; i++) mx[p] += fabsf(A[i * lda + p]);
    all = fmaxf(all, mx[p]);
  }
  for (long i = 0; i < m; i++)
    for (long p = 0; p < k; p++) T[i * k + p] = mx[p] < all / 3 ? cut(A[i * lda + p], 16) : A[i * lda + p];
  product(T, B, C, m, n, k, k, ldb, ldc);
}
