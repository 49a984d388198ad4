// wrong | wrong result | reduce outer=4 n=100 inner=64 f=argmax a=f32 -t gpu
/* the last of equal elements */
//: kernel k
//: grid outer
//: block 64
//: args x, y, n, inner
#include "cheat.h"
KERNEL k(const GLOBAL float *x, GLOBAL int *y, int n, int inner) {
  for (int i = THREAD; i < inner; i += 64) {
    float best = -1e30f; int place = 0;
    for (int j = 0; j < n; j++) {
      const float v = x[((long)BLOCK * n + j) * inner + i];
      if (v >= best) best = v, place = j;
    }
    y[(long)BLOCK * inner + i] = place;
  }
}
