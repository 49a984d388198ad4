/* rare.h - part of body.h: operations that compilers seldom emit: saturating sums (name_clamp: used by valu.c where the
 * instruction's clamp is set), 16-bit instructions of gfx9, bytes, cubes, and the rest. */

/* ---- clamp of integers: the result's range ends where its type does ---- */

static inline uint32_t clamped(int64_t v, int64_t least, int64_t most) {
  return (uint32_t)(v < least ? least : v > most ? most : v);
}
U2(add_u32_clamp, clamped((int64_t)A + B, 0, UINT32_MAX))
U2(sub_u32_clamp, clamped((int64_t)A - B, 0, UINT32_MAX))
U2(subrev_u32_clamp, clamped((int64_t)B - A, 0, UINT32_MAX))
U2(add_i32_clamp, clamped((int64_t)i(A) + i(B), INT32_MIN, INT32_MAX))
U2(sub_i32_clamp, clamped((int64_t)i(A) - i(B), INT32_MIN, INT32_MAX))
U2(add_u16_clamp, clamped((int64_t)(A & 0xFFFF) + (B & 0xFFFF), 0, 0xFFFF))
U2(sub_u16_clamp, clamped((int64_t)(A & 0xFFFF) - (B & 0xFFFF), 0, 0xFFFF))
U2(subrev_u16_clamp, clamped((int64_t)(B & 0xFFFF) - (A & 0xFFFF), 0, 0xFFFF))
U2(add_i16_clamp, clamped((int16_t)A + (int16_t)B, -32768, 32767) & 0xFFFF)
U2(sub_i16_clamp, clamped((int16_t)A - (int16_t)B, -32768, 32767) & 0xFFFF)
PK2(pk_add_u16_clamp, uint16_t, P + Q > 0xFFFF ? 0xFFFF : P + Q)
PK2(pk_sub_u16_clamp, uint16_t, P < Q ? 0 : P - Q)
PK2(pk_add_i16_clamp, int16_t, clamped(P + Q, -32768, 32767))
PK2(pk_sub_i16_clamp, int16_t, clamped(P - Q, -32768, 32767))
U3(mad_u32_u24_clamp, ({
     const uint64_t sum = (uint64_t)(A & 0xFFFFFF) * (B & 0xFFFFFF) + C;
     sum > UINT32_MAX ? UINT32_MAX : (uint32_t)sum;
   }))
U3(mad_i32_i24_clamp, clamped((int64_t)(i(A << 8) >> 8) * (i(B << 8) >> 8) + i(C), INT32_MIN, INT32_MAX))
U3(dot4_i32_i8_clamp, ({
     int64_t sum = i(C);
     for (int k = 0; k < 32; k += 8) sum += (int8_t)(A >> k) * (int8_t)(B >> k);
     clamped(sum, INT32_MIN, INT32_MAX);
   }))
U3(dot4_u32_u8_clamp, ({
     int64_t sum = C;
     for (int k = 0; k < 32; k += 8) sum += (A >> k & 0xFF) * (B >> k & 0xFF);
     clamped(sum, 0, UINT32_MAX);
   }))
U3(sad_u8_clamp, clamped((int64_t)SAD_BYTES(A, B) + C, 0, UINT32_MAX))

#define SUM_CLAMP(name_, value_, least_, most_) U3(name_##_clamp, clamped((value_), (least_), (most_)))
SUM_CLAMP(mad_u32_u16, (int64_t)(A & 0xFFFF) * (B & 0xFFFF) + C, 0, UINT32_MAX)
SUM_CLAMP(mad_i32_i16, (int64_t)((int16_t)A *(int16_t)B) + i(C), INT32_MIN, INT32_MAX)
SUM_CLAMP(mad_u16, (int64_t)(A & 0xFFFF) * (B & 0xFFFF) + (C & 0xFFFF), 0, 0xFFFF)
U3(mad_i16_clamp, clamped((int64_t)((int16_t)A *(int16_t)B) + (int16_t)C, -32768, 32767) & 0xFFFF)
SUM_CLAMP(sad_u16, (int64_t)byte_difference(A & 0xFFFF, B & 0xFFFF) + byte_difference(A >> 16, B >> 16) + C, 0,
          UINT32_MAX)
SUM_CLAMP(sad_u32, (int64_t)byte_difference(A, B) + C, 0, UINT32_MAX)
SUM_CLAMP(sad_hi_u8, ((int64_t)SAD_BYTES(A, B) << 16) + C, 0, UINT32_MAX)
SUM_CLAMP(dot2_i32_i16, (int64_t)((int16_t)A *(int16_t)B) + (int16_t)(A >> 16) * (int16_t)(B >> 16) + i(C), INT32_MIN,
          INT32_MAX)
SUM_CLAMP(dot2_u32_u16, (int64_t)(A & 0xFFFF) * (B & 0xFFFF) + (int64_t)(A >> 16) * (B >> 16) + C, 0, UINT32_MAX)
U3(dot8_i32_i4_clamp, ({
     int64_t sum = i(C);
     for (int k = 0; k < 32; k += 4) sum += (i(A << (28 - k)) >> 28) * (i(B << (28 - k)) >> 28);
     clamped(sum, INT32_MIN, INT32_MAX);
   }))
U3(dot8_u32_u4_clamp, ({
     int64_t sum = C;
     for (int k = 0; k < 32; k += 4) sum += (A >> k & 15) * (B >> k & 15);
     clamped(sum, 0, UINT32_MAX);
   }))
U2(mul_i32_i24_clamp, clamped((int64_t)(i(A << 8) >> 8) * (i(B << 8) >> 8), INT32_MIN, INT32_MAX))
U2(mul_u32_u24_clamp, clamped((int64_t)(A & 0xFFFFFF) * (B & 0xFFFFFF), 0, UINT32_MAX))
PK2(pk_mul_lo_u16_clamp, uint16_t, (uint32_t)P *Q > 0xFFFF ? 0xFFFF : (uint32_t)P * Q)
U3(pk_mad_u16_clamp, ({
     uint32_t r = 0;
     for (int k = 0; k < 32; k += 16)
       r |= clamped((int64_t)(A >> k & 0xFFFF) * (B >> k & 0xFFFF) + (C >> k & 0xFFFF), 0, 0xFFFF) << k;
     r;
   }))
U3(pk_mad_i16_clamp, ({
     uint32_t r = 0;
     for (int k = 0; k < 32; k += 16)
       r |= (clamped((int64_t)((int16_t)(A >> k) * (int16_t)(B >> k)) + (int16_t)(C >> k), -32768, 32767) & 0xFFFF)
            << k;
     r;
   }))
CARRY(add_co_u32_clamp, (uint64_t)A + B > UINT32_MAX ? UINT32_MAX : A + B, (uint64_t)A + B > UINT32_MAX)
CARRY(sub_co_u32_clamp, A < B ? 0 : A - B, A < B)
CARRY(subrev_co_u32_clamp, B < A ? 0 : B - A, B < A)
CARRY(addc_co_u32_clamp, (uint64_t)A + B + K > UINT32_MAX ? UINT32_MAX : A + B + K, (uint64_t)A + B + K > UINT32_MAX)
CARRY(subb_co_u32_clamp, A < (uint64_t)B + K ? 0 : A - B - K, A < (uint64_t)B + K)
CARRY(subbrev_co_u32_clamp, B < (uint64_t)A + K ? 0 : B - A - K, B < (uint64_t)A + K)
FUNCTION(mad_u64_u32_clamp) {
  mad_u64_u32(x);
  for (int l = 0; l < CDNA_LANES; l++)
    if (x->out >> l & 1) set_pair(x->d, l, UINT64_MAX);
}
FUNCTION(mad_i64_i32_clamp) { /* the sum leaves its type on the side of the addend */
  uint32_t negative[CDNA_LANES];
  for (int l = 0; l < CDNA_LANES; l++) negative[l] = x->s[2][l + CDNA_LANES] >> 31;
  mad_i64_i32(x);
  for (int l = 0; l < CDNA_LANES; l++)
    if (x->out >> l & 1) set_pair(x->d, l, negative[l] ? 1ull << 63 : INT64_MAX);
}
static inline float unit_clamped(float v) { return v > 0 ? v < 1 ? v : 1 : 0; }
static inline uint32_t half_clamped(uint32_t v) { return hb(unit_clamped(h(v))); }
U2(cvt_pkrtz_f16_f32_clamp,
   half_clamped(cdna_half_bits_toward_zero(f(A))) | half_clamped(cdna_half_bits_toward_zero(f(B))) << 16)
U2(cvt_pk_f16_f32_clamp, half_clamped(hb(f(A))) | half_clamped(hb(f(B))) << 16)
U2(cvt_pk_bf16_f32_clamp, cdna_bf16_bits(unit_clamped(f(A))) | cdna_bf16_bits(unit_clamped(f(B))) << 16)

/* ---- 16 bits ---- */

U2(add_i16, (A + B) & 0xFFFF)
U2(sub_i16, (A - B) & 0xFFFF)
U3(mad_u16, (A * B + C) & 0xFFFF)
U3(mad_i16, (A * B + C) & 0xFFFF)
U3(mad_legacy_i16, (A * B + C) & 0xFFFF)
U3(mad_f16, hb(h(hb(h(A) * h(B))) + h(C)))
U3(med3_f16, ({
     const uint32_t p = u(h(A)), q = u(h(B)), r = u(h(C)), low = min_f32_bits(p, q), high = max_f32_bits(p, q);
     const bool nan = is_nan32(p) || is_nan32(q) || is_nan32(r);
     hb(f(nan ? min_f32_bits(low, r) : max_f32_bits(low, min_f32_bits(high, r))));
   }))
FUNCTION(ldexp_f16) {
  ROWS2;
  for (int l = 0; l < CDNA_LANES; l++) d[l] = hb(ldexpf(h(a[l]), (int16_t)b[l]));
}
FUNCTION(frexp_mant_f16) {
  ROWS1;
  int e;
  for (int l = 0; l < CDNA_LANES; l++) d[l] = isfinite(h(a[l])) ? hb(frexpf(h(a[l]), &e)) : a[l] & 0xFFFF;
}
FUNCTION(frexp_exp_i16_f16) {
  ROWS1;
  for (int l = 0; l < CDNA_LANES; l++) {
    int e = 0;
    if (isfinite(h(a[l]))) (void)frexpf(h(a[l]), &e);
    d[l] = (uint32_t)e & 0xFFFF;
  }
}
/* Sign and special cases of a quotient: A is the quotient, B the denominator, C the numerator. */
U3(div_fixup_f16, ({
     const uint32_t sign = (B ^ C) & 0x8000u;
     const float den = h(B), num = h(C);
     isnan(num)                                             ? (C & 0xFFFF) | 0x200u
     : isnan(den)                                           ? (B & 0xFFFF) | 0x200u
     : (num == 0 && den == 0) || (isinf(num) && isinf(den)) ? 0xFE00u
     : den == 0 || isinf(num)                               ? sign | 0x7C00u
     : isinf(den) || num == 0                               ? sign
                                                            : sign | (A & 0x7FFF);
   }))
U1(cvt_norm_i16_f16, norm(h(A), 1.0f, 32767.0f))
U1(cvt_norm_u16_f16, norm(h(A), 0.0f, 65535.0f))
U2(cvt_pknorm_i16_f16, norm(h(A), 1.0f, 32767.0f) | norm(h(B), 1.0f, 32767.0f) << 16)
U2(cvt_pknorm_u16_f16, norm(h(A), 0.0f, 65535.0f) | norm(h(B), 0.0f, 65535.0f) << 16)
FUNCTION(bitop3_b16) { bitop3_b32(x); }

/* ---- IEEE 754-2019 minimum and maximum: they propagate NaN ---- */

static inline uint32_t minimum_bits(uint32_t A, uint32_t B) {
  return is_nan32(A) ? A | 0x400000u : is_nan32(B) ? B | 0x400000u : min_f32_bits(A, B);
}
static inline uint32_t maximum_bits(uint32_t A, uint32_t B) {
  return is_nan32(A) ? A | 0x400000u : is_nan32(B) ? B | 0x400000u : max_f32_bits(A, B);
}
U3(minimum3_f32, minimum_bits(minimum_bits(A, B), C))
U3(maximum3_f32, maximum_bits(maximum_bits(A, B), C))
#define HALVES3(f_)                                                                                                    \
  (hb(f(f_(f_(u(h(A)), u(h(B))), u(h(C))))) | hb(f(f_(f_(u(h(A >> 16)), u(h(B >> 16))), u(h(C >> 16))))) << 16)
U3(pk_minimum3_f16, HALVES3(minimum_bits))
U3(pk_maximum3_f16, HALVES3(maximum_bits))

/* ---- bytes ---- */

U3(lerp_u8, ({
     uint32_t r = 0;
     for (int k = 0; k < 32; k += 8) r |= (((A >> k & 0xFF) + (B >> k & 0xFF) + (C >> k & 1)) >> 1) << k;
     r;
   }))
/* Sums differences of the bytes whose reference (in B) is not 0. */
static inline uint32_t masked_sad(uint32_t A, uint32_t B) {
  uint32_t sum = 0;
  for (int k = 0; k < 32; k += 8)
    if (B >> k & 0xFF) sum += byte_difference(A >> k & 0xFF, B >> k & 0xFF);
  return sum;
}
U3(msad_u8, masked_sad(A, B) + C)
/* Four sums of differences of B with 4 bytes of A, each one byte further, added to the four of C. */
#define FOUR_SADS(name_, sad_, end_)                                                                                   \
  FUNCTION(name_) {                                                                                                    \
    ROWS3;                                                                                                             \
    for (int l = 0; l < CDNA_LANES; l++) {                                                                             \
      uint64_t r = 0;                                                                                                  \
      for (int n = 0; n < 4; n++) {                                                                                    \
        const uint32_t A = (uint32_t)(pair(a, l) >> 8 * n), B = b[l];                                                  \
        const uint32_t sum = (sad_) + (uint32_t)(pair(c, l) >> 16 * n & 0xFFFF);                                       \
        r |= (uint64_t)(end_) << 16 * n;                                                                               \
      }                                                                                                                \
      set_pair(d, l, r);                                                                                               \
    }                                                                                                                  \
  }
FOUR_SADS(qsad_pk_u16_u8, SAD_BYTES(A, B), sum & 0xFFFF)
FOUR_SADS(mqsad_pk_u16_u8, masked_sad(A, B), sum & 0xFFFF)
FOUR_SADS(qsad_pk_u16_u8_clamp, SAD_BYTES(A, B), sum > 0xFFFF ? 0xFFFF : sum)
FOUR_SADS(mqsad_pk_u16_u8_clamp, masked_sad(A, B), sum > 0xFFFF ? 0xFFFF : sum)
SUM_CLAMP(msad_u8, (int64_t)masked_sad(A, B) + C, 0, UINT32_MAX)
#define FOUR_SUMS(name_, most_)                                                                                        \
  FUNCTION(name_) {                                                                                                    \
    ROWS3;                                                                                                             \
    for (int l = 0; l < CDNA_LANES; l++) {                                                                             \
      uint64_t r[4];                                                                                                   \
      for (int n = 0; n < 4; n++)                                                                                      \
        r[n] = (uint64_t)masked_sad((uint32_t)(pair(a, l) >> 8 * n), b[l]) + c[l + n * CDNA_LANES];                    \
      for (int n = 0; n < 4; n++) d[l + n * CDNA_LANES] = (uint32_t)(r[n] > (most_) ? (most_) : r[n]);                 \
    }                                                                                                                  \
  }
FOUR_SUMS(mqsad_u32_u8, UINT64_MAX)
FOUR_SUMS(mqsad_u32_u8_clamp, UINT32_MAX)
FUNCTION(cvt_pkaccum_u8_f32) {
  ROWS2;
  for (int l = 0; l < CDNA_LANES; l++) {
    const uint32_t byte = to_u32(rint((double)f(a[l]))), shift = 8 * (b[l] & 3);
    d[l] = (x->old[l] & ~(0xFFu << shift)) | (byte > 255 ? 255 : byte) << shift;
  }
}
U3(ashr_pk_i8_i32, ({
     const uint32_t p = clamped(i(A) >> (C & 31), -128, 127), q = clamped(i(B) >> (C & 31), -128, 127);
     (p & 0xFF) | (q & 0xFF) << 8;
   }))
U3(ashr_pk_u8_i32, clamped(i(A) >> (C & 31), 0, 255) | clamped(i(B) >> (C & 31), 0, 255) << 8)

/* ---- the face of a cube that a direction meets ---- */

#define CUBE(name_, z_, y_, x_)                                                                                        \
  F3(name_, ({                                                                                                         \
       const float ax = fabsf(A), ay = fabsf(B), az = fabsf(C);                                                        \
       az >= ax &&az >= ay ? (z_) : ay >= ax ? (y_) : (x_);                                                            \
     }))
CUBE(cubeid_f32, C < 0 ? 5.0f : 4.0f, B < 0 ? 3.0f : 2.0f, A < 0 ? 1.0f : 0.0f)
CUBE(cubema_f32, 2 * C, 2 * B, 2 * A)
CUBE(cubesc_f32, C < 0 ? -A : A, A, A < 0 ? C : -C)
CUBE(cubetc_f32, -B, B < 0 ? -C : C, -B)

U1(prng_b32, cdna_next_random(A))

/* The fraction of 2/pi from its highest bit on (computed by Machin's formula in integers). 53 bits of it are used
 * from B * 53 on, or from a later bit for a large A. Bits above the product's 2^53 do not affect sine and cosine. */
static const uint64_t two_by_pi[19] = {
    0xa2f9836e4e441529ull, 0xfc2757d1f534ddc0ull, 0xdb6295993c439041ull, 0xfe5163abdebbc561ull, 0xb7246e3a424dd2e0ull,
    0x06492eea09d1921cull, 0xfe1deb1cb129a73eull, 0xe88235f52ebb4484ull, 0xe99c7026b45f7e41ull, 0x3991d639835339f4ull,
    0x9c845f8bbdf9283bull, 0x1ff897ffde05980full, 0xef2f118b5a0a6d1full, 0x6d367ecf27cb09b7ull, 0x4f463f669e5fea2dull,
    0x7527bac7ebe5f17bull, 0x3d0739f78a5292eaull, 0x6bfb5fb11f8d5d08ull, 0x56033046fc7b6babull};
static inline double trig_part(double A, uint32_t B) {
  uint64_t bits;
  memcpy(&bits, &A, sizeof bits);
  const int exponent = (int)(bits >> 52 & 0x7FF);
  int shift = (int)(B & 31) * 53;
  if (exponent > 1077) shift += exponent - 1077;
  uint64_t part = 0;
  for (int b = 0; b < 53; b++) {
    const int at = shift + b; /* 1201 bits; further bits are 0 */
    part = part << 1 | (at < 1201 ? two_by_pi[at / 64] >> (63 - at % 64) & 1 : 0);
  }
  return ldexp((double)part, -53 - shift + (exponent >= 1968 ? 128 : 0));
}
FUNCTION(trig_preop_f64) {
  ROWS2;
  for (int l = 0; l < CDNA_LANES; l++) set_real(d, l, trig_part(real(a, l), b[l]));
}

/* Converts one FP8 or BF8, from the byte that op_sel[1:0] names. The other half of the result is kept. */
#define FROM_ONE(t_)                                                                                                   \
  FUNCTION(cvt_scalef32_f32_##t_) {                                                                                    \
    ROWS2;                                                                                                             \
    for (int l = 0; l < CDNA_LANES; l++)                                                                               \
      d[l] = u(cdna_small_value(t_##_of(x), a[l] >> 8 * (x->imm & 3) & 0xFF) * cdna_scale_of(b[l]));                   \
  }                                                                                                                    \
  FUNCTION(cvt_scalef32_f16_##t_) {                                                                                    \
    const uint32_t *a = x->s[0], *b = x->s[1];                                                                         \
    for (int l = 0; l < CDNA_LANES; l++)                                                                               \
      put_half(x, l, hb(cdna_small_value(t_##_of(x), a[l] >> 8 * (x->imm & 3) & 0xFF) * cdna_scale_of(b[l])));         \
  }
FROM_ONE(fp8)
FROM_ONE(bf8)

/* A list that clang-format never formats stably. */
/* clang-format off */
#define RARE_ENTRIES                                                                                                   \
  E(add_u32_clamp) E(sub_u32_clamp) E(subrev_u32_clamp) E(add_i32_clamp) E(sub_i32_clamp) E(add_u16_clamp)             \
  E(sub_u16_clamp) E(subrev_u16_clamp) E(add_i16_clamp) E(sub_i16_clamp) E(pk_add_u16_clamp) E(pk_sub_u16_clamp)       \
  E(pk_add_i16_clamp) E(pk_sub_i16_clamp) E(mad_u32_u24_clamp) E(mad_i32_i24_clamp) E(dot4_i32_i8_clamp)               \
  E(mad_u32_u16_clamp) E(mad_i32_i16_clamp) E(mad_u16_clamp) E(mad_i16_clamp) E(sad_u16_clamp) E(sad_u32_clamp)        \
  E(sad_hi_u8_clamp) E(dot2_i32_i16_clamp) E(dot2_u32_u16_clamp) E(dot8_i32_i4_clamp) E(dot8_u32_u4_clamp)             \
  E(mul_i32_i24_clamp) E(mul_u32_u24_clamp) E(pk_mul_lo_u16_clamp) E(pk_mad_u16_clamp) E(pk_mad_i16_clamp)             \
  E(cvt_pkrtz_f16_f32_clamp) E(cvt_pk_f16_f32_clamp) E(cvt_pk_bf16_f32_clamp) E(qsad_pk_u16_u8_clamp)                  \
  E(mqsad_pk_u16_u8_clamp) E(msad_u8_clamp) E(mqsad_u32_u8_clamp) EB(add_co_u32_clamp) EB(sub_co_u32_clamp)            \
  EB(subrev_co_u32_clamp) EB(addc_co_u32_clamp) EB(subb_co_u32_clamp) EB(subbrev_co_u32_clamp)                         \
  EB(mad_u64_u32_clamp) EB(mad_i64_i32_clamp) {"v_mad_legacy_u16_clamp", mad_u16_clamp, CDNA_D, 0},                    \
  {"v_mad_legacy_i16_clamp", mad_i16_clamp, CDNA_D, 0},                                                                \
  {"v_dot2c_i32_i16_clamp", dot2_i32_i16_clamp, CDNA_D, 0},                                                            \
  {"v_dot4c_i32_i8_clamp", dot4_i32_i8_clamp, CDNA_D, 0},                                                              \
  {"v_dot8c_i32_i4_clamp", dot8_i32_i4_clamp, CDNA_D, 0},                                                              \
  E(dot4_u32_u8_clamp) E(sad_u8_clamp) E(add_i16) E(sub_i16) E(mad_u16) E(mad_i16) E(mad_legacy_i16) E(mad_f16)        \
  E(med3_f16) E(ldexp_f16)                     \
  E(frexp_mant_f16) E(frexp_exp_i16_f16) E(div_fixup_f16) E(cvt_norm_i16_f16) E(cvt_norm_u16_f16)                      \
  E(cvt_pknorm_i16_f16) E(cvt_pknorm_u16_f16) E(bitop3_b16) E(minimum3_f32) E(maximum3_f32) E(pk_minimum3_f16)         \
  E(pk_maximum3_f16) E(lerp_u8) E(msad_u8) E(qsad_pk_u16_u8) E(mqsad_pk_u16_u8) E(mqsad_u32_u8)                        \
  EK(cvt_pkaccum_u8_f32) E(ashr_pk_i8_i32) E(ashr_pk_u8_i32) E(cubeid_f32) E(cubema_f32) E(cubesc_f32) E(cubetc_f32)   \
  E(trig_preop_f64) E(prng_b32) E(cvt_scalef32_f32_fp8) E(cvt_scalef32_f32_bf8) EK(cvt_scalef32_f16_fp8) EK(cvt_scalef32_f16_bf8)        \
  {"v_mac_f16", mad_f16, CDNA_D, 0}, {"v_madak_f16", mad_f16, CDNA_D, 0}, {"v_madmk_f16", mad_f16, CDNA_D, 0},         \
  {"v_mad_legacy_f16", mad_f16, CDNA_D, 0}, {"v_div_fixup_legacy_f16", div_fixup_f16, CDNA_D, 0},                      \
  {"v_pk_fmac_f16", pk_fma_f16, CDNA_D, 0},
/* clang-format on */
