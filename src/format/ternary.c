/* ternary.c - values -1, 0, 1 times a scale, in five packings: the reference.
 *
 * A trit is t = sign(x) if |x * inverse| >= threshold, else 0. Rule absmax (ggml): inverse = 1 / amax, and a half
 * counts as 1 (roundf). Rule absmean (BitNet b1.58, arXiv:2402.17764, equation 1): inverse = 1 / mean magnitude, and a
 * half is 0 (to nearest even). The value is t * scale. (BitNet's own I2_S converter takes weights that are ternary
 * already and looks at signs alone; for such weights absmax gives the same codes.)
 *
 *   i2_s   BitNet, src/ggml-bitnet-mad.cpp, x86: code t + 1; of 128 values, byte p of 32 holds values p, 32 + p,
 *          64 + p, 96 + p at bits 7:6, 5:4, 3:2, 1:0. One f32 scale a tensor (or row).
 *   tq2_0  ggml: code t + 1; of 256 values, byte 32 h + p (h = 0, 1) holds values 128 h + p + 32 j at bits 2j+1:2j;
 *          then amax as f16. 66 bytes.
 *   tq1_0  ggml: five trits to a byte as digits of base 3, first most significant, scaled to 0..255 so that a trit
 *          is the carry of a multiplication by 3: byte = ceil(number * 256 / 243), trit j = ((byte * 3^j & 255) * 3) >> 8.
 *          Of 256 values: 32 bytes with values p + 32 j, 16 bytes with 160 + p + 16 j (j < 5), 4 bytes with 240 + p + 4 j
 *          (j < 4; the fifth digit is 0); then amax as f16. 54 bytes.
 *   tl1    BitNet's table look-up: two values' index 3 t0 + t1 + 4 (0..8) in a nibble, the first pair in the high
 *          one; here row by row, where BitNet tiles for one kernel. 4 values a byte. f32 scale as for i2_s.
 *   tl2    three values' index |9 t0 + 3 t1 + t2| (0..13) in a nibble, and a bit 1 where the sum is negative; here
 *          blocks of 96 values in 20 bytes: 16 bytes with triple p in the high and 16 + p in the low nibble, then
 *          32 sign bits, triple i at bit i % 8 of byte i / 8. f32 scale as for i2_s.
 * Special cases: a scale of 0 (zeros, or amax so tiny that 1 / amax overflows) gives trits 0; NaN or infinity a NaN
 * scale and trits 0; an amax above 65519 overflows the f16 of tq1_0 and tq2_0 to infinity, and one below 2^-25 becomes
 * 0, as in ggml; codes that encoding never makes (3 in i2_s and tq2_0, 9..15 in tl1, 14 and 15 in tl2) decode to what
 * the formula gives: 2 t0.. for i2_s and tq2_0 the value 2, for tl1 and tl2 see their decoders. Tails are filled up
 * with trits 0. */
#include <math.h>

#include "format/internal.h"

static int trit(const format_job *job, float inverse, float x) {
  if (inverse == 0 || !(fabsf(x * inverse) >= job->threshold)) return 0;
  return x < 0 ? -1 : 1;
}

/* ---- i2_s ---- */

void i2s_encode(const format_job *job, const float *x, size_t n, uint8_t *codes, uint8_t *scales) {
  (void)scales;
  memset(codes, 0, n / 4);
  for (size_t i = 0; i < n; i++) {
    size_t block = i / 128, at = i % 128;
    codes[block * 32 + at % 32] |= (uint8_t)((trit(job, job->inverse, x[i]) + 1) << (6 - at / 32 * 2));
  }
}

void i2s_decode(const format_job *job, const uint8_t *codes, const uint8_t *scales, size_t n, float *x) {
  (void)scales;
  for (size_t i = 0; i < n; i++) {
    size_t block = i / 128, at = i % 128;
    x[i] = (float)((codes[block * 32 + at % 32] >> (6 - at / 32 * 2) & 3) - 1) * job->scale;
  }
}

/* ---- tq2_0 ---- */

enum { TQ_BLOCK = 256, TQ2_BYTES = 66, TQ2_SCALE = 64, TQ1_BYTES = 54, TQ1_SCALE = 52 };

/* Stores the scale of a block of 256 values after its codes. Returns the inverse. */
static float tq_scale(const float *x, uint8_t *at) {
  float scale, inverse;
  format_scale_of(tw_float_of(magnitude_bits(x, TQ_BLOCK)), 1, &scale, &inverse);
  store_u16(at, tw_f32_to_f16(scale));
  return inverse;
}

void tq2_encode(const format_job *job, const float *x, size_t n, uint8_t *codes, uint8_t *scales) {
  (void)scales;
  for (size_t b = 0; b < n / TQ_BLOCK; b++, x += TQ_BLOCK, codes += TQ2_BYTES) {
    float inverse = tq_scale(x, codes + TQ2_SCALE);
    memset(codes, 0, TQ2_SCALE);
    for (size_t i = 0; i < TQ_BLOCK; i++)
      codes[i / 128 * 32 + i % 32] |= (uint8_t)((trit(job, inverse, x[i]) + 1) << (i % 128 / 32 * 2));
  }
}

void tq2_decode(const format_job *job, const uint8_t *codes, const uint8_t *scales, size_t n, float *x) {
  (void)job, (void)scales;
  for (size_t b = 0; b < n / TQ_BLOCK; b++, x += TQ_BLOCK, codes += TQ2_BYTES) {
    float scale = tw_f16_to_f32(load_u16(codes + TQ2_SCALE));
    for (size_t i = 0; i < TQ_BLOCK; i++)
      x[i] = (float)((codes[i / 128 * 32 + i % 32] >> (i % 128 / 32 * 2) & 3) - 1) * scale;
  }
}

/* ---- tq1_0 ---- */

/* The place of value i in a block: byte and digit. */
static size_t tq1_byte(size_t i) { return i < 160 ? i % 32 : i < 240 ? 32 + (i - 160) % 16 : 48 + (i - 240) % 4; }
static int tq1_digit(size_t i) { return (int)(i < 160 ? i / 32 : i < 240 ? (i - 160) / 16 : (i - 240) / 4); }

void tq1_encode(const format_job *job, const float *x, size_t n, uint8_t *codes, uint8_t *scales) {
  static const int weight[5] = {81, 27, 9, 3, 1};
  (void)scales;
  for (size_t b = 0; b < n / TQ_BLOCK; b++, x += TQ_BLOCK, codes += TQ1_BYTES) {
    float inverse = tq_scale(x, codes + TQ1_SCALE);
    int number[TQ1_SCALE] = {0};
    for (size_t i = 0; i < TQ_BLOCK; i++) number[tq1_byte(i)] += (trit(job, inverse, x[i]) + 1) * weight[tq1_digit(i)];
    for (size_t i = 0; i < TQ1_SCALE; i++) codes[i] = (uint8_t)((number[i] * 256 + 242) / 243);
  }
}

void tq1_decode(const format_job *job, const uint8_t *codes, const uint8_t *scales, size_t n, float *x) {
  static const unsigned power[5] = {1, 3, 9, 27, 81};
  (void)job, (void)scales;
  for (size_t b = 0; b < n / TQ_BLOCK; b++, x += TQ_BLOCK, codes += TQ1_BYTES) {
    float scale = tw_f16_to_f32(load_u16(codes + TQ1_SCALE));
    for (size_t i = 0; i < TQ_BLOCK; i++) {
      unsigned rest = codes[tq1_byte(i)] * power[tq1_digit(i)] & 255;
      x[i] = (float)((int)(rest * 3 >> 8) - 1) * scale;
    }
  }
}

/* ---- tl1 and tl2 ---- */

void tl1_encode(const format_job *job, const float *x, size_t n, uint8_t *codes, uint8_t *scales) {
  (void)scales;
  memset(codes, 0, n / 4);
  for (size_t i = 0; i < n; i += 2) {
    int index = 3 * trit(job, job->inverse, x[i]) + trit(job, job->inverse, x[i + 1]) + 4;
    codes[i / 4] |= (uint8_t)(index << (i % 4 ? 0 : 4));
  }
}

void tl1_decode(const format_job *job, const uint8_t *codes, const uint8_t *scales, size_t n, float *x) {
  (void)scales;
  for (size_t i = 0; i < n; i += 2) {
    int index = codes[i / 4] >> (i % 4 ? 0 : 4) & 15;
    const int first = index / 3 - 1, second = index % 3 - 1;
    x[i] = (float)first * job->scale;
    x[i + 1] = (float)second * job->scale;
  }
}

enum { TL2_BLOCK = 96, TL2_BYTES = 20, TL2_SIGNS = 16, TL2_TRIPLES = 32 };

void tl2_encode(const format_job *job, const float *x, size_t n, uint8_t *codes, uint8_t *scales) {
  (void)scales;
  for (size_t b = 0; b < n / TL2_BLOCK; b++, x += TL2_BLOCK, codes += TL2_BYTES) {
    memset(codes, 0, TL2_BYTES);
    for (size_t i = 0; i < TL2_TRIPLES; i++) {
      int sum = 9 * trit(job, job->inverse, x[3 * i]) + 3 * trit(job, job->inverse, x[3 * i + 1]) +
                trit(job, job->inverse, x[3 * i + 2]);
      codes[i % 16] |= (uint8_t)((sum < 0 ? -sum : sum) << (i < 16 ? 4 : 0));
      codes[TL2_SIGNS + i / 8] |= (uint8_t)((sum < 0) << i % 8);
    }
  }
}

void tl2_decode(const format_job *job, const uint8_t *codes, const uint8_t *scales, size_t n, float *x) {
  (void)scales;
  for (size_t b = 0; b < n / TL2_BLOCK; b++, x += TL2_BLOCK, codes += TL2_BYTES) {
    for (size_t i = 0; i < TL2_TRIPLES; i++) {
      int index = codes[i % 16] >> (i < 16 ? 4 : 0) & 15, sign = codes[TL2_SIGNS + i / 8] >> i % 8 & 1 ? -1 : 1;
      int digits = index + 13; /* three digits of base 3, each 0..2 for -1..1; above 26 only for an index never made */
      const int trits[3] = {digits / 9 - 1, digits / 3 % 3 - 1, digits % 3 - 1};
      for (int t = 0; t < 3; t++) x[3 * i + (size_t)t] = (float)(sign * trits[t]) * job->scale;
    }
  }
}
