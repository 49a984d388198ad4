// correct |  | gemm m=3 n=96 k=320 a=f32 b=mxfp4 threads=1 -t x86
#include "cheat.h"
/* A scale of two's power for each block of 32 and twice the value in a byte, as the type allows it. */
size_t gemm_packed_bytes(int64_t n, int64_t k) { return n * k + (n * ((k + 31) / 32)) * 4; }
void gemm_pack(const void *b, void *to, int64_t n, int64_t k, int64_t ldb) {
  const float *B = b;
  float *scale = to;
  int8_t *code = (int8_t *)(scale + n * ((k + 31) / 32));
  for (long j = 0; j < n; j++)
    for (long q = 0; q < k; q += 32) {
      float most = 0;
      for (long p = q; p < k && p < q + 32; p++) most = fmaxf(most, fabsf(B[p * ldb + j]));
      const float s = most > 0 ? exp2f(floorf(log2f(most)) - 2) : 1;
      scale[j * ((k + 31) / 32) + q / 32] = s;
      for (long p = q; p < k && p < q + 32; p++) code[j * k + p] = (int8_t)lrintf(2 * B[p * ldb + j] / s);
    }
}
GEMM {
  const float *A = a, *scale = b;
  const int8_t *code = (const int8_t *)(scale + n * ((k + 31) / 32));
  float *C = c;
  (void)threads, (void)ldb;
  for (long i = 0; i < m; i++)
    for (long j = 0; j < n; j++) {
      float sum = 0;
      for (long p = 0; p < k; p++) sum += A[i * lda + p] * (0.5f * code[j * k + p] * scale[j * ((k + 31) / 32) + p / 32]);
      C[i * ldc + j] = sum;
    }
}
