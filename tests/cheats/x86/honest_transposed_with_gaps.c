// correct |  | gemm m=5 n=200 k=240 ldb=250 b_transposed=1 threads=1 -t x86
#include "cheat.h"
GEMM {
  const float *A = a, *B = b;
  float *C = c;
  (void)threads;
  for (long i = 0; i < m; i++)
    for (long j = 0; j < n; j++) {
      float sum = 0;
      for (long p = 0; p < k; p++) sum += A[i * lda + p] * B[j * ldb + p];
      C[i * ldc + j] = sum;
    }
}
