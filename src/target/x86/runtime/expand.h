/* expand.h - packed codes of weights become a panel of the kernel's elements: (code's value) * (scale of its group and
 * column), rounded to bf16 if that is what the kernel takes. In the compiler's vectors; compiled once for each kernel of real
 * arithmetic.
 *
 * A line of 64 bytes holds 512 / bits elements of the panel, in the panel's order, as fields of 32 words: field t of word w
 * is element 32 t + w. So a field of all words is 32 neighbours, found with one shift. They are worked on as the lower and
 * upper halves of 16 lanes of 32 bits; in a bf16 panel these are the two elements of one column's unit. */
#ifndef TW_X86_EXPAND_H
#define TW_X86_EXPAND_H

#include <string.h>

#include "target/x86/kernel.h"
#include "target/x86/runtime/convert.h"

#if defined ARITHMETIC_F32 || defined ARITHMETIC_BF16

#if defined ARITHMETIC_F32
enum { UNIT_ELEMENTS = 1 };
#else
enum { UNIT_ELEMENTS = 2 };
#endif
enum { FIELD = 32, LANE_COUNT = FIELD / 2 }; /* elements of a field; lanes of half of it */

typedef uint16_t words __attribute__((vector_size(64)));
typedef int16_t signed_words __attribute__((vector_size(64)));
typedef uint32_t lanes __attribute__((vector_size(64)));
typedef int32_t signed_lanes __attribute__((vector_size(64)));
typedef float real_lanes __attribute__((vector_size(64)));

/* Values of a field at scale 1: of its even and its odd elements. A minifloat's bits are those of a bf16 whose exponent has
 * another bias, subnormals included: one exact multiplication by a power of two, `factor`, mends that. */
static inline void field_values(const x86_codes *c, words w, int t, real_lanes *even, real_lanes *odd) {
  const int shift = t * c->bits;
  if (c->mantissa < 0) {
    const signed_lanes v = (signed_lanes)((signed_words)(w << (16 - c->bits - shift)) >> (16 - c->bits));
    *even = __builtin_convertvector((v << 16) >> 16, real_lanes) * c->factor;
    *odd = __builtin_convertvector(v >> 16, real_lanes) * c->factor;
    return;
  }
  const uint16_t magnitude = (uint16_t)((1u << (c->width - 1)) - 1);
  const words code = w >> shift;
  const lanes v = (lanes)((code & magnitude) << (7 - c->mantissa) | (code >> (c->width - 1)) << 15);
  *even = (real_lanes)(v << 16) * c->factor;
  *odd = (real_lanes)(v & 0xffff0000u) * c->factor;
}

#if defined ARITHMETIC_BF16
/* Rounds the upper 16 bits to nearest, ties to even; infinities stay, and the NaN of row_factors. */
static inline lanes rounded(real_lanes x) {
  const lanes u = (lanes)x;
  return u + 0x7fff + (u >> 16 & 1);
}
#endif

static inline void store_field(real_lanes even, real_lanes odd, const float *factor, char *to) {
#if defined ARITHMETIC_BF16
  real_lanes f;
  memcpy(&f, factor, sizeof f);
  const lanes pair = rounded(even * f) >> 16 | (rounded(odd * f) & 0xffff0000u);
  memcpy(to, &pair, sizeof pair);
#else
  real_lanes f0, f1;
  memcpy(&f0, factor, sizeof f0);
  memcpy(&f1, factor + LANE_COUNT, sizeof f1);
  f0 *= __builtin_shufflevector(even, odd, 0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23);
  f1 *= __builtin_shufflevector(even, odd, 8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15, 31);
  memcpy(to, &f0, sizeof f0);
  memcpy(to + sizeof f0, &f1, sizeof f1);
#endif
}

/* The factors of a group: for a row of units (f32: for at least a field), one for each unit. */
static void group_factors(const x86_codes *c, const char *scales, int64_t group, int64_t columns, float *factor) {
  for (int64_t j = 0; j < (columns < FIELD ? FIELD : columns); j++) {
    const int64_t at = group * columns + j % columns;
    if (c->scale_bytes == 1) {
      const uint32_t e = ((const uint8_t *)scales)[at];
      factor[j] = e == 255 ? f32_of_bits(0x7fc00000) : e == 0 ? 0x1p-127f : f32_of_bits(e << 23);
    } else {
      memcpy(&factor[j], scales + at * (int64_t)sizeof *factor, sizeof *factor);
    }
  }
}

/* `units` units of a panel of `columns`, which begin a block. Fields divide groups, and rows of units divide lines or fields
 * (x86_choose_kernel, x86_settle_weights see to that). */
static void expand(const x86_codes *c, const void *codes, const void *scales, int64_t units, int64_t columns,
                   void *to_start) {
  const int64_t row = columns * UNIT_ELEMENTS, all = units * row, group = c->group_units * row;
  const int fields = 16 / c->bits;
  const char *from = codes;
  char *to = to_start;
  float factor[X86_COLUMNS_MAX];
  int64_t end_of_group = 0, next_group = 0;
  for (int64_t e = 0; e < all; from += X86_LINE) {
    words w;
    memcpy(&w, from, sizeof w);
    for (int t = 0; t < fields && e < all; t++, e += FIELD) {
      if (e == end_of_group) {
        group_factors(c, scales, next_group++, columns, factor);
        end_of_group += group;
      }
      real_lanes even, odd;
      field_values(c, w, t, &even, &odd);
      store_field(even, odd, factor + e % row / UNIT_ELEMENTS, to);
      to += FIELD * X86_UNIT / UNIT_ELEMENTS;
    }
  }
}
#endif

#endif
