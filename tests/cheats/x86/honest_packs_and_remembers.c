// correct |  | gemm m=1 n=512 k=512 threads=1 -t x86
#include "cheat.h"
/* Column sums of the weights beside them, as kernels for integers keep them. */
size_t gemm_packed_bytes(int64_t n, int64_t k) { return (n * k + n) * 4; }
void gemm_pack(const void *b, void *to, int64_t n, int64_t k, int64_t ldb) {
  float *sums = (float *)to + n * k;
  memset(sums, 0, n * 4);
  for (long p = 0; p < k; p++) {
    memcpy((float *)to + p * n, (const float *)b + p * ldb, n * 4);
    for (long j = 0; j < n; j++) sums[j] += ((const float *)b)[p * ldb + j];
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
  product(A, B, C, m, n, k, lda, n, ldc);
}
