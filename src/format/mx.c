/* mx.c - OCP Microscaling Formats 1.0: blocks of 32 elements and one e8m0 scale. The reference.
 *
 * Scale X = 2^(byte - 127), byte 255 is NaN (section 5.4.1). An element's value is X times its code's.
 * Encoding a block (section 6.3, with the four rules of tw_scale_rule):
 *   amax  the largest magnitude, by the bits of its f32
 *   byte  ((amax + addend) >> 23) - emax, clamped to 0..254. The addend makes the rule: adding to the mantissa carries
 *         into the exponent just when the rule wants the next power of two (see addend_of in table.c)
 *   code  x / X (exact: a power of two), rounded to nearest even, saturated
 * Special cases:
 *   all zeros           amax's exponent field is 0, so byte = 0: scale 2^-127, codes 0 or -0
 *   subnormal amax      likewise byte = 0 (mxint8, whose emax is 0, may come to 1); x * 2^127 is exact
 *   NaN or infinity     byte 255 and codes 0: the whole block decodes to NaN (0x7FC00000)
 *   -0                  stays -0 but in mxint8, which has none
 *   tails               encode.c fills up with +0, which never changes amax
 *   mxint8              -128 (that is -2) is decoded but never made: the format's largest is +-127/64, table 6
 * Decoding multiplies in f32: exact but for results beyond f32's largest, which become infinities. */
#include "format/internal.h"
#include "format/minifloat.h"

enum { BLOCK = 32, NAN_BYTE = 0xFF };

float tw_e8m0_to_f32(uint8_t byte) {
  if (byte == NAN_BYTE) return tw_float_of(F32_NAN);
  return tw_float_of(byte ? (uint32_t)byte << 23 : UINT32_C(1) << 22); /* 2^-127 is a subnormal f32 */
}

static uint8_t scale_byte(const format_job *job, uint32_t amax) {
  int byte = (int)((amax + job->addend) >> 23) - job->emax;
  return (uint8_t)(byte < 0 ? 0 : byte > 254 ? 254 : byte);
}

static uint8_t int8_of(float x) { /* in steps of 1/64 */
  float steps = rintf(x * 64);
  return (uint8_t)(int8_t)(steps > 127 ? 127 : steps < -127 ? -127 : steps);
}

static unsigned element_encode(tw_format_id id, float x) {
  switch (id) {
  case TW_FORMAT_MXFP8_E4M3: return tw_f32_to_e4m3(x, TW_OVERFLOW_SATURATE);
  case TW_FORMAT_MXFP8_E5M2: return tw_f32_to_e5m2(x, TW_OVERFLOW_SATURATE);
  case TW_FORMAT_MXFP6_E3M2: return tw_f32_to_e3m2(x);
  case TW_FORMAT_MXFP6_E2M3: return tw_f32_to_e2m3(x);
  case TW_FORMAT_MXFP4: return tw_f32_to_e2m1(x);
  default: return int8_of(x);
  }
}

static float element_decode(tw_format_id id, uint8_t code) {
  switch (id) {
  case TW_FORMAT_MXFP8_E4M3: return tw_e4m3_to_f32(code);
  case TW_FORMAT_MXFP8_E5M2: return tw_e5m2_to_f32(code);
  case TW_FORMAT_MXFP6_E3M2: return tw_e3m2_to_f32(code);
  case TW_FORMAT_MXFP6_E2M3: return tw_e2m3_to_f32(code);
  case TW_FORMAT_MXFP4: return tw_e2m1_to_f32(code);
  default: return (float)(int8_t)code / 64;
  }
}

/* Codes of 8, 6 or 4 bits form one stream, first code in the lowest bits. */
static void put_code(uint8_t *codes, int bits, size_t i, unsigned code) {
  size_t bit = i * (size_t)bits;
  codes[bit / 8] |= (uint8_t)(code << bit % 8);
  if (bit % 8 + (size_t)bits > 8) codes[bit / 8 + 1] |= (uint8_t)(code >> (8 - bit % 8));
}

static uint8_t get_code(const uint8_t *codes, int bits, size_t i) {
  size_t bit = i * (size_t)bits;
  unsigned both = codes[bit / 8];
  if (bit % 8 + (size_t)bits > 8) both |= (unsigned)codes[bit / 8 + 1] << 8;
  return (uint8_t)(both >> bit % 8 & ((1u << bits) - 1));
}

static void encode_block(const format_job *job, const float x[BLOCK], uint8_t *codes, uint8_t *scale) {
  uint32_t amax = magnitude_bits(x, BLOCK);
  memset(codes, 0, job->format->block_bytes);
  if (amax >= F32_INFINITY) {
    *scale = NAN_BYTE;
    return;
  }
  *scale = scale_byte(job, amax);
  for (size_t i = 0; i < BLOCK; i++) {
    float scaled = (float)ldexp(x[i], 127 - *scale);
    put_code(codes, job->format->bits, i, element_encode(job->format->id, scaled));
  }
}

static void decode_block(const tw_format *format, const uint8_t *codes, uint8_t scale, float x[BLOCK]) {
  for (size_t i = 0; i < BLOCK; i++) {
    float element = element_decode(format->id, get_code(codes, format->bits, i));
    x[i] = scale == NAN_BYTE ? tw_float_of(F32_NAN) : element * tw_e8m0_to_f32(scale);
  }
}

void mx_encode(const format_job *job, const float *x, size_t n, uint8_t *codes, uint8_t *scales) {
  for (size_t b = 0; b < n / BLOCK; b++)
    encode_block(job, x + b * BLOCK, codes + b * job->format->block_bytes, scales + b);
}

void mx_decode(const format_job *job, const uint8_t *codes, const uint8_t *scales, size_t n, float *x) {
  for (size_t b = 0; b < n / BLOCK; b++)
    decode_block(job->format, codes + b * job->format->block_bytes, scales[b], x + b * BLOCK);
}
