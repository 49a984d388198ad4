/* convert.h - part of body.h: conversions between 32- and 64-bit formats, f16, bf16. */

/* Converts to integers: toward zero, saturating; NaN becomes 0. */
static inline int32_t to_i32(double v) {
  return v != v ? 0 : v >= 2147483647.0 ? INT32_MAX : v <= -2147483648.0 ? INT32_MIN : (int32_t)v;
}
static inline uint32_t to_u32(double v) { return !(v > 0) ? 0 : v >= 4294967295.0 ? UINT32_MAX : (uint32_t)v; }

U1(cvt_f32_i32, u((float)i(A)))
U1(cvt_f32_u32, u((float)A))
U1(cvt_i32_f32, to_i32((double)f(A)))
U1(cvt_u32_f32, to_u32((double)f(A)))
U1(cvt_rpi_i32_f32, to_i32(floor((double)f(A) + 0.5)))
U1(cvt_flr_i32_f32, to_i32(floor((double)f(A))))
U1(cvt_f32_f16, u(h(A)))
U1(cvt_f16_f32, hb(f(A)))
U1(cvt_f32_bf16, A << 16)
U1(cvt_f16_u16, hb((float)(A & 0xFFFF)))
U1(cvt_f16_i16, hb((float)(int16_t)A))
U1(cvt_u16_f16, ({
     const float v = h(A);
     !(v > 0) ? 0 : v >= 65535.0f ? 65535u : (uint32_t)(int32_t)v;
   }))
U1(cvt_i16_f16, ({
     const float v = h(A);
     (uint32_t)(v != v ? 0 : v >= 32767.0f ? 32767 : v <= -32768.0f ? -32768 : (int32_t)v) & 0xFFFF;
   }))
U1(cvt_f32_ubyte0, u((float)(A & 0xFF)))
U1(cvt_f32_ubyte1, u((float)(A >> 8 & 0xFF)))
U1(cvt_f32_ubyte2, u((float)(A >> 16 & 0xFF)))
U1(cvt_f32_ubyte3, u((float)(A >> 24)))
FUNCTION(cvt_f32_f64) {
  ROWS1;
  LOOP d[l] = u((float)real(a, l));
}
FUNCTION(cvt_f64_f32) {
  ROWS1;
  LOOP set_real(d, l, (double)f(a[l]));
}
FUNCTION(cvt_f64_i32) {
  ROWS1;
  LOOP set_real(d, l, (double)i(a[l]));
}
FUNCTION(cvt_f64_u32) {
  ROWS1;
  LOOP set_real(d, l, (double)a[l]);
}
FUNCTION(cvt_i32_f64) {
  ROWS1;
  LOOP d[l] = (uint32_t)to_i32(real(a, l));
}
FUNCTION(cvt_u32_f64) {
  ROWS1;
  LOOP d[l] = to_u32(real(a, l));
}
U2(cvt_pkrtz_f16_f32, cdna_half_bits_toward_zero(f(A)) | cdna_half_bits_toward_zero(f(B)) << 16)
U2(cvt_pk_f16_f32, hb(f(A)) | hb(f(B)) << 16)
U2(cvt_pk_bf16_f32, cdna_bf16_bits(f(A)) | cdna_bf16_bits(f(B)) << 16)
U2(cvt_pk_u16_u32, (A > 0xFFFF ? 0xFFFF : A) | (B > 0xFFFF ? 0xFFFF : B) << 16)
static inline uint32_t to_i16(int32_t v) { return (uint32_t)(v > 32767 ? 32767 : v < -32768 ? -32768 : v) & 0xFFFF; }
U2(cvt_pk_i16_i32, to_i16(i(A)) | to_i16(i(B)) << 16)
static inline uint32_t norm(float v, float limit, float scale) {
  const float low = v > -limit ? v : -limit, both = low < 1.0f ? low : 1.0f; /* NaN becomes the low end, then 0 */
  return (uint32_t)(int32_t)rintf((v == v ? both : 0.0f) * scale) & 0xFFFF;
}
U2(cvt_pknorm_i16_f32, norm(f(A), 1.0f, 32767.0f) | norm(f(B), 1.0f, 32767.0f) << 16)
U2(cvt_pknorm_u16_f32, norm(f(A), 0.0f, 65535.0f) | norm(f(B), 0.0f, 65535.0f) << 16)
U3(cvt_pk_u8_f32, ({
     const uint32_t byte = to_u32(rint((double)f(A))), shift = 8 * (B & 3);
     (C & ~(0xFFu << shift)) | (byte > 255 ? 255 : byte) << shift;
   }))

/* A list that clang-format never formats stably. */
/* clang-format off */
#define CONVERT_ENTRIES                                                                                                \
  E(cvt_f32_i32)                                                                                                       \
  E(cvt_f32_u32)                                                                                                       \
  E(cvt_i32_f32)                                                                                                       \
  E(cvt_u32_f32)                                                                                                       \
  E(cvt_rpi_i32_f32)                                                                                                   \
  E(cvt_flr_i32_f32) E(cvt_f32_f16) E(cvt_f16_f32) E(cvt_f32_bf16) E(cvt_f16_u16) E(cvt_f16_i16) E(cvt_u16_f16)        \
      E(cvt_i16_f16) E(cvt_f32_ubyte0) E(cvt_f32_ubyte1) E(cvt_f32_ubyte2) E(cvt_f32_ubyte3) E(cvt_f32_f64)            \
          E(cvt_f64_f32) E(cvt_f64_i32) E(cvt_f64_u32) E(cvt_i32_f64) E(cvt_u32_f64) E(cvt_pkrtz_f16_f32)              \
              E(cvt_pk_f16_f32) E(cvt_pk_bf16_f32) E(cvt_pk_u16_u32) E(cvt_pk_i16_i32) E(cvt_pknorm_i16_f32)           \
                  E(cvt_pknorm_u16_f32) E(cvt_pk_u8_f32)
/* clang-format on */
