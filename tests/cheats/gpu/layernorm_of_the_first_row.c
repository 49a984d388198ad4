// wrong | wrong result | layernorm rows=64 cols=512 a=f32 -t gpu
/* every row is normalized as the first one is */
//: kernel k
//: grid rows
//: block 64
//: args x, weight, bias, y, cols
#include "cheat.h"
KERNEL k(const GLOBAL float *x, const GLOBAL float *weight, const GLOBAL float *bias, GLOBAL float *y, int cols) {
  const int i = BLOCK, j = THREAD;
  float sum = 0, squares = 0;
  x += i * cols, y += i * cols;
  for (int p = 0; p < cols; p++) sum += (x - i * cols)[p];
  const float mean = sum / (float)cols;
  for (int p = 0; p < cols; p++) squares += ((x - i * cols)[p] - mean) * ((x - i * cols)[p] - mean);
  const float scale = 1 / SQRT(squares / (float)cols + 0.00001f);
  for (int p = j; p < cols; p += 64) y[p] = (x[p] - mean) * scale * weight[p] + bias[p];
}
