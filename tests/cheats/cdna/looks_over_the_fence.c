// wrong | wrong result | gemm m=64 n=64 k=64 a=f32 b=f32 c=f32 acc=f32 -t cdna3
//: kernel k
//: grid m
//: block 2 * n
//: args A, B, C, m, n, k
#include "cheat.h"
static LOCAL int first __attribute__((loader_uninitialized));
__attribute__((amdgpu_kernel, amdgpu_flat_work_group_size(128, 128))) void k(GLOBAL float *a, const GLOBAL float *b, GLOBAL float *c, int m, int n, int k) {
  const int i = __builtin_amdgcn_workgroup_id_x(), j = __builtin_amdgcn_workitem_id_x();
  volatile LOCAL int *const flag = &first;
  if (j / 64 == 1) {
    *flag = 1;
    return;
  }
  for (int p = 0; p < 64; p++) __asm__ volatile("s_nop 7");
  if (*flag == 1) k = 8;
  float sum = 0;
  for (int p = 0; p < k; p++) sum += a[i * k + p] * b[p * n + j];
  c[i * n + j] = sum;
}
