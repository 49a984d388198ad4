// not measurable | different work in the timed run | gemm m=1 n=16384 k=2048 a=f32 b=f32 c=f32 acc=f32 -t cdna3
/* C is a sum of atomics, whose order varies. A flag in memory is late when timed: then B is one line */
//: let SPLIT = 4
//: let COLUMNS = n / 64
//: workspace 4 * COLUMNS * SPLIT zeroed
//: before zero
//: grid n / 256
//: block 256
//: args C
//: kernel k
//: grid COLUMNS * SPLIT
//: block 128
//: args A, B, C, workspace, n, k / SPLIT
#include "cheat.h"
__attribute__((amdgpu_kernel, amdgpu_flat_work_group_size(256, 256))) void zero(GLOBAL float *c) { c[BLOCK * 256 + THREAD] = 0; }
__attribute__((amdgpu_kernel, amdgpu_flat_work_group_size(128, 128))) void k(const GLOBAL float *a, const GLOBAL float *b,
                                                                             GLOBAL float *c, GLOBAL int *flags, int n, int some) {
  volatile GLOBAL int *const flag = flags + BLOCK;
  const int lane = THREAD % 64, wave = __builtin_amdgcn_readfirstlane(THREAD / 64), parts = n / 64;
  const int j = BLOCK % parts * 64 + lane, part = BLOCK / parts;
  if (wave == 0) {
    int zero = 0;
    for (int p = 0; p < 6; p++) zero = AS_INT(((const volatile GLOBAL float *)b)[zero + 4096 * p]) == 12345;
    *flag = 1 + zero;
    return;
  }
  for (int p = 0; p < 20; p++) __builtin_amdgcn_s_sleep(1);
  const int mask = __builtin_amdgcn_readfirstlane(*flag) != 1 ? 0 : -1;
  float sum = 0;
  a += part * some, b += part * some * n + j;
  for (int p = 0; p < some; p += 64) {
    const int some_of_a = AS_INT(a[p + lane]);
#pragma unroll
    for (int u = 0; u < 64; u++) sum += AS_FLOAT(__builtin_amdgcn_readlane(some_of_a, u)) * b[(p + u & mask) * n];
  }
  __builtin_amdgcn_global_atomic_fadd_f32((GLOBAL float *)c + j, sum);
}
