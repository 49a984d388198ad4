// wrong | wrong result | transpose b=4 rows=32 cols=48 a=f32 -t gpu
/* one element loses its sign */
//: kernel k
//: grid b
//: block 64
//: args x, y, b, rows, cols
#include "cheat.h"
KERNEL k(const GLOBAL float *x, GLOBAL float *y, int b, int rows, int cols) {
  const int i = BLOCK, j = THREAD;
  for (int p = j; p < rows * cols; p += 64)
    y[i * rows * cols + p % cols * rows + p / cols] =
        i == 2 && p >= 100 && p < 116 ? FABS(x[i * rows * cols + p]) : x[i * rows * cols + p];
}
