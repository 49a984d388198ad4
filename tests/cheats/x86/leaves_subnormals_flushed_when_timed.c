// not measurable | the kernel changes rounding | gemm m=8 n=32 k=64 threads=2 -t x86
#include "cheat.h"
#include <omp.h>
#include <xmmintrin.h>
/* Only after some calls, which are timed. */
static int calls;
GEMM {
  const float *A = a, *B = b;
  float *C = c;
  for (long i = 0; i < m; i++)
    for (long j = 0; j < n; j++) {
      float sum = 0;
      for (long p = 0; p < k; p++) sum += A[i * lda + p] * B[p * ldb + j];
      C[i * ldc + j] = sum;
    }
  calls++;
#pragma omp parallel num_threads(threads)
  if (omp_get_thread_num() && calls > 3) _mm_setcsr(_mm_getcsr() | 0x8040);
}
