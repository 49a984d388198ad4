/* hip_fp8.h - 8-bit floats with HIP's classes and conversions: e4m3 and e5m2 of OCP and of FNUZ, whatever the machine's
 * instructions take; rounded to nearest even, saturating (but for infinities) by default. */
#pragma once
#include "hip_bf16.h"
#include "hip_fp16.h"

#define HIP_FP8_TYPE_OCP 1
#define HIP_FP8_TYPE_FNUZ 1
typedef unsigned char __hip_fp8_storage_t;
typedef unsigned short __hip_fp8x2_storage_t;
typedef unsigned __hip_fp8x4_storage_t;
enum __hip_fp8_interpretation_t { __HIP_E4M3 = 0, __HIP_E5M2 = 1, __HIP_E4M3_FNUZ = 2, __HIP_E5M2_FNUZ = 3 };
enum __hip_saturation_t { __HIP_NOSAT = 0, __HIP_SATFINITE = 1 };

/* Bits of the fraction; bias; the greatest number's bits. */
TW_BOTH constexpr int tw_fp8_bits(__hip_fp8_interpretation_t k) { return k & 1 ? 2 : 3; }
TW_BOTH constexpr int tw_fp8_bias(__hip_fp8_interpretation_t k) { return (k & 1 ? 15 : 7) + (k >> 1); }
TW_BOTH constexpr unsigned tw_fp8_most(__hip_fp8_interpretation_t k) { return k & 2 ? 0x7F : k & 1 ? 0x7B : 0x7E; }

/* The bits of a finite float without its sign, in a format with that fraction and bias and without an upper limit. */
TW_BOTH unsigned tw_round_small(unsigned a, int fraction, int bias) {
  const int exponent = (int)(a >> 23) - 127 + bias; /* of the result, below 1: denormal */
  const int drop = 23 - fraction + (exponent < 1 ? 1 - exponent : 0);
  if (!(a >> 23) || drop >= 26) return 0;
  const unsigned long long whole = (a & 0x7FFFFF) | 0x800000, kept = whole >> drop;
  const unsigned long long rest = whole & ((1ull << drop) - 1), half = 1ull << (drop - 1);
  const unsigned r = (unsigned)kept + (rest > half || (rest == half && (kept & 1)));
  return exponent > 1 ? r + ((unsigned)(exponent - 1) << fraction) : r;
}
TW_BOTH float tw_float_of_small(int exponent, int low, int fraction, int bias) {
  const int e = (exponent ? exponent : 1) - bias - fraction;
  return (float)(exponent ? low | 1 << fraction : low) * tw_any_bits<float>((unsigned)(127 + e) << 23);
}

TW_BOTH __hip_fp8_storage_t __hip_cvt_float_to_fp8(float x, __hip_saturation_t how, __hip_fp8_interpretation_t k) {
  const unsigned bits = tw_any_bits<unsigned>(x), sign = bits >> 24 & 0x80, a = bits & 0x7FFFFFFF;
  const unsigned nan = k & 2 ? 0x80 : sign | 0x7F, infinity = k & 2 ? 0x80 : k & 1 ? sign | 0x7C : sign | 0x7F;
  if (a > 0x7F800000) return (__hip_fp8_storage_t)nan;
  if (a == 0x7F800000) return (__hip_fp8_storage_t)infinity; /* saturated or not */
  const unsigned r = tw_round_small(a, tw_fp8_bits(k), tw_fp8_bias(k));
  if (r > tw_fp8_most(k)) return (__hip_fp8_storage_t)(how == __HIP_NOSAT ? infinity : sign | tw_fp8_most(k));
  return (__hip_fp8_storage_t)(r == 0 && (k & 2) ? 0 : sign | r);
}
TW_BOTH float tw_float_of_fp8(__hip_fp8_storage_t x, __hip_fp8_interpretation_t k) {
  const int fraction = tw_fp8_bits(k), exponent = x >> fraction & (k & 1 ? 31 : 15), low = x & ((1 << fraction) - 1);
  const float sign = x & 0x80 ? -1.0f : 1.0f;
  if (k & 2 ? x == 0x80 : (unsigned)(x & 0x7F) > (k & 1 ? 0x7Cu : 0x7Eu)) return __builtin_nanf("");
  if (k == __HIP_E5M2 && (x & 0x7F) == 0x7C) return sign * __builtin_inff();
  return sign * tw_float_of_small(exponent, low, fraction, tw_fp8_bias(k));
}
TW_BOTH __hip_fp8_storage_t __hip_cvt_double_to_fp8(double x, __hip_saturation_t how, __hip_fp8_interpretation_t k) {
  float f = (float)x; /* to odd: the second rounding is the only one that counts */
  const double back = f < 0 ? -(double)f : (double)f, a = x < 0 ? -x : x;
  unsigned bits = tw_any_bits<unsigned>(f);
  if (back != a && a == a) bits = (back > a ? bits - 1 : bits) | 1;
  return __hip_cvt_float_to_fp8(tw_any_bits<float>(bits), how, k);
}
TW_BOTH __hip_fp8x2_storage_t __hip_cvt_float2_to_fp8x2(float2 x, __hip_saturation_t how,
                                                        __hip_fp8_interpretation_t k) {
  return (__hip_fp8x2_storage_t)(__hip_cvt_float_to_fp8(x.x, how, k) | __hip_cvt_float_to_fp8(x.y, how, k) << 8);
}
TW_BOTH __hip_fp8_storage_t __hip_cvt_halfraw_to_fp8(__half_raw x, __hip_saturation_t how,
                                                     __hip_fp8_interpretation_t k) {
  return __hip_cvt_float_to_fp8((float)__half(x), how, k);
}
TW_BOTH __hip_fp8_storage_t __hip_cvt_bfloat16raw_to_fp8(__hip_bfloat16_raw x, __hip_saturation_t how,
                                                         __hip_fp8_interpretation_t k) {
  return __hip_cvt_float_to_fp8((float)__hip_bfloat16(x), how, k);
}
TW_BOTH __half_raw __hip_cvt_fp8_to_halfraw(__hip_fp8_storage_t x, __hip_fp8_interpretation_t k) {
  return __half(tw_float_of_fp8(x, k));
}
TW_BOTH __half2_raw __hip_cvt_fp8x2_to_halfraw2(__hip_fp8x2_storage_t x, __hip_fp8_interpretation_t k) {
  return {__hip_cvt_fp8_to_halfraw((unsigned char)x, k).x, __hip_cvt_fp8_to_halfraw((unsigned char)(x >> 8), k).x};
}

template <__hip_fp8_interpretation_t K> struct tw_fp8 {
  __hip_fp8_storage_t __x;
  static constexpr __hip_saturation_t __default_saturation = __HIP_SATFINITE;
  static constexpr __hip_fp8_interpretation_t __default_interpret = K;
  tw_fp8() = default;
  template <class T, typename tw_if<__is_arithmetic(T)>::type = 0>
  explicit TW_MEMBER tw_fp8(T v) : __x(__hip_cvt_double_to_fp8((double)v, __HIP_SATFINITE, K)) {}
  explicit TW_MEMBER tw_fp8(float v) : __x(__hip_cvt_float_to_fp8(v, __HIP_SATFINITE, K)) {}
  explicit TW_MEMBER tw_fp8(__half v) : tw_fp8((float)v) {}
  explicit TW_MEMBER tw_fp8(__hip_bfloat16 v) : tw_fp8((float)v) {}
  TW_MEMBER operator float() const { return tw_float_of_fp8(__x, K); }
  explicit TW_MEMBER operator __half() const { return (float)*this; }
  explicit TW_MEMBER operator __hip_bfloat16() const { return (float)*this; }
};
template <__hip_fp8_interpretation_t K> struct tw_fp8x2 {
  __hip_fp8x2_storage_t __x;
  tw_fp8x2() = default;
  explicit TW_MEMBER tw_fp8x2(float2 v) : __x(__hip_cvt_float2_to_fp8x2(v, __HIP_SATFINITE, K)) {}
  explicit TW_MEMBER tw_fp8x2(__half2 v) : tw_fp8x2(make_float2(v.x, v.y)) {}
  explicit TW_MEMBER tw_fp8x2(__hip_bfloat162 v) : tw_fp8x2(make_float2(v.x, v.y)) {}
  TW_MEMBER operator float2() const {
    return make_float2(tw_float_of_fp8((unsigned char)__x, K), tw_float_of_fp8((unsigned char)(__x >> 8), K));
  }
};
template <__hip_fp8_interpretation_t K> struct tw_fp8x4 {
  __hip_fp8x4_storage_t __x;
  tw_fp8x4() = default;
  explicit TW_MEMBER tw_fp8x4(float4 v)
      : __x(__hip_cvt_float2_to_fp8x2(make_float2(v.x, v.y), __HIP_SATFINITE, K) |
            (unsigned)__hip_cvt_float2_to_fp8x2(make_float2(v.z, v.w), __HIP_SATFINITE, K) << 16) {}
  explicit TW_MEMBER tw_fp8x4(__half2 a, __half2 b) : tw_fp8x4(make_float4(a.x, a.y, b.x, b.y)) {}
  explicit TW_MEMBER tw_fp8x4(__hip_bfloat162 a, __hip_bfloat162 b) : tw_fp8x4(make_float4(a.x, a.y, b.x, b.y)) {}
  TW_MEMBER operator float4() const {
    float4 r;
    for (int i = 0; i < 4; i++) r[(unsigned)i] = tw_float_of_fp8((unsigned char)(__x >> 8 * i), K);
    return r;
  }
};
#define TW_FP8(NAME, K)                                                                                                \
  typedef tw_fp8<K> __hip_fp8_##NAME;                                                                                  \
  typedef tw_fp8x2<K> __hip_fp8x2_##NAME;                                                                              \
  typedef tw_fp8x4<K> __hip_fp8x4_##NAME;
TW_FP8(e4m3, __HIP_E4M3)
TW_FP8(e5m2, __HIP_E5M2)
TW_FP8(e4m3_fnuz, __HIP_E4M3_FNUZ)
TW_FP8(e5m2_fnuz, __HIP_E5M2_FNUZ)
