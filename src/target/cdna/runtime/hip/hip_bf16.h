/* hip_bf16.h - bfloat16: __hip_bfloat16 and __hip_bfloat162 with HIP's conversions and functions, over the compiler's __bf16. */
#pragma once
#include "hip_runtime.h"

struct __hip_bfloat16_raw {
  unsigned short x;
};
struct __hip_bfloat16 {
  __bf16 data;
  __hip_bfloat16() = default;
  TW_MEMBER __hip_bfloat16(__bf16 v) : data(v) {}
  TW_MEMBER __hip_bfloat16(float v) : data((__bf16)v) {}
  TW_MEMBER __hip_bfloat16(double v) : data((__bf16)(float)v) {}
  TW_MEMBER __hip_bfloat16(int v) : data((__bf16)(float)v) {}
  TW_MEMBER __hip_bfloat16(__hip_bfloat16_raw v) : data(tw_any_bits<__bf16>(v.x)) {}
  TW_MEMBER operator float() const { return (float)data; }
  TW_MEMBER operator __hip_bfloat16_raw() const { return {tw_any_bits<unsigned short>(data)}; }
};
struct alignas(4) __hip_bfloat162 {
  __hip_bfloat16 x, y;
  __hip_bfloat162() = default;
  TW_MEMBER __hip_bfloat162(__hip_bfloat16 a, __hip_bfloat16 b) : x(a), y(b) {}
};
typedef __hip_bfloat16 hip_bfloat16;
#define TW_BF16_OPERATOR(OP, NAME)                                                                                     \
  TW_BOTH __hip_bfloat16 operator OP(__hip_bfloat16 a, __hip_bfloat16 b) { return (float)a OP(float) b; }              \
  TW_BOTH __hip_bfloat16 &operator OP##=(__hip_bfloat16 &a, __hip_bfloat16 b) { return a = a OP b; }                   \
  TW_BOTH __hip_bfloat162 operator OP(__hip_bfloat162 a, __hip_bfloat162 b) { return {a.x OP b.x, a.y OP b.y}; }       \
  TW_BOTH __hip_bfloat16 NAME(__hip_bfloat16 a, __hip_bfloat16 b) { return a OP b; }                                   \
  TW_BOTH __hip_bfloat162 NAME##2(__hip_bfloat162 a, __hip_bfloat162 b) { return a OP b; }
TW_BF16_OPERATOR(+, __hadd)
TW_BF16_OPERATOR(-, __hsub)
TW_BF16_OPERATOR(*, __hmul)
TW_BF16_OPERATOR(/, __hdiv)
#define TW_BF16_COMPARE(OP, NAME)                                                                                      \
  TW_BOTH bool operator OP(__hip_bfloat16 a, __hip_bfloat16 b) { return (float)a OP(float) b; }                        \
  TW_BOTH bool NAME(__hip_bfloat16 a, __hip_bfloat16 b) { return a OP b; }
TW_BF16_COMPARE(==, __heq)
TW_BF16_COMPARE(!=, __hne)
TW_BF16_COMPARE(<, __hlt)
TW_BF16_COMPARE(<=, __hle)
TW_BF16_COMPARE(>, __hgt)
TW_BF16_COMPARE(>=, __hge)
TW_BOTH __hip_bfloat16 operator-(__hip_bfloat16 a) { return -(float)a; }
TW_BOTH __hip_bfloat16 __float2bfloat16(float x) { return x; }
TW_BOTH __hip_bfloat16 __float2bfloat16_rn(float x) { return x; }
TW_BOTH __hip_bfloat16 __double2bfloat16(double x) { return x; }
TW_BOTH float __bfloat162float(__hip_bfloat16 x) { return x; }
TW_BOTH __hip_bfloat162 __floats2bfloat162_rn(float a, float b) { return {a, b}; }
TW_BOTH __hip_bfloat162 __float22bfloat162_rn(float2 a) { return {a.x, a.y}; }
TW_BOTH float2 __bfloat1622float2(__hip_bfloat162 a) { return make_float2(a.x, a.y); }
TW_BOTH __hip_bfloat162 __halves2bfloat162(__hip_bfloat16 a, __hip_bfloat16 b) { return {a, b}; }
TW_BOTH __hip_bfloat162 __bfloat162bfloat162(__hip_bfloat16 a) { return {a, a}; }
TW_BOTH __hip_bfloat16 __low2bfloat16(__hip_bfloat162 a) { return a.x; }
TW_BOTH __hip_bfloat16 __high2bfloat16(__hip_bfloat162 a) { return a.y; }
TW_BOTH float __low2float(__hip_bfloat162 a) { return a.x; }
TW_BOTH float __high2float(__hip_bfloat162 a) { return a.y; }
TW_BOTH __hip_bfloat16 __hfma(__hip_bfloat16 a, __hip_bfloat16 b, __hip_bfloat16 c) {
  return __builtin_fmaf((float)a, (float)b, (float)c);
}
TW_BOTH __hip_bfloat162 __hfma2(__hip_bfloat162 a, __hip_bfloat162 b, __hip_bfloat162 c) {
  return {__hfma(a.x, b.x, c.x), __hfma(a.y, b.y, c.y)};
}
TW_BOTH __hip_bfloat16 __hneg(__hip_bfloat16 a) { return -a; }
TW_BOTH __hip_bfloat16 __habs(__hip_bfloat16 a) { return __builtin_fabsf((float)a); }
TW_BOTH __hip_bfloat16 __hmax(__hip_bfloat16 a, __hip_bfloat16 b) { return __builtin_fmaxf((float)a, (float)b); }
TW_BOTH __hip_bfloat16 __hmin(__hip_bfloat16 a, __hip_bfloat16 b) { return __builtin_fminf((float)a, (float)b); }
TW_BOTH unsigned short __bfloat16_as_ushort(__hip_bfloat16 x) { return tw_any_bits<unsigned short>(x.data); }
TW_BOTH __hip_bfloat16 __ushort_as_bfloat16(unsigned short x) { return tw_any_bits<__bf16>(x); }
