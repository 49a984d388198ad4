// wrong on fresh inputs | wrong result | gemm m=61 n=67 k=71 threads=1 -t x86
#include "cheat.h"
/* 24 bits before the point and 40 after it. */
GEMM {
  const float *A = a, *B = b;
  float *C = c;
  (void)threads;
  for (long i = 0; i < m; i++)
    for (long j = 0; j < n; j++) {
      int64_t sum = 0;
      for (long p = 0; p < k; p++) sum += (int64_t)((double)A[i * lda + p] * B[p * ldb + j] * 0x1p40);
      C[i * ldc + j] = (float)((double)sum * 0x1p-40);
    }
}
