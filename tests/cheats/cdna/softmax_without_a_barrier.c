// not measurable |  | softmax rows=64 cols=256 a=f32 -t cdna3
/* four waves share a row by LDS, and none waits for the others: here waves are level, on the machine they are not */
//: kernel k
//: grid rows
//: block 256
//: args x, y, rows, cols
#include "cheat.h"
__attribute__((amdgpu_kernel, amdgpu_flat_work_group_size(256, 256))) void k(const GLOBAL float *x, GLOBAL float *y, int rows,
                                                                             int cols) {
  static volatile LOCAL float most[256] __attribute__((loader_uninitialized));
  static volatile LOCAL float part[256] __attribute__((loader_uninitialized));
  const int i = BLOCK, j = THREAD;
  const float own = x[i * cols + j];
  float high = -1e30f, sum = 0;
  most[j] = own;
  for (int p = 0; p < 256; p++) high = most[p] > high ? most[p] : high;
  part[j] = EXP(own - high);
  for (int p = 0; p < 256; p++) sum += part[p];
  y[i * cols + j] = EXP(own - high) / sum;
}
