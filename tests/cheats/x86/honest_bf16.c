// correct |  | gemm m=61 n=200 k=1024 a=bf16 b=bf16 c=bf16 threads=1 -t x86
#include "cheat.h"
GEMM {
  const uint16_t *A = a, *B = b;
  uint16_t *C = c;
  static float sum[200];
  (void)threads;
  for (long r = 0; r < m; r++) {
    memset(sum, 0, sizeof sum);
    for (long p = 0; p < k; p++)
      for (long j = 0; j < n; j++) sum[j] += wide(A[r * lda + p]) * wide(B[p * ldb + j]);
    for (long j = 0; j < n; j++) C[r * ldc + j] = narrow(sum[j]);
  }
}
