/* hip_math_constants.h - constants of float and double by HIP's names. */
#pragma once
#define HIP_INF_F __builtin_inff()
#define HIP_NAN_F __builtin_nanf("")
#define HIP_MIN_DENORM_F 1.401298464e-45f
#define HIP_MAX_NORMAL_F 3.402823466e+38f
#define HIP_NEG_ZERO_F -0.0f
#define HIP_ZERO_F 0.0f
#define HIP_ONE_F 1.0f
#define HIP_SQRT_HALF_F 0.707106781f
#define HIP_SQRT_TWO_F 1.414213562f
#define HIP_L2E_F 1.442695041f
#define HIP_LN2_F 0.693147181f
#define HIP_PI_F 3.141592654f
#define HIP_INF __builtin_inf()
#define HIP_NAN __builtin_nan("")
#define HIP_NEG_ZERO -0.0
#define HIP_ZERO 0.0
#define HIP_ONE 1.0
#define HIP_SQRT_TWO 1.4142135623730951
#define HIP_L2E 1.4426950408889634
#define HIP_LN2 0.6931471805599453
#define HIP_PI 3.1415926535897931
#define HIP_PIO2 1.5707963267948966
