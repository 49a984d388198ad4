/* scaled.h - part of body.h: conversions to and from 8, 6 and 4 bits, with and without a scale. x->imm is op_sel. */

static inline cdna_small fp8_of(const cdna_lanes *x) { return x->arch == CDNA3 ? CDNA_FP8_FNUZ : CDNA_FP8_OCP; }
static inline cdna_small bf8_of(const cdna_lanes *x) { return x->arch == CDNA3 ? CDNA_BF8_FNUZ : CDNA_BF8_OCP; }
/* MODE's FP16_OVFL: values that are too large become the largest value. */
static inline bool saturates(const cdna_lanes *x) { return x->mode >> 23 & 1; }

#define EIGHT_BITS(t_)                                                                                                 \
  FUNCTION(cvt_pk_##t_##_f32) {                                                                                        \
    ROWS2;                                                                                                             \
    for (int l = 0; l < CDNA_LANES; l++)                                                                               \
      d[l] = cdna_small_code(t_##_of(x), f(a[l]), saturates(x)) | cdna_small_code(t_##_of(x), f(b[l]), saturates(x))   \
                                                                      << 8;                                            \
  }                                                                                                                    \
  FUNCTION(cvt_f32_##t_) {                                                                                             \
    ROWS1;                                                                                                             \
    for (int l = 0; l < CDNA_LANES; l++) d[l] = u(cdna_small_value(t_##_of(x), a[l] & 0xFF));                          \
  }                                                                                                                    \
  FUNCTION(cvt_pk_f32_##t_) {                                                                                          \
    ROWS1;                                                                                                             \
    for (int l = 0; l < CDNA_LANES; l++) {                                                                             \
      const uint32_t both = a[l];                                                                                      \
      d[l] = u(cdna_small_value(t_##_of(x), both & 0xFF));                                                             \
      d[l + CDNA_LANES] = u(cdna_small_value(t_##_of(x), both >> 8 & 0xFF));                                           \
    }                                                                                                                  \
  }
EIGHT_BITS(fp8)
EIGHT_BITS(bf8)

/* The four low bits as a signed number, in sixteenths. */
U1(cvt_off_f32_i4, u((float)(i(A << 28) >> 28) * 0.0625f))
U2(pack_b32_f16, (A & 0xFFFF) | B << 16)

static inline float read_f32(uint32_t v) { return f(v); }
static inline float read_f16(uint32_t v) { return cdna_half_value(v & 0xFFFF); }
static inline float read_bf16(uint32_t v) { return cdna_bf16_value(v & 0xFFFF); }
static inline uint32_t write_f16(float v) { return cdna_half_bits(v); }
static inline uint32_t write_bf16(float v) { return cdna_bf16_bits(v); }

/* Two values to FP4: op_sel[3:2] selects the byte of the result. f32 values come from two sources, others from both
 * halves of one. */
static inline void put_byte(cdna_lanes *x, int l, uint32_t byte) {
  const uint32_t shift = 8 * (x->imm >> 2 & 3);
  x->d[l] = (x->old[l] & ~(0xFFu << shift)) | byte << shift;
}
/* Two values to FP8 or BF8: op_sel[3] selects the half of the result. */
static inline void put_half(cdna_lanes *x, int l, uint32_t half) {
  const uint32_t shift = x->imm >> 3 & 1 ? 16 : 0;
  x->d[l] = (x->old[l] & ~(0xFFFFu << shift)) | half << shift;
}
#define TO_FP4_PAIR(from_)                                                                                             \
  FUNCTION(cvt_scalef32_pk_fp4_##from_) {                                                                              \
    const uint32_t *a = x->s[0], *b = x->s[1];                                                                         \
    for (int l = 0; l < CDNA_LANES; l++)                                                                               \
      put_byte(x, l,                                                                                                   \
               cdna_small_code(CDNA_FP4_MX, cdna_divided(read_##from_(a[l]), b[l]), true) |                            \
                   cdna_small_code(CDNA_FP4_MX, cdna_divided(read_##from_(a[l] >> 16), b[l]), true) << 4);             \
  }
FUNCTION(cvt_scalef32_pk_fp4_f32) {
  const uint32_t *a = x->s[0], *b = x->s[1], *c = x->s[2];
  for (int l = 0; l < CDNA_LANES; l++)
    put_byte(x, l,
             cdna_small_code(CDNA_FP4_MX, cdna_divided(f(a[l]), c[l]), true) |
                 cdna_small_code(CDNA_FP4_MX, cdna_divided(f(b[l]), c[l]), true) << 4);
}
TO_FP4_PAIR(f16)
TO_FP4_PAIR(bf16)
#define TO_EIGHT(t_)                                                                                                   \
  FUNCTION(cvt_scalef32_pk_##t_##_f32) {                                                                               \
    const uint32_t *a = x->s[0], *b = x->s[1], *c = x->s[2];                                                           \
    for (int l = 0; l < CDNA_LANES; l++)                                                                               \
      put_half(x, l,                                                                                                   \
               cdna_small_code(t_##_of(x), cdna_divided(f(a[l]), c[l]), saturates(x)) |                                \
                   cdna_small_code(t_##_of(x), cdna_divided(f(b[l]), c[l]), saturates(x)) << 8);                       \
  }                                                                                                                    \
  FUNCTION(cvt_scalef32_pk_##t_##_f16) {                                                                               \
    const uint32_t *a = x->s[0], *b = x->s[1];                                                                         \
    for (int l = 0; l < CDNA_LANES; l++)                                                                               \
      put_half(x, l,                                                                                                   \
               cdna_small_code(t_##_of(x), cdna_divided(read_f16(a[l]), b[l]), saturates(x)) |                         \
                   cdna_small_code(t_##_of(x), cdna_divided(read_f16(a[l] >> 16), b[l]), saturates(x)) << 8);          \
  }                                                                                                                    \
  FUNCTION(cvt_scalef32_pk_##t_##_bf16) {                                                                              \
    const uint32_t *a = x->s[0], *b = x->s[1];                                                                         \
    for (int l = 0; l < CDNA_LANES; l++)                                                                               \
      put_half(x, l,                                                                                                   \
               cdna_small_code(t_##_of(x), cdna_divided(read_bf16(a[l]), b[l]), saturates(x)) |                        \
                   cdna_small_code(t_##_of(x), cdna_divided(read_bf16(a[l] >> 16), b[l]), saturates(x)) << 8);         \
  }
TO_EIGHT(fp8)
TO_EIGHT(bf8)

/* The inverse: two FP8 or BF8 from the half that op_sel[0] names, two FP4 from the byte that op_sel[1:0] names. */
static inline float from_eight(const cdna_lanes *x, cdna_small s, uint32_t v, int n, uint32_t scale) {
  return cdna_small_value(s, v >> (x->imm & 1 ? 16 : 0) >> 8 * n & 0xFF) * cdna_scale_of(scale);
}
static inline float from_fp4(const cdna_lanes *x, uint32_t v, int n, uint32_t scale) {
  return cdna_small_value(CDNA_FP4_MX, v >> 8 * (x->imm & 3) >> 4 * n & 15) * cdna_scale_of(scale);
}
#define FROM_SMALL(name_, low_, high_)                                                                                 \
  FUNCTION(cvt_scalef32_pk_f32_##name_) {                                                                              \
    ROWS2;                                                                                                             \
    for (int l = 0; l < CDNA_LANES; l++) {                                                                             \
      const uint32_t A = a[l], B = b[l];                                                                               \
      d[l] = u(low_);                                                                                                  \
      d[l + CDNA_LANES] = u(high_);                                                                                    \
    }                                                                                                                  \
  }                                                                                                                    \
  FUNCTION(cvt_scalef32_pk_f16_##name_) {                                                                              \
    ROWS2;                                                                                                             \
    for (int l = 0; l < CDNA_LANES; l++) {                                                                             \
      const uint32_t A = a[l], B = b[l];                                                                               \
      d[l] = write_f16(low_) | write_f16(high_) << 16;                                                                 \
    }                                                                                                                  \
  }                                                                                                                    \
  FUNCTION(cvt_scalef32_pk_bf16_##name_) {                                                                             \
    ROWS2;                                                                                                             \
    for (int l = 0; l < CDNA_LANES; l++) {                                                                             \
      const uint32_t A = a[l], B = b[l];                                                                               \
      d[l] = write_bf16(low_) | write_bf16(high_) << 16;                                                               \
    }                                                                                                                  \
  }
FROM_SMALL(fp8, from_eight(x, fp8_of(x), A, 0, B), from_eight(x, fp8_of(x), A, 1, B))
FROM_SMALL(bf8, from_eight(x, bf8_of(x), A, 0, B), from_eight(x, bf8_of(x), A, 1, B))
FROM_SMALL(fp4, from_fp4(x, A, 0, B), from_fp4(x, A, 1, B))

#define EF(name_) E(cvt_scalef32_pk_f32_##name_) E(cvt_scalef32_pk_f16_##name_) E(cvt_scalef32_pk_bf16_##name_)
#define ET(name_) EK(cvt_scalef32_pk_##name_##_f32) EK(cvt_scalef32_pk_##name_##_f16) EK(cvt_scalef32_pk_##name_##_bf16)
/* A list that clang-format never formats stably. */
/* clang-format off */
#define SCALED_ENTRIES                                                                                                 \
  E(cvt_pk_fp8_f32)                                                                                                    \
  E(cvt_pk_bf8_f32)                                                                                                    \
  E(cvt_f32_fp8)                                                                                                       \
  E(cvt_f32_bf8)                                                                                                       \
  E(cvt_pk_f32_fp8) E(cvt_pk_f32_bf8) E(cvt_off_f32_i4) E(pack_b32_f16) ET(fp4) ET(fp8) ET(bf8) EF(fp8) EF(bf8) EF(fp4)
/* clang-format on */
