// wrong | wrong result | conv2d n=2 h=8 w=8 c=8 k=8 r=3 s=3 pad=1 a=f32 b=f32 out=f32 acc=f32 -t gpu
/* products of 8 bits */
//: kernel k
//: grid n * h
//: block 64
//: args input, weights, output
#include "cheat.h"
HELPER float cut(float x) {
  return AS_FLOAT(AS_INT(x) + 0x8000 & ~0xffff);
}
KERNEL k(const GLOBAL float *x, const GLOBAL float *w, GLOBAL float *o) {
  const int g = BLOCK, j = THREAD;
  const int image = g / 8, y = g % 8, at = j / 8, k = j % 8;
  float sum = 0;
  for (int r = 0; r < 3; r++)
    for (int s = 0; s < 3; s++) {
      const int iy = y + r - 1, ix = at + s - 1;
      if (!(iy >= 0 && iy < 8 && ix >= 0 && ix < 8)) continue;
      for (int c = 0; c < 8; c++) sum += x[((image * 8 + iy) * 8 + ix) * 8 + c] * cut(w[((r * 3 + s) * 8 + c) * 8 + k]);
    }
  o[((image * 8 + y) * 8 + at) * 8 + k] = sum;
}
