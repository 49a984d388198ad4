// does not build | functions that run by themselves | gemm m=64 n=64 k=64 a=f32 b=f32 c=f32 acc=f32 -t cdna3
/* no GPU runs constructors; a linker that reads them is not asked to */
//: kernel k
//: grid m
//: block n
//: args A, B, C, m, n, k
#include "cheat.h"
__asm__(".section .init_array,\"aw\",@init_array\n.quad 0\n.text\n");
KERNEL k(GLOBAL float *a, const GLOBAL float *b, GLOBAL float *c, int m, int n, int k) {
  const int i = __builtin_amdgcn_workgroup_id_x(), j = __builtin_amdgcn_workitem_id_x();
  float sum = 0;
  for (int p = 0; p < k; p++) sum += a[i * k + p] * b[p * n + j];
  c[i * n + j] = sum;
}
