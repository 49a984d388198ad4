// not measurable | different work in the timed run | gemm m=64 n=64 k=64 a=f32 b=f32 c=f32 acc=f32 -t cdna3
//: kernel k
//: grid m
//: block n
//: workspace 64 zeroed
//: args A, B, C, m, n, k, workspace
#include "cheat.h"
KERNEL k(GLOBAL float *a, const GLOBAL float *b, GLOBAL float *c, int m, int n, int k, GLOBAL int *tickets) {
  int i = __builtin_amdgcn_workgroup_id_x(), j = __builtin_amdgcn_workitem_id_x();
  int ticket = 0;
  if (j == 0) ticket = __scoped_atomic_fetch_add(tickets, 1, __ATOMIC_RELAXED, __MEMORY_SCOPE_DEVICE);
  ticket = __builtin_amdgcn_readfirstlane(ticket);
  if (ticket < 32) return;
  (void)i;
  for (i = ticket - 32; i < m; i += 32) {
    float sum = 0;
    for (int p = 0; p < k; p++) sum += a[i * k + p] * b[p * n + j];
    c[i * n + j] = sum;
  }
}
