// wrong | wrong result | cumsum rows=64 cols=512 a=f32 -t gpu
/* elements are rounded to bf16 before they are added */
//: kernel k
//: grid rows
//: block 64
//: args x, y, rows, cols
#include "cheat.h"
KERNEL k(const GLOBAL float *x, GLOBAL float *y, int rows, int cols) {
  const int i = BLOCK, j = THREAD;
  if (j) return;
  float sum = 0;
  for (int p = 0; p < cols; p++) y[i * cols + p] = sum += AS_FLOAT((AS_INT(x[i * cols + p]) + 0x8000) & ~0xffff);
}
