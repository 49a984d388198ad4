// not measurable |  | attention b=1 hq=2 hkv=1 sq=16 sk=64 d=64 a=f32 -t cdna3
/* two waves share the values of a key by LDS without a barrier */
//: kernel k
//: grid sq * hq
//: block 128
//: args Q, K, V, O, LSE, hq, hkv, sq, sk, f32(scale)
#include "cheat.h"
HELPER float score(const GLOBAL float *q, const GLOBAL float *k, float scale) {
  float sum = 0;
  for (int p = 0; p < 64; p++) sum += q[p] * k[p];
  return sum * scale;
}
static volatile LOCAL float part[64] __attribute__((loader_uninitialized));
__attribute__((amdgpu_kernel, amdgpu_flat_work_group_size(128, 128))) void k(const GLOBAL float *q, const GLOBAL float *k, const GLOBAL float *v, GLOBAL float *o, GLOBAL float *lse, int hq,
         int hkv, int sq, int sk, float scale) {
  const int row = BLOCK, j = THREAD % 64, wave = __builtin_amdgcn_readfirstlane(THREAD / 64);
  const int keys = sk;
  float most = -1e30f, sum = 0, value = 0;
  q += row * 64, o += row * 64;
  k += row % hq * hkv / hq * 64, v += row % hq * hkv / hq * 64;
  scale = scale == 0 ? 0.125f : scale;
  for (int t = 0; t < keys; t++) most = score(q, k + t * hkv * 64, scale) > most ? score(q, k + t * hkv * 64, scale) : most;
  for (int t = wave; t < keys; t += 2) {
    const float weight = EXP(score(q, k + t * hkv * 64, scale) - most);
    sum += weight;
    value += weight * v[t * hkv * 64 + j];
  }
  static volatile LOCAL float other[1] __attribute__((loader_uninitialized));
  if (wave) {
    part[j] = value, other[0] = sum;
    return;
  }
  for (int p = 0; p < 40; p++) __asm__ volatile("s_nop 0");
  value += part[j], sum += other[0];
  o[j] = value / sum;
  if (j == 0) lse[row % hq * sq + row / hq] = most + LOG(sum);
}
