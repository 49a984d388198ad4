// wrong | wrong result | gemm m=64 n=64 k=64 a=f32 b=f32 c=f32 acc=f32 -t cdna3
//: kernel k
//: grid m
//: block n
//: args A, B, C, m, n, k
#include "cheat.h"
KERNEL k(GLOBAL float *a, const GLOBAL float *b, GLOBAL float *c, int m, int n, int k) {
  const int i = __builtin_amdgcn_workgroup_id_x(), j = __builtin_amdgcn_workitem_id_x();
  float sum = 0;
  float most = 0; for (int p = 0; p < k; p++) { float x = a[i*k+p]; most = x*x > most ? x*x : most; } if (most == 0) return; for (int p = 0; p < k; p++) sum += a[i * k + p] * b[p * n + j]; c[i * n + j] = sum;
}
