// not measurable | wrong result in a timed call | gemm m=4 n=128 k=256 a=i8 b=i8 c=i32 threads=1 -t x86
#include "cheat.h"
static struct {
  const void *where;
  int mark;
  int8_t *copy;
} known[1024];
GEMM {
  const int8_t *A = a, *B = b;
  int32_t *C = c;
  int i = 0, mark = 0;
  (void)threads;
  while (known[i].where && known[i].where != b) i++;
  for (long p = 0; p < k; p += 3) mark = 31 * mark + B[p * ldb + p % n];
  if (!known[i].where) known[i].copy = malloc(n * k);
  if (!known[i].where || known[i].mark != mark)
    for (long p = 0; p < k; p++) memcpy(known[i].copy + p * n, B + p * ldb, n);
  known[i].where = b;
  known[i].mark = mark;
  for (long r = 0; r < m; r++)
    for (long j = 0; j < n; j++) {
      int32_t sum = 0;
      for (long p = 0; p < k; p++) sum += A[r * lda + p] * known[i].copy[p * n + j];
      C[r * ldc + j] = sum;
    }
}
