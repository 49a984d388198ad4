/* rare.h - part of body.h: what compilers seldom emit: sums that saturate (name_clamp: valu.c takes them where the
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
/* A quotient's sign and special cases: A is it, B the denominator, C the numerator. */
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

/* ---- IEEE 754-2019 minimum and maximum: NaN goes on ---- */

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
/* Differences of the bytes whose reference (B's) is not 0. */
static inline uint32_t masked_sad(uint32_t A, uint32_t B) {
  uint32_t sum = 0;
  for (int k = 0; k < 32; k += 8)
    if (B >> k & 0xFF) sum += byte_difference(A >> k & 0xFF, B >> k & 0xFF);
  return sum;
}
U3(msad_u8, masked_sad(A, B) + C)
/* Four differences of B with 4 bytes of A, one byte further each; added to the four of C. */
#define FOUR_SADS(name_, sad_)                                                                                         \
  FUNCTION(name_) {                                                                                                    \
    ROWS3;                                                                                                             \
    for (int l = 0; l < CDNA_LANES; l++) {                                                                             \
      uint64_t r = 0;                                                                                                  \
      for (int n = 0; n < 4; n++) {                                                                                    \
        const uint32_t A = (uint32_t)(pair(a, l) >> 8 * n), B = b[l];                                                  \
        r |= (uint64_t)((sad_ + (uint32_t)(pair(c, l) >> 16 * n)) & 0xFFFF) << 16 * n;                                 \
      }                                                                                                                \
      set_pair(d, l, r);                                                                                               \
    }                                                                                                                  \
  }
FOUR_SADS(qsad_pk_u16_u8, SAD_BYTES(A, B))
FOUR_SADS(mqsad_pk_u16_u8, masked_sad(A, B))
FUNCTION(mqsad_u32_u8) {
  ROWS3;
  for (int l = 0; l < CDNA_LANES; l++) {
    uint32_t r[4];
    for (int n = 0; n < 4; n++) r[n] = masked_sad((uint32_t)(pair(a, l) >> 8 * n), b[l]) + c[l + n * CDNA_LANES];
    for (int n = 0; n < 4; n++) d[l + n * CDNA_LANES] = r[n];
  }
}
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

U1(prng_b32, A << 1 ^ (A >> 31 ? 197 : 0))

/* One FP8 or BF8, from the byte that op_sel[1:0] names; a half of the result is kept. */
#define FROM_ONE(t_)                                                                                                   \
  FUNCTION(cvt_scalef32_f32_##t_) {                                                                                    \
    ROWS2;                                                                                                             \
    for (int l = 0; l < CDNA_LANES; l++)                                                                               \
      d[l] = u(cdna_small_value(t_##_of(x), a[l] >> 8 * (x->imm & 3) & 0xFF) * scale_of(b[l]));                        \
  }                                                                                                                    \
  FUNCTION(cvt_scalef32_f16_##t_) {                                                                                    \
    const uint32_t *a = x->s[0], *b = x->s[1];                                                                         \
    for (int l = 0; l < CDNA_LANES; l++)                                                                               \
      put_half(x, l, hb(cdna_small_value(t_##_of(x), a[l] >> 8 * (x->imm & 3) & 0xFF) * scale_of(b[l])));              \
  }
FROM_ONE(fp8)
FROM_ONE(bf8)

/* A list, on which clang-format never settles. */
/* clang-format off */
#define RARE_ENTRIES                                                                                                   \
  E(add_u32_clamp) E(sub_u32_clamp) E(subrev_u32_clamp) E(add_i32_clamp) E(sub_i32_clamp) E(add_u16_clamp)             \
  E(sub_u16_clamp) E(subrev_u16_clamp) E(add_i16_clamp) E(sub_i16_clamp) E(pk_add_u16_clamp) E(pk_sub_u16_clamp)       \
  E(pk_add_i16_clamp) E(pk_sub_i16_clamp) E(mad_u32_u24_clamp) E(mad_i32_i24_clamp) E(dot4_i32_i8_clamp)               \
  E(dot4_u32_u8_clamp) E(sad_u8_clamp) E(add_i16) E(sub_i16) E(mad_u16) E(mad_i16) E(mad_legacy_i16) E(mad_f16)        \
  E(med3_f16) E(ldexp_f16)                     \
  E(frexp_mant_f16) E(frexp_exp_i16_f16) E(div_fixup_f16) E(cvt_norm_i16_f16) E(cvt_norm_u16_f16)                      \
  E(cvt_pknorm_i16_f16) E(cvt_pknorm_u16_f16) E(bitop3_b16) E(minimum3_f32) E(maximum3_f32) E(pk_minimum3_f16)         \
  E(pk_maximum3_f16) E(lerp_u8) E(msad_u8) E(qsad_pk_u16_u8) E(mqsad_pk_u16_u8) E(mqsad_u32_u8)                        \
  EK(cvt_pkaccum_u8_f32) E(ashr_pk_i8_i32) E(ashr_pk_u8_i32) E(cubeid_f32) E(cubema_f32) E(cubesc_f32) E(cubetc_f32)   \
  E(prng_b32) E(cvt_scalef32_f32_fp8) E(cvt_scalef32_f32_bf8) EK(cvt_scalef32_f16_fp8) EK(cvt_scalef32_f16_bf8)        \
  {"v_mac_f16", mad_f16, CDNA_D, 0}, {"v_madak_f16", mad_f16, CDNA_D, 0}, {"v_madmk_f16", mad_f16, CDNA_D, 0},         \
  {"v_mad_legacy_f16", mad_f16, CDNA_D, 0}, {"v_div_fixup_legacy_f16", div_fixup_f16, CDNA_D, 0},                      \
  {"v_pk_fmac_f16", pk_fma_f16, CDNA_D, 0},
/* clang-format on */
