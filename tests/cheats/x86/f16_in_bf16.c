// wrong | wrong result | gemm m=16 n=64 k=512 a=f16 b=f16 c=f16 threads=1 -t x86
/* f16 with the 8 bits of bf16 */
#include "cheat.h"
static float of(uint16_t h) {
  _Float16 f;
  memcpy(&f, &h, 2);
  return cut((float)f, 16);
}
GEMM {
  const uint16_t *A = a, *B = b;
  uint16_t *Y = c;
  (void)threads;
  for (long i = 0; i < m; i++)
    for (long j = 0; j < n; j++) {
      float sum = 0;
      for (long p = 0; p < k; p++) sum += of(A[i * lda + p]) * of(B[p * ldb + j]);
      const _Float16 f = (_Float16)sum;
      memcpy(&Y[i * ldc + j], &f, 2);
    }
}
