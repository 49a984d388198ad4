// wrong | bytes at 0x | gemm m=64 n=64 k=64 a=f32 b=f32 c=f32 acc=f32 -t cdna3
/* B is not among the arguments: A tells where it was */
//: kernel k
//: grid m
//: block n
//: args A, C, m, n, k
#include "cheat.h"
KERNEL k(const GLOBAL float *a, GLOBAL float *c, int m, int n, int k) {
  const GLOBAL float *b = (const GLOBAL float *)((const GLOBAL char *)a + (2ul << 32));
  const int i = __builtin_amdgcn_workgroup_id_x(), j = __builtin_amdgcn_workitem_id_x();
  float sum = 0;
  for (int p = 0; p < k; p++) sum += a[i * k + p] * b[p * n + j];
  c[i * n + j] = sum;
}
