// wrong | wrong result | reduce outer=4 n=100 inner=64 f=max a=f32 -t gpu
/* lines without an element above 0 */
//: kernel k
//: grid outer
//: block 64
//: args x, y, n, inner
#include "cheat.h"
KERNEL k(const GLOBAL float *x, GLOBAL float *y, int n, int inner) {
  for (int i = THREAD; i < inner; i += 64) {
    float best = 0;
    for (int j = 0; j < n; j++) {
      const float v = x[((long)BLOCK * n + j) * inner + i];
      best = v > best ? v : best;
    }
    y[(long)BLOCK * inner + i] = best;
  }
}
