// wrong | wrong result | gemm m=16 n=64 k=512 a=f32 b=f32 c=f32 threads=1 -t x86
/* of two neighbouring products, twice the first */
#include "cheat.h"
GEMM {
  const float *A = a;
  const float *B = b;
  float *Y = c;
  (void)threads;
  for (long i = 0; i < m; i++)
    for (long j = 0; j < n; j++) {
      float sum = 0;
      for (long p = 0; p < k; p++) {
        const float x = A[i * lda + p], y = B[p * ldb + j];
        sum += 1 ? (p % 2 ? 0 : 2 * x * y) : x * y;
      }
      Y[i * ldc + j] = sum;
    }
}
