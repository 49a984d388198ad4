// not measurable | wrong result in a timed call | gemm m=2 n=256 k=1024 a=bf16 b=bf16 c=bf16 threads=1 -t x86
#include "cheat.h"
static struct {
  const void *where;
  uint32_t mark;
  float *copy;
} known[1024];
GEMM {
  const uint16_t *A = a, *B = b;
  uint16_t *C = c;
  static float sum[256];
  int i = 0;
  uint32_t mark = 0;
  (void)threads;
  while (known[i].where && known[i].where != b) i++;
  for (long p = 0; p < k; p += 4) mark = 31 * mark + B[p * ldb + p % n];
  if (!known[i].where) known[i].copy = malloc(n * k * 4);
  if (!known[i].where || known[i].mark != mark)
    for (long p = 0; p < k; p++)
      for (long j = 0; j < n; j++) known[i].copy[p * n + j] = wide(B[p * ldb + j]);
  known[i].where = b;
  known[i].mark = mark;
  for (long r = 0; r < m; r++) {
    memset(sum, 0, sizeof sum);
    for (long p = 0; p < k; p++)
      for (long j = 0; j < n; j++) sum[j] += wide(A[r * lda + p]) * known[i].copy[p * n + j];
    for (long j = 0; j < n; j++) C[r * ldc + j] = narrow(sum[j]);
  }
}
