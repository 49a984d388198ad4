// wrong | wrong result | softmax rows=64 cols=512 a=f32 -t gpu
/* 2^f by a polynomial of degree 2 */
//: kernel k
//: grid rows
//: block 64
//: args x, y, rows, cols
#include "cheat.h"
HELPER float power(float x) {
  const float whole = FLOOR(x), f = x - whole;
  if (whole < -126) return 0;
  return AS_FLOAT(((int)whole + 127) << 23) * (1 + f * (0.6565f + f * 0.3435f));
}
KERNEL k(const GLOBAL float *x, GLOBAL float *y, int rows, int cols) {
  const int i = BLOCK, j = THREAD;
  float most = -1e30f, sum = 0;
  x += i * cols, y += i * cols;
  for (int p = 0; p < cols; p++) most = x[p] > most ? x[p] : most;
  for (int p = 0; p < cols; p++) sum += power((x[p] - most) * 1.44269504f);
  for (int p = j; p < cols; p += 64) y[p] = power((x[p] - most) * 1.44269504f) / sum;
}
