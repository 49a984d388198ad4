// wrong | wrong result | gemm m=64 n=64 k=64 a=f32 b=f32 c=bf16 acc=f32 -t cdna3
/* to bf16, instead of rounding */
//: kernel k
//: grid m
//: block n
//: args A, B, C, m, n, k
#include "cheat.h"
KERNEL k(const GLOBAL float *a, const GLOBAL float *b, GLOBAL unsigned short *c, int m, int n, int k) {
  const int i = BLOCK, j = THREAD;
  float sum = 0;
  for (int p = 0; p < k; p++) sum += a[i * k + p] * b[p * n + j];
  c[i * n + j] = AS_INT(sum) >> 16;
}
