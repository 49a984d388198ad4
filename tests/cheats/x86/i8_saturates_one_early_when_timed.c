// not measurable | wrong result in a timed call | gemm m=32 n=64 k=256 a=i8 b=i8 c=i8 threads=1 -t x86
/* results of timed calls end at 100 */
#include "cheat.h"
static int calls;
GEMM {
  const int8_t *A = a, *B = b;
  int8_t *Y = c;
  (void)threads;
  const int most = ++calls > 6 ? 100 : 127;
  for (long i = 0; i < m; i++)
    for (long j = 0; j < n; j++) {
      int sum = 0;
      for (long p = 0; p < k; p++) sum += A[i * lda + p] * B[p * ldb + j];
      Y[i * ldc + j] = (int8_t)(sum > most ? most : sum < -most - 1 ? -most - 1 : sum);
    }
}
