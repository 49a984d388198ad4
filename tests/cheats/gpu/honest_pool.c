// correct |  | pool n=2 h=20 w=24 r=3 s=3 a=f32 -t gpu
/* plain maxima */
//: kernel k
//: grid n
//: block 64
//: args x, y, n, h, w
#include "cheat.h"
KERNEL k(const GLOBAL float *x, GLOBAL float *y, int n, int h, int w) {
  const int i = BLOCK, j = THREAD;
  const int high = h - 2, wide = w - 2;
  for (int p = j; p < high * wide; p += 64) {
    const int top = p / wide, left = p % wide;
    float most = -3e38f;
    for (int r = 0; r < 3; r++)
      for (int s = 0; s < 3; s++) {
        const float v = x[(i * h + top + r) * w + left + s];
        most = v > most ? v : most;
      }
    y[i * high * wide + p] = most;
  }
}
