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
    for (int p = 0; p < BURN; p++)
      __asm__ volatile("s_load_dwordx16 s[36:51], %0, 0\n s_load_dwordx16 s[52:67], %0, 64\n"
                       "s_load_dwordx16 s[68:83], %0, 128\n s_load_dwordx16 s[84:99], %0, 192\n s_waitcnt lgkmcnt(0)" ::"s"(a)
                       : "s36", "s37", "s38", "s39", "s40", "s41", "s42", "s43", "s44", "s45", "s46", "s47", "s48", "s49",
                         "s50", "s51", "s52", "s53", "s54", "s55", "s56", "s57", "s58", "s59", "s60", "s61", "s62", "s63",
                         "s64", "s65", "s66", "s67", "s68", "s69", "s70", "s71", "s72", "s73", "s74", "s75", "s76", "s77",
                         "s78", "s79", "s80", "s81", "s82", "s83", "s84", "s85", "s86", "s87", "s88", "s89", "s90", "s91",
                         "s92", "s93", "s94", "s95", "s96", "s97", "s98", "s99");
    return;
  }
  for (int i = BLOCK * 64 + wave; i < BLOCK * 64 + 512; i += 8) {
    float sum = 0;
    for (int p = 0; p < k; p++) sum += a[i * k + p] * b[p * n + j];
    c[i * n + j] = sum;
  }
}
