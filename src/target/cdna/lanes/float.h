/* float.h - part of body.h: binary32, binary64, binary16. Sums and products round once, to nearest even, and keep
 * subnormals, unless emulator/valu.c has set the host's modes otherwise. */

static inline bool is_nan32(uint32_t v) { return (v & 0x7FFFFFFFu) > 0x7F800000u; }

/* IEEE 754-2008 minNum and maxNum; -0 is below +0; a signaling NaN becomes quiet. */
static inline uint32_t min_f32_bits(uint32_t A, uint32_t B) {
  const uint32_t key_a = A ^ ((uint32_t)(i(A) >> 31) & 0x7FFFFFFFu), key_b = B ^ ((uint32_t)(i(B) >> 31) & 0x7FFFFFFFu);
  const uint32_t least = i(key_a) < i(key_b) ? A : B;
  uint32_t r = is_nan32(B) ? A : least;
  r = is_nan32(A) ? B : r;
  r = is_nan32(B) && !(B & 0x400000u) ? B | 0x400000u : r;
  r = is_nan32(A) && !(A & 0x400000u) ? A | 0x400000u : r;
  return r;
}
static inline uint32_t max_f32_bits(uint32_t A, uint32_t B) {
  const uint32_t key_a = A ^ ((uint32_t)(i(A) >> 31) & 0x7FFFFFFFu), key_b = B ^ ((uint32_t)(i(B) >> 31) & 0x7FFFFFFFu);
  const uint32_t most = i(key_a) > i(key_b) ? A : B;
  uint32_t r = is_nan32(B) ? A : most;
  r = is_nan32(A) ? B : r;
  r = is_nan32(B) && !(B & 0x400000u) ? B | 0x400000u : r;
  r = is_nan32(A) && !(A & 0x400000u) ? A | 0x400000u : r;
  return r;
}

F2(add_f32, A + B)
F2(sub_f32, A - B)
F2(subrev_f32, B - A)
F2(mul_f32, A *B)
F2(mul_legacy_f32, A == 0 || B == 0 ? 0.0f : A * B)
U2(min_f32, min_f32_bits(A, B))
U2(max_f32, max_f32_bits(A, B))
F3(fma_f32, fmaf(A, B, C))
F3(mad_f32, A *B + C)
F3(mad_legacy_f32, (A == 0 || B == 0 ? 0.0f : A * B) + C)
U3(min3_f32, min_f32_bits(min_f32_bits(A, B), C))
U3(max3_f32, max_f32_bits(max_f32_bits(A, B), C))
U3(med3_f32, ({
     const uint32_t low = min_f32_bits(A, B), high = max_f32_bits(A, B);
     const uint32_t middle = max_f32_bits(low, min_f32_bits(high, C));
     is_nan32(A) || is_nan32(B) || is_nan32(C) ? min_f32_bits(min_f32_bits(A, B), C) : middle;
   }))
F1(rcp_f32, 1.0f / A)
F1(sqrt_f32, sqrtf(A))
F1(rsq_f32, (float)(1.0 / sqrt((double)A)))
F1(floor_f32, floorf(A))
F1(ceil_f32, ceilf(A))
F1(trunc_f32, truncf(A))
F1(rndne_f32, rintf(A))
F1(fract_f32, ({
     const float r = A - floorf(A);
     r >= 1.0f ? 0x1.fffffep-1f : r;
   }))

/* 2^x: split at the nearest integer; the series of e^(f ln 2) to the 11th power is good to 2^-50 for |f| <= 1/2. */
static inline float exp2_of(float v) {
  const float low = v < -200.0f ? -200.0f : v, bounded = low > 200.0f ? 200.0f : low; /* NaN passes */
  const float whole = rintf(bounded);
  const double t = ((double)bounded - (double)whole) * 0.69314718055994530942;
  double p = 1.0 / 39916800;
  p = p * t + 1.0 / 3628800;
  p = p * t + 1.0 / 362880;
  p = p * t + 1.0 / 40320;
  p = p * t + 1.0 / 5040;
  p = p * t + 1.0 / 720;
  p = p * t + 1.0 / 120;
  p = p * t + 1.0 / 24;
  p = p * t + 1.0 / 6;
  p = p * t + 0.5;
  p = p * t + 1.0;
  p = p * t + 1.0;
  const uint64_t exponent = (uint64_t)(1023 + (int64_t)(whole == whole ? whole : 0.0f)) << 52;
  double scale;
  memcpy(&scale, &exponent, sizeof scale);
  const float r = (float)(p * scale);
  return v == v ? r : v + v;
}
F1(exp_f32, exp2_of(A))
F1(log_f32, (float)log2((double)A))
/* The argument is in revolutions; quarters of one are exact. */
static inline double sine_of(double turns) {
  const double part = turns - rint(turns);
  return fabs(part) == 0.5 ? 0.0 * part : sin(part * 6.283185307179586476925);
}
static inline double cosine_of(double turns) {
  const double part = fabs(turns - rint(turns));
  return part == 0.25 ? 0.0 : cos(part * 6.283185307179586476925);
}
F1(sin_f32, (float)sine_of((double)A))
F1(cos_f32, (float)cosine_of((double)A))
F1(exp_legacy_f32, exp2_of(A))
F1(log_legacy_f32, (float)log2((double)A))
FUNCTION(ldexp_f32) {
  ROWS2;
  for (int l = 0; l < CDNA_LANES; l++) d[l] = u(ldexpf(f(a[l]), i(b[l])));
}
FUNCTION(frexp_mant_f32) {
  ROWS1;
  int e;
  for (int l = 0; l < CDNA_LANES; l++) d[l] = isfinite(f(a[l])) ? u(frexpf(f(a[l]), &e)) : a[l];
}
FUNCTION(frexp_exp_i32_f32) {
  ROWS1;
  for (int l = 0; l < CDNA_LANES; l++) {
    int e = 0;
    if (isfinite(f(a[l]))) (void)frexpf(f(a[l]), &e);
    d[l] = (uint32_t)e;
  }
}

/* Division as compilers build it: scale values near the ends of the range by 2^64, refine, scale back, fix up. If
 * reciprocal and quotient are both subnormal, the documents scale the denominator up, which would overflow. Here it
 * is scaled down, as v_div_fmas expects. */
FUNCTION(div_scale_f32) {
  ROWS3;
  uint32_t scaled[CDNA_LANES];
  for (int l = 0; l < CDNA_LANES; l++) {
    const float value = f(a[l]), denominator = f(b[l]), numerator = f(c[l]);
    const int en = (int)(c[l] >> 23 & 0xFF), ed = (int)(b[l] >> 23 & 0xFF);
    const bool is_denominator = a[l] == b[l];
    bool vcc = false;
    float r = value;
    if (numerator == 0 || denominator == 0) {
      r = NAN;
    } else if (en - ed >= 96) {
      vcc = true;
      if (is_denominator) r = ldexpf(value, 64);
    } else if (fpclassify(denominator) == FP_SUBNORMAL) {
      r = ldexpf(value, 64);
    } else if (fpclassify(1.0 / (double)denominator) != FP_ZERO && fabs(1.0 / (double)denominator) < 0x1p-126 &&
               fabs((double)numerator / (double)denominator) < 0x1p-126) {
      vcc = true;
      if (is_denominator) r = ldexpf(value, -64);
    } else if (fabs(1.0 / (double)denominator) < 0x1p-126) {
      r = ldexpf(value, -64);
    } else if (fabs((double)numerator / (double)denominator) < 0x1p-126) {
      vcc = true;
      if (!is_denominator) r = ldexpf(value, 64);
    } else if (en <= 23) {
      r = ldexpf(value, 64);
    }
    d[l] = u(r);
    scaled[l] = vcc ? ~0u : 0u;
  }
  x->out = pack(scaled);
}
/* Rounded once, after the scaling: binary64 holds all bits of the sum, except in cases that cannot change the
 * rounding. */
FUNCTION(div_fmas_f32) {
  ROWS3;
  for (int l = 0; l < CDNA_LANES; l++) {
    const double r = fma((double)f(a[l]), (double)f(b[l]), (double)f(c[l]));
    d[l] = u((float)(x->in >> l & 1 ? ldexp(r, (c[l] >> 23 & 0xFF) > 127 ? 64 : -64) : r));
  }
}
FUNCTION(div_fixup_f32) {
  ROWS3;
  for (int l = 0; l < CDNA_LANES; l++) {
    const uint32_t sign = (b[l] ^ c[l]) & 0x80000000u;
    const float quotient = f(a[l]), den = f(b[l]), num = f(c[l]);
    uint32_t r = (a[l] & 0x7FFFFFFFu) | sign;
    if (isnan(num))
      r = c[l] | 0x400000u;
    else if (isnan(den))
      r = b[l] | 0x400000u;
    else if ((num == 0 && den == 0) || (isinf(num) && isinf(den)))
      r = 0xFFC00000u;
    else if (den == 0 || isinf(num))
      r = sign | 0x7F800000u;
    else if (isinf(den) || num == 0)
      r = sign;
    else if ((int)(c[l] >> 23 & 0xFF) - (int)(b[l] >> 23 & 0xFF) < -150)
      r = sign; /* underflow */
    else if ((b[l] >> 23 & 0xFF) == 255)
      r = sign | 0x7F800000u;
    else if (isnan(quotient))
      r = sign | 0x7F800000u;
    d[l] = r;
  }
}

/* Packed f32: op_sel and op_sel_hi are in the choice of the rows. Without a third operand, c and c2 are no rows. */
#define PKF(name_, parameters_, low_, high_, ...)                                                                      \
  static inline float name_##_item parameters_ { return __VA_ARGS__; }                                                 \
  FUNCTION(name_) {                                                                                                    \
    ROWS3;                                                                                                             \
    const uint32_t *a2 = x->upper[0], *b2 = x->upper[1], *c2 = x->upper[2];                                            \
    (void)c, (void)c2;                                                                                                 \
    LOOP {                                                                                                             \
      const float low = name_##_item low_, high = name_##_item high_;                                                  \
      d[l] = u(low);                                                                                                   \
      d[l + CDNA_LANES] = u(high);                                                                                     \
    }                                                                                                                  \
  }
PKF(pk_add_f32, (float A, float B), (f(a[l]), f(b[l])), (f(a2[l]), f(b2[l])), A + B)
PKF(pk_mul_f32, (float A, float B), (f(a[l]), f(b[l])), (f(a2[l]), f(b2[l])), A *B)
PKF(pk_fma_f32, (float A, float B, float C), (f(a[l]), f(b[l]), f(c[l])), (f(a2[l]), f(b2[l]), f(c2[l])), fmaf(A, B, C))
FUNCTION(pk_mov_b32) {
  uint32_t *d = x->d;
  const uint32_t *a = x->s[0], *b = x->upper[1];
  LOOP {
    const uint32_t low = a[l], high = b[l];
    d[l] = low;
    d[l + CDNA_LANES] = high;
  }
}

/* binary64 */
D2(add_f64, A + B)
D2(mul_f64, A *B)
D3(fma_f64, fma(A, B, C))
D1(rcp_f64, 1.0 / A)
D1(rsq_f64, 1.0 / sqrt(A))
D1(sqrt_f64, sqrt(A))
D1(floor_f64, floor(A))
D1(ceil_f64, ceil(A))
D1(trunc_f64, trunc(A))
D1(rndne_f64, rint(A))
D1(fract_f64, ({
     const double r = A - floor(A);
     r >= 1.0 ? 0x1.fffffffffffffp-1 : r;
   }))
/* The same for binary64, with 2^128. */
FUNCTION(div_scale_f64) {
  ROWS3;
  uint32_t scaled[CDNA_LANES];
  for (int l = 0; l < CDNA_LANES; l++) {
    const double value = real(a, l), denominator = real(b, l), numerator = real(c, l);
    const int en = (int)(c[l + CDNA_LANES] >> 20 & 0x7FF), ed = (int)(b[l + CDNA_LANES] >> 20 & 0x7FF);
    const bool is_denominator = pair(a, l) == pair(b, l);
    const bool small_reciprocal = fpclassify(1.0 / denominator) == FP_SUBNORMAL;
    const bool small_quotient = fpclassify(numerator / denominator) == FP_SUBNORMAL;
    bool vcc = false;
    double r = value;
    if (numerator == 0 || denominator == 0) {
      r = NAN;
    } else if (en - ed >= 768) {
      vcc = true;
      if (is_denominator) r = ldexp(value, 128);
    } else if (fpclassify(denominator) == FP_SUBNORMAL) {
      r = ldexp(value, 128);
    } else if (small_reciprocal && small_quotient) {
      vcc = true;
      if (is_denominator) r = ldexp(value, -128);
    } else if (small_reciprocal) {
      r = ldexp(value, -128);
    } else if (small_quotient) {
      vcc = true;
      if (!is_denominator) r = ldexp(value, 128);
    } else if (en <= 53) {
      r = ldexp(value, 128);
    }
    set_real(d, l, r);
    scaled[l] = vcc ? ~0u : 0u;
  }
  x->out = pack(scaled);
}
FUNCTION(div_fmas_f64) {
  ROWS3;
  for (int l = 0; l < CDNA_LANES; l++) {
    const bool large = (c[l + CDNA_LANES] >> 20 & 0x7FF) > 1023;
    const double r = fma(real(a, l), real(b, l), real(c, l));
    set_real(d, l, x->in >> l & 1 ? ldexp(r, large ? 128 : -128) : r);
  }
}
FUNCTION(div_fixup_f64) {
  ROWS3;
  const uint64_t quiet = 0x0008000000000000u, infinite = 0x7FF0000000000000u;
  for (int l = 0; l < CDNA_LANES; l++) {
    const uint64_t B = pair(b, l), C = pair(c, l), sign = (B ^ C) & 0x8000000000000000u;
    const double den = real(b, l), num = real(c, l);
    const int difference = (int)(C >> 52 & 0x7FF) - (int)(B >> 52 & 0x7FF);
    uint64_t r = (pair(a, l) & 0x7FFFFFFFFFFFFFFFu) | sign;
    if (isnan(num))
      r = C | quiet;
    else if (isnan(den))
      r = B | quiet;
    else if ((num == 0 && den == 0) || (isinf(num) && isinf(den)))
      r = 0xFFF8000000000000u;
    else if (den == 0 || isinf(num))
      r = sign | infinite;
    else if (isinf(den) || num == 0 || difference < -1075)
      r = sign;
    else if (isnan(real(a, l))) /* an earlier step overflowed */
      r = sign | infinite;
    set_pair(d, l, r);
  }
}
static inline bool is_nan64(uint64_t v) { return (v & 0x7FFFFFFFFFFFFFFFu) > 0x7FF0000000000000u; }
static inline uint64_t order64(uint64_t v) { return v ^ ((uint64_t)((int64_t)v >> 63) & 0x7FFFFFFFFFFFFFFFu); }
#define MINMAX64(name_, relation_)                                                                                     \
  FUNCTION(name_) {                                                                                                    \
    ROWS2;                                                                                                             \
    const uint64_t quiet = 0x0008000000000000u;                                                                        \
    LOOP {                                                                                                             \
      const uint64_t A = pair(a, l), B = pair(b, l);                                                                   \
      uint64_t r = (int64_t)order64(A) relation_(int64_t) order64(B) ? A : B;                                          \
      r = is_nan64(B) ? A : r;                                                                                         \
      r = is_nan64(A) ? B : r;                                                                                         \
      r = is_nan64(B) && !(B & quiet) ? B | quiet : r;                                                                 \
      r = is_nan64(A) && !(A & quiet) ? A | quiet : r;                                                                 \
      set_pair(d, l, r);                                                                                               \
    }                                                                                                                  \
  }
MINMAX64(min_f64, <)
MINMAX64(max_f64, >)
FUNCTION(ldexp_f64) {
  ROWS2;
  for (int l = 0; l < CDNA_LANES; l++) set_real(d, l, ldexp(real(a, l), i(b[l])));
}
FUNCTION(frexp_mant_f64) {
  ROWS1;
  int e;
  for (int l = 0; l < CDNA_LANES; l++) set_real(d, l, isfinite(real(a, l)) ? frexp(real(a, l), &e) : real(a, l));
}
FUNCTION(frexp_exp_i32_f64) {
  ROWS1;
  for (int l = 0; l < CDNA_LANES; l++) {
    int e = 0;
    if (isfinite(real(a, l))) (void)frexp(real(a, l), &e);
    d[l] = (uint32_t)e;
  }
}

/* binary16, computed in binary32, which has more than twice the bits, so that sums, products, quotients and roots
 * round as if once. The fused product and sum is computed in binary64, where both are exact, except for sums that no
 * rounding can distinguish. */
static inline float h(uint32_t v) { return cdna_half_value(v & 0xFFFF); }
static inline uint32_t hb(float v) { return cdna_half_bits(v); }
/* Rounds to odd on the way to binary32, so that the second rounding decides as if it were the only one. */
static inline uint32_t fma_f16_bits(uint32_t A, uint32_t B, uint32_t C) {
  const double exact = (double)h(A) * (double)h(B), sum = exact + (double)h(C);
  const double t = sum - exact, lost = (exact - (sum - t)) + ((double)h(C) - t);
  float r = (float)sum;
  const double rest = (sum - (double)r) + lost;
  uint32_t bits = u(r);
  const bool inexact = rest != 0 && (bits & 0x7F800000u) != 0x7F800000u;
  /* toward zero, then odd */
  const bool away = inexact && ((rest < 0) != (r < 0)) && r != 0;
  bits -= away ? 1 : 0;
  bits |= inexact ? 1 : 0;
  return cdna_half_bits(f(bits));
}
U2(add_f16, hb(h(A) + h(B)))
U2(sub_f16, hb(h(A) - h(B)))
U2(subrev_f16, hb(h(B) - h(A)))
U2(mul_f16, hb(h(A) * h(B)))
static inline uint32_t min_f16_bits(uint32_t A, uint32_t B) { return hb(f(min_f32_bits(u(h(A)), u(h(B))))); }
static inline uint32_t max_f16_bits(uint32_t A, uint32_t B) { return hb(f(max_f32_bits(u(h(A)), u(h(B))))); }
U2(min_f16, min_f16_bits(A, B))
U2(max_f16, max_f16_bits(A, B))
U1(rcp_f16, hb(1.0f / h(A)))
U1(sqrt_f16, hb(sqrtf(h(A))))
U1(rsq_f16, hb((float)(1.0 / sqrt((double)h(A)))))
U1(exp_f16, hb(exp2_of(h(A))))
U1(log_f16, hb((float)log2((double)h(A))))
U1(sin_f16, hb((float)sine_of((double)h(A))))
U1(cos_f16, hb((float)cosine_of((double)h(A))))
U1(floor_f16, hb(floorf(h(A))))
U1(ceil_f16, hb(ceilf(h(A))))
U1(trunc_f16, hb(truncf(h(A))))
U1(rndne_f16, hb(rintf(h(A))))
U1(fract_f16, ({
     const uint32_t r = hb(h(A) - floorf(h(A)));
     r >= 0x3C00 && r < 0x7C00 ? 0x3BFF : r;
   }))
U3(min3_f16, min_f16_bits(min_f16_bits(A, B), C))
U3(max3_f16, max_f16_bits(max_f16_bits(A, B), C))
U3(fma_f16, fma_f16_bits(A, B, C))
U3(pk_fma_f16, fma_f16_bits(A, B, C) | fma_f16_bits(A >> 16, B >> 16, C >> 16) << 16)
U2(pk_add_f16, hb(h(A) + h(B)) | hb(h(A >> 16) + h(B >> 16)) << 16)
U2(pk_mul_f16, hb(h(A) * h(B)) | hb(h(A >> 16) * h(B >> 16)) << 16)
U2(pk_min_f16, min_f16_bits(A, B) | min_f16_bits(A >> 16, B >> 16) << 16)
U2(pk_max_f16, max_f16_bits(A, B) | max_f16_bits(A >> 16, B >> 16) << 16)

/* v_fma_mix: each source is an f32, or an f16 whose half emulator/valu.c has already made an f32. */
F3(fma_mix_f32, fmaf(A, B, C))

/* Dot products: f32 sums, each product and sum fused, low halves first. */
U3(dot2_f32_f16, u(fmaf(h(A >> 16), h(B >> 16), fmaf(h(A), h(B), f(C)))))
U3(dot2_f32_bf16, u(fmaf(cdna_bf16_value(A >> 16), cdna_bf16_value(B >> 16),
                         fmaf(cdna_bf16_value(A & 0xFFFF), cdna_bf16_value(B & 0xFFFF), f(C)))))

/* A list that clang-format never formats stably. */
/* clang-format off */
#define FLOAT_ENTRIES_WIDE EB(div_scale_f64) E(div_fmas_f64) E(div_fixup_f64) E(min3_f16) E(max3_f16)
#define FLOAT_ENTRIES                                                                                                  \
  E(add_f32)                                                                                                           \
  E(sub_f32)                                                                                                           \
  E(subrev_f32)                                                                                                        \
  E(mul_f32)                                                                                                           \
  E(mul_legacy_f32)                                                                                                    \
  E(min_f32)                                                                                                           \
  E(max_f32)                                                                                                           \
  E(fma_f32) E(mad_f32) E(mad_legacy_f32) E(min3_f32) E(max3_f32) E(med3_f32)                                          \
      E(rcp_f32){"v_rcp_iflag_f32", rcp_f32, CDNA_D, 0},                                                               \
      E(sqrt_f32) E(rsq_f32) E(floor_f32) E(ceil_f32) E(trunc_f32) E(rndne_f32) E(fract_f32) E(exp_f32) E(log_f32)     \
          E(sin_f32) E(cos_f32) E(exp_legacy_f32) E(log_legacy_f32) E(ldexp_f32) E(frexp_mant_f32)                     \
              E(frexp_exp_i32_f32) EB(div_scale_f32) E(div_fmas_f32) E(div_fixup_f32) E(pk_add_f32) E(pk_mul_f32)      \
                  E(pk_fma_f32) E(pk_mov_b32) E(add_f64) E(mul_f64) E(fma_f64) E(rcp_f64) E(rsq_f64) E(sqrt_f64)       \
                      E(floor_f64) E(ceil_f64) E(trunc_f64) E(rndne_f64) E(fract_f64) E(min_f64) E(max_f64)            \
                          E(ldexp_f64) E(frexp_mant_f64) E(frexp_exp_i32_f64) E(add_f16) E(sub_f16) E(subrev_f16)      \
                              E(mul_f16) E(min_f16) E(max_f16) E(rcp_f16) E(sqrt_f16) E(rsq_f16) E(exp_f16) E(log_f16) \
                                  E(sin_f16) E(cos_f16) E(floor_f16) E(ceil_f16) E(trunc_f16) E(rndne_f16)             \
                                      E(fract_f16) E(fma_f16) E(pk_fma_f16) E(pk_add_f16) E(pk_mul_f16) E(pk_min_f16)  \
                                          E(pk_max_f16) E(fma_mix_f32) E(dot2_f32_f16)                                 \
                                              E(dot2_f32_bf16){"v_fmac_f32", fma_f32, CDNA_D, 0},                      \
      {"v_mac_f32", mad_f32, CDNA_D, 0}, {"v_fmac_f64", fma_f64, CDNA_D, 0}, {"v_fmac_f16", fma_f16, CDNA_D, 0},       \
      {"v_fmaak_f32", fma_f32, CDNA_D, 0}, {"v_fmamk_f32", fma_f32, CDNA_D, 0},                                        \
      {"v_dot2c_f32_f16", dot2_f32_f16, CDNA_D, 0}, {"v_dot2c_f32_bf16", dot2_f32_bf16, CDNA_D, 0},                    \
      {"v_dot2c_i32_i16", dot2_i32_i16, CDNA_D, 0}, {"v_dot4c_i32_i8", dot4_i32_i8, CDNA_D, 0},                        \
      {"v_dot8c_i32_i4", dot8_i32_i4, CDNA_D, 0},
/* clang-format on */
