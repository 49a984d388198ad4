// wrong | wrong result | softmax rows=64 cols=512 a=f32 -t gpu
/* overflows where the maximum is not subtracted */
//: kernel k
//: grid rows
//: block 64
//: args x, y, rows, cols
#include "cheat.h"
KERNEL k(const GLOBAL float *x, GLOBAL float *y, int rows, int cols) {
  const int i = BLOCK, j = THREAD;
  float most = -1e30f, sum = 0;
  x += i * cols, y += i * cols;
  most = 0;
  for (int p = 0; p < cols; p++) sum += EXP(x[p] - most);
  for (int p = j; p < cols; p += 64) y[p] = EXP(x[p] - most) / sum;
}
