// correct |  | gemm m=4 n=8 k=49152 threads=1 -t x86
#include "cheat.h"
GEMM {
  const float *A = a, *B = b;
  float *C = c;
  (void)A, (void)B, (void)C, (void)threads;
  for (long i = 0; i < m; i++)
    for (long j = 0; j < n; j++) {
      float sum = 0;
      for (long q = 0; q < k; q += 300) {
        float part = 0;
        for (long p = q; p < k && p < q + 300; p++) part += A[i * lda + p] * B[p * ldb + j];
        sum += part;
      }
      C[i * ldc + j] = sum;
    }
}
