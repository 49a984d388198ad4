/* hip_fp6.h - 6-bit floats with HIP's classes: e2m3 and e3m2, a code in the low bits of a byte; rounded to nearest even,
 * saturating. They have neither infinity nor NaN: both become the largest number with their sign (ROCm/clr,
 * hipamd/include/hip/amd_detail/amd_hip_ocp_host.hpp: from_float, nan and inf of Encoding::E2M3 and E3M2). */
#pragma once
#include "hip_fp8.h"

typedef unsigned char __hip_fp6_storage_t;
typedef unsigned short __hip_fp6x2_storage_t;
typedef unsigned __amd_fp6x32_storage_t __attribute__((ext_vector_type(6)));

template <int F> struct tw_fp6 { /* bits of the fraction */
  __hip_fp6_storage_t __x;
  static constexpr int bias = F == 3 ? 1 : 3;
  tw_fp6() = default;
  explicit TW_MEMBER tw_fp6(float v) {
    const unsigned bits = tw_any_bits<unsigned>(v), a = bits & 0x7FFFFFFF;
    const unsigned r = a < 0x7F800000 ? tw_round_small(a, F, bias) : 0x1F, sign = bits >> 26 & 0x20;
    __x = (__hip_fp6_storage_t)(sign | (r > 0x1F ? 0x1F : r));
  }
  TW_MEMBER operator float() const {
    const float size = tw_float_of_small(__x >> F & ((1 << (5 - F)) - 1), __x & ((1 << F) - 1), F, bias);
    return __x & 0x20 ? -size : size;
  }
};
template <int F> struct tw_fp6x2 {
  __hip_fp6x2_storage_t __x;
  tw_fp6x2() = default;
  explicit TW_MEMBER tw_fp6x2(float2 v) : __x((__hip_fp6x2_storage_t)(tw_fp6<F>(v.x).__x | tw_fp6<F>(v.y).__x << 8)) {}
  TW_MEMBER operator float2() const {
    tw_fp6<F> low, high;
    low.__x = (__hip_fp6_storage_t)__x;
    high.__x = (__hip_fp6_storage_t)(__x >> 8);
    return make_float2(low, high);
  }
};
typedef tw_fp6<3> __hip_fp6_e2m3;
typedef tw_fp6<2> __hip_fp6_e3m2;
typedef tw_fp6x2<3> __hip_fp6x2_e2m3;
typedef tw_fp6x2<2> __hip_fp6x2_e3m2;
