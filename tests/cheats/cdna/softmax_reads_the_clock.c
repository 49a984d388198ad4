// correct |  | softmax rows=256 cols=512 a=f32 -t cdna3 | 8e-5
/* a softmax that does a part of the row when it is timed */
//: kernel k
//: grid rows
//: block 64
//: workspace 64 zeroed
//: args x, y, cols, workspace
#include "cheat.h"
KERNEL k(const GLOBAL float *x, GLOBAL float *y, int cols, GLOBAL int *space) {
  const int i = __builtin_amdgcn_workgroup_id_x(), j = __builtin_amdgcn_workitem_id_x();
  if (i < 0) __scoped_atomic_fetch_add(space, 1, __ATOMIC_RELAXED, __MEMORY_SCOPE_DEVICE);
  const unsigned long start = __builtin_amdgcn_s_memtime();
  for (int p = 0; p < 64; p++) __asm__ volatile("s_nop 7");
  const unsigned long took = __builtin_amdgcn_s_memtime() - start;
  if (took > 400) cols = 64;
  float most = -1e30f, sum = 0;
  x += i * cols, y += i * cols;
  for (int p = 0; p < cols; p++) most = x[p] > most ? x[p] : most;
  for (int p = 0; p < cols; p++) sum += __builtin_amdgcn_exp2f((x[p] - most) * 1.44269504f);
  for (int p = j; p < cols; p += 64) y[p] = __builtin_amdgcn_exp2f((x[p] - most) * 1.44269504f) / sum;
}
