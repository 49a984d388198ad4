// correct |  | attention b=3 hq=2 hkv=1 sq=2 sk=40 d=64 causal=1 lengths=1 page=8 softcap=4 a=f32 -t gpu
/* attention to pages of sequences of different lengths, with a soft cap */
//: kernel k
//: grid b * sq * hq
//: block 64
//: args Q, K, V, O, LSE, hq, hkv, sq, sk, f32(scale), f32(softcap), LENGTHS, PAGES
#include "cheat.h"
HELPER float score(const GLOBAL float *q, const GLOBAL float *k, float scale, float softcap) {
  float sum = 0;
  for (int p = 0; p < 64; p++) sum += q[p] * k[p];
  const float x = sum * scale;
  return softcap - 2 * softcap / (EXP(2 * x / softcap) + 1);
}
KERNEL k(const GLOBAL float *q, const GLOBAL float *k, const GLOBAL float *v, GLOBAL float *o, GLOBAL float *lse, int hq,
         int hkv, int sq, int sk, float scale, float softcap, const GLOBAL int *lengths, const GLOBAL int *pages) {
  const int row = BLOCK, j = THREAD, batch = row / (sq * hq), i = row / hq % sq, h = row % hq;
  const int keys = lengths[batch] - sq + 1 + i;
  float most = -1e30f, sum = 0, value = 0;
  q += row * 64, o += row * 64, pages += batch * (sk / 8);
  scale = scale == 0 ? 0.125f : scale;
  for (int t = 0; t < keys; t++) {
    const int at = pages[t / 8] * 8 + t % 8;
    const float s = score(q, k + (at * hkv + h * hkv / hq) * 64, scale, softcap);
    most = s > most ? s : most;
  }
  for (int t = 0; t < keys; t++) {
    const int at = pages[t / 8] * 8 + t % 8;
    const float weight = EXP(score(q, k + (at * hkv + h * hkv / hq) * 64, scale, softcap) - most);
    sum += weight;
    value += weight * v[(at * hkv + h * hkv / hq) * 64 + j];
  }
  o[j] = value / sum;
  if (j == 0) lse[(batch * hq + h) * sq + i] = most + LOG(sum);
}
