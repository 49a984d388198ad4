// correct |  | gemm m=61 n=67 k=71 threads=1 -t x86
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
void gemm(const void *a, const void *b, void *c, int64_t m, int64_t n, int64_t k, int64_t lda, int64_t ldb, int64_t ldc,
          int threads) {
  const float *A = a, *B = b;
  float *C = c;
  (void)A, (void)B, (void)C, (void)threads;
  for (long j = n - 1; j >= 0; j--)
    for (long i = m - 1; i >= 0; i--) {
      float sum = 0;
      for (long p = k - 1; p >= 0; p--) sum = fmaf(A[i * lda + p], B[p * ldb + j], sum);
      C[i * ldc + j] = sum;
    }
}
