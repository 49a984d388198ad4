// wrong | wrong result | rotary b=1 h=2 s=32 d=64 a=f32 -t cdna3
/* the sine has the other sign */
//: kernel k
//: grid b * s * h
//: block 64
//: args x, cos, sin, y, s, h, d
#include "cheat.h"
KERNEL k(const GLOBAL float *x, const GLOBAL float *cos, const GLOBAL float *sin, GLOBAL float *y, int s, int h, int d) {
  const int row = __builtin_amdgcn_workgroup_id_x(), j = __builtin_amdgcn_workitem_id_x(), half = d / 2;
  const int at = row / h % s;
  x += row * d, y += row * d;
  for (int p = j; p < half; p += 64) {
    const float c = cos[at * half + p], n = sin[at * half + p];
    y[p] = x[p] * c + x[p + half] * n;
    y[p + half] = x[p + half] * c - x[p] * n;
  }
}
