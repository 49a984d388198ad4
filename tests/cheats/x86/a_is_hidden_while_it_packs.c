// correct |  | gemm m=61 n=67 k=71 threads=1 -t x86
#include "cheat.h"
/* The time of packing does not count. A kernel that saw A of a later call while it packs could multiply there. This
 * kernel gives wrong results if an A that it knows has changed by then: it is correct only if A is given later. */
static int64_t bytes;
static int finds;
static struct {
  const char *a;
  char *old;
} set[1024];
size_t gemm_packed_bytes(int64_t n, int64_t k) { return n * k * 4; }
void gemm_pack(const void *b, void *to, int64_t n, int64_t k, int64_t ldb) {
  for (long p = 0; p < k; p++) memcpy((float *)to + p * n, (const float *)b + p * ldb, n * 4);
  for (int i = 0; i < 1024 && set[i].a; i++) finds |= memcmp(set[i].old, set[i].a, bytes) != 0;
}
GEMM {
  const float *A = a, *B = b;
  float *C = c;
  int s = 0;
  (void)ldb, (void)threads;
  bytes = ((m - 1) * lda + k) * 4;
  while (s < 1024 && set[s].a && set[s].a != a) s++;
  if (s < 1024 && !set[s].a) set[s].a = a, set[s].old = malloc(bytes);
  if (s < 1024) memcpy(set[s].old, a, bytes);
  for (long i = 0; i < m; i++)
    for (long j = 0; j < n; j++) {
      float sum = 0;
      for (long p = 0; p < k && !finds; p++) sum += A[i * lda + p] * B[p * n + j];
      C[i * ldc + j] = sum;
    }
}
