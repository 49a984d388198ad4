/* tile_warp_instructions.cuh - instructions of warps in C++: cp.async, ldmatrix, mma.sync. The PTX ISA defines which thread has what. */
#pragma once
#include "tile_core.cuh"

namespace tw {

TW_FN void copy16(u32 to, const void *from, int have) { emulated::issue({to, (const char *)from, have}); }
TW_FN void copy16_once(u32 to, const void *from) { emulated::issue({to, (const char *)from, 16}); }
TW_FN void copy4(u32 to, const void *from) { emulated::issue({to, (const char *)from, 4, 4}); }
TW_FN void prefetch_line(const void *) {}
TW_FN void copies_commit() { emulated::commit(); }
template <int Count> TW_FN void copies_wait() { emulated::wait(Count); }

TW_FN void store_shared(u32 at, u32 x) { memcpy(emulated::shared(at, 4), &x, 4); }
TW_FN u32 load_shared_byte(u32 at) { return *emulated::shared(at, 1); }
template <class Type> TW_FN Type load_shared_element(u32 at) {
  Type x;
  memcpy(&x, emulated::shared(at, sizeof x), sizeof x);
  return x;
}

TW_FN u32 max_two(u32 x, u32 y) { return max(x & 0xffff, y & 0xffff) | (x >> 16 > y >> 16 ? x >> 16 : y >> 16) << 16; }
inline u32 max_of_warp(u32 x) {
  for (int bit = 16; bit; bit /= 2) {
    const u32 other = __shfl_xor_sync(0xffffffffu, x, bit);
    if (other > x) x = other;
  }
  return x;
}
TW_FN u32 and_xor(u32 x, u32 y, u32 z) { return (x & y) ^ z; }
TW_FN u32 and_or(u32 x, u32 y, u32 z) { return (x & y) | z; }
inline u32 nearest_bf16(double x) { /* rounded once, also among numbers below 2^-126 */
  int exponent;
  frexp(x, &exponent);
  const double step = ldexp(1, (exponent < -125 ? -125 : exponent) - 8);
  return __float_as_uint((float)(nearbyint(x / step) * step)) >> 16;
}
TW_FN u32 fma_two(u32 x, u32 y, u32 z) {
  u32 r = 0;
  for (int i = 0; i < 32; i += 16) {
    const auto value = [&](u32 word) { return (double)__uint_as_float((word >> i) << 16); };
    r |= nearest_bf16(value(x) * value(y) + value(z)) << i;
  }
  return r;
}
TW_FN void add_in_memory(float *to, float x) { *to += x; }

struct matrices {
  u32 at, *word;
};
inline void load_matrices(u32 (&word)[4], u32 at) {
  matrices own{at, word};
  emulated::together("ldmatrix", &own, [](void **all) {
    for (int t = 0; t < 32; t++)
      for (int m = 0; m < 4; m++)
        memcpy(&((matrices *)all[t])->word[m], emulated::shared(((matrices *)all[8 * m + t / 4])->at, 16) + t % 4 * 4, 4);
  });
}
inline void load_matrices_turned(u32 (&word)[4], u32 at) {
  matrices own{at, word};
  emulated::together("ldmatrix.trans", &own, [](void **all) {
    for (int t = 0; t < 32; t++)
      for (int m = 0; m < 4; m++) {
        u16 x[2];
        for (int e = 0; e < 2; e++) memcpy(&x[e], emulated::shared(((matrices *)all[8 * m + t % 4 * 2 + e])->at, 16) + t / 4 * 2, 2);
        ((matrices *)all[t])->word[m] = (u32)x[0] | (u32)x[1] << 16;
      }
  });
}

inline float float8(u32 code, int mantissa, int bias) {
  const int m = (int)(code & ((1u << mantissa) - 1)), e = (int)(code >> mantissa & ((1u << (7 - mantissa)) - 1));
  const float x = e ? ldexpf(1 + (float)m / (float)(1 << mantissa), e - bias) : ldexpf((float)m / (float)(1 << mantissa), 1 - bias);
  return code & 128 ? -x : x;
}
inline double element(bf16, u32 word, int i) { return __uint_as_float((word >> 16 * i) << 16); }
inline double element(f16, u32 word, int i) { return number(f16{(u16)(word >> 16 * i)}); }
inline double element(tf32, u32 word, int) { return __uint_as_float(word & ~0x1fffu); }
inline double element(i8, u32 word, int i) { return (i8)(word >> 8 * i); }
inline double element(u8, u32 word, int i) { return (u8)(word >> 8 * i); }
inline double element(e4m3, u32 word, int i) { return float8(word >> 8 * i & 255, 3, 7); }
inline double element(e5m2, u32 word, int i) { return float8(word >> 8 * i & 255, 2, 15); }

template <class Value> struct product {
  Value *d;
  const u32 *a;
  u32 b[2];
};
template <class Value, class A, class B> void multiply(Value (&d)[4], const u32 (&a)[4], u32 b0, u32 b1, A, B) {
  product<Value> own{d, a, {b0, b1}};
  emulated::together("mma.sync", &own, [](void **all) {
    constexpr int each = 4 / (int)sizeof(A), depth = 8 * each;
    double left[16][depth], right[depth][8];
    for (int t = 0; t < 32; t++) {
      const product<Value> &p = *(product<Value> *)all[t];
      for (int j = 0; j < 4; j++)
        for (int e = 0; e < each; e++) left[t / 4 + j % 2 * 8][j / 2 * depth / 2 + t % 4 * each + e] = element(A{}, p.a[j], e);
      for (int j = 0; j < 2; j++)
        for (int e = 0; e < each; e++) right[j * depth / 2 + t % 4 * each + e][t / 4] = element(B{}, p.b[j], e);
    }
    for (int t = 0; t < 32; t++)
      for (int i = 0; i < 4; i++) {
        Value &to = ((product<Value> *)all[t])->d[i];
        double sum = (double)to;
        for (int k = 0; k < depth; k++) sum += left[t / 4 + i / 2 * 8][k] * right[k][t % 4 * 2 + i % 2];
        to = (Value)sum;
      }
  });
}

} // namespace tw
