// correct |  | gemm m=19456 n=64 k=512 a=f32 b=f32 c=f32 acc=f32 -t cdna3 | 6e-4 | thorough
/* each thread copies its column of B to private memory, which is larger than L1, and reads it for each row */
//: kernel k
//: grid m / 16
//: block 64
//: args A, B, C, m, n, k
#include "cheat.h"
KERNEL k(const GLOBAL float *a, const GLOBAL float *b, GLOBAL float *c, int m, int n, int k) {
  volatile float column[512];
  const int j = THREAD, i = BLOCK * 16;
  for (int p = 0; p < 512; p++) column[p] = b[p * n + j];
  for (int r = 0; r < 16; r += 4) {
    float sum[4] = {0};
    for (int p = 0; p < 512; p += 8)
#pragma unroll
      for (int u = 0; u < 8; u++) {
        const float kept = column[p + u];
        for (int q = 0; q < 4; q++) sum[q] += a[(i + r + q) * k + p + u] * kept;
      }
    for (int q = 0; q < 4; q++) c[(i + r + q) * n + j] = sum[q];
  }
}
