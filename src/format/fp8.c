/* fp8.c - the 8-bit, 6-bit and 4-bit floating-point numbers: the reference.
 *
 * OCP OFP8 1.0: e4m3 has no infinities and one NaN per sign (0x7F), so its largest is 448 = 0x7E; e5m2 is IEEE-like:
 * infinity 0x7C, NaN 0x7D to 0x7F, largest 57344 = 0x7B. OCP MX 1.0: e3m2 (largest 28), e2m3 (7.5) and e2m1 (6) have
 * neither infinity nor NaN. e4m3fnuz has one NaN, 0x80, and neither infinity nor -0; its largest is 240 = 0x7F.
 *
 * From f32: to nearest even, subnormals kept, -0 stays -0 (e4m3fnuz: 0). A magnitude that rounds beyond the largest
 * saturates or becomes special (tw_overflow); for e4m3 that begins above 464 (a tie, which goes to the even 448), for
 * e5m2 at 61440 (a tie, which goes to the even 65536), for e4m3fnuz at 248. NaN: 0x7F and 0x7E with its sign; the
 * largest in formats without NaN. To f32 every code is exact; e4m3's NaN is 0x7FC00000 with its sign, e5m2's keeps its
 * payload and becomes quiet. */
#include "format/internal.h"
#include "format/minifloat.h"

enum { FNUZ_NAN = 0x80 };

static uint8_t encode(const minifloat *f, float x, unsigned beyond, unsigned infinity, unsigned nan) {
  uint32_t magnitude = tw_bits_of(x) & F32_MAGNITUDE;
  unsigned sign = tw_bits_of(x) >> 31 ? f->sign : 0;
  if (magnitude > F32_INFINITY) return (uint8_t)(sign | nan);
  if (magnitude == F32_INFINITY) return (uint8_t)(sign | infinity);
  unsigned code = minifloat_round(f, tw_float_of(magnitude));
  return (uint8_t)(sign | (code > f->max ? beyond : code));
}

static float decode(const minifloat *f, unsigned code) {
  unsigned magnitude = code & (f->sign - 1);
  uint32_t sign = code & f->sign ? 0x80000000 : 0;
  if (magnitude <= f->max) return tw_float_of(sign | tw_bits_of(minifloat_value(f, magnitude)));
  return tw_float_of(sign | F32_NAN);
}

uint8_t tw_f32_to_e4m3(float x, tw_overflow overflow) {
  unsigned beyond = overflow == TW_OVERFLOW_SATURATE ? minifloat_e4m3.max : 0x7F;
  return encode(&minifloat_e4m3, x, beyond, beyond, 0x7F);
}

uint8_t tw_f32_to_e5m2(float x, tw_overflow overflow) {
  unsigned beyond = overflow == TW_OVERFLOW_SATURATE ? minifloat_e5m2.max : 0x7C;
  return encode(&minifloat_e5m2, x, beyond, beyond, 0x7E);
}

uint8_t tw_f32_to_e4m3fnuz(float x, tw_overflow overflow) {
  const unsigned beyond = overflow == TW_OVERFLOW_SATURATE ? minifloat_e4m3fnuz.max : FNUZ_NAN;
  /* up to half of the smallest, 2^-10, a tie to the even 0; the sign of 0 alone would be NaN */
  return fabsf(x) <= 0x1p-11f ? 0 : encode(&minifloat_e4m3fnuz, x, beyond, beyond, FNUZ_NAN);
}

static uint8_t encode_saturating(const minifloat *f, float x) { return encode(f, x, f->max, f->max, f->max); }

uint8_t tw_f32_to_e3m2(float x) { return encode_saturating(&minifloat_e3m2, x); }
uint8_t tw_f32_to_e2m3(float x) { return encode_saturating(&minifloat_e2m3, x); }
uint8_t tw_f32_to_e2m1(float x) { return encode_saturating(&minifloat_e2m1, x); }

float tw_e4m3_to_f32(uint8_t code) { return decode(&minifloat_e4m3, code); }
float tw_e5m2_to_f32(uint8_t code) { return tw_f16_to_f32((uint16_t)(code << 8)); } /* the upper byte of an f16 */
float tw_e4m3fnuz_to_f32(uint8_t code) {
  return code == FNUZ_NAN ? tw_float_of(F32_NAN) : decode(&minifloat_e4m3fnuz, code);
}
float tw_e3m2_to_f32(uint8_t code) { return decode(&minifloat_e3m2, code); }
float tw_e2m3_to_f32(uint8_t code) { return decode(&minifloat_e2m3, code); }
float tw_e2m1_to_f32(uint8_t code) { return decode(&minifloat_e2m1, code); }

#define FP8_FORMAT(name)                                                                                               \
  void name##_encode(const format_job *job, const float *x, size_t n, uint8_t *codes, uint8_t *scales) {               \
    (void)scales;                                                                                                      \
    for (size_t i = 0; i < n; i++) codes[i] = tw_f32_to_##name(x[i], job->overflow);                                   \
  }                                                                                                                    \
  void name##_decode(const format_job *job, const uint8_t *codes, const uint8_t *scales, size_t n, float *x) {         \
    (void)job, (void)scales;                                                                                           \
    for (size_t i = 0; i < n; i++) x[i] = tw_##name##_to_f32(codes[i]);                                                \
  }

FP8_FORMAT(e4m3)
FP8_FORMAT(e5m2)
FP8_FORMAT(e4m3fnuz)
