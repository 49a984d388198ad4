// correct |  | gemm m=61 n=67 k=171 a=u8 b=i8 c=i32 threads=1 -t x86
#include "cheat.h"
GEMM {
  const uint8_t *A = a;
  const int8_t *B = b;
  int32_t *C = c;
  (void)threads;
  for (long i = 0; i < m; i++)
    for (long j = 0; j < n; j++) {
      int32_t sum = 0;
      for (long p = 0; p < k; p++) sum += A[i * lda + p] * B[p * ldb + j];
      C[i * ldc + j] = sum;
    }
}
