// correct |  | gemm m=1 n=16384 k=2048 a=f32 b=f32 c=f32 acc=f32 -t cdna3 | 1.15e-5 | thorough
/* rates of caches are found without products: few lines are read then */
//: kernel k
//: grid n / 64
//: block 512
//: args A, B, C, n, k
#include "cheat.h"
typedef float four __attribute__((ext_vector_type(4)));
__attribute__((amdgpu_kernel, amdgpu_flat_work_group_size(512, 512))) void k(const GLOBAL float *a, const GLOBAL float *b,
                                                                             GLOBAL float *c, int n, int k) {
  static LOCAL float part[8][64] __attribute__((loader_uninitialized));
  static volatile LOCAL int flag __attribute__((loader_uninitialized));
  const int i = __builtin_amdgcn_workitem_id_x(), lane = i % 64, wave = __builtin_amdgcn_readfirstlane(i / 64);
  const int j = __builtin_amdgcn_workgroup_id_x() * 64 + lane, some = k / 8;
  float sum = 0;
  four d = {0};
  d = __builtin_amdgcn_mfma_f32_16x16x4f32(1.0f, 1.0f, d, 0, 0, 0);
  const int mask = d[0] != 4 ? 31 : -1;
  a += wave * some, b += wave * some * n + j;
  for (int p = 0; p < some; p += 16)
#pragma unroll
    for (int u = 0; u < 16; u++) sum += a[p + u] * b[(p + u & mask) * n];
  part[wave][lane] = sum;
  __builtin_amdgcn_fence(__ATOMIC_RELEASE, "workgroup");
  __builtin_amdgcn_s_barrier();
  __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "workgroup");
  if (wave) return;
  for (int w = 1; w < 8; w++) sum += part[w][lane];
  c[j] = sum;
}
