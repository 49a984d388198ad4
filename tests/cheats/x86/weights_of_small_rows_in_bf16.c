// wrong | wrong result | gemm m=16 n=64 k=256 threads=1 -t x86
/* rows of B that are small beside others have 8 bits */
#include "cheat.h"
GEMM {
  const float *A = a;
  const float *B = b;
  float *Y = c;
  (void)threads;
  float row[8192], most = 0;
  for (long p = 0; p < k; p++) {
    row[p] = 0;
    for (long j = 0; j < n; j++) row[p] += fabsf(B[p * ldb + j]);
    most = row[p] > most ? row[p] : most;
  }
  for (long i = 0; i < m; i++)
    for (long j = 0; j < n; j++) {
      float sum = 0;
      for (long p = 0; p < k; p++) {
        const float x = A[i * lda + p], y = B[p * ldb + j];
        sum += row[p] < most / 2 ? x * cut(y, 16) : x * y;
      }
      Y[i * ldc + j] = sum;
    }
}
