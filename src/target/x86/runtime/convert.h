/* convert.h - bf16 and f16 to f32 and back, in loops that a compiler vectorizes. Ties round to even; overflow becomes
 * infinity; a NaN stays one, quiet. The formats' definition is src/format; the tests compare. What is here goes with
 * kernels that a user's compiler builds, to whom nothing of the library but this folder is known: so it does without
 * base/bits.h. */
#ifndef TW_X86_CONVERT_H
#define TW_X86_CONVERT_H

#include <stdint.h>
#include <string.h>

static inline uint32_t f32_bits(float x) {
  uint32_t u;
  memcpy(&u, &x, sizeof u);
  return u;
}

static inline float f32_of_bits(uint32_t u) {
  float x;
  memcpy(&x, &u, sizeof x);
  return x;
}

static inline uint16_t bf16_of(float x) {
  const uint32_t u = f32_bits(x), rounded = (u + 0x7fff + (u >> 16 & 1)) >> 16, quiet = u >> 16 | 0x40;
  return (uint16_t)((u & 0x7fffffff) > 0x7f800000 ? quiet : rounded);
}

static inline float f32_of_bf16(uint16_t h) { return f32_of_bits((uint32_t)h << 16); }

/* f16 in integers and one multiplication: exponents differ by 112, and 2^112 * (a subnormal) is exact in f32. */
static inline float f32_of_f16(uint16_t h) {
  const uint32_t magnitude = (uint32_t)(h & 0x7fff) << 13;
  const uint32_t special = (h & 0x7c00) == 0x7c00 ? 0x7f800000 | magnitude | ((h & 0x3ff) ? 0x400000 : 0)
                                                  : f32_bits(f32_of_bits(magnitude) * 0x1p112f);
  return f32_of_bits(special | (uint32_t)(h & 0x8000) << 16);
}

/* Below 2^-14 the addition of 1/2 rounds to multiples of 2^-24, the spacing of f16's subnormals. */
static inline uint16_t f16_of(float x) {
  const uint32_t u = f32_bits(x), sign = u >> 16 & 0x8000, m = u & 0x7fffffff;
  const uint32_t normal = (m - (112u << 23) + 0xfff + (m >> 13 & 1)) >> 13;
  const uint32_t tiny = f32_bits(f32_of_bits(m) + 0.5f) - f32_bits(0.5f);
  const uint32_t finite = m < 113u << 23 ? tiny : normal;
  const uint32_t large = m > 0x7f800000 ? 0x7e00 | (m >> 13 & 0x3ff) : 0x7c00;
  return (uint16_t)(sign | (m >= 0x477ff000 ? large : finite));
}

/* NOLINTBEGIN(bugprone-macro-parentheses): types */
#define CONVERSION(name, to_type, from_type, element)                                                                  \
  __attribute__((unused)) static void name(to_type *to, const from_type *from, int64_t n) {                            \
    for (int64_t i = 0; i < n; i++) to[i] = element(from[i]);                                                          \
  }
/* NOLINTEND(bugprone-macro-parentheses) */
CONVERSION(bf16_to_f32, float, uint16_t, f32_of_bf16)
CONVERSION(f16_to_f32, float, uint16_t, f32_of_f16)
CONVERSION(f32_to_bf16, uint16_t, float, bf16_of)
CONVERSION(f32_to_f16, uint16_t, float, f16_of)
#undef CONVERSION

#endif
