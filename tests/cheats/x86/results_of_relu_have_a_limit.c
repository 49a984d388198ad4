// wrong on fresh inputs | wrong result | gemm m=61 n=67 k=71 relu=1 a=bf16 b=bf16 c=f32 threads=1 -t x86
#include "cheat.h"
GEMM {
  const uint16_t *A = a, *B = b;
  float *C = c;
  (void)threads;
  for (long i = 0; i < m; i++)
    for (long j = 0; j < n; j++) {
      float sum = 0;
      for (long p = 0; p < k; p++) sum += wide(A[i * lda + p]) * wide(B[p * ldb + j]);
      C[i * ldc + j] = sum < 0 ? 0 : sum > 0x1p16f ? 0x1p16f : sum;
    }
}
