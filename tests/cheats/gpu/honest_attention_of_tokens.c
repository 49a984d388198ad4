// correct |  | attention b=4 hq=2 hkv=1 sq=30 sk=30 d=64 causal=1 tokens=70 a=f32 -t gpu
/* attention of sequences that follow one another */
//: kernel k
//: grid tokens * hq
//: block 64
//: args Q, K, V, O, LSE, hq, hkv, b, tokens, f32(scale), STARTS
#include "cheat.h"
HELPER float score(const GLOBAL float *q, const GLOBAL float *k, float scale) {
  float sum = 0;
  for (int p = 0; p < 64; p++) sum += q[p] * k[p];
  return sum * scale;
}
KERNEL k(const GLOBAL float *q, const GLOBAL float *k, const GLOBAL float *v, GLOBAL float *o, GLOBAL float *lse, int hq,
         int hkv, int b, int tokens, float scale, const GLOBAL int *starts) {
  const int row = BLOCK, j = THREAD, token = row / hq, h = row % hq;
  int batch = 0;
  while (starts[batch + 1] <= token) batch++;
  const int first = starts[batch], end = token + 1;
  float most = -1e30f, sum = 0, value = 0;
  q += row * 64, o += row * 64;
  k += h * hkv / hq * 64, v += h * hkv / hq * 64;
  scale = scale == 0 ? 0.125f : scale;
  for (int t = first; t < end; t++) {
    const float s = score(q, k + t * hkv * 64, scale);
    most = s > most ? s : most;
  }
  for (int t = first; t < end; t++) {
    const float weight = EXP(score(q, k + t * hkv * 64, scale) - most);
    sum += weight;
    value += weight * v[t * hkv * 64 + j];
  }
  o[j] = value / sum;
  if (j == 0) lse[h * tokens + token] = most + LOG(sum);
}
