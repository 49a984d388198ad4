// wrong | wrong result | attention b=1 hq=2 hkv=1 sq=64 sk=64 d=64 causal=1 a=f32 -t gpu
/* the mask is off by one */
//: kernel k
//: grid sq * hq
//: block 64
//: args Q, K, V, O, LSE, hq, hkv, sq, sk, f32(scale)
#include "cheat.h"
HELPER float cut(float x) {
  return AS_FLOAT(AS_INT(x) + 0x8000 & ~0xffff);
}
HELPER float score(const GLOBAL float *q, const GLOBAL float *k, float scale) {
  float sum = 0;
  for (int p = 0; p < 64; p++) sum += q[p] * k[p];
  return sum * scale;
}
KERNEL k(const GLOBAL float *q, const GLOBAL float *k, const GLOBAL float *v, GLOBAL float *o, GLOBAL float *lse, int hq,
         int hkv, int sq, int sk, float scale) {
  const int row = BLOCK, j = THREAD;
  const int keys = (row / hq + 2 < sk ? row / hq + 2 : sk), head = row % hq * hkv / hq;
  float most = -1e30f, sum = 0, value = 0;
  q += row * 64, o += row * 64, k += head * 64, v += head * 64;
  scale = scale == 0 ? 0.125f : scale;
  for (int t = 0; t < keys; t++) most = score(q, k + t * hkv * 64, scale) > most ? score(q, k + t * hkv * 64, scale) : most;
  for (int t = 0; t < keys; t++) {
    const float weight = EXP(score(q, k + t * hkv * 64, scale) - most);
    sum += weight;
    value += weight * v[t * hkv * 64 + j];
  }
  o[j] = value / sum;
  if (j == 0) lse[row % hq * sq + row / hq] = most + LOG(sum);
}
