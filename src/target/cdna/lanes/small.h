/* small.h - the formats of 8, 6 and 4 bits of both machines, decoded and encoded.
 *
 * FP8 and BF8 are the FNUZ formats on gfx942 (no infinities, no -0, NaN is 0x80, the bias one more) and OCP's OFP8 on
 * gfx950. FP6 (e2m3), BF6 (e3m2) and FP4 (e2m1) are OCP's MX formats: no infinities, no NaN. */
#ifndef TW_CDNA_SMALL_H
#define TW_CDNA_SMALL_H

#include <math.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/bits.h"
#include "target/cdna/lanes/lanes.h"

typedef enum cdna_small {
  CDNA_FP8_FNUZ,
  CDNA_BF8_FNUZ,
  CDNA_FP8_OCP,
  CDNA_BF8_OCP,
  CDNA_FP6_MX,
  CDNA_BF6_MX,
  CDNA_FP4_MX,
  CDNA_SMALLS
} cdna_small;

typedef struct cdna_small_format {
  uint8_t bits, exponent, fraction;
  int bias;
  uint8_t largest; /* code of the largest finite value */
} cdna_small_format;

static inline cdna_small_format cdna_small_of(cdna_small s) {
  static const cdna_small_format format[CDNA_SMALLS] = {{8, 4, 3, 8, 0x7F},  {8, 5, 2, 16, 0x7F}, {8, 4, 3, 7, 0x7E},
                                                        {8, 5, 2, 15, 0x7B}, {6, 2, 3, 1, 0x1F},  {6, 3, 2, 3, 0x1F},
                                                        {4, 2, 1, 1, 0x7}};
  return format[s];
}

static inline float cdna_small_value(cdna_small s, uint32_t code) {
  const cdna_small_format f = cdna_small_of(s);
  const uint32_t sign = code >> (f.bits - 1) & 1, magnitude = code & ((1u << (f.bits - 1)) - 1);
  const int exponent = (int)(magnitude >> f.fraction);
  const uint32_t fraction = magnitude & ((1u << f.fraction) - 1);
  if (s <= CDNA_BF8_FNUZ && sign && !magnitude) return NAN;
  if (s == CDNA_FP8_OCP && magnitude == 0x7F) return NAN;
  if (s == CDNA_BF8_OCP && magnitude > 0x7C) return NAN;
  if (s == CDNA_BF8_OCP && magnitude == 0x7C) return sign ? -INFINITY : INFINITY;
  const float value = exponent ? ldexpf((float)(fraction | 1u << f.fraction), exponent - f.bias - f.fraction)
                               : ldexpf((float)fraction, 1 - f.bias - f.fraction);
  return sign ? -value : value;
}

/* The conversion of the format's items to floats; `table` has cdna_small_value of each code. */
static inline cdna_items cdna_small_items(cdna_small s, const float *table) {
  const cdna_small_format f = cdna_small_of(s);
  const bool fnuz = s <= CDNA_BF8_FNUZ;
  return (cdna_items){.kind = s == CDNA_BF8_OCP ? CDNA_ITEM_TABLE : CDNA_ITEM_SMALL,
                      .mask = (1u << f.bits) - 1,
                      .bits = f.bits,
                      .table = table,
                      .fraction = f.fraction,
                      .rebias = (uint32_t)(127 - f.bias) << 23,
                      .step = ldexpf(1.0f, 1 - f.bias - f.fraction),
                      .nan_mask = fnuz ? 0xFF : 0x7F,
                      .nan = fnuz                ? 0x80
                             : s == CDNA_FP8_OCP ? 0x7F
                                                 : UINT32_MAX};
}

/* Rounds to nearest even. Values beyond the largest become the largest if `saturate` is set, otherwise NaN or
 * infinity if the format has them. NaN stays NaN if the format has one, otherwise it becomes the largest value. */
static inline uint32_t cdna_small_code(cdna_small s, float v, bool saturate) {
  const cdna_small_format f = cdna_small_of(s);
  const bool fnuz = s <= CDNA_BF8_FNUZ, mx = s >= CDNA_FP6_MX;
  const uint32_t sign = tw_bits_of(v) >> 31 << (f.bits - 1);
  const uint32_t nan = fnuz ? 0x80 : sign | 0x7F, over = fnuz ? 0x80 : s == CDNA_BF8_OCP ? sign | 0x7C : nan;
  if (v != v) return mx ? sign | f.largest : nan;
  const float magnitude = fabsf(v);
  if (isinf(v)) return mx || saturate ? sign | f.largest : over;
  int exponent = 1 - f.bias;
  if (magnitude > 0) {
    int e;
    (void)frexpf(magnitude, &e);
    if (e - 1 > exponent) exponent = e - 1;
  }
  const float scaled = rintf(ldexpf(magnitude, f.fraction - exponent));
  uint32_t code = (uint32_t)(int32_t)scaled + ((uint32_t)(exponent + f.bias - 1) << f.fraction);
  if (exponent + f.bias > 1 << f.exponent) code = f.largest + 1u;
  if (code > f.largest) return mx || saturate ? sign | f.largest : over;
  return code == 0 && fnuz ? 0 : sign | code;
}

/* ---- stochastic rounding ----
 *
 * A random number is added below the last bit that is kept, then the bits below it are cut off. For FP8 and BF8 the ISA
 * documents (v_cvt_sr_fp8_f32 adds the upper 20 bits of 32, v_cvt_sr_bf8_f32 the upper 21) align the random number's
 * upper bits with the dropped fraction bits of an f32. A carry goes into the exponent. */

/* For a magnitude: its code with `fraction` bits below an exponent that begins at `least`. */
static inline double cdna_stochastic(float magnitude, int fraction, int least, uint32_t random) {
  int e = least + 1;
  if (magnitude > 0) (void)frexpf(magnitude, &e);
  const int exponent = e - 1 < least ? least : e - 1, dropped = 23 - fraction;
  const double unit = ldexp((double)magnitude, fraction - exponent);
  return floor(unit + ldexp((double)(random >> (32 - dropped)), -dropped)) + ldexp(exponent - least, fraction);
}

static inline uint32_t cdna_small_stochastic(cdna_small s, float v, uint32_t random, bool saturate) {
  const cdna_small_format f = cdna_small_of(s);
  if (v != v || isinf(v)) return cdna_small_code(s, v, saturate);
  const double code = cdna_stochastic(fabsf(v), f.fraction, 1 - f.bias, random);
  if (code > f.largest) return cdna_small_code(s, copysignf(INFINITY, v), saturate || s >= CDNA_FP6_MX);
  return code == 0 && s <= CDNA_BF8_FNUZ ? 0 : tw_bits_of(v) >> 31 << (f.bits - 1) | (uint32_t)code;
}

/* ---- block scales: f32 whose exponent alone counts ---- */

static inline float cdna_scale_of(uint32_t bits) {
  const uint32_t e = bits >> 23 & 0xFF;
  return e == 255 ? NAN : ldexpf(1.0f, (int)e - 127);
}
static inline float cdna_divided(float v, uint32_t scale) { return ldexpf(v, 127 - (int)(scale >> 23 & 0xFF)); }

/* The next random number: v_prng_b32. */
static inline uint32_t cdna_next_random(uint32_t a) { return a << 1 ^ (a >> 31 ? 197 : 0); }

#endif
