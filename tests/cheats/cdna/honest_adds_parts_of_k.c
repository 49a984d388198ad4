// correct |  | gemm m=1 n=2048 k=1024 a=f32 b=f32 c=f32 acc=f32 -t cdna3
/* parts of k are added by atomics, in any order */
//: let SPLIT = 4
//: let COLUMNS = n / 64
//: before zero
//: grid n / 256
//: block 256
//: args C
//: kernel k
//: grid COLUMNS * SPLIT
//: block 64
//: args A, B, C, n, k / SPLIT
#include "cheat.h"
__attribute__((amdgpu_kernel, amdgpu_flat_work_group_size(256, 256))) void zero(GLOBAL float *c) { c[BLOCK * 256 + THREAD] = 0; }
__attribute__((amdgpu_kernel, amdgpu_flat_work_group_size(64, 64))) void k(const GLOBAL float *a, const GLOBAL float *b,
                                                                             GLOBAL float *c, int n, int some) {
  const int lane = THREAD % 64, parts = n / 64, j = BLOCK % parts * 64 + lane, part = BLOCK / parts;
  float sum = 0;
  a += part * some, b += part * some * n + j;
  for (int p = 0; p < some; p += 64) {
    const int some_of_a = AS_INT(a[p + lane]);
#pragma unroll
    for (int u = 0; u < 64; u++) sum += AS_FLOAT(__builtin_amdgcn_readlane(some_of_a, u)) * b[(p + u) * n];
  }
  __builtin_amdgcn_global_atomic_fadd_f32((GLOBAL float *)c + j, sum);
}
