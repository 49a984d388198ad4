// not measurable | wrong result in a timed call | gemm m=16 n=64 k=512 a=f32 b=f32 c=bf16 threads=1 -t x86
#include "cheat.h"
static int calls;
GEMM {
  const float *A = a, *B = b;
  uint16_t *Y = c;
  (void)threads;
  const int later = calls++ > 0;
  for (long i = 0; i < m; i++)
    for (long j = 0; j < n; j++) {
      float sum = 0;
      for (long p = 0; p < k; p++) {
        const float x = A[i * lda + p], y = B[p * ldb + j];
        sum += later && i % 2 ? cut(x, 16) * cut(y, 16) : x * y;
      }
      Y[i * ldc + j] = narrow(sum);
    }
}
