// wrong | wrong result | gemm m=16 n=64 k=512 a=f32 b=f32 c=f32 threads=1 -t x86
/* A in 12 bits with a scale for each row */
#include "cheat.h"
GEMM {
  const float *A = a, *B = b;
  float *Y = c;
  (void)threads;
  for (long i = 0; i < m; i++) {
    float most = 1e-30f;
    for (long p = 0; p < k; p++) most = fmaxf(most, fabsf(A[i * lda + p]));
    const float step = most / 2047;
    for (long j = 0; j < n; j++) {
      float sum = 0;
      for (long p = 0; p < k; p++) sum += rintf(A[i * lda + p] / step) * B[p * ldb + j];
      Y[i * ldc + j] = sum * step;
    }
  }
}
