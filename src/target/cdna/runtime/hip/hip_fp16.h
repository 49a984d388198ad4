/* hip_fp16.h - half precision: __half and __half2 with HIP's conversions and functions, over the compiler's _Float16. */
#pragma once
#include "tw_half.h"

struct __half_raw {
  unsigned short x;
};
struct __half2_raw {
  unsigned short x, y;
};
struct __half {
  _Float16 data;
  __half() = default;
  constexpr TW_MEMBER __half(_Float16 v) : data(v) {}
  template <class T, typename tw_if<__is_arithmetic(T) && !__is_same(T, _Float16)>::type = 0>
  constexpr TW_MEMBER __half(T v) : data((_Float16)v) {}
  TW_MEMBER __half(__half_raw v) : data(tw_any_bits<_Float16>(v.x)) {}
  constexpr TW_MEMBER operator float() const { return (float)data; }
  TW_MEMBER operator __half_raw() const { return {tw_any_bits<unsigned short>(data)}; }
  constexpr TW_MEMBER _Float16 tw() const { return data; }
};
typedef __half half;
typedef _Float16 _Float16_2 __attribute__((ext_vector_type(2)));
struct alignas(4) __half2 {
  union {
    struct {
      __half x, y;
    };
    _Float16_2 data;
  };
  __half2() = default;
  constexpr TW_MEMBER __half2(__half a, __half b) : x(a), y(b) {}
  TW_MEMBER __half2(__half a) : x(a), y(a) {}
  TW_MEMBER __half2(_Float16_2 v) : data(v) {}
  TW_MEMBER __half2(__half2_raw v) : data(tw_any_bits<_Float16_2>(v)) {}
  TW_MEMBER operator __half2_raw() const { return tw_any_bits<__half2_raw>(data); }
};
typedef __half2 half2;
TW_BOTH __half __hfma(__half a, __half b, __half c) { return __builtin_fmaf16(a.data, b.data, c.data); }
TW_HALVES(__half, __half2)

TW_BOTH __half __float2half(float x) { return x; }
TW_BOTH __half __double2half(double x) { return x; }
TW_BOTH float __half2float(__half x) { return x; }
/* toward `side` (tw_float_toward) of the nearest */
TW_BOTH __half tw_half_toward(double x, int side) {
  const __half near = (_Float16)x;
  unsigned short bits = tw_any_bits<unsigned short>(near.data);
  const double back = (double)near.data;
  const bool negative = bits >> 15;
  if (side < 0 ? back > x : side > 0 ? back < x : negative ? back < x : back > x)
    bits = (unsigned short)((side > 0) != negative ? bits + 1 : bits - 1);
  return tw_any_bits<_Float16>(bits);
}
#define TW_HALF_ROUNDINGS(NAME, T)                                                                                     \
  TW_BOTH __half __##NAME##2half_rn(T x) { return x; }                                                                 \
  TW_BOTH __half __##NAME##2half_rz(T x) { return tw_half_toward((double)x, 0); }                                      \
  TW_BOTH __half __##NAME##2half_rd(T x) { return tw_half_toward((double)x, -1); }                                     \
  TW_BOTH __half __##NAME##2half_ru(T x) { return tw_half_toward((double)x, 1); }
#define TW_HALF_INTEGERS(NAME, T)                                                                                      \
  TW_HALF_ROUNDINGS(NAME, T)                                                                                           \
  TW_BOTH T __half2##NAME##_rn(__half x) { return (T)__builtin_rintf(x); }                                             \
  TW_BOTH T __half2##NAME##_rz(__half x) { return (T)(float)x; }                                                       \
  TW_BOTH T __half2##NAME##_rd(__half x) { return (T)__builtin_floorf(x); }                                            \
  TW_BOTH T __half2##NAME##_ru(__half x) { return (T)__builtin_ceilf(x); }
TW_HALF_ROUNDINGS(float, float)
TW_HALF_INTEGERS(short, short)
TW_HALF_INTEGERS(ushort, unsigned short)
TW_HALF_INTEGERS(int, int)
TW_HALF_INTEGERS(uint, unsigned)
TW_HALF_INTEGERS(ll, long long)
TW_HALF_INTEGERS(ull, unsigned long long)
TW_BOTH unsigned short __half_as_ushort(__half x) { return tw_any_bits<unsigned short>(x.data); }
TW_BOTH short __half_as_short(__half x) { return tw_any_bits<short>(x.data); }
TW_BOTH __half __ushort_as_half(unsigned short x) { return tw_any_bits<_Float16>(x); }
TW_BOTH __half __short_as_half(short x) { return tw_any_bits<_Float16>(x); }
TW_BOTH __half2 __floats2half2_rn(float a, float b) { return {__half(a), __half(b)}; }
TW_BOTH __half2 __float22half2_rn(float2 a) { return {__half(a.x), __half(a.y)}; }
TW_BOTH __half2 __float2half2_rn(float a) { return __half2(__half(a)); }
TW_BOTH float2 __half22float2(__half2 a) { return make_float2(a.x, a.y); }
TW_BOTH __half2 __halves2half2(__half a, __half b) { return {a, b}; }
TW_BOTH __half2 make_half2(__half a, __half b) { return {a, b}; }
TW_BOTH __half2 __half2half2(__half a) { return __half2(a); }
TW_BOTH __half __low2half(__half2 a) { return a.x; }
TW_BOTH __half __high2half(__half2 a) { return a.y; }
TW_BOTH __half2 __low2half2(__half2 a) { return {a.x, a.x}; }
TW_BOTH __half2 __high2half2(__half2 a) { return {a.y, a.y}; }
TW_BOTH __half2 __lows2half2(__half2 a, __half2 b) { return {a.x, b.x}; }
TW_BOTH __half2 __highs2half2(__half2 a, __half2 b) { return {a.y, b.y}; }
TW_DEVICE __half2 unsafeAtomicAdd(__half2 *p, __half2 v) {
  typedef _Float16_2 __attribute__((address_space(1))) * global;
  return __builtin_amdgcn_global_atomic_fadd_v2f16((global)p, v.data);
}
