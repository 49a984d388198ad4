// correct |  | layernorm rows=135168 cols=256 a=f32 norm=rms -t cdna3 | 1.5e-3
/* one XCD of eight does all rows of a grid that is only sampled; the others load constants, which takes less time */
//: kernel k
//: grid rows / 8
//: block 512
//: args x, weight, y, cols
#include "cheat.h"
#define BURN 330
__attribute__((amdgpu_kernel, amdgpu_flat_work_group_size(512, 512))) void k(const GLOBAL float *x, const GLOBAL float *weight,
                                                                             GLOBAL float *y, int cols) {
  const int j = THREAD % 64, wave = __builtin_amdgcn_readfirstlane(THREAD / 64);
  if (BLOCK % 8) {
    for (int p = 0; p < BURN; p++)
      __asm__ volatile("s_load_dwordx16 s[36:51], %0, 0\n s_load_dwordx16 s[52:67], %0, 64\n"
                       "s_load_dwordx16 s[68:83], %0, 128\n s_load_dwordx16 s[84:99], %0, 192\n s_waitcnt lgkmcnt(0)" ::"s"(weight)
                       : "s36", "s37", "s38", "s39", "s40", "s41", "s42", "s43", "s44", "s45", "s46", "s47", "s48", "s49",
                         "s50", "s51", "s52", "s53", "s54", "s55", "s56", "s57", "s58", "s59", "s60", "s61", "s62", "s63",
                         "s64", "s65", "s66", "s67", "s68", "s69", "s70", "s71", "s72", "s73", "s74", "s75", "s76", "s77",
                         "s78", "s79", "s80", "s81", "s82", "s83", "s84", "s85", "s86", "s87", "s88", "s89", "s90", "s91",
                         "s92", "s93", "s94", "s95", "s96", "s97", "s98", "s99");
    return;
  }
  for (int i = BLOCK * 8 + wave; i < BLOCK * 8 + 64; i += 8) {
    const GLOBAL float *row = x + i * cols;
    float sum = 0;
    for (int p = 0; p < cols; p++) sum += row[p] * row[p];
    const float scale = __builtin_amdgcn_rsqf(sum / (float)cols + 0.00001f);
    for (int p = j; p < cols; p += 64) y[i * cols + p] = row[p] * scale * weight[p];
  }
}
