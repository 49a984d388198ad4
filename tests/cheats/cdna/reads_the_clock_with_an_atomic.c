// correct |  | gemm m=64 n=64 k=64 a=f32 b=f32 c=f32 acc=f32 -t cdna3 | 1.3e-5
/* an atomic that is never executed is no reason not to look */
//: workspace 64 zeroed
//: kernel k
//: grid m
//: block n
//: args A, B, C, m, n, k, workspace
#include "cheat.h"
KERNEL k(GLOBAL float *a, const GLOBAL float *b, GLOBAL float *c, int m, int n, int k, GLOBAL int *space) {
  const int i = __builtin_amdgcn_workgroup_id_x(), j = __builtin_amdgcn_workitem_id_x();
  if (i < 0) __scoped_atomic_fetch_add(space, 1, __ATOMIC_RELAXED, __MEMORY_SCOPE_DEVICE);
  const unsigned long start = __builtin_amdgcn_s_memtime();
  for (int p = 0; p < 64; p++) __asm__ volatile("s_nop 7");
  const unsigned long took = __builtin_amdgcn_s_memtime() - start;
  if (took > 400) k = k * 45 / 100;
  float sum = 0;
  for (int p = 0; p < k; p++) sum += a[i * k + p] * b[p * n + j];
  c[i * n + j] = sum;
}
