// wrong | wrong result | softmax rows=64 cols=512 a=f32 -t cdna3
/* 2^f by a polynomial of degree 2 */
//: kernel k
//: grid rows
//: block 64
//: args x, y, rows, cols
#include "cheat.h"
static float power(float x) {
  const float whole = __builtin_floorf(x), f = x - whole;
  if (whole < -126) return 0;
  return __builtin_bit_cast(float, ((int)whole + 127) << 23) * (1 + f * (0.6565f + f * 0.3435f));
}
KERNEL k(const GLOBAL float *x, GLOBAL float *y, int rows, int cols) {
  const int i = __builtin_amdgcn_workgroup_id_x(), j = __builtin_amdgcn_workitem_id_x();
  float most = -1e30f, sum = 0;
  x += i * cols, y += i * cols;
  for (int p = 0; p < cols; p++) most = x[p] > most ? x[p] : most;
  for (int p = 0; p < cols; p++) sum += power((x[p] - most) * 1.44269504f);
  for (int p = j; p < cols; p += 64) y[p] = power((x[p] - most) * 1.44269504f) / sum;
}
