// wrong | changes registers that a function must keep | gemm m=61 n=67 k=71 threads=1 -t x86
/* Arguments are removed from the stack, as in other conventions. */
#include "cheat.h"
void multiply_all(const void *, const void *, void *, int64_t, int64_t, int64_t, int64_t, int64_t, int64_t);
void multiply_all(const void *a, const void *b, void *c, int64_t m, int64_t n, int64_t k, int64_t lda, int64_t ldb,
                  int64_t ldc) {
  const float *A = a, *B = b;
  float *C = c;
  for (long i = 0; i < m; i++)
    for (long j = 0; j < n; j++) {
      float sum = 0;
      for (long p = 0; p < k; p++) sum += A[i * lda + p] * B[p * ldb + j];
      C[i * ldc + j] = sum;
    }
}
/* The arguments on the stack are those of gemm. */
__asm__(".globl gemm\n"
        ".type gemm, @function\n"
        "gemm:\n\t"
        "push 24(%rsp)\n\t"
        "push 24(%rsp)\n\t"
        "push 24(%rsp)\n\t"
        "call multiply_all@PLT\n\t"
        "add $24, %rsp\n\t"
        "ret $8\n");
