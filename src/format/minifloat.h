/* minifloat.h - small floating-point formats by their definition: sign, exponent, mantissa, bias.
 *
 * A magnitude's code is exponent field << mantissa_bits | mantissa. With exponent field 0 it is a subnormal,
 * mantissa * 2^(1 - bias - mantissa_bits); codes above `max` are infinity or NaN, where the format has them. */
#ifndef TW_FORMAT_MINIFLOAT_H
#define TW_FORMAT_MINIFLOAT_H

#include <math.h>

typedef struct minifloat {
  int mantissa_bits, bias;
  unsigned max;  /* code of the largest finite magnitude */
  unsigned sign; /* the sign's bit */
} minifloat;

/* IEEE 754 binary16; OCP OFP8 1.0, table 1; OCP MX 1.0, tables 4 and 5; e4m3fnuz: AMD's CDNA3 ISA, BF8 and FP8. */
static const minifloat minifloat_f16 = {10, 15, 0x7BFF, 0x8000};
static const minifloat minifloat_e4m3 = {3, 7, 0x7E, 0x80};
static const minifloat minifloat_e5m2 = {2, 15, 0x7B, 0x80};
static const minifloat minifloat_e4m3fnuz = {3, 8, 0x7F, 0x80};
static const minifloat minifloat_e3m2 = {2, 3, 0x1F, 0x20};
static const minifloat minifloat_e2m3 = {3, 1, 0x1F, 0x20};
static const minifloat minifloat_e2m1 = {1, 1, 0x7, 0x8};

/* The code of a finite magnitude, rounded to nearest even as if exponents had no upper end: a result above f->max
 * has overflowed. ilogb, ldexp and rint are exact here: an f32 divided by a power of two is a double. */
static inline unsigned minifloat_round(const minifloat *f, double magnitude) {
  int least = 1 - f->bias; /* exponent of the smallest normal, and of all subnormals */
  int exponent = magnitude < ldexp(1, least) ? least : ilogb(magnitude);
  double quanta = rint(ldexp(magnitude, f->mantissa_bits - exponent));
  /* The quanta of a normal number include the hidden bit, which has the place of the exponent field's lowest bit. So
   * the field below is one less, and rounding up to the next power of two carries into it. */
  return ((unsigned)(exponent - least) << f->mantissa_bits) + (unsigned)quanta;
}

/* The value of a finite code without sign. */
static inline float minifloat_value(const minifloat *f, unsigned code) {
  unsigned mantissa = code & ((1u << f->mantissa_bits) - 1), field = code >> f->mantissa_bits;
  if (field) mantissa |= 1u << f->mantissa_bits;
  return (float)ldexp(mantissa, (field ? (int)field : 1) - f->bias - f->mantissa_bits);
}

#endif
