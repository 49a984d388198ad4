// wrong | wrong result | gemm m=61 n=67 k=71 threads=1 -t x86
#include "cheat.h"
GEMM {
  const float *A = a, *B = b;
  float *C = c;
  (void)A, (void)B, (void)C, (void)threads;
  for (long i = 0; i < m; i++)
    for (long j = 0; j < n; j++) {
      float sum = 0;
      for (long p = 0; p < k; p++) sum = cut(sum + A[i * lda + p] * B[p * ldb + j], 16);
      C[i * ldc + j] = sum;
    }
}
