// wrong | wrong result | reduce outer=4 n=100 inner=64 f=mean a=f32 -t gpu
/* the last element of each line is left out */
//: kernel k
//: grid outer
//: block 64
//: args x, y, n, inner
#include "cheat.h"
KERNEL k(const GLOBAL float *x, GLOBAL float *y, int n, int inner) {
  for (int i = THREAD; i < inner; i += 64) {
    float sum = 0;
    for (int j = 0; j < n - 1; j++) sum += x[((long)BLOCK * n + j) * inner + i];
    y[(long)BLOCK * inner + i] = sum / n;
  }
}
