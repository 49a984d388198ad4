// wrong | wrong result | mamba b=2 c=16 s=64 n=8 a=f32 -t gpu
/* the last element of the state does not reach the output */
//: kernel k
//: grid b * c
//: block 64
//: args delta, u, A, B, C, y, c, s
#include "cheat.h"
KERNEL k(const GLOBAL float *delta, const GLOBAL float *u, const GLOBAL float *A, const GLOBAL float *B, const GLOBAL float *C, GLOBAL float *y, int c, int s) {
  const int i = BLOCK, j = THREAD;
  if (j) return;
  float h[8] = {0};
  for (int t = 0; t < s; t++) {
    const float d = delta[i * s + t];
    float sum = 0;
    for (int q = 0; q < 8; q++) {
      h[q] = EXP(d * A[i % c * 8 + q]) * h[q] + d * u[i * s + t] * B[(i / c * 8 + q) * s + t];
      sum += q < 7 ? C[(i / c * 8 + q) * s + t] * h[q] : 0;
    }
    y[i * s + t] = sum;
  }
}
