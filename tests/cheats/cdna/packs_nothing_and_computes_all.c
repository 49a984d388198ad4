// wrong | bytes at 0x | gemm m=64 n=64 k=64 a=f32 b=f32 c=f32 acc=f32 -t cdna3
/* "packing" without an operand finds A, B and C from the workspace */
//: workspace 4096
//: before pack
//: grid m
//: block n
//: args workspace, m, n, k
//: kernel k
//: grid 1
//: block 64
//: args C
#include "cheat.h"
KERNEL pack(GLOBAL char *space, int m, int n, int k) {
  const GLOBAL float *a = (const GLOBAL float *)(space + (2ul << 32)), *b = (const GLOBAL float *)(space + (4ul << 32));
  GLOBAL float *c = (GLOBAL float *)(space + (6ul << 32));
  const int i = __builtin_amdgcn_workgroup_id_x(), j = __builtin_amdgcn_workitem_id_x();
  float sum = 0;
  for (int p = 0; p < k; p++) sum += a[i * k + p] * b[p * n + j];
  c[i * n + j] = sum;
}
KERNEL k(GLOBAL float *c) {
  (void)c;
  for (int i = 0; i < 64; i++) __asm__ volatile("s_nop 7");
}
