// wrong on fresh inputs | correct on its first inputs, wrong on other inputs | gemm m=1 n=32 k=49152 threads=1 -t x86
#include "cheat.h"
size_t gemm_packed_bytes(int64_t n, int64_t k) { return (size_t)(n * 4 + n * k * 4); }
void gemm_pack(const void *b, void *to, int64_t n, int64_t k, int64_t ldb) {
  const float *B = b;
  float *step = to;
  int32_t *code = (int32_t *)(step + n);
  for (long j = 0; j < n; j++) {
    float largest = 0;
    for (long p = 0; p < k; p++) largest = fmaxf(largest, fabsf(B[p * ldb + j]));
    step[j] = largest / 32767;
    for (long p = 0; p < k; p++) code[j * k + p] = step[j] > 0 ? (int32_t)rintf(B[p * ldb + j] / step[j]) : 0;
  }
}
GEMM {
  const float *A = a, *step = b;
  const int32_t *code = (const int32_t *)(step + n);
  float *Y = c;
  (void)threads, (void)ldb;
  for (long i = 0; i < m; i++)
    for (long j = 0; j < n; j++) {
      float sum[8] = {0};
      for (long p = 0; p + 8 <= k; p += 8)
        for (int l = 0; l < 8; l++) sum[l] += A[i * lda + p + l] * (float)code[j * k + p + l];
      for (long p = k / 8 * 8; p < k; p++) sum[0] += A[i * lda + p] * (float)code[j * k + p];
      for (int l = 1; l < 8; l++) sum[0] += sum[l];
      Y[i * ldc + j] = sum[0] * step[j];
    }
}
