// wrong | wrong result | elementwise rows=64 cols=512 f=leaky_relu alpha=0.01 a=f32 -t gpu
/* the slope is 0 */
//: kernel k
//: grid rows
//: block 64
//: args x, y, rows, cols
#include "cheat.h"
KERNEL k(const GLOBAL float *x, GLOBAL float *y, int rows, int cols) {
  x += (long)BLOCK * cols, y += (long)BLOCK * cols;
  for (int p = THREAD; p < cols; p += 64) {
    const float v = x[p];
    y[p] = v > 0 ? v : 0;
  }
}
