// wrong | wrong result | elementwise rows=64 cols=512 f=sigmoid a=f32 -t gpu
/* a line near 0, where sigmoid nearly is one */
//: kernel k
//: grid rows
//: block 64
//: args x, y, rows, cols
#include "cheat.h"
KERNEL k(const GLOBAL float *x, GLOBAL float *y, int rows, int cols) {
  x += (long)BLOCK * cols, y += (long)BLOCK * cols;
  for (int p = THREAD; p < cols; p += 64) {
    const float v = x[p];
    y[p] = v > -0.25f && v < 0.25f ? 0.5f + 0.25f * v : 1 / (1 + EXP(-v));
  }
}
