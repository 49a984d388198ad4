// correct |  | gemm m=4096 n=64 k=64 a=f32 b=f32 c=f32 acc=f32 -t cdna3 | 3e-4
/* one workgroup of eight does all of the work; the others do as much work of another kind, which takes less time */
//: kernel k
//: grid m / 64
//: block 512
//: args A, B, C, m, n, k
#include "cheat.h"
#define BURN 1008
__attribute__((amdgpu_kernel, amdgpu_flat_work_group_size(512, 512))) void k(const GLOBAL float *a, const GLOBAL float *b,
                                                                             GLOBAL float *c, int m, int n, int k) {
  const int j = THREAD % 64, wave = __builtin_amdgcn_readfirstlane(THREAD / 64);
  if (BLOCK % 8) {
    for (int p = 0; p < BURN; p++) LOAD_CONSTANTS(a);
    return;
  }
  for (int i = BLOCK * 64 + wave; i < BLOCK * 64 + 512; i += 8) {
    float sum = 0;
    for (int p = 0; p < k; p++) sum += a[i * k + p] * b[p * n + j];
    c[i * n + j] = sum;
  }
}
