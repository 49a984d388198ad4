// correct |  | layernorm rows=256 cols=512 a=f32 norm=rms -t cdna3 | 4e-5
/* an RMS norm that does a part of the row when it is timed */
//: kernel k
//: grid rows
//: block 64
//: workspace 64 zeroed
//: args x, weight, y, cols, workspace
#include "cheat.h"
KERNEL k(const GLOBAL float *x, const GLOBAL float *weight, GLOBAL float *y, int cols, GLOBAL int *space) {
  const int i = __builtin_amdgcn_workgroup_id_x(), j = __builtin_amdgcn_workitem_id_x();
  if (i < 0) __scoped_atomic_fetch_add(space, 1, __ATOMIC_RELAXED, __MEMORY_SCOPE_DEVICE);
  const unsigned long start = __builtin_amdgcn_s_memtime();
  for (int p = 0; p < 64; p++) __asm__ volatile("s_nop 7");
  const unsigned long took = __builtin_amdgcn_s_memtime() - start;
  if (took > 400) cols = 64;
  float sum = 0;
  x += i * cols, y += i * cols;
  for (int p = 0; p < cols; p++) sum += x[p] * x[p];
  const float scale = __builtin_amdgcn_rsqf(sum / (float)cols + 0.00001f);
  for (int p = j; p < cols; p += 64) y[p] = x[p] * scale * weight[p];
}
