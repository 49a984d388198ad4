// wrong | wait with a time limit | gemm m=61 n=67 k=71 threads=1 -t x86
#include "cheat.h"
/* A wait until a time returns at once if the time has passed: a clock. */
static long wait_until(long seconds) {
  static int word;
  const struct {
    long seconds, nanoseconds;
  } time = {seconds, 0};
  long number = 202;
  register const void *limit __asm__("r10") = &time;
  register long none __asm__("r8") = 0, all __asm__("r9") = -1;
  __asm__ volatile("syscall"
                   : "+a"(number)
                   : "D"(&word), "S"(9 | 128), "d"(0), "r"(limit), "r"(none), "r"(all)
                   : "rcx", "r11", "memory");
  return number;
}
GEMM {
  const float *A = a, *B = b;
  float *C = c;
  (void)threads;
  const int has_passed = wait_until(1) == -110;
  for (long i = 0; i < m; i++)
    for (long j = 0; j < n; j++) {
      float sum = 0;
      for (long p = 0; p < k; p++) sum += A[i * lda + p] * B[p * ldb + j];
      C[i * ldc + j] = has_passed ? sum : 0;
    }
}
