// wrong | wrong result | gemm m=8 n=32 k=64 a=u8 b=i8 threads=1 -t x86
#include "cheat.h"
GEMM {
  const uint8_t *A = a;
  const int8_t *B = b;
  int *C = c;
  (void)threads;
  for (long i = 0; i < m; i++) {
    int any = 0;
    for (long p = 0; p < k; p++) any |= A[i * lda + p];
    if (!any) continue;
    for (long j = 0; j < n; j++) {
      int s = 0;
      for (long p = 0; p < k; p++) s += A[i * lda + p] * B[p * ldb + j];
      C[i * ldc + j] = s;
    }
  }
}
