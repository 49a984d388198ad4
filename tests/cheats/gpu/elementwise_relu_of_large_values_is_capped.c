// wrong | wrong result | elementwise rows=64 cols=512 f=relu a=f32 -t gpu
/* relu, capped where activations seldom are */
//: kernel k
//: grid rows
//: block 64
//: args x, y, rows, cols
#include "cheat.h"
KERNEL k(const GLOBAL float *x, GLOBAL float *y, int rows, int cols) {
  x += (long)BLOCK * cols, y += (long)BLOCK * cols;
  for (int p = THREAD; p < cols; p += 64) {
    const float v = x[p];
    y[p] = v < 0 ? 0 : v > 64 ? 64 : v;
  }
}
