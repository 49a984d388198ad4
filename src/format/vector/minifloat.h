/* vector/minifloat.h - codes of small floats, and back, a vector at a time, with one addition for the rounding.
 *
 * Rounding a magnitude a of exponent e to m mantissa bits: a + 2^(e + 23 - m) has steps of 2^(e - m), so the
 * addition itself rounds to nearest even, and the sum's low mantissa bits count the steps. With e no less than the
 * smallest normal's exponent that covers subnormals. The code is the count plus (e - least) << m, modulo 256. */
#ifndef TW_FORMAT_VECTOR_MINIFLOAT_H
#define TW_FORMAT_VECTOR_MINIFLOAT_H

#include "format/internal.h"

typedef struct small_float {
  int mantissa_bits, bias, sign; /* sign: its bit's number */
  float max;
} small_float;

static const small_float vector_e4m3 = {3, 7, 7, 448}, vector_e5m2 = {2, 15, 7, 57344}, vector_e3m2 = {2, 3, 5, 28},
                         vector_e2m3 = {3, 1, 5, 7.5f}, vector_e2m1 = {1, 1, 3, 6};

/* The low byte of each lane is y's code, other bits are anything; magnitudes above `limit`, and NaN, count as it. */
LANES vi small_code(small_float f, vf y, float limit) {
  const uint32_t least = (uint32_t)(128 - f.bias) << 23; /* bits of the smallest normal */
  /* the part of the code that `least` stands for is taken off in the sum: it is even, so ties stay ties to even */
  const uint32_t offset = (256 - (least >> (23 - f.mantissa_bits)) % 256) % 256;
  vi bits = v_bits(y), magnitude = v_min(v_and(bits, v_set(F32_MAGNITUDE)), v_set(tw_bits_of(limit)));
  vi exponent = v_max(v_and(magnitude, v_set(F32_INFINITY)), v_set(least));
  vf unit = f_of_bits(v_add(exponent, v_set(((uint32_t)(23 - f.mantissa_bits) << 23) + offset)));
  vi count = v_bits(f_add(f_of_bits(magnitude), unit));
  vi code = v_add(count, v_srl(exponent, 23 - f.mantissa_bits));
  return v_or_and(code, v_srl(bits, 31 - f.sign), v_set(1u << f.sign)); /* the code's own bit there is 0 */
}

/* The value of codes in 0..255 without NaN and infinity. A subnormal counts as a normal of the same exponent, less the
 * hidden bit: no f32 subnormal takes part, which many CPUs are slow with. */
LANES vf small_value(small_float f, vi code) {
  vi magnitude = v_sll(v_and(code, v_set((1u << f.sign) - 1)), 23 - f.mantissa_bits);
  vi normal = v_add(magnitude, v_set((uint32_t)(127 - f.bias) << 23));
  vf least = f_of_bits(v_set((uint32_t)(128 - f.bias) << 23));
  vf subnormal = f_sub(f_of_bits(v_add(magnitude, v_bits(least))), least);
  vi bits = v_select(v_above(v_set(1 << 23), magnitude), v_bits(subnormal), normal);
  return f_of_bits(v_or_and(bits, v_sll(code, 31 - f.sign), v_set(0x80000000)));
}

LANES vf e4m3_value(vi code) {
  vi nan = v_or_and(v_set(F32_NAN), v_sll(code, 24), v_set(0x80000000));
  vm is_nan = v_above(v_and(code, v_set(0x7F)), v_set(0x7E));
  return f_of_bits(v_select(is_nan, nan, v_bits(small_value(vector_e4m3, code))));
}

/* ---- formats without blocks: steps of 4 VW values, a rest through buffers ---- */

enum { STEP = 4 * VW };
typedef void step_encoder(const format_job *, const float *x, uint8_t *codes);
typedef void step_decoder(const format_job *, const uint8_t *codes, float *x);

LANES void encode_steps(step_encoder *step, const format_job *job, const float *x, size_t n, uint8_t *codes) {
  size_t bits = (size_t)job->format->bits, i = 0;
  for (; i + STEP <= n; i += STEP) step(job, x + i, codes + i * bits / 8);
  if (i < n) {
    float padded[STEP] = {0};
    uint8_t out[STEP * 4];
    memcpy(padded, x + i, (n - i) * sizeof *x);
    step(job, padded, out);
    memcpy(codes + i * bits / 8, out, ((n - i) * bits + 7) / 8);
  }
}

LANES void decode_steps(step_decoder *step, const format_job *job, const uint8_t *codes, size_t n, float *x) {
  size_t bits = (size_t)job->format->bits, i = 0;
  for (; i + STEP <= n; i += STEP) step(job, codes + i * bits / 8, x + i);
  if (i < n) {
    float out[STEP];
    uint8_t padded[STEP * 4] = {0};
    memcpy(padded, codes + i * bits / 8, ((n - i) * bits + 7) / 8);
    step(job, padded, out);
    memcpy(x + i, out, (n - i) * sizeof *x);
  }
}

#endif
