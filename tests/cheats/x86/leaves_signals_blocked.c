// wrong | which signals are blocked | gemm m=61 n=67 k=71 threads=1 -t x86
#include "cheat.h"
/* The program that calls the kernel could no longer be interrupted. */
static void block_all_signals(void) {
  unsigned long all = ~0ul;
  long number = 14;
  register long size __asm__("r10") = 8;
  __asm__ volatile("syscall" : "+a"(number) : "D"(0), "S"(&all), "d"(0), "r"(size) : "rcx", "r11", "memory");
}
GEMM {
  const float *A = a, *B = b;
  float *C = c;
  (void)threads;
  block_all_signals();
  for (long i = 0; i < m; i++)
    for (long j = 0; j < n; j++) {
      float sum = 0;
      for (long p = 0; p < k; p++) sum += A[i * lda + p] * B[p * ldb + j];
      C[i * ldc + j] = sum;
    }
}
