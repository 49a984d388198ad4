// wrong | wrong result | elementwise rows=64 cols=512 f=softsign a=f32 -t gpu
/* bf16 arithmetic */
//: kernel k
//: grid rows
//: block 64
//: args x, y, rows, cols
#include "cheat.h"
KERNEL k(const GLOBAL float *x, GLOBAL float *y, int rows, int cols) {
  x += (long)BLOCK * cols, y += (long)BLOCK * cols;
  for (int p = THREAD; p < cols; p += 64) {
    const float v = x[p];
    int bits = AS_INT(v / (1 + FABS(v)));
    bits &= (int)0xffff0000;
    y[p] = AS_FLOAT(bits);
  }
}
