/* format.c - see format.h. Data and number formats: the ISA documents, "Buffer resource descriptor" and "MTBUF". Their
 * names list components from the highest bit down. Normalized numbers are rounded to nearest even, scaled ones toward
 * zero, and values out of range become the end of the range. */
#include "target/cdna/emulator/format.h"

#include <math.h>
#include <string.h>

#include "base/bits.h"
#include "target/cdna/lanes/half.h"

enum { UNORM, SNORM, USCALED, SSCALED, UINT, SINT, RESERVED, FLOAT };

const char *cdna_format_of(uint32_t dfmt, uint32_t nfmt, cdna_format *out) {
  static const cdna_format formats[15] = {
      {0, 0, {0}, 0},
      {1, 1, {8}, 0},
      {1, 2, {16}, 0},
      {2, 2, {8, 8}, 0},
      {1, 4, {32}, 0},
      {2, 4, {16, 16}, 0},
      {3, 4, {11, 11, 10}, 0},
      {3, 4, {10, 11, 11}, 0},
      {4, 4, {2, 10, 10, 10}, 0},
      {4, 4, {10, 10, 10, 2}, 0},
      {4, 4, {8, 8, 8, 8}, 0},
      {2, 8, {32, 32}, 0},
      {4, 8, {16, 16, 16, 16}, 0},
      {3, 12, {32, 32, 32}, 0},
      {4, 16, {32, 32, 32, 32}, 0},
  };
  if (dfmt >= 15) return "uses data format 15, which is reserved";
  if (nfmt == RESERVED) return "uses number format 6, which is reserved";
  *out = formats[dfmt];
  out->number = (uint8_t)nfmt;
  for (int c = 0; c < out->components; c++)
    if (nfmt == FLOAT && (out->bits[c] == 8 || out->bits[c] == 2))
      return "uses floating point of 8 or 2 bits, which there is not";
  return NULL;
}

bool cdna_format_is_integer(const cdna_format *f) { return f->number == UINT || f->number == SINT; }

static int place_of(const cdna_format *f, int component) {
  int at = 0;
  for (int c = 0; c < component; c++) at += f->bits[c];
  return at;
}

static uint32_t mask_of(int bits) { return bits >= 32 ? ~0u : (1u << bits) - 1; }

/* Floating point of 10 or 11 bits has no sign, an exponent of 5 bits, and 5 or 6 of fraction. */
static float small_float(uint32_t v, int bits) { return cdna_half_value(v << (15 - bits)); }

static float float_of(uint32_t v, int bits) {
  return bits == 32 ? tw_float_of(v) : bits == 16 ? cdna_half_value(v) : small_float(v, bits);
}

static int32_t signed_of(uint32_t v, int bits) { return (int32_t)(v << (32 - bits)) >> (32 - bits); }

uint32_t cdna_format_load(const cdna_format *f, const uint8_t *element, int component) {
  if (component >= f->components) return component < 3 ? 0 : cdna_format_is_integer(f) ? 1 : tw_bits_of(1.0f);
  const int bits = f->bits[component], at = place_of(f, component);
  uint32_t v = 0;
  if (bits >= 8 && at % 8 == 0 && bits % 8 == 0) {
    memcpy(&v, element + at / 8, (size_t)bits / 8);
  } else {
    memcpy(&v, element, 4);
    v = v >> at & mask_of(bits);
  }
  const double most = (double)mask_of(bits), most_signed = (double)mask_of(bits - 1);
  switch (f->number) {
  case UNORM: return tw_bits_of((float)(v / most));
  case SNORM: return tw_bits_of((float)fmax(signed_of(v, bits) / most_signed, -1.0));
  case USCALED: return tw_bits_of((float)v);
  case SSCALED: return tw_bits_of((float)signed_of(v, bits));
  case SINT: return (uint32_t)signed_of(v, bits);
  case FLOAT: return tw_bits_of(float_of(v, bits));
  default: return v;
  }
}

static double between(double v, double least, double most) { return !(v > least) ? least : v > most ? most : v; }

/* Converts a float to one of fewer than 16 bits, rounded to nearest even; negative values become 0. */
static uint32_t small_float_bits(float v, int bits) {
  if (v != v) return mask_of(bits);
  if (v <= 0) return 0;
  /* rounds an f32's fraction to 6 or 5 bits in one step: rounding through f16 would round twice */
  const int fraction = bits - 5;
  int e;
  (void)frexpf(v, &e);
  const int exponent = e - 1 < -14 ? -14 : e - 1;
  const double code = rint(ldexp((double)v, fraction - exponent)) + ldexp(exponent + 14, fraction);
  const double infinite = ldexp(31, fraction);
  return (uint32_t)(isinf(v) ? infinite : between(code, 0, infinite - 1));
}

static uint32_t code_of(const cdna_format *f, uint32_t value, int bits) {
  const double most = (double)mask_of(bits), most_signed = (double)mask_of(bits - 1);
  const double v = (double)tw_float_of(value), number = v == v ? v : 0;
  switch (f->number) {
  case UNORM: return (uint32_t)rint(between(number, 0, 1) * most);
  case SNORM: return (uint32_t)(int32_t)rint(between(number, -1, 1) * most_signed);
  case USCALED: return (uint32_t)between(number, 0, most);
  case SSCALED: return (uint32_t)(int32_t)between(number, -most_signed - 1, most_signed);
  case UINT: return (uint32_t)between((double)value, 0, most);
  case SINT: return (uint32_t)(int32_t)between((double)(int32_t)value, -most_signed - 1, most_signed);
  default:
    return bits == 32   ? value
           : bits == 16 ? cdna_half_bits(tw_float_of(value))
                        : small_float_bits(tw_float_of(value), bits);
  }
}

void cdna_format_store(const cdna_format *f, uint8_t *element, const uint32_t value[4]) {
  uint32_t word[4] = {0};
  for (int c = 0; c < f->components; c++) {
    const int bits = f->bits[c], at = place_of(f, c);
    word[at / 32] |= (code_of(f, value[c], bits) & mask_of(bits)) << at % 32;
  }
  memcpy(element, word, f->bytes);
}
