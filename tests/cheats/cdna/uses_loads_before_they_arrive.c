// not measurable | s_waitcnt | gemm m=64 n=64 k=64 a=f32 b=f32 c=f32 acc=f32 -t cdna3
/* on the machine the registers still hold older values */
//: kernel k
//: grid m
//: block n
//: args A, B, C, m, n, k
#include "cheat.h"
KERNEL k(GLOBAL float *a, const GLOBAL float *b, GLOBAL float *c, int m, int n, int k) {
  const int i = BLOCK, j = THREAD;
  float sum = 0, x, y;
  for (int p = 0; p < k; p++)
    __asm__ volatile("global_load_dword %1, %3, off\n global_load_dword %2, %4, off\n v_fmac_f32 %0, %1, %2"
                     : "+v"(sum), "=&v"(x), "=&v"(y)
                     : "v"(a + i * k + p), "v"(b + p * n + j));
  c[i * n + j] = sum;
}
