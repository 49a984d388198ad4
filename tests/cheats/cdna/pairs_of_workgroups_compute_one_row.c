// wrong | write the same 2048 elements of C | gemm m=2048 n=2048 k=1024 a=f32 b=f32 c=f32 acc=f32 -t cdna3
/* large enough to be sampled: every other row is never written */
//: kernel k
//: grid m
//: block 256
//: args A, B, C, m, n, k
#include "cheat.h"
__attribute__((amdgpu_kernel, amdgpu_flat_work_group_size(256, 256))) void k(GLOBAL float *a, const GLOBAL float *b, GLOBAL float *c, int m, int n, int k) {
  const int i = __builtin_amdgcn_workgroup_id_x() & ~1, j = __builtin_amdgcn_workitem_id_x();
  for (int at = j; at < n; at += 256) {
    float sum = 0;
    for (int p = 0; p < k; p++) sum += a[i * k + p] * b[p * n + at];
    c[i * n + at] = sum;
  }
}
