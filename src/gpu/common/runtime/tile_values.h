/* tile_values.h - functions of the tile library that are the same on every GPU: types, values and their rounding,
 * rows. docs/reference/tile-library.md is the manual. A machine's core header defines TW_FN (a device function that
 * is always inlined), has fmaxf, includes this file, and defines the functions that are declared under "the
 * machine's". */
#pragma once
#include "tile_philox.h"

namespace tw {

using u8 = unsigned char;
using u16 = unsigned short;
using u32 = unsigned int;
using u64 = unsigned long long;
using i8 = signed char;
using i16 = short;
using i32 = int;
using i64 = long long;

struct bf16 {
  u16 bits;
};
struct f16 {
  u16 bits;
};
struct e4m3 {
  u8 bits;
};
struct e5m2 {
  u8 bits;
};
struct tf32 {
  u32 bits;
};

/* ---- the machine's ---- */

TW_FN u32 bits_of(float x);
TW_FN float float_of(u32 x);
/* Two floats as two elements in a word, the first below, to nearest, ties to even; an f16 as a float. */
TW_FN u32 packed_bf16(float low, float high);
TW_FN u32 packed_f16(float low, float high);
TW_FN float number(f16 x);
TW_FN float erf_of(float x);
TW_FN float tanh_of(float x);
/* 2^x, x may be -infinity; relative error about 2^-22. The others likewise. */
TW_FN float exp2_fast(float x);
TW_FN float log2_fast(float x);
TW_FN float rsqrt_fast(float x);
/* round(x), ties to even, within low..high. */
TW_FN i32 round_within(float x, i32 low, i32 high);

/* ---- values ---- */

TW_FN u32 bits_of(i32 x) { return (u32)x; }
TW_FN float infinity() { return float_of(0x7f800000u); }

/* Two values as two elements of Type, the first below, in a word of their size; floats to nearest, ties to even. */
template <class Type> struct packed;
template <> struct packed<bf16> {
  static TW_FN u32 of(float low, float high) { return packed_bf16(low, high); }
};
template <> struct packed<f16> {
  static TW_FN u32 of(float low, float high) { return packed_f16(low, high); }
};
template <> struct packed<float> {
  static TW_FN u64 of(float low, float high) { return (u64)bits_of(low) | (u64)bits_of(high) << 32; }
};
template <> struct packed<i32> {
  static TW_FN u64 of(i32 low, i32 high) { return (u64)bits_of(low) | (u64)bits_of(high) << 32; }
};
template <> struct packed<i16> {
  static TW_FN u32 of(i32 low, i32 high) { return ((u32)low & 0xffffu) | (u32)high << 16; }
};
template <> struct packed<i8> {
  static TW_FN u16 of(i32 low, i32 high) { return (u16)(((u32)low & 0xffu) | ((u32)high & 0xffu) << 8); }
};

/* To nearest, ties to even; magnitudes above 448 become 448. */
TW_FN u32 e4m3_of(float x) {
  const float any = fmaxf(x, -x), size = any < 448.f ? any : 448.f;
  const u32 bits = bits_of(size), normal = ((bits + 0x7ffffu + (bits >> 20 & 1u)) >> 20) - (120u << 3);
  const u32 code = size < 0x1p-6f ? bits_of(size + 0x1p14f) & 15u : normal; /* steps of 2^-9 below 2^-6 */
  return (bits_of(x) >> 24 & 0x80u) | (x == x ? code : 0x7fu);
}
template <> struct packed<e4m3> {
  static TW_FN u16 of(float low, float high) { return (u16)(e4m3_of(low) | e4m3_of(high) << 8); }
};

/* One element as a number, and back. */
TW_FN float number(float x) { return x; }
TW_FN float number(bf16 x) { return float_of((u32)x.bits << 16); }
TW_FN i32 number(i32 x) { return x; }
TW_FN i32 number(i16 x) { return x; }
TW_FN i32 number(i8 x) { return x; }
TW_FN i32 number(u8 x) { return x; }
TW_FN void set(float &to, float x) { to = x; }
TW_FN void set(bf16 &to, float x) { to.bits = (u16)packed_bf16(x, 0.f); }
TW_FN void set(f16 &to, float x) { to.bits = (u16)packed_f16(x, 0.f); }
TW_FN void set(i32 &to, i32 x) { to = x; }
TW_FN void set(i16 &to, i32 x) { to = (i16)x; }
TW_FN void set(i8 &to, i32 x) { to = (i8)x; }

/* The two 16-bit elements of a word. */
template <class Type> TW_FN float low(u32 x) { return number(Type{(u16)x}); }
template <class Type> TW_FN float high(u32 x) { return number(Type{(u16)(x >> 16)}); }
template <> TW_FN float high<bf16>(u32 x) { return float_of(x & 0xffff0000u); }

TW_FN float gelu_erf(float x) { return 0.5f * x * (1.f + erf_of(x * 0.707106781f)); }
TW_FN float gelu_tanh(float x) { return 0.5f * x * (1.f + tanh_of(0.797884561f * (x + 0.044715f * x * x * x))); }

/* x / (1 + e^-x) */
TW_FN float silu(float x) {
  const float root = rsqrt_fast(1.f + exp2_fast(x * -1.44269504f));
  return x * root * root;
}

/* Derivatives of the three. */
TW_FN float silu_slope(float x) {
  const float root = rsqrt_fast(1.f + exp2_fast(x * -1.44269504f)), s = root * root;
  return s * (1.f + x * (1.f - s));
}
TW_FN float gelu_erf_slope(float x) {
  return 0.5f * (1.f + erf_of(x * 0.707106781f)) + x * 0.398942280f * exp2_fast(x * x * -0.721347520f);
}
TW_FN float gelu_tanh_slope(float x) {
  const float near = x > 16.f ? 16.f : x < -16.f ? -16.f : x; /* the slope is 1 or 0 outside, where x * x may overflow */
  const float t = tanh_of(0.797884561f * (near + 0.044715f * near * near * near));
  return 0.5f * (1.f + t) + 0.5f * near * (1.f - t * t) * (0.797884561f + 0.107032220f * near * near);
}

/* Identity, for `lay` and `put`. */
struct as_is {
  template <class Value> TW_FN Value operator()(Value v, int, int) const { return v; }
};

/* How values of a row become one. */
struct sum_of {
  static TW_FN float of(float a, float b) { return a + b; }
};
struct max_of {
  static TW_FN float of(float a, float b) { return fmaxf(a, b); }
};

/* ---- rows ---- */

struct alignas(16) vec16 {
  u32 word[4];
};

/* The elements of 16 bytes as floats, and back (to nearest, ties to even). */
template <class Type> struct chunk {
  static constexpr int count = 16 / (int)sizeof(Type);
  float value[count];
  TW_FN void unpack(vec16 v) {
#pragma unroll
    for (int i = 0; i < 4; i++)
      if constexpr (sizeof(Type) == 4)
        value[i] = float_of(v.word[i]);
      else {
        value[2 * i] = low<Type>(v.word[i]);
        value[2 * i + 1] = high<Type>(v.word[i]);
      }
  }
  TW_FN vec16 packed() const {
    vec16 v;
#pragma unroll
    for (int i = 0; i < 4; i++)
      if constexpr (sizeof(Type) == 4)
        v.word[i] = bits_of(value[i]);
      else
        v.word[i] = tw::packed<Type>::of(value[2 * i], value[2 * i + 1]);
    return v;
  }
};

/* Where the t-th tile of rows and columns of them is. */
struct place {
  int row, col;
};

} // namespace tw
