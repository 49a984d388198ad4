/* quantize.h - rows of real A become integers (x86_quantize in kernel.h); compiled once for each kernel of integers.
 *
 * Blocks of 32 elements go through words (rounding_*.h) where there are some; the rest, and what an instruction set has
 * no words for, is plain C that a compiler vectorizes. */
#ifndef TW_X86_QUANTIZE_H
#define TW_X86_QUANTIZE_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "target/x86/kernel.h"
#include "target/x86/runtime/convert.h"

#if defined ARITHMETIC_U8S8
typedef int8_t quantized;
#else
typedef int16_t quantized;
#endif

enum { LARGEST = 127, BLOCK = 32, BLOCKS_AT_ONCE = 64, BLOCKS_UNROLLED = 4, LANES_MOST = 16 };

#define INLINE static inline __attribute__((always_inline))

INLINE int64_t size_of(x86_real type) { return type == X86_REAL_F32 ? 4 : 2; }

/* Magnitudes compare as their bits do, in any of the three types, and NaN lies above infinity. The bits of the largest,
 * in the type of the row. */
INLINE uint32_t largest_of(x86_real type, const void *row, int64_t from, int64_t n) {
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
  return largest;
}

INLINE float magnitude(x86_real type, uint32_t bits) {
  return type == X86_REAL_F32    ? f32_of_bits(bits)
         : type == X86_REAL_BF16 ? f32_of_bf16((uint16_t)bits)
                                 : f32_of_f16((uint16_t)bits);
}

/* What comes of a largest magnitude: the scale, and what elements are multiplied by. */
INLINE float scale_of(float largest) {
  const float scale = largest < 0x1p-118f ? 0 : largest / LARGEST;
  return f32_bits(largest) >= 0x7f800000 ? f32_of_bits(0x7fc00000) : scale;
}
INLINE float inverse_of(float scale) { return scale > 0 ? 1 / scale : 0; }

static float scale_of_row(x86_real type, const void *row, int64_t n) {
  return scale_of(magnitude(type, largest_of(type, row, 0, n)));
}

/* Adding 1.5 * 2^23 rounds to an integer, ties to even, in the low bits of the sum. */
INLINE int32_t rounded(float x, float inverse) {
  const float magic = 0x1.8p23f;
  return (int32_t)(f32_bits(x * inverse + magic) - f32_bits(magic));
}

/* Rounds n elements; returns their sum, which is anything where `inverse` is 0 and some are NaN.
 * NOLINTBEGIN(bugprone-macro-parentheses): types */
#define ROUND_ALL(name, element_type, as_f32)                                                                          \
  INLINE int32_t name(const element_type *x, int64_t n, float inverse, quantized *to) {                                \
    uint32_t sum = 0;                                                                                                  \
    for (int64_t i = 0; i < n; i++) {                                                                                  \
      const int32_t q = rounded(as_f32(x[i]), inverse);                                                                \
      to[i] = (quantized)q;                                                                                            \
      sum += (uint32_t)q;                                                                                              \
    }                                                                                                                  \
    return (int32_t)sum;                                                                                               \
  }
/* NOLINTEND(bugprone-macro-parentheses) */
ROUND_ALL(round_f32, float, )
ROUND_ALL(round_bf16, uint16_t, f32_of_bf16)
ROUND_ALL(round_f16, uint16_t, f32_of_f16)
#undef ROUND_ALL

INLINE int32_t round_all(x86_real type, const void *from, int64_t n, float inverse, quantized *to) {
  return type == X86_REAL_F32    ? round_f32(from, n, inverse, to)
         : type == X86_REAL_BF16 ? round_bf16(from, n, inverse, to)
                                 : round_f16(from, n, inverse, to);
}

INLINE const void *element_of(x86_real type, const void *row, int64_t at) {
  return (const char *)row + at * size_of(type);
}

typedef struct block {
  const void *from;
  quantized *to;
} block;

#if defined ARITHMETIC_U8S8 && defined __AVX512BW__
#include "target/x86/runtime/rounding_avx512.h"
#elif defined ARITHMETIC_U8S8 && defined __AVX2__
#include "target/x86/runtime/rounding_avx2.h"
#else
typedef int32_t block_total;
INLINE block_total no_total(void) { return 0; }
INLINE int32_t sum_of(block_total t, int64_t blocks) { return (void)blocks, t; }
INLINE uint32_t largest_of_block(x86_real type, const void *from) { return largest_of(type, from, 0, BLOCK); }
INLINE block_total round_block(x86_real type, const void *from, float inverse, quantized *to, block_total t) {
  return t + round_all(type, from, BLOCK, inverse, to);
}
INLINE void largest_of_blocks(x86_real type, const block *b, int64_t n, float largest[BLOCKS_AT_ONCE]) {
  for (int64_t i = 0; i < n; i++) largest[i] = magnitude(type, largest_of_block(type, b[i].from));
}
INLINE bool scales_of(const float *largest, int64_t n, float *scale, float *inverse) {
  bool special = false;
  for (int64_t i = 0; i < n && i < LANES_MOST; i++) {
    scale[i] = scale_of(largest[i]), inverse[i] = inverse_of(scale[i]);
    special |= !(inverse[i] > 0);
  }
  return special;
}
INLINE void round_blocks(x86_real type, const block *b, int64_t n, const float *inverse, int32_t *sum) {
  for (int64_t i = 0; i < n; i++) sum[i] = round_all(type, b[i].from, BLOCK, inverse[i], b[i].to);
}
#endif

/* `n` groups of a block each, from number `at` on. If groups have their own scales, they are found together, as lanes of
 * vectors: three loops one after the other, so that nothing waits for divisions. */
INLINE void quantize_blocks(x86_real type, const x86_quantize *q, block b[BLOCKS_AT_ONCE], int64_t n, int64_t at,
                            float inverse[BLOCKS_AT_ONCE]) {
  int32_t sum[BLOCKS_AT_ONCE], *const starts = q->starts + at, lift = q->lift;
  bool special = false;
  for (int64_t i = n; i < BLOCKS_AT_ONCE && i % LANES_MOST; i++) b[i] = b[i - 1], inverse[i] = inverse[i - 1];
  if (q->scales) {
    float largest[BLOCKS_AT_ONCE];
    largest_of_blocks(type, b, n, largest);
    for (int64_t i = 0; i < n; i += LANES_MOST)
      special |= scales_of(largest + i, n - i, q->scales + at + i, inverse + i);
  } else {
    for (int64_t i = 0; i < n; i++) special |= !(inverse[i] > 0);
  }
  round_blocks(type, b, n, inverse, sum);
  for (int64_t i = 0; i < n; i++) {
    const uint32_t start = -(uint32_t)lift * (uint32_t)sum[i]; /* of a NaN: anything */
    starts[i] = inverse[i] > 0 ? (int32_t)start : 0;
  }
  for (int64_t i = 0; special && i < n; i++)
    if (!(inverse[i] > 0)) memset(b[i].to, 0, BLOCK * sizeof *b[i].to);
}

/* The first `blocks` groups, each a block, of all rows. The same places of the rows below, which are next, are fetched: the
 * hardware, which sees several rows in turns, does not bring them in time. */
INLINE void quantize_all_blocks(x86_real type, const x86_quantize *q, int64_t blocks) {
  block b[BLOCKS_AT_ONCE];
  float inverse[BLOCKS_AT_ONCE], of_row[X86_ROWS_MAX];
  const int64_t below = q->rows * q->from_stride;
  int64_t n = 0, at = 0;
  for (int64_t i = 0; i < q->rows; i++) of_row[i] = q->scales ? 1 : inverse_of(q->row_scales[i]);
  for (int64_t g = 0; g < blocks; g++) {
    const char *from = element_of(type, q->from, g * BLOCK);
    char *to = (char *)q->to + g * BLOCK * (int64_t)sizeof(quantized);
    for (int64_t i = 0; i < q->rows; i++, from += q->from_stride, to += q->to_stride) {
      for (int64_t line = 0; line < BLOCK * size_of(type); line += X86_LINE) __builtin_prefetch(from + below + line);
      inverse[n] = of_row[i];
      b[n].from = from;
      b[n].to = (quantized *)(void *)to;
      if (++n < BLOCKS_AT_ONCE) continue;
      quantize_blocks(type, q, b, n, at, inverse);
      at += n;
      n = 0;
    }
  }
  if (n) quantize_blocks(type, q, b, n, at, inverse);
}

/* A group of any length. */
INLINE void quantize_group(x86_real type, const x86_quantize *q, const void *x, quantized *to, int64_t n, int64_t at,
                           float scale) {
  const int64_t blocks = n / BLOCK, in_blocks = blocks * BLOCK;
  if (q->scales) {
    uint32_t largest = largest_of(type, x, in_blocks, n - in_blocks);
    for (int64_t b = 0; b < blocks; b++) {
      const uint32_t its = largest_of_block(type, element_of(type, x, b * BLOCK));
      largest = its > largest ? its : largest;
    }
    q->scales[at] = scale = scale_of(magnitude(type, largest));
  }
  const float inverse = inverse_of(scale);
  if (!(inverse > 0)) {
    memset(to, 0, (size_t)n * sizeof *to);
    q->starts[at] = 0;
    return;
  }
  block_total t = no_total();
  for (int64_t b = 0; b < blocks; b++)
    t = round_block(type, element_of(type, x, b * BLOCK), inverse, to + b * BLOCK, t);
  int32_t sum = sum_of(t, blocks);
  if (in_blocks < n) sum += round_all(type, element_of(type, x, in_blocks), n - in_blocks, inverse, to + in_blocks);
  q->starts[at] = -q->lift * sum;
}

INLINE void quantize_rows(x86_real type, const x86_quantize *q) {
  const int64_t blocks = q->group == BLOCK ? q->n / BLOCK : 0;
  quantize_all_blocks(type, q, blocks);
  for (int64_t i = 0; i < q->rows; i++) {
    const char *from = (const char *)q->from + i * q->from_stride;
    quantized *to = (quantized *)(void *)((char *)q->to + i * q->to_stride);
    for (int64_t p = blocks * BLOCK, g = blocks; p < q->n; p += q->group, g++) {
      const int64_t n = q->n - p < q->group ? q->n - p : q->group;
      quantize_group(type, q, element_of(type, from, p), to + p, n, g * q->rows + i, q->scales ? 0 : q->row_scales[i]);
    }
    if (q->to_n > q->n) memset(to + q->n, 0, (size_t)(q->to_n - q->n) * sizeof *to);
  }
}

static void quantize(const x86_quantize *q) {
  if (q->type == X86_REAL_F32)
    quantize_rows(X86_REAL_F32, q);
  else if (q->type == X86_REAL_BF16)
    quantize_rows(X86_REAL_BF16, q);
  else
    quantize_rows(X86_REAL_F16, q);
}

#endif
