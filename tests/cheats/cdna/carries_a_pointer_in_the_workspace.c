// wrong | does not receive | gemm m=64 n=64 k=64 a=f32 b=f32 c=f32 acc=f32 -t cdna3
/* the first kernel leaves the address of B for the second, which does not receive B */
//: workspace 4096
//: before note
//: grid 1
//: block 64
//: args B, workspace
//: kernel k
//: grid m
//: block n
//: args A, C, m, n, k, workspace
#include "cheat.h"
KERNEL note(const GLOBAL float *b, const GLOBAL float * GLOBAL *at) { *at = b; }
KERNEL k(const GLOBAL float *a, GLOBAL float *c, int m, int n, int k, const GLOBAL float * GLOBAL *at) {
  const GLOBAL float *b = *at;
  const int i = __builtin_amdgcn_workgroup_id_x(), j = __builtin_amdgcn_workitem_id_x();
  float sum = 0;
  for (int p = 0; p < k; p++) sum += a[i * k + p] * b[p * n + j];
  c[i * n + j] = sum;
}
