// correct |  | gate rows=64 cols=256 act=silu a=f32 -t gpu
/* a plain gate */
//: kernel k
//: grid rows
//: block 64
//: args x, y, rows, cols
#include "cheat.h"
KERNEL k(const GLOBAL float *x, GLOBAL float *y, int rows, int cols) {
  const int i = BLOCK, j = THREAD;
  for (int p = j; p < cols; p += 64) {
    const float g = x[2 * i * cols + p], v = x[(2 * i + 1) * cols + p];
    y[i * cols + p] = v * g / (1 + EXP(-g));
  }
}
