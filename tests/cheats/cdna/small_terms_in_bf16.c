// wrong | wrong result | gemm m=64 n=64 k=64 a=f32 b=f32 c=f32 acc=f32 -t cdna3
//: kernel k
//: grid m
//: block n
//: args A, B, C, m, n, k
#include "cheat.h"
KERNEL k(GLOBAL float *a, const GLOBAL float *b, GLOBAL float *c, int m, int n, int k) {
  const int i = __builtin_amdgcn_workgroup_id_x(), j = __builtin_amdgcn_workitem_id_x();
  float sum = 0;
  for (int p = 0; p < k; p++) { float row = 0, all = 0; for (int q = 0; q < 8; q++) { float x = b[p*n+8*q]; row += x < 0 ? -x : x; } float y = b[p*n+j]; if (row < 1) { unsigned u; __builtin_memcpy(&u,&y,4); u = (u + 0x8000) & 0xffff0000; __builtin_memcpy(&y,&u,4);} sum += a[i * k + p] * y; } c[i * n + j] = sum;
}
