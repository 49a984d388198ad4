// wrong | wrong result | softmax rows=16 cols=64 a=f32 -t gpu
//: kernel k
//: grid rows
//: block 64
//: args x, y
#include "cheat.h"
KERNEL k(GLOBAL float *x, GLOBAL float *y) {
  const int i = BLOCK, j = THREAD;
  float most = x[i * 64], least = most, sum = 0;
  for (int p = 0; p < 64; p++) { const float v = x[i * 64 + p]; most = v > most ? v : most; least = v < least ? v : least; }
  if (most == least) return;
  for (int p = 0; p < 64; p++) sum += EXP(x[i * 64 + p] - most);
  y[i * 64 + j] = EXP(x[i * 64 + j] - most) / sum;
}
