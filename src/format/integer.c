/* integer.c - i8 and i4 with one f32 scale a group, row or tensor: the reference.
 *
 * Symmetric: scale = amax / 127 (i8) or amax / 7 (i4); code = x * (1 / scale) rounded to nearest even and clamped to
 * +-127 or +-7; both divisions and the product are rounded to f32. A value is code * scale, rounded to f32. -128 and -8
 * are decoded but never made. A byte holds two i4 codes, even element in the low nibble; a row of odd length ends with
 * a nibble 0. Special cases:
 *   all zeros          scale 0, codes 0; likewise where 1 / scale would overflow (amax below about 127 * 2^-128)
 *   -0                 becomes 0
 *   subnormals         are numbers like others
 *   NaN or infinity    scale NaN, codes 0: the group decodes to NaN
 *   a given magnitude  that is smaller than a value's: the value is clamped
 *   tails              the last group of a row is shorter */
#include <math.h>

#include "format/internal.h"

uint32_t magnitude_bits(const float *x, size_t n) {
  uint32_t most = 0;
  for (size_t i = 0; i < n; i++) {
    uint32_t bits = tw_bits_of(x[i]) & F32_MAGNITUDE;
    if (bits > most) most = bits;
  }
  return most;
}

static int quantize(float x, float inverse, int largest) {
  if (inverse == 0) return 0;
  float code = rintf(x * inverse);
  return code > (float)largest ? largest : code < (float)-largest ? -largest : (int)code;
}

static void i8_codes(const float *x, size_t n, float inverse, uint8_t *codes) {
  for (size_t i = 0; i < n; i++) codes[i] = (uint8_t)quantize(x[i], inverse, 127);
}

static void i4_codes(const float *x, size_t n, float inverse, uint8_t *codes) {
  for (size_t i = 0; i < n; i += 2) {
    int low = quantize(x[i], inverse, 7), high = i + 1 < n ? quantize(x[i + 1], inverse, 7) : 0;
    codes[i / 2] = (uint8_t)((low & 15) | (high & 15) << 4);
  }
}

void i8_encode(const format_job *job, const float *x, size_t n, uint8_t *codes, uint8_t *scales) {
  float scale, inverse;
  if (job->group == 0) i8_codes(x, n, job->inverse, codes);
  for (size_t at = 0, length; job->group && at < n; at += length, scales += 4) {
    length = n - at < job->group ? n - at : job->group;
    format_scale_of(tw_float_of(magnitude_bits(x + at, length)), 127, &scale, &inverse);
    store_f32(scales, scale);
    i8_codes(x + at, length, inverse, codes + at);
  }
}

void i4_encode(const format_job *job, const float *x, size_t n, uint8_t *codes, uint8_t *scales) {
  float scale, inverse;
  if (job->group == 0) i4_codes(x, n, job->inverse, codes);
  for (size_t at = 0, length; job->group && at < n; at += length, scales += 4) {
    length = n - at < job->group ? n - at : job->group;
    format_scale_of(tw_float_of(magnitude_bits(x + at, length)), 7, &scale, &inverse);
    store_f32(scales, scale);
    i4_codes(x + at, length, inverse, codes + at / 2); /* groups have an even length, so they begin at a byte */
  }
}

static float scale_at(const format_job *job, const uint8_t *scales, size_t i) {
  return job->group ? load_f32(scales + 4 * (i / job->group)) : job->scale;
}

void i8_decode(const format_job *job, const uint8_t *codes, const uint8_t *scales, size_t n, float *x) {
  for (size_t i = 0; i < n; i++) x[i] = (float)(int8_t)codes[i] * scale_at(job, scales, i);
}

void i4_decode(const format_job *job, const uint8_t *codes, const uint8_t *scales, size_t n, float *x) {
  for (size_t i = 0; i < n; i++) {
    int nibble = codes[i / 2] >> (i % 2 * 4) & 15;
    x[i] = (float)((nibble ^ 8) - 8) * scale_at(job, scales, i);
  }
}
