/* quantize.h - rows of real A become integers (x86_quantize in kernel.h). Plain C that a compiler vectorizes; compiled once
 * for each kernel of integers. */
#ifndef TW_X86_QUANTIZE_H
#define TW_X86_QUANTIZE_H

#include <stdint.h>
#include <string.h>

#include "target/x86/kernel.h"
#include "target/x86/runtime/convert.h"

#if defined ARITHMETIC_U8S8
typedef int8_t quantized;
#else
typedef int16_t quantized;
#endif

enum { LARGEST = 127, COMMON_GROUP = 32 };

#define INLINE static inline __attribute__((always_inline))

/* Magnitudes compare as their bits do, in any of the three types, and NaN lies above infinity. The result as binary32. */
INLINE uint32_t largest_bits(x86_real type, const void *row, int64_t from, int64_t n) {
  if (type == X86_REAL_F32) {
    const float *x = (const float *)row + from;
    uint32_t largest = 0;
    for (int64_t i = 0; i < n; i++) {
      const uint32_t bits = f32_bits(x[i]) & 0x7fffffff;
      largest = bits > largest ? bits : largest;
    }
    return largest;
  }
  const uint16_t *x = (const uint16_t *)row + from;
  uint16_t largest = 0;
  for (int64_t i = 0; i < n; i++) {
    const uint16_t bits = x[i] & 0x7fff;
    largest = bits > largest ? bits : largest;
  }
  return f32_bits(type == X86_REAL_BF16 ? f32_of_bf16(largest) : f32_of_f16(largest));
}

static float scale_of_bits(uint32_t largest) {
  if (largest >= 0x7f800000) return f32_of_bits(0x7fc00000);
  return f32_of_bits(largest) < 0x1p-118f ? 0 : f32_of_bits(largest) / LARGEST;
}

static float scale_of_row(x86_real type, const void *row, int64_t n) {
  return scale_of_bits(largest_bits(type, row, 0, n));
}

/* Adding 1.5 * 2^23 rounds to an integer, ties to even, in the low bits of the sum. */
INLINE int32_t rounded(float x, float inverse) {
  const float magic = 0x1.8p23f;
  return (int32_t)(f32_bits(x * inverse + magic) - f32_bits(magic));
}

/* Rounds n elements; returns their sum. NOLINTBEGIN(bugprone-macro-parentheses): types */
#define ROUND_ALL(name, element_type, as_f32)                                                                          \
  INLINE int32_t name(const element_type *x, int64_t n, float inverse, quantized *to) {                                \
    int32_t sum = 0;                                                                                                   \
    for (int64_t i = 0; i < n; i++) {                                                                                  \
      const int32_t q = rounded(as_f32(x[i]), inverse);                                                                \
      to[i] = (quantized)q;                                                                                            \
      sum += q;                                                                                                        \
    }                                                                                                                  \
    return sum;                                                                                                        \
  }
/* NOLINTEND(bugprone-macro-parentheses) */
ROUND_ALL(round_f32, float, )
ROUND_ALL(round_bf16, uint16_t, f32_of_bf16)
ROUND_ALL(round_f16, uint16_t, f32_of_f16)
#undef ROUND_ALL

INLINE void quantize_group(const x86_quantize *q, int64_t from, int64_t n, float *scale, int32_t *sum) {
  quantized *to = (quantized *)q->to + from;
  if (q->scales) *scale = scale_of_bits(largest_bits(q->type, q->from, from, n));
  if (!(*scale > 0)) {
    memset(to, 0, (size_t)n * sizeof *to);
    *sum = 0;
    return;
  }
  const float inverse = 1 / *scale;
  *sum = q->type == X86_REAL_F32    ? round_f32((const float *)q->from + from, n, inverse, to)
         : q->type == X86_REAL_BF16 ? round_bf16((const uint16_t *)q->from + from, n, inverse, to)
                                    : round_f16((const uint16_t *)q->from + from, n, inverse, to);
}

static void quantize(const x86_quantize *q) {
  float scale = q->scale;
  for (int64_t from = 0, g = 0; from < q->n; from += q->group, g++) {
    const int64_t n = q->n - from < q->group ? q->n - from : q->group;
    float *const its_scale = q->scales ? &q->scales[g * q->pitch] : &scale;
    int32_t *const sum = &q->sums[g * q->pitch];
    if (n == COMMON_GROUP) /* a number that the compiler knows: no loops are left */
      quantize_group(q, from, COMMON_GROUP, its_scale, sum);
    else
      quantize_group(q, from, n, its_scale, sum);
  }
}

#endif
