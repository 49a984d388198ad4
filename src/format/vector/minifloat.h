/* vector/minifloat.h - codes of small floats with one addition for the rounding, and values of codes.
 *
 * Rounding a magnitude a to m mantissa bits: let u be the power of two in a, but at least the smallest normal. The sum
 * u 2^(23 - m) + a has steps of u 2^-m, so the addition itself rounds to nearest even, subnormals too, and the sum's
 * low bits count the steps. The code is the count plus (u's exponent - the smallest normal's) << m. One dot product, of
 * the sum's lower word with 2^(7 - m) and of its upper word, which holds the exponent at bit 7, with 1, gives it at bit
 * 7 - m, above a constant. Scaling by a power of two only changes the smallest normal. */
#ifndef TW_FORMAT_VECTOR_MINIFLOAT_H
#define TW_FORMAT_VECTOR_MINIFLOAT_H

#include "format/internal.h"

LANES void f_ahead(const float *x) { format_ahead(x); }

/* Prefetches every other line, for a first pass over n values that a second pass reads again with f_ahead. If one
 * pass prefetched everything, memory would be idle during the other. */
LANES void f_ahead_half(const float *x, size_t n) {
  for (size_t i = 0; i < n; i += 2 * LINE_VALUES) f_ahead(x + i);
}

typedef struct small_float {
  int mantissa_bits, bias, sign; /* sign: its bit's number */
  int max;                       /* the largest finite magnitude's code */
} small_float;

static const small_float vector_e4m3 = {3, 7, 7, 0x7E}, vector_e5m2 = {2, 15, 7, 0x7B}, vector_e3m2 = {2, 3, 5, 0x1F},
                         vector_e2m3 = {3, 1, 5, 0x1F}, vector_e2m1 = {1, 1, 3, 7};

/* `least` is the exponent field of the smallest normal to which magnitudes are rounded: f's own, or that of a block
 * with another scale. Here: f's own. */
LANES vi small_least(small_float f) { return v_set((uint32_t)(128 - f.bias)); }

/* small_word of 0, in both words of a lane. */
LANES vi small_base(small_float f, vi least) {
  vi field = v_add(least, v_set((uint32_t)(23 - f.mantissa_bits)));
  return v_or(v_sll(field, 7), v_sll(field, 23));
}

/* From the bits of a value: (code of its magnitude << (7 - mantissa bits)) + small_base, less than 2^15. Undefined
 * for NaN. */
LANES vi small_word(small_float f, vi bits, vi smallest) {
  vi unit = v_max(v_and(bits, v_set(F32_INFINITY)), smallest);
  vf sum = f_mul_add(f_of_bits(unit), f_set((float)(1 << (23 - f.mantissa_bits))),
                     f_of_bits(v_and(bits, v_set(F32_MAGNITUDE))));
  return w_dot(v_bits(sum), v_set(1 << 16 | 1u << (7 - f.mantissa_bits)));
}

/* 4 VW lanes of signed integers to bytes that saturate, in packed order and in order. */
LANES vb narrowed(const vi v[4]) { return b_narrow(w_narrow(v[0], v[1]), w_narrow(v[2], v[3])); }
LANES vb bytes_of(const vi v[4]) { return b_in_order(narrowed(v)); }

/* Bytes in packed order: the sign of each of 4 VW values at bit f.sign, codes of f elsewhere. */
LANES vb small_signed(small_float f, vb codes, const float *x) {
  vb signs = narrowed((vi[]){v_load(x), v_load(x + VW), v_load(x + 2 * VW), v_load(x + 3 * VW)});
  return v_or_and(codes, f.sign == 7 ? signs : w_srl(signs, 7 - f.sign), b_set(1 << f.sign));
}

/* Codes of 4 VW values, in order. Smallest normal and base are given for the first two and for the last two vectors.
 * Codes above `most` become `most`; NaN gives any code. */
LANES vb small_codes(small_float f, const float *x, const vi smallest[2], const vi base[2], int most) {
  vi half[2];
  for (size_t h = 0; h < 2; h++) {
    vi first = small_word(f, v_load(x + 2 * h * VW), smallest[h]);
    vi second = small_word(f, v_load(x + (2 * h + 1) * VW), smallest[h]);
    half[h] = w_srl(w_sub(w_narrow_u(first, second), base[h]), 7 - f.mantissa_bits);
  }
  return b_in_order(small_signed(f, b_min_u(b_narrow_u(half[0], half[1]), b_set(most)), x));
}

/* Values of 2 VW codes without NaN and infinity, in the uppermost bits of words, times factor. They become f16 with the
 * same exponent field, whose values are 2^(bias - 15) times the values of f, subnormals too. */
LANES void small_values(small_float f, vi words, vf factor, float *x) {
  const uint32_t magnitude = ((1u << f.sign) - 1) << (10 - f.mantissa_bits);
  const int places = 15 - f.sign - (10 - f.mantissa_bits); /* from below the word's sign to the f16's mantissa */
  vi halves = v_and(w_sra(words, places), w_set((int)(0x8000 | magnitude)));
  f_store(x, f_mul(f_of_f16_low(halves), factor));
  f_store(x + VW, f_mul(f_of_f16_high(halves), factor));
}

/* Do 32 codes of e4m3 include a NaN? */
LANES bool e4m3_has_nan(const uint8_t *codes) {
  const __m256i sign = _mm256_set1_epi8(-128), bytes = _mm256_loadu_si256((const __m256i *)codes);
  return _mm256_movemask_epi8(_mm256_cmpeq_epi8(_mm256_or_si256(bytes, sign), _mm256_set1_epi8(-1)));
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
