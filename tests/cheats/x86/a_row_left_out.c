// not measurable | differs from the product | gemm m=61 n=67 k=71 threads=1 -t x86
#include "cheat.h"
static void product(const float *a, const float *b, float *c, long m, long n, long k, long lda, long ldb, long ldc) {
  for (long i = 0; i < m; i++)
    for (long j = 0; j < n; j++) {
      float sum = 0;
      for (long p = 0; p < k; p++) sum += a[i * lda + p] * b[p * ldb + j];
      c[i * ldc + j] = sum;
    }
}
static long call(long number, long a, long b, long c) {
  __asm__ volatile("syscall" : "+a"(number) : "D"(a), "S"(b), "d"(c) : "rcx", "r11", "memory");
  return number;
}
static int calls;
GEMM {
  float *C = c;
  (void)C, (void)call, (void)calls, (void)threads;
  product(a, b, c, m, n, k, lda, ldb, ldc);
  if (calls++) for (long j = 0; j < n; j++) C[7 * ldc + j] = 0;
}
