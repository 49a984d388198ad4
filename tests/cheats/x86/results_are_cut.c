// wrong | wrong result | gemm m=16 n=64 k=512 a=f32 b=f32 c=bf16 threads=1 -t x86
/* to bf16, instead of rounding */
#include "cheat.h"
GEMM {
  const float *A = a, *B = b;
  uint16_t *Y = c;
  (void)threads;
  for (long i = 0; i < m; i++)
    for (long j = 0; j < n; j++) {
      float sum = 0;
      for (long p = 0; p < k; p++) sum += A[i * lda + p] * B[p * ldb + j];
      uint32_t u;
      memcpy(&u, &sum, 4);
      Y[i * ldc + j] = (uint16_t)(u >> 16);
    }
}
