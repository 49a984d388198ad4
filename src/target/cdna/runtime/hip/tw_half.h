/* tw_half.h - what hip_fp16.h and hip_bf16.h have alike: operators, comparisons and functions of a 16-bit number H and of
 * a pair H2 {x, y}. H::tw() is what it is computed with. */
#pragma once
#include "hip_runtime.h"

#define TW_HALF_ARITHMETIC(H, H2, OP, NAME)                                                                            \
  TW_BOTH H operator OP(H a, H b) { return H(a.tw() OP b.tw()); }                                                      \
  TW_BOTH H &operator OP##=(H &a, H b) { return a = a OP b; }                                                          \
  TW_BOTH H2 operator OP(H2 a, H2 b) { return H2(a.x OP b.x, a.y OP b.y); }                                            \
  TW_BOTH H2 &operator OP##=(H2 &a, H2 b) { return a = a OP b; }                                                       \
  TW_BOTH H NAME(H a, H b) { return a OP b; }                                                                          \
  TW_BOTH H NAME##_rn(H a, H b) { return a OP b; }                                                                     \
  TW_BOTH H NAME##_sat(H a, H b) { return tw_unit(a OP b); }                                                           \
  TW_BOTH H2 NAME##2(H2 a, H2 b) { return a OP b; }                                                                    \
  TW_BOTH H2 NAME##2_rn(H2 a, H2 b) { return a OP b; }                                                                 \
  TW_BOTH H2 NAME##2_sat(H2 a, H2 b) { return H2(tw_unit(a.x OP b.x), tw_unit(a.y OP b.y)); }
/* With a `u` behind the name it is true of NaN, too; __hb: of both. */
#define TW_HALF_COMPARISON(H, H2, OP, NAME)                                                                            \
  TW_BOTH bool operator OP(H a, H b) { return a.tw() OP b.tw(); }                                                      \
  TW_BOTH bool operator OP(H2 a, H2 b) { return a.x OP b.x && a.y OP b.y; }                                            \
  TW_BOTH bool NAME(H a, H b) { return a.tw() OP b.tw(); }                                                             \
  TW_BOTH bool NAME##u(H a, H b) { return a.tw() OP b.tw() || __builtin_isunordered((float)a, (float)b); }             \
  TW_BOTH H2 NAME##2(H2 a, H2 b) { return H2(H(NAME(a.x, b.x)), H(NAME(a.y, b.y))); }                                  \
  TW_BOTH H2 NAME##u2(H2 a, H2 b) { return H2(H(NAME##u(a.x, b.x)), H(NAME##u(a.y, b.y))); }
#define TW_HALF_BOTH_OF(H2, NAME)                                                                                      \
  TW_BOTH bool __hb##NAME##2(H2 a, H2 b) { return __h##NAME(a.x, b.x) && __h##NAME(a.y, b.y); }                        \
  TW_BOTH bool __hb##NAME##u2(H2 a, H2 b) { return __h##NAME##u(a.x, b.x) && __h##NAME##u(a.y, b.y); }
#define TW_HALF_FUNCTION(H, H2, NAME, HOW)                                                                             \
  TW_DEVICE H h##NAME(H a) { return H(HOW); }                                                                          \
  TW_DEVICE H2 h2##NAME(H2 a) { return H2(h##NAME(a.x), h##NAME(a.y)); }

#define TW_HALVES(H, H2)                                                                                               \
  TW_BOTH H tw_unit(H a) { return a.tw() > 0 ? a.tw() < 1 ? a : H(1.0f) : H(0.0f); }                                   \
  TW_HALF_ARITHMETIC(H, H2, +, __hadd)                                                                                 \
  TW_HALF_ARITHMETIC(H, H2, -, __hsub)                                                                                 \
  TW_HALF_ARITHMETIC(H, H2, *, __hmul)                                                                                 \
  TW_HALF_ARITHMETIC(H, H2, /, __hdiv)                                                                                 \
  TW_BOTH H2 __h2div(H2 a, H2 b) { return a / b; }                                                                     \
  TW_BOTH H operator+(H a) { return a; }                                                                               \
  TW_BOTH H operator-(H a) { return H(-a.tw()); }                                                                      \
  TW_BOTH H2 operator-(H2 a) { return H2(-a.x, -a.y); }                                                                \
  TW_BOTH H &operator++(H &a) { return a += H(1.0f); }                                                                 \
  TW_BOTH H &operator--(H &a) { return a -= H(1.0f); }                                                                 \
  TW_HALF_COMPARISON(H, H2, ==, __heq)                                                                                 \
  TW_HALF_COMPARISON(H, H2, !=, __hne)                                                                                 \
  TW_HALF_COMPARISON(H, H2, <, __hlt)                                                                                  \
  TW_HALF_COMPARISON(H, H2, <=, __hle)                                                                                 \
  TW_HALF_COMPARISON(H, H2, >, __hgt)                                                                                  \
  TW_HALF_COMPARISON(H, H2, >=, __hge)                                                                                 \
  TW_HALF_BOTH_OF(H2, eq)                                                                                              \
  TW_HALF_BOTH_OF(H2, ne)                                                                                              \
  TW_HALF_BOTH_OF(H2, lt)                                                                                              \
  TW_HALF_BOTH_OF(H2, le)                                                                                              \
  TW_HALF_BOTH_OF(H2, gt)                                                                                              \
  TW_HALF_BOTH_OF(H2, ge)                                                                                              \
  TW_BOTH bool __hisnan(H a) { return __builtin_isnan((float)a); }                                                     \
  TW_BOTH int __hisinf(H a) { return __builtin_isinf((float)a) ? (float)a > 0 ? 1 : -1 : 0; }                          \
  TW_BOTH H2 __hisnan2(H2 a) { return H2(H(__hisnan(a.x)), H(__hisnan(a.y))); }                                        \
  TW_BOTH H __hneg(H a) { return -a; }                                                                                 \
  TW_BOTH H2 __hneg2(H2 a) { return -a; }                                                                              \
  TW_BOTH H __habs(H a) { return H(__builtin_fabsf((float)a)); }                                                       \
  TW_BOTH H2 __habs2(H2 a) { return H2(__habs(a.x), __habs(a.y)); }                                                    \
  TW_BOTH H __hmax(H a, H b) { return H(__builtin_fmaxf((float)a, (float)b)); }                                        \
  TW_BOTH H __hmin(H a, H b) { return H(__builtin_fminf((float)a, (float)b)); }                                        \
  TW_BOTH H __hmax_nan(H a, H b) { return __hisnan(a) ? a : __hisnan(b) ? b : __hmax(a, b); }                          \
  TW_BOTH H __hmin_nan(H a, H b) { return __hisnan(a) ? a : __hisnan(b) ? b : __hmin(a, b); }                          \
  TW_BOTH H2 __hmax2(H2 a, H2 b) { return H2(__hmax(a.x, b.x), __hmax(a.y, b.y)); }                                    \
  TW_BOTH H2 __hmin2(H2 a, H2 b) { return H2(__hmin(a.x, b.x), __hmin(a.y, b.y)); }                                    \
  TW_BOTH H __hfma_sat(H a, H b, H c) { return tw_unit(__hfma(a, b, c)); }                                             \
  TW_BOTH H2 __hfma2(H2 a, H2 b, H2 c) { return H2(__hfma(a.x, b.x, c.x), __hfma(a.y, b.y, c.y)); }                    \
  TW_BOTH H2 __hfma2_sat(H2 a, H2 b, H2 c) { return H2(__hfma_sat(a.x, b.x, c.x), __hfma_sat(a.y, b.y, c.y)); }        \
  TW_BOTH float __low2float(H2 a) { return (float)a.x; }                                                               \
  TW_BOTH float __high2float(H2 a) { return (float)a.y; }                                                              \
  TW_BOTH H2 __lowhigh2highlow(H2 a) { return H2(a.y, a.x); }                                                          \
  TW_HALF_FUNCTION(H, H2, sqrt, __builtin_sqrtf((float)a))                                                             \
  TW_HALF_FUNCTION(H, H2, rsqrt, 1.0f / __builtin_sqrtf((float)a))                                                     \
  TW_HALF_FUNCTION(H, H2, rcp, 1.0f / (float)a)                                                                        \
  TW_HALF_FUNCTION(H, H2, exp, __builtin_expf((float)a))                                                               \
  TW_HALF_FUNCTION(H, H2, exp2, __builtin_exp2f((float)a))                                                             \
  TW_HALF_FUNCTION(H, H2, exp10, __builtin_exp10f((float)a))                                                           \
  TW_HALF_FUNCTION(H, H2, log, __builtin_logf((float)a))                                                               \
  TW_HALF_FUNCTION(H, H2, log2, __builtin_log2f((float)a))                                                             \
  TW_HALF_FUNCTION(H, H2, log10, __builtin_log10f((float)a))                                                           \
  TW_HALF_FUNCTION(H, H2, sin, __builtin_sinf((float)a))                                                               \
  TW_HALF_FUNCTION(H, H2, cos, __builtin_cosf((float)a))                                                               \
  TW_HALF_FUNCTION(H, H2, floor, __builtin_floorf((float)a))                                                           \
  TW_HALF_FUNCTION(H, H2, ceil, __builtin_ceilf((float)a))                                                             \
  TW_HALF_FUNCTION(H, H2, rint, __builtin_rintf((float)a))                                                             \
  TW_HALF_FUNCTION(H, H2, trunc, __builtin_truncf((float)a))
