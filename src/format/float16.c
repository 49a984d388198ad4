/* float16.c - f32 itself, IEEE binary16 and bfloat16: the reference.
 *
 * f16:  to f32 every code is exact; a signalling NaN becomes quiet (bit 9 set), its payload keeps its place at the
 *       top of the mantissa. From f32: to nearest even, subnormals kept, -0 stays, beyond 65504 + 16 infinity, NaN
 *       becomes quiet and keeps the upper 9 bits of its payload: IEEE 754 section 5.4.2, and what VCVTPS2PH does.
 * bf16: the upper half of an f32. To f32 every bit is kept, signalling NaN too: nothing is computed. From f32: to
 *       nearest even, subnormals kept, NaN becomes quiet and keeps the upper 6 bits of its payload. (VCVTNEPS2BF16
 *       differs: it takes subnormals as 0.) */
#include "format/internal.h"
#include "format/minifloat.h"

float tw_f16_to_f32(uint16_t code) {
  uint32_t sign = (uint32_t)(code & 0x8000) << 16, magnitude = code & 0x7FFF;
  if (magnitude == 0x7C00) return tw_float_of(sign | F32_INFINITY);
  if (magnitude > 0x7C00) return tw_float_of(sign | F32_NAN | (magnitude & 0x3FF) << 13);
  return tw_float_of(sign | tw_bits_of(minifloat_value(&minifloat_f16, magnitude)));
}

uint16_t tw_f32_to_f16(float x) {
  uint32_t magnitude = tw_bits_of(x) & F32_MAGNITUDE;
  unsigned sign = tw_bits_of(x) >> 16 & 0x8000;
  if (magnitude > F32_INFINITY) return (uint16_t)(sign | 0x7E00 | (magnitude >> 13 & 0x3FF));
  unsigned code = magnitude == F32_INFINITY ? 0x7C00 : minifloat_round(&minifloat_f16, tw_float_of(magnitude));
  return (uint16_t)(sign | (code > minifloat_f16.max ? 0x7C00 : code));
}

float tw_bf16_to_f32(uint16_t code) { return tw_float_of((uint32_t)code << 16); }

uint16_t tw_f32_to_bf16(float x) { return (uint16_t)(tw_round_to_bf16(tw_bits_of(x)) >> 16); }

void f32_encode(const format_job *job, const float *x, size_t n, uint8_t *codes, uint8_t *scales) {
  (void)job, (void)scales;
  memcpy(codes, x, n * sizeof *x);
}

void f32_decode(const format_job *job, const uint8_t *codes, const uint8_t *scales, size_t n, float *x) {
  (void)job, (void)scales;
  memcpy(x, codes, n * sizeof *x);
}

void f16_encode(const format_job *job, const float *x, size_t n, uint8_t *codes, uint8_t *scales) {
  (void)job, (void)scales;
  for (size_t i = 0; i < n; i++) store_u16(codes + 2 * i, tw_f32_to_f16(x[i]));
}

void f16_decode(const format_job *job, const uint8_t *codes, const uint8_t *scales, size_t n, float *x) {
  (void)job, (void)scales;
  for (size_t i = 0; i < n; i++) x[i] = tw_f16_to_f32(load_u16(codes + 2 * i));
}

void bf16_encode(const format_job *job, const float *x, size_t n, uint8_t *codes, uint8_t *scales) {
  (void)job, (void)scales;
  for (size_t i = 0; i < n; i++) store_u16(codes + 2 * i, tw_f32_to_bf16(x[i]));
}

void bf16_decode(const format_job *job, const uint8_t *codes, const uint8_t *scales, size_t n, float *x) {
  (void)job, (void)scales;
  for (size_t i = 0; i < n; i++) { /* copied as integers, because a floating-point register may change the bits */
    uint32_t bits = (uint32_t)load_u16(codes + 2 * i) << 16;
    memcpy(x + i, &bits, sizeof bits);
  }
}
