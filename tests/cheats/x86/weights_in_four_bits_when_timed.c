// not measurable | wrong result in a timed call | gemm m=16 n=64 k=512 a=bf16 b=i8 c=f32 threads=1 -t x86
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
static float wide(uint16_t h) {
  uint32_t u = (uint32_t)h << 16;
  float x;
  memcpy(&x, &u, 4);
  return x;
}
static int calls;
void gemm(const void *a, const void *b, void *c, int64_t m, int64_t n, int64_t k, int64_t lda, int64_t ldb, int64_t ldc,
          int threads) {
  const uint16_t *A = a;
  const float *B = b;
  float *Y = c;
  (void)threads;
  const int later = calls++ > 0;
  for (long j = 0; j < n; j++) {
    float largest = 0;
    for (long p = 0; p < k; p++) largest = fmaxf(largest, fabsf(B[p * ldb + j]));
    const float step = largest / 7;
    for (long i = 0; i < m; i++) {
      float sum = 0;
      for (long p = 0; p < k; p++) {
        const float x = B[p * ldb + j], y = later && step > 0 ? rintf(x / step) * step : x;
        sum += wide(A[i * lda + p]) * y;
      }
      Y[i * ldc + j] = sum;
    }
  }
}
