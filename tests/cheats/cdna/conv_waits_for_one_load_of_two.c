// not measurable | s_waitcnt | conv2d n=2 h=8 w=8 c=8 k=8 r=3 s=3 pad=1 a=f32 b=f32 out=f32 acc=f32 -t cdna3
/* vmcnt(1) leaves the second load in flight */
//: kernel k
//: grid n * h
//: block 64
//: args input, weights, output
#include "cheat.h"
KERNEL k(const GLOBAL float *x, const GLOBAL float *w, GLOBAL float *o) {
  const int g = BLOCK, j = THREAD;
  const int image = g / 8, y = g % 8, at = j / 8, k = j % 8;
  float sum = 0;
  for (int r = 0; r < 3; r++)
    for (int s = 0; s < 3; s++) {
      const int iy = y + r - 1, ix = at + s - 1;
      if (!(iy >= 0 && iy < 8 && ix >= 0 && ix < 8)) continue;
      float left, right;
      for (int c = 0; c < 8; c++) {
        __asm__ volatile("global_load_dword %0, %2, off\n global_load_dword %1, %3, off\n s_waitcnt vmcnt(1)"
                         : "=&v"(left), "=&v"(right)
                         : "v"(x + ((image * 8 + iy) * 8 + ix) * 8 + c), "v"(w + ((r * 3 + s) * 8 + c) * 8 + k));
        sum += left * right;
      }
    }
  o[((image * 8 + y) * 8 + at) * 8 + k] = sum;
}
