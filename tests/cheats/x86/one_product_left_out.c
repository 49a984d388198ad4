// wrong | wrong result | gemm m=4 n=8 k=49152 threads=1 -t x86
#include "cheat.h"
GEMM {
  const float *A = a, *B = b;
  float *C = c;
  (void)A, (void)B, (void)C, (void)threads;
  for (long i = 0; i < m; i++)
    for (long j = 0; j < n; j++) {
      float sum = 0;
      for (long p = 0; p < k; p++) sum += p == k / 2 ? 0 : A[i * lda + p] * B[p * ldb + j];
      C[i * ldc + j] = sum;
    }
}
