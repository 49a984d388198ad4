/* hip_bfloat16.h - hip_bfloat16, the older class of a bfloat16: its bits are `data`. */
#pragma once
#include "hip_bf16.h"

struct hip_bfloat16 {
  unsigned short data;
  enum truncate_t { truncate };
  hip_bfloat16() = default;
  explicit TW_MEMBER hip_bfloat16(float v) : data(tw_any_bits<unsigned short>((__bf16)v)) {}
  explicit TW_MEMBER hip_bfloat16(float v, truncate_t) : data((unsigned short)(tw_any_bits<unsigned>(v) >> 16)) {}
  static TW_MEMBER hip_bfloat16 round_to_bfloat16(float v) { return hip_bfloat16(v); }
  static TW_MEMBER hip_bfloat16 round_to_bfloat16(float v, truncate_t t) { return hip_bfloat16(v, t); }
  TW_MEMBER operator float() const { return tw_any_bits<float>((unsigned)data << 16); }
  TW_MEMBER hip_bfloat16 &operator=(float v) { return *this = hip_bfloat16(v); }
  TW_MEMBER float tw() const { return *this; }
};
#define TW_BFLOAT16_OPERATOR(OP)                                                                                       \
  TW_BOTH hip_bfloat16 operator OP(hip_bfloat16 a, hip_bfloat16 b) { return hip_bfloat16((float)a OP(float) b); }      \
  TW_BOTH hip_bfloat16 &operator OP##=(hip_bfloat16 &a, hip_bfloat16 b) { return a = a OP b; }
TW_BFLOAT16_OPERATOR(+)
TW_BFLOAT16_OPERATOR(-)
TW_BFLOAT16_OPERATOR(*)
TW_BFLOAT16_OPERATOR(/)
TW_BOTH hip_bfloat16 operator-(hip_bfloat16 a) { return hip_bfloat16(-(float)a); }
