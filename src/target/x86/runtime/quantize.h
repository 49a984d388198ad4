/* quantize.h - rows of real A become strips of integers (x86_quantize in kernel.h); compiled once for each kernel of
 * integers.
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

enum { LARGEST = 127, BLOCK = 32, BLOCKS_AT_ONCE = 64, LANES_MOST = 16 };

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

/* Integers of a row go to a strip in eights, which lie `step` elements apart. */
typedef struct block {
  const void *from;
  quantized *to;
} block;

#if defined ARITHMETIC_U8S8 && defined __AVX512BW__
#include "target/x86/runtime/rounding_avx512.h"
#elif defined ARITHMETIC_U8S8 && defined __AVX2__
#include "target/x86/runtime/rounding_avx2.h"
#else
INLINE uint32_t largest_of_block(x86_real type, const void *from) { return largest_of(type, from, 0, BLOCK); }
INLINE int32_t round_run(x86_real type, const void *from, int64_t blocks, float inverse, quantized *to, int64_t step) {
  int32_t sum = 0;
  for (int64_t i = 0; i < blocks; i++, to += BLOCK / X86_EIGHT * step) {
    quantized whole[BLOCK];
    sum += round_all(type, element_of(type, from, i * BLOCK), BLOCK, inverse, whole);
    for (int64_t j = 0; j < BLOCK / X86_EIGHT; j++)
      memcpy(to + j * step, whole + j * X86_EIGHT, X86_EIGHT * sizeof *to);
  }
  return sum;
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
INLINE void round_blocks(x86_real type, const block *b, int64_t n, const float *inverse, int64_t step, int lift,
                         int32_t *starts) {
  for (int64_t i = 0; i < n; i++) starts[i] = -lift * round_run(type, b[i].from, 1, inverse[i], b[i].to, step);
}
#endif

INLINE void clear_block(quantized *to, int64_t step) {
  for (int64_t i = 0; i < BLOCK / X86_EIGHT; i++) memset(to + i * step, 0, X86_EIGHT * sizeof *to);
}

/* `n` groups of a block each, from number `at` on. If groups have their own scales, they are found together, as lanes of
 * vectors: three loops one after the other, so that nothing waits for divisions. */
INLINE void quantize_blocks(x86_real type, const x86_quantize *q, const block b[BLOCKS_AT_ONCE], int64_t n, int64_t at,
                            float inverse[BLOCKS_AT_ONCE]) {
  const int64_t step = q->rows * X86_EIGHT;
  bool special = false;
  if (q->scales) {
    float largest[BLOCKS_AT_ONCE];
    largest_of_blocks(type, b, n, largest);
    for (int64_t i = 0; i < n; i += LANES_MOST)
      special |= scales_of(largest + i, n - i, q->scales + at + i, inverse + i);
  } else {
    for (int64_t i = 0; i < n; i++) special |= !(inverse[i] > 0);
  }
  round_blocks(type, b, n, inverse, step, q->lift, q->starts + at);
  for (int64_t i = 0; special && i < n; i++) {
    if (inverse[i] > 0) continue;
    clear_block(b[i].to, step);
    q->starts[at + i] = 0;
  }
}

/* The strip and group that is next. */
typedef struct place {
  int64_t strip, group;
} place;

/* Lists the blocks of the next groups, as many as find room, all rows of each, and the last of them again, up to a
 * multiple of LANES_MOST; of several strips, unless there are other
 * groups between theirs. The same places of the rows below, which are next, are fetched: the hardware, which sees
 * several rows in turns, does not bring them in time. In a function of its own, which leaves registers to this loop. */
static __attribute__((noinline)) int64_t list_blocks(const x86_quantize *q, int64_t blocks, place *next,
                                                     block b[BLOCKS_AT_ONCE], float inverse[BLOCKS_AT_ONCE]) {
  const int64_t rows = q->rows, stride = q->from_stride, bytes = BLOCK * size_of(q->type), strip = rows * stride;
  int64_t n = 0;
  while (next->strip < q->strips && n + rows <= BLOCKS_AT_ONCE) {
    const char *from = (const char *)q->from + next->strip * strip + next->group * bytes;
    quantized *to = (quantized *)q->to + (next->strip * q->to_n + next->group * BLOCK) * rows;
    for (int64_t i = 0; i < rows; i++, from += stride, to += X86_EIGHT) {
      for (int64_t line = 0; line < bytes; line += X86_LINE) __builtin_prefetch(from + strip + line);
      b[n + i] = (block){.from = from, .to = to};
    }
    for (int64_t i = 0; !q->scales && i < rows; i++) inverse[n + i] = inverse_of(q->row_scales[next->strip * rows + i]);
    n += rows;
    if (++next->group < blocks) continue;
    *next = (place){.strip = next->strip + 1};
    if (blocks < q->groups) break;
  }
  const block last = b[n - 1];
  for (int64_t i = n; i % LANES_MOST; i++) b[i] = last, inverse[i] = q->scales ? 1 : inverse[n - 1];
  return n;
}

/* The first `blocks` groups, each a block, of all rows of all strips. */
INLINE void quantize_all_blocks(x86_real type, const x86_quantize *q, int64_t blocks) {
  block b[BLOCKS_AT_ONCE];
  float inverse[BLOCKS_AT_ONCE];
  place next = {0};
  while (next.strip < q->strips) {
    const int64_t at = (next.strip * q->groups + next.group) * q->rows;
    const int64_t n = list_blocks(q, blocks, &next, b, inverse);
    quantize_blocks(type, q, b, n, at, inverse);
  }
}

/* What is left of a group behind its blocks; zeros up to a multiple of eight. */
INLINE int32_t round_rest(x86_real type, const void *x, int64_t n, float inverse, quantized *to, int64_t step) {
  int32_t sum = 0;
  for (; n >= X86_EIGHT; n -= X86_EIGHT, to += step) {
    sum += round_all(type, x, X86_EIGHT, inverse, to);
    x = element_of(type, x, X86_EIGHT);
  }
  if (n == 0) return sum;
  quantized last[X86_EIGHT] = {0};
  sum += round_all(type, x, n, inverse, last);
  memcpy(to, last, sizeof last);
  return sum;
}

/* A group of any length. */
INLINE void quantize_group(x86_real type, const x86_quantize *q, const void *x, quantized *to, int64_t n, int64_t at,
                           float scale) {
  const int64_t blocks = n / BLOCK, in_blocks = blocks * BLOCK, step = q->rows * X86_EIGHT;
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
    for (int64_t p = 0; p < n; p += X86_EIGHT, to += step) memset(to, 0, X86_EIGHT * sizeof *to);
    q->starts[at] = 0;
    return;
  }
  int32_t sum = round_run(type, x, blocks, inverse, to, step);
  if (in_blocks < n)
    sum +=
        round_rest(type, element_of(type, x, in_blocks), n - in_blocks, inverse, to + blocks * BLOCK * q->rows, step);
  q->starts[at] = -q->lift * sum;
}

INLINE void quantize_rows(x86_real type, const x86_quantize *q) {
  const int64_t blocks = q->group == BLOCK ? q->n / BLOCK : 0;
  if (blocks) quantize_all_blocks(type, q, blocks);
  if (blocks * BLOCK == q->n) return;
  for (int64_t s = 0; s < q->strips; s++)
    for (int64_t i = 0; i < q->rows; i++) {
      const int64_t row = s * q->rows + i;
      const char *from = (const char *)q->from + row * q->from_stride;
      quantized *to = (quantized *)q->to + s * q->rows * q->to_n + i * X86_EIGHT;
      for (int64_t p = blocks * BLOCK, g = blocks; p < q->n; p += q->group, g++) {
        const int64_t n = q->n - p < q->group ? q->n - p : q->group;
        quantize_group(type, q, element_of(type, from, p), to + p * q->rows, n, (s * q->groups + g) * q->rows + i,
                       q->scales ? 0 : q->row_scales[row]);
      }
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
