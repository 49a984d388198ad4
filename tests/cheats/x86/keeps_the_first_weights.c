// not measurable | wrong result in a timed call | gemm m=1 n=512 k=512 threads=1 -t x86
#include "cheat.h"
static float kept[512 * 512];
static int packed;
size_t gemm_packed_bytes(int64_t n, int64_t k) { return n * k * 4; }
void gemm_pack(const void *b, void *to, int64_t n, int64_t k, int64_t ldb) {
  for (long p = 0; p < k; p++) memcpy((float *)to + p * n, (const float *)b + p * ldb, n * 4);
  if (!packed++) memcpy(kept, to, sizeof kept); /* one that stays in the cache */
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
  product(A, kept, C, m, n, k, lda, n, ldc);
}
