/* hip_complex.h - complex numbers as float2 and double2, by HIP's names. */
#pragma once
#include "hip_runtime.h"

#define TW_COMPLEX(C, T, F, MAKE, HYPOT)                                                                               \
  typedef T##2 C;                                                                                                      \
  TW_BOTH C MAKE(T re, T im) { return make_##T##2(re, im); }                                                           \
  TW_BOTH T hipCreal##F(C a) { return a.x; }                                                                           \
  TW_BOTH T hipCimag##F(C a) { return a.y; }                                                                           \
  TW_BOTH C hipConj##F(C a) { return MAKE(a.x, -a.y); }                                                                \
  TW_BOTH C hipCadd##F(C a, C b) { return MAKE(a.x + b.x, a.y + b.y); }                                                \
  TW_BOTH C hipCsub##F(C a, C b) { return MAKE(a.x - b.x, a.y - b.y); }                                                \
  TW_BOTH C hipCmul##F(C a, C b) { return MAKE(a.x * b.x - a.y * b.y, a.y * b.x + a.x * b.y); }                        \
  TW_BOTH T hipCsqabs##F(C a) { return a.x * a.x + a.y * a.y; }                                                        \
  TW_BOTH T hipCabs##F(C a) { return HYPOT(hipCsqabs##F(a)); }                                                         \
  TW_BOTH C hipCdiv##F(C a, C b) {                                                                                     \
    const T s = hipCsqabs##F(b);                                                                                       \
    return MAKE((a.x * b.x + a.y * b.y) / s, (a.y * b.x - a.x * b.y) / s);                                             \
  }                                                                                                                    \
  TW_BOTH C hipCfma##F(C a, C b, C c) { return hipCadd##F(hipCmul##F(a, b), c); }
TW_COMPLEX(hipFloatComplex, float, f, make_hipFloatComplex, __builtin_sqrtf)
TW_COMPLEX(hipDoubleComplex, double, , make_hipDoubleComplex, __builtin_sqrt)
typedef hipFloatComplex hipComplex;
TW_BOTH hipComplex make_hipComplex(float re, float im) { return make_hipFloatComplex(re, im); }
TW_BOTH hipDoubleComplex hipComplexFloatToDouble(hipFloatComplex a) { return make_hipDoubleComplex(a.x, a.y); }
TW_BOTH hipFloatComplex hipComplexDoubleToFloat(hipDoubleComplex a) {
  return make_hipFloatComplex((float)a.x, (float)a.y);
}
