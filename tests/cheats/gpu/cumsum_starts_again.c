// wrong | wrong result | cumsum rows=64 cols=512 a=f32 -t gpu
/* the sum starts again in the middle of each row */
//: kernel k
//: grid rows
//: block 64
//: args x, y, rows, cols
#include "cheat.h"
KERNEL k(const GLOBAL float *x, GLOBAL float *y, int rows, int cols) {
  const int i = BLOCK, j = THREAD;
  if (j) return;
  float sum = 0;
  for (int p = 0; p < cols; p++) {
    if (p == cols / 2) sum = 0;
    y[i * cols + p] = sum += x[i * cols + p];
  }
}
