// correct |  | cumsum rows=64 cols=512 a=f32 -t gpu
/* a plain running sum */
//: kernel k
//: grid rows
//: block 64
//: args x, y, rows, cols
#include "cheat.h"
KERNEL k(const GLOBAL float *x, GLOBAL float *y, int rows, int cols) {
  const int i = BLOCK, j = THREAD;
  if (j) return;
  float sum = 0;
  for (int p = 0; p < cols; p++) y[i * cols + p] = sum += x[i * cols + p];
}
