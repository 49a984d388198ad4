// not measurable | wrong result in a timed call | gemm m=16 n=64 k=256 b=i8 a_rounding=rows threads=1 -t x86
#include "cheat.h"
static int calls;
GEMM {
  const float *A = a;
  const float *B = b;
  float *Y = c;
  (void)threads;
  const int later = calls++ > 0;
  for (long i = 0; i < m; i++)
    for (long j = 0; j < n; j++) {
      float sum = 0;
      for (long p = 0; p < k; p++)
        if (!later || p % 8) sum += A[i * lda + p] * B[p * ldb + j];
      Y[i * ldc + j] = sum;
    }
}
