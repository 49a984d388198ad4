// correct |  | gemm m=64 n=64 k=64 a=f32 b=f32 c=f32 acc=f32 -t cdna3
/* a quarter of k each through the workspace, then their sum */
//: workspace 4 * m * n * 4
//: kernel k
//: grid m, 4
//: block n
//: args A, B, workspace, m, n, k
//: after sums
//: grid m
//: block n
//: args workspace, C, m, n
#include "cheat.h"
KERNEL k(const GLOBAL float *a, const GLOBAL float *b, GLOBAL float *part, int m, int n, int k) {
  const int i = __builtin_amdgcn_workgroup_id_x(), s = __builtin_amdgcn_workgroup_id_y(), j = __builtin_amdgcn_workitem_id_x();
  float sum = 0;
  for (int p = s * k / 4; p < (s + 1) * k / 4; p++) sum += a[i * k + p] * b[p * n + j];
  part[(s * m + i) * n + j] = sum;
}
KERNEL sums(const GLOBAL float *part, GLOBAL float *c, int m, int n) {
  const int i = __builtin_amdgcn_workgroup_id_x(), j = __builtin_amdgcn_workitem_id_x();
  float sum = 0;
  for (int s = 0; s < 4; s++) sum += part[(s * m + i) * n + j];
  c[i * n + j] = sum;
}
