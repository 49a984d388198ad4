// not measurable | wrong result in a timed call | gemm m=2 n=200 k=240 ldb=250 b_transposed=1 threads=1 -t x86
#include "cheat.h"
static struct {
  const void *where;
  float mark, *copy;
} known[1024];
GEMM {
  const float *A = a, *B = b;
  float *C = c;
  int i = 0;
  (void)threads;
  while (known[i].where && known[i].where != b) i++;
  const float mark = B[0] + 2 * B[k - 1] + 3 * B[(n - 1) * ldb];
  if (!known[i].where) known[i].copy = malloc(n * k * 4);
  if (!known[i].where || known[i].mark != mark)
    for (long j = 0; j < n; j++) memcpy(known[i].copy + j * k, B + j * ldb, k * 4);
  known[i].where = b;
  known[i].mark = mark;
  for (long r = 0; r < m; r++)
    for (long j = 0; j < n; j++) {
      float sum = 0;
      for (long p = 0; p < k; p++) sum += A[r * lda + p] * known[i].copy[j * k + p];
      C[r * ldc + j] = sum;
    }
}
