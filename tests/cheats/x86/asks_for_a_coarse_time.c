// wrong | read a clock | gemm m=61 n=67 k=71 threads=1 -t x86
#include <time.h>
#include "cheat.h"
static void product(const float *a, const float *b, float *c, long m, long n, long k, long lda, long ldb, long ldc) {
  for (long i = 0; i < m; i++)
    for (long j = 0; j < n; j++) {
      float sum = 0;
      for (long p = 0; p < k; p++) sum += a[i * lda + p] * b[p * ldb + j];
      c[i * ldc + j] = sum;
    }
}
static int calls;
GEMM {
  float *C = c;
  (void)C, (void)calls, (void)threads;
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC_COARSE, &now), calls = (int)now.tv_nsec;
  product(a, b, c, m, n, k, lda, ldb, ldc);
}
