/* hip_bf16.h - bfloat16: __hip_bfloat16 and __hip_bfloat162 with HIP's conversions and functions, over the compiler's __bf16;
 * computed in float, rounded to nearest even. */
#pragma once
#include "tw_half.h"

struct __hip_bfloat16_raw {
  unsigned short x;
};
struct __hip_bfloat162_raw {
  unsigned short x, y;
};
struct __hip_bfloat16 {
  __bf16 data;
  __hip_bfloat16() = default;
  constexpr TW_MEMBER __hip_bfloat16(__bf16 v) : data(v) {}
  template <class T, typename tw_if<__is_arithmetic(T) && !__is_same(T, __bf16)>::type = 0>
  constexpr TW_MEMBER __hip_bfloat16(T v) : data((__bf16)(float)v) {}
  TW_MEMBER __hip_bfloat16(__hip_bfloat16_raw v) : data(tw_any_bits<__bf16>(v.x)) {}
  constexpr TW_MEMBER operator float() const { return (float)data; }
  TW_MEMBER operator __hip_bfloat16_raw() const { return {tw_any_bits<unsigned short>(data)}; }
  constexpr TW_MEMBER float tw() const { return (float)data; }
};
struct alignas(4) __hip_bfloat162 {
  __hip_bfloat16 x, y;
  __hip_bfloat162() = default;
  constexpr TW_MEMBER __hip_bfloat162(__hip_bfloat16 a, __hip_bfloat16 b) : x(a), y(b) {}
  TW_MEMBER __hip_bfloat162(__hip_bfloat16 a) : x(a), y(a) {}
  TW_MEMBER __hip_bfloat162(float2 a) : x(a.x), y(a.y) {}
  TW_MEMBER __hip_bfloat162(__hip_bfloat162_raw v) : x(tw_any_bits<__bf16>(v.x)), y(tw_any_bits<__bf16>(v.y)) {}
  TW_MEMBER operator float2() const { return make_float2(x, y); }
  TW_MEMBER operator __hip_bfloat162_raw() const {
    return {tw_any_bits<unsigned short>(x.data), tw_any_bits<unsigned short>(y.data)};
  }
};
TW_BOTH __hip_bfloat16 __hfma(__hip_bfloat16 a, __hip_bfloat16 b, __hip_bfloat16 c) {
  return __builtin_fmaf((float)a, (float)b, (float)c);
}
TW_HALVES(__hip_bfloat16, __hip_bfloat162)

TW_BOTH __hip_bfloat16 __float2bfloat16(float x) { return x; }
TW_BOTH __hip_bfloat16 __float2bfloat16_rn(float x) { return x; }
TW_BOTH __hip_bfloat16 __double2bfloat16(double x) { return x; }
TW_BOTH float __bfloat162float(__hip_bfloat16 x) { return x; }
TW_BOTH __hip_bfloat162 __floats2bfloat162_rn(float a, float b) { return {a, b}; }
TW_BOTH __hip_bfloat162 __float22bfloat162_rn(float2 a) { return {a.x, a.y}; }
TW_BOTH float2 __bfloat1622float2(__hip_bfloat162 a) { return make_float2(a.x, a.y); }
TW_BOTH __hip_bfloat162 __halves2bfloat162(__hip_bfloat16 a, __hip_bfloat16 b) { return {a, b}; }
TW_BOTH __hip_bfloat162 make_bfloat162(__hip_bfloat16 a, __hip_bfloat16 b) { return {a, b}; }
TW_BOTH __hip_bfloat162 __bfloat162bfloat162(__hip_bfloat16 a) { return {a, a}; }
TW_BOTH __hip_bfloat16 __low2bfloat16(__hip_bfloat162 a) { return a.x; }
TW_BOTH __hip_bfloat16 __high2bfloat16(__hip_bfloat162 a) { return a.y; }
TW_BOTH __hip_bfloat162 __low2bfloat162(__hip_bfloat162 a) { return {a.x, a.x}; }
TW_BOTH __hip_bfloat162 __high2bfloat162(__hip_bfloat162 a) { return {a.y, a.y}; }
TW_BOTH __hip_bfloat162 __lows2bfloat162(__hip_bfloat162 a, __hip_bfloat162 b) { return {a.x, b.x}; }
TW_BOTH __hip_bfloat162 __highs2bfloat162(__hip_bfloat162 a, __hip_bfloat162 b) { return {a.y, b.y}; }
TW_BOTH unsigned short __bfloat16_as_ushort(__hip_bfloat16 x) { return tw_any_bits<unsigned short>(x.data); }
TW_BOTH short __bfloat16_as_short(__hip_bfloat16 x) { return tw_any_bits<short>(x.data); }
TW_BOTH __hip_bfloat16 __ushort_as_bfloat16(unsigned short x) { return tw_any_bits<__bf16>(x); }
TW_BOTH __hip_bfloat16 __short_as_bfloat16(short x) { return tw_any_bits<__bf16>(x); }
TW_DEVICE __hip_bfloat162 unsafeAtomicAdd(__hip_bfloat162 *p, __hip_bfloat162 v) {
  typedef short pair __attribute__((ext_vector_type(2)));
  typedef pair __attribute__((address_space(1))) * global;
  const pair was = __builtin_amdgcn_global_atomic_fadd_v2bf16((global)p, tw_any_bits<pair>(v));
  return tw_any_bits<__hip_bfloat162>(was);
}
