// wrong | wrong result | elementwise rows=64 cols=512 f=tanh a=f32 -t gpu
/* neighbours share a value */
//: kernel k
//: grid rows
//: block 64
//: args x, y, rows, cols
#include "cheat.h"
KERNEL k(const GLOBAL float *x, GLOBAL float *y, int rows, int cols) {
  x += (long)BLOCK * cols, y += (long)BLOCK * cols;
  for (int p = THREAD; p < cols; p += 64) {
    const float w = x[p & ~1], e = EXP(-2 * FABS(w)), t = (1 - e) / (1 + e);
    y[p] = w < 0 ? -t : t;
  }
}
