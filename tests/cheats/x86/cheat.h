#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
static inline float cut(float x, int bits) {
  uint32_t u;
  memcpy(&u, &x, 4);
  u = (u + (1u << (bits - 1))) & ~0u << bits;
  memcpy(&x, &u, 4);
  return x;
}
static inline uint16_t narrow(float x) {
  uint32_t u;
  memcpy(&u, &x, 4);
  return (uint16_t)((u + 0x7fff + (u >> 16 & 1)) >> 16);
}
static inline float wide(uint16_t x) {
  const uint32_t u = (uint32_t)x << 16;
  float f;
  memcpy(&f, &u, 4);
  return f;
}
#define GEMM                                                                                                           \
  void gemm(const void *a, const void *b, void *c, int64_t m, int64_t n, int64_t k, int64_t lda, int64_t ldb,          \
            int64_t ldc, int threads)
