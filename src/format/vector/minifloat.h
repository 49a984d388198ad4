/* vector/minifloat.h - codes of small floats with one addition for the rounding, and values of codes.
 *
 * Rounding a magnitude a to m mantissa bits: with u the power of two in a, but no less than the smallest normal, the
 * sum u 2^(23 - m) + a has steps of u 2^-m, so the addition itself rounds to nearest even, subnormals too, and the
 * sum's low bits count the steps. The code is the count plus (u's exponent - the smallest normal's) << m: one dot
 * product of the sum's lower word with 2^(7 - m) and of its upper word, which holds the exponent at bit 7, with 1 gives
 * it at bit 7 - m, above a constant. Scaling by a power of two is nothing but another smallest normal. */
#ifndef TW_FORMAT_VECTOR_MINIFLOAT_H
#define TW_FORMAT_VECTOR_MINIFLOAT_H

#include "format/internal.h"

typedef struct small_float {
  int mantissa_bits, bias, sign; /* sign: its bit's number */
  int max;                       /* the largest finite magnitude's code */
} small_float;

static const small_float vector_e4m3 = {3, 7, 7, 0x7E}, vector_e5m2 = {2, 15, 7, 0x7B}, vector_e3m2 = {2, 3, 5, 0x1F},
                         vector_e2m3 = {3, 1, 5, 0x1F}, vector_e2m1 = {1, 1, 3, 7};

/* `least` is the exponent field of the smallest normal that magnitudes are rounded with: f's own, or a block's, which has
 * another scale. Here: of f's own. */
LANES vi small_least(small_float f) { return v_set((uint32_t)(128 - f.bias)); }

/* What small_word gives for 0, in both words of a lane. */
LANES vi small_base(small_float f, vi least) {
  vi field = v_add(least, v_set((uint32_t)(23 - f.mantissa_bits)));
  return v_or(v_sll(field, 7), v_sll(field, 23));
}

/* Of the bits of a value: (code of its magnitude << (7 - mantissa bits)) + small_base, less than 2^15. Anything for NaN. */
LANES vi small_word(small_float f, vi bits, vi smallest) {
  vi unit = v_max(v_and(bits, v_set(F32_INFINITY)), smallest);
  vf sum = f_mul_add(f_of_bits(unit), f_set((float)(1 << (23 - f.mantissa_bits))),
                     f_of_bits(v_and(bits, v_set(F32_MAGNITUDE))));
  return w_dot(v_bits(sum), v_set(1 << 16 | 1u << (7 - f.mantissa_bits)));
}

/* Bytes in packed order: the sign of each of 4 VW values at bit f.sign, codes of f elsewhere. */
LANES vb small_signed(small_float f, vb codes, const float *x) {
  vb signs = b_narrow(w_narrow(v_load(x), v_load(x + VW)), w_narrow(v_load(x + 2 * VW), v_load(x + 3 * VW)));
  return v_or_and(codes, f.sign == 7 ? signs : w_srl(signs, 7 - f.sign), b_set(1 << f.sign));
}

/* Codes of 4 VW values, in order; smallest normal and base for the first two and the last two vectors. Codes above `most`
 * become it; NaN any code. */
LANES vb small_codes(small_float f, const float *x, const vi smallest[2], const vi base[2], int most) {
  vi half[2];
  for (size_t h = 0; h < 2; h++) {
    vi first = small_word(f, v_load(x + 2 * h * VW), smallest[h]);
    vi second = small_word(f, v_load(x + (2 * h + 1) * VW), smallest[h]);
    half[h] = w_srl(w_sub(w_narrow_u(first, second), base[h]), 7 - f.mantissa_bits);
  }
  return b_in_order(small_signed(f, b_min_u(b_narrow_u(half[0], half[1]), b_set(most)), x));
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
