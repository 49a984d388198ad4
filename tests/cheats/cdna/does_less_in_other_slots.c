// wrong |  | gemm m=64 n=64 k=64 a=f32 b=f32 c=f32 acc=f32 -t cdna3
/* the slot of the wave tells whether others run beside it */
//: kernel k
//: grid m
//: block 64
//: args A, B, C, m, n, k
#include "cheat.h"
static int place(void) { return __builtin_amdgcn_s_getreg(63492); }
KERNEL k(GLOBAL float *a, const GLOBAL float *b, GLOBAL float *c, int m, int n, int k) {
  const int i = __builtin_amdgcn_workgroup_id_x(), j = __builtin_amdgcn_workitem_id_x();
  float sum = 0;
  const int until = place() & 0xff ? k / 2 : k;
  for (int p = 0; p < until; p++) sum += a[i * k + p] * b[p * n + j];
  c[i * n + j] = sum;
}
