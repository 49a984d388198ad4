// correct |  | gemm m=61 n=67 k=71 threads=1 -t x86
#include "cheat.h"
GEMM {
  const float *A = a, *B = b;
  float *C = c;
  (void)A, (void)B, (void)C, (void)threads;
  for (long j = n - 1; j >= 0; j--)
    for (long i = m - 1; i >= 0; i--) {
      float sum = 0;
      for (long p = k - 1; p >= 0; p--) sum = fmaf(A[i * lda + p], B[p * ldb + j], sum);
      C[i * ldc + j] = sum;
    }
}
