/* hip_fp16.h - half precision: __half and __half2 with HIP's conversions and functions, over the compiler's _Float16. */
#pragma once
#include "hip_runtime.h"

struct __half_raw {
  unsigned short x;
};
struct __half {
  _Float16 data;
  __half() = default;
  TW_MEMBER __half(_Float16 v) : data(v) {}
  TW_MEMBER __half(float v) : data((_Float16)v) {}
  TW_MEMBER __half(double v) : data((_Float16)v) {}
  TW_MEMBER __half(int v) : data((_Float16)v) {}
  TW_MEMBER __half(unsigned v) : data((_Float16)v) {}
  TW_MEMBER __half(__half_raw v) : data(tw_any_bits<_Float16>(v.x)) {}
  TW_MEMBER operator float() const { return (float)data; }
  TW_MEMBER operator __half_raw() const { return {tw_any_bits<unsigned short>(data)}; }
};
typedef __half half;
struct alignas(4) __half2 {
  union {
    struct {
      __half x, y;
    };
    _Float16 data __attribute__((ext_vector_type(2)));
  };
  __half2() = default;
  TW_MEMBER __half2(__half a, __half b) : x(a), y(b) {}
  TW_MEMBER __half2(__half a) : x(a), y(a) {}
  TW_MEMBER __half2(_Float16 v __attribute__((ext_vector_type(2)))) : data(v) {}
};
typedef __half2 half2;
#define TW_HALF_OPERATOR(OP)                                                                                           \
  TW_BOTH __half operator OP(__half a, __half b) { return (_Float16)(a.data OP b.data); }                              \
  TW_BOTH __half &operator OP##=(__half &a, __half b) { return a = a OP b; }                                           \
  TW_BOTH __half2 operator OP(__half2 a, __half2 b) { return a.data OP b.data; }                                       \
  TW_BOTH __half2 &operator OP##=(__half2 &a, __half2 b) { return a = a OP b; }
TW_HALF_OPERATOR(+)
TW_HALF_OPERATOR(-)
TW_HALF_OPERATOR(*)
TW_HALF_OPERATOR(/)
TW_BOTH __half operator-(__half a) { return (_Float16)-a.data; }
TW_BOTH __half2 operator-(__half2 a) { return -a.data; }
#define TW_HALF_COMPARE(OP, NAME)                                                                                      \
  TW_BOTH bool operator OP(__half a, __half b) { return a.data OP b.data; }                                            \
  TW_BOTH bool NAME(__half a, __half b) { return a.data OP b.data; }
TW_HALF_COMPARE(==, __heq)
TW_HALF_COMPARE(!=, __hne)
TW_HALF_COMPARE(<, __hlt)
TW_HALF_COMPARE(<=, __hle)
TW_HALF_COMPARE(>, __hgt)
TW_HALF_COMPARE(>=, __hge)

TW_BOTH __half __float2half(float x) { return x; }
TW_BOTH __half __float2half_rn(float x) { return x; }
TW_BOTH __half __double2half(double x) { return x; }
TW_BOTH __half __int2half_rn(int x) { return x; }
TW_BOTH float __half2float(__half x) { return x; }
TW_BOTH int __half2int_rz(__half x) { return (int)x.data; }
TW_BOTH int __half2int_rn(__half x) { return (int)__builtin_rintf((float)x); }
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
TW_BOTH float __low2float(__half2 a) { return a.x; }
TW_BOTH float __high2float(__half2 a) { return a.y; }
TW_BOTH __half2 __lowhigh2highlow(__half2 a) { return {a.y, a.x}; }
#define TW_HALF_NAMED(NAME, OP)                                                                                        \
  TW_BOTH __half NAME(__half a, __half b) { return a OP b; }                                                           \
  TW_BOTH __half2 NAME##2(__half2 a, __half2 b) { return a OP b; }
TW_HALF_NAMED(__hadd, +)
TW_HALF_NAMED(__hsub, -)
TW_HALF_NAMED(__hmul, *)
TW_HALF_NAMED(__hdiv, /)
TW_BOTH __half __hneg(__half a) { return -a; }
TW_BOTH __half2 __hneg2(__half2 a) { return -a; }
TW_BOTH __half __habs(__half a) { return (_Float16)__builtin_fabsf16(a.data); }
TW_BOTH __half __hfma(__half a, __half b, __half c) { return __builtin_fmaf16(a.data, b.data, c.data); }
TW_BOTH __half2 __hfma2(__half2 a, __half2 b, __half2 c) { return __builtin_elementwise_fma(a.data, b.data, c.data); }
TW_BOTH __half __hmax(__half a, __half b) { return __builtin_fmaxf16(a.data, b.data); }
TW_BOTH __half __hmin(__half a, __half b) { return __builtin_fminf16(a.data, b.data); }
TW_BOTH bool __hisnan(__half a) { return a.data != a.data; }
TW_DEVICE __half hsqrt(__half a) { return __builtin_sqrtf16(a.data); }
TW_DEVICE __half hrcp(__half a) { return __builtin_amdgcn_rcph(a.data); }
TW_DEVICE __half hrsqrt(__half a) { return __builtin_amdgcn_rsqh(a.data); }
TW_DEVICE __half hexp(__half a) { return (_Float16)__builtin_expf((float)a.data); }
TW_DEVICE __half hexp2(__half a) { return (_Float16)__builtin_exp2f((float)a.data); }
TW_DEVICE __half hlog(__half a) { return (_Float16)__builtin_logf((float)a.data); }
TW_DEVICE __half hlog2(__half a) { return (_Float16)__builtin_log2f((float)a.data); }
TW_DEVICE __half hfloor(__half a) { return __builtin_floorf16(a.data); }
TW_DEVICE __half hceil(__half a) { return __builtin_ceilf16(a.data); }
TW_DEVICE __half hrint(__half a) { return __builtin_rintf16(a.data); }
TW_DEVICE __half htrunc(__half a) { return __builtin_truncf16(a.data); }
