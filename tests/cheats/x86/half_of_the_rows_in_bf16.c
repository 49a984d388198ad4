// wrong | wrong result | gemm m=16 n=64 k=512 a=f32 b=f32 c=bf16 threads=1 -t x86
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
static float cut(float x, int bits) {
  uint32_t u;
  memcpy(&u, &x, 4);
  u = (u + (1u << (bits - 1))) & ~0u << bits;
  memcpy(&x, &u, 4);
  return x;
}
static uint16_t narrow(float x) {
  uint32_t u;
  memcpy(&u, &x, 4);
  return (uint16_t)((u + 0x7fff + (u >> 16 & 1)) >> 16);
}
void gemm(const void *a, const void *b, void *c, int64_t m, int64_t n, int64_t k, int64_t lda, int64_t ldb, int64_t ldc,
          int threads) {
  const float *A = a, *B = b;
  uint16_t *Y = c;
  (void)threads;
  for (long i = 0; i < m; i++)
    for (long j = 0; j < n; j++) {
      float sum = 0;
      for (long p = 0; p < k; p++) {
        const float x = A[i * lda + p], y = B[p * ldb + j];
        sum += i % 2 ? cut(x, 16) * cut(y, 16) : x * y;
      }
      Y[i * ldc + j] = narrow(sum);
    }
}
