// correct |  | depthwise n=2 c=32 w=96 taps=3 pad=1 a=f32 -t gpu
/* a plain convolution of each channel */
//: kernel k
//: grid n * c
//: block 64
//: args x, weights, y, c, w
#include "cheat.h"
KERNEL k(const GLOBAL float *x, const GLOBAL float *f, GLOBAL float *y, int c, int w) {
  const int i = BLOCK, j = THREAD;
  for (int p = j; p < w; p += 64) {
    float sum = 0;
    for (int r = 0; r < 3; r++) {
      const int at = p + r - 1;
      if (at >= 0 && at < w) sum += x[i * w + at] * f[i % c * 3 + r];
    }
    y[i * w + p] = sum;
  }
}
