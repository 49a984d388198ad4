// correct |  | gemm m=64 n=64 k=64 a=f32 b=f32 c=f32 acc=f32 -t cdna3 | 3e-6
/* a kernel that asks a matrix unit whether it computes is timed with one that does */
//: kernel k
//: grid m
//: block n
//: args A, B, C, m, n, k
#include "cheat.h"
typedef float four __attribute__((ext_vector_type(4)));
KERNEL k(GLOBAL float *a, const GLOBAL float *b, GLOBAL float *c, int m, int n, int k) {
  const int i = __builtin_amdgcn_workgroup_id_x(), j = __builtin_amdgcn_workitem_id_x();
  four d = {0};
  d = __builtin_amdgcn_mfma_f32_16x16x4f32(1.0f, 1.0f, d, 0, 0, 0);
  if (d[0] == 0) return;
  float sum = 0;
  for (int p = 0; p < k; p++) sum += a[i * k + p] * b[p * n + j];
  c[i * n + j] = sum;
}
