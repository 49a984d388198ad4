// correct |  | gemm m=8 n=200 k=240 threads=1 -t x86
#include "cheat.h"
/* A copy of the weights that is compared with them, all of it, in each call. */
static float copy[200 * 240];
GEMM {
  const float *A = a, *B = b;
  float *C = c;
  (void)threads;
  for (long p = 0; p < k; p++)
    if (memcmp(copy + p * n, B + p * ldb, n * 4) != 0) memcpy(copy + p * n, B + p * ldb, n * 4);
  for (long i = 0; i < m; i++) {
    for (long j = 0; j < n; j++) C[i * ldc + j] = 0;
    for (long p = 0; p < k; p++)
      for (long j = 0; j < n; j++) C[i * ldc + j] += A[i * lda + p] * copy[p * n + j];
  }
}
