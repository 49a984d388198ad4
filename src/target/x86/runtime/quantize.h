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

enum { LARGEST = 127, BLOCK = X86_RUN, BLOCKS_AT_ONCE = 64, LANES_MOST = 16 };

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

#if defined ARITHMETIC_U8S8 && defined __AVX512BW__
#include "target/x86/runtime/rounding_avx512.h"
#elif defined ARITHMETIC_U8S8 && defined __AVX2__
#include "target/x86/runtime/rounding_avx2.h"
#else
INLINE uint32_t largest_of_block(x86_real type, const void *from) { return largest_of(type, from, 0, BLOCK); }
INLINE uint32_t largest_of_run(x86_real type, const void *from, int64_t blocks) {
  return largest_of(type, from, 0, blocks * BLOCK);
}
INLINE int32_t round_eight(x86_real type, const void *from, float inverse, quantized *to) {
  return round_all(type, from, X86_EIGHT, inverse, to);
}
INLINE int32_t round_run(x86_real type, const void *from, int64_t blocks, float inverse, quantized *to, int64_t step) {
  int32_t sum = 0;
  for (int64_t i = 0; i < blocks; i++, to += step)
    sum += round_all(type, element_of(type, from, i * BLOCK), BLOCK, inverse, to);
  return sum;
}
INLINE void largest_of_blocks(x86_real type, const char *from, const int64_t *at, int64_t n, float *largest) {
  for (int64_t i = 0; i < n; i++) largest[i] = magnitude(type, largest_of_block(type, from + at[i]));
}
INLINE bool scales_of(const float *largest, int64_t n, float *scale, float *inverse) {
  bool special = false;
  for (int64_t i = 0; i < n && i < LANES_MOST; i++) {
    scale[i] = scale_of(largest[i]), inverse[i] = inverse_of(scale[i]);
    special |= !(inverse[i] > 0);
  }
  return special;
}
INLINE void round_blocks(x86_real type, const char *from, const int64_t *at, int64_t n, const float *inverse,
                         quantized *to, int lift, int32_t *starts) {
  for (int64_t i = 0; i < n; i++)
    starts[i] = -lift * round_run(type, from + at[i], 1, inverse[i], to + i * BLOCK, BLOCK);
}
#endif

SHARED void scales_of_rows(x86_real type, const void *from, int64_t stride, int64_t rows, int64_t n, float *scale) {
  const int64_t blocks = n / BLOCK, rest = n % BLOCK;
  for (int64_t i = 0; i < rows; i++) {
    const char *row = (const char *)from + i * stride;
    const uint32_t last = rest ? largest_of(type, row, blocks * BLOCK, rest) : 0,
                   most = largest_of_run(type, row, blocks);
    scale[i] = scale_of(magnitude(type, most > last ? most : last));
  }
}

/* Blocks that are rounded together: of several strips, or of some groups of one. They lie one behind the other in the
 * strips, group by group; in A, each at its offset in bytes, in a row of its own. The last offset is there again, up to a
 * multiple of LANES_MOST. */
typedef struct batch {
  int64_t n, at[BLOCKS_AT_ONCE];
  uint8_t row[BLOCKS_AT_ONCE];
} batch;

static void list_blocks(const x86_quantize *q, int64_t blocks, int64_t n, batch *b) {
  const bool begins_so = n <= b->n && n % LANES_MOST == 0;
  b->n = n;
  if (begins_so) return;
  int64_t i = 0;
  for (int64_t first = 0; i < n; first += q->rows)
    for (int64_t group = 0; group < blocks && i < n; group++) {
      const int64_t at = first * q->from_stride + group * BLOCK * size_of(q->type);
      for (int64_t row = 0; row < q->rows; row++, i++) {
        b->row[i] = (uint8_t)(first + row);
        b->at[i] = at + row * q->from_stride;
      }
    }
  for (; i % LANES_MOST; i++) b->at[i] = b->at[n - 1], b->row[i] = b->row[n - 1];
}

/* The blocks' groups are those from number `first` on. If groups have their own scales, they are found together, as lanes
 * of vectors: three loops one after the other, so that nothing waits for divisions. The same places `below`, which are
 * next, are fetched: the hardware, which sees several rows in turns, does not bring them in time. */
INLINE void quantize_batch(x86_real type, const x86_quantize *q, const batch *b, const char *from, int64_t below,
                           const float *of_row, quantized *to, int64_t first) {
  float inverse[BLOCKS_AT_ONCE];
  bool special = false;
  if (q->scales) {
    float largest[BLOCKS_AT_ONCE];
    for (int64_t i = 0; i < b->n; i++)
      for (int64_t line = 0; line < BLOCK * size_of(type); line += X86_LINE)
        __builtin_prefetch(from + below + b->at[i] + line);
    largest_of_blocks(type, from, b->at, b->n, largest);
    for (int64_t i = 0; i < b->n; i += LANES_MOST)
      special |= scales_of(largest + i, b->n - i, q->scales + first + i, inverse + i);
  } else {
    for (int64_t i = 0; i < b->n || i % LANES_MOST; i++) inverse[i] = of_row[b->row[i]], special |= !(inverse[i] > 0);
  }
  round_blocks(type, from, b->at, b->n, inverse, to, q->lift, q->starts + first);
  for (int64_t i = 0; special && i < b->n; i++) {
    if (inverse[i] > 0) continue;
    memset(to + i * BLOCK, 0, BLOCK * sizeof *to);
    q->starts[first + i] = 0;
  }
}

/* Groups of one strip that make a batch: vectors are filled, where rows allow it. */
INLINE int64_t groups_at_once(int64_t rows) {
  enum { FEW = 8 };
  const int64_t most = BLOCKS_AT_ONCE / rows;
  return most > FEW && rows % 2 == 0 ? most / FEW * FEW : most;
}

/* The first `blocks` groups, each a block, of all rows of all strips. */
INLINE void quantize_all_blocks(x86_real type, const x86_quantize *q, int64_t blocks) {
  batch b = {0};
  float of_row[BLOCKS_AT_ONCE];
  const int64_t rows = q->rows, strip_bytes = rows * q->from_stride, whole = BLOCKS_AT_ONCE / (rows * blocks);
  const int64_t strips = whole && blocks == q->groups ? whole : 1; /* unless there are other groups between them */
  const int64_t groups = strips > 1 || whole ? blocks : groups_at_once(rows);
  for (int64_t strip = 0; strip < q->strips; strip += strips) {
    const int64_t these = q->strips - strip < strips ? q->strips - strip : strips;
    for (int64_t i = 0; !q->scales && i < these * rows; i++) of_row[i] = inverse_of(q->row_scales[strip * rows + i]);
    for (int64_t group = 0; group < blocks; group += groups) {
      const int64_t n = these * rows * (blocks - group < groups ? blocks - group : groups);
      if (n != b.n) list_blocks(q, blocks, n, &b);
      quantize_batch(type, q, &b, (const char *)element_of(type, q->from, group * BLOCK) + strip * strip_bytes,
                     these * strip_bytes, of_row, (quantized *)q->to + (strip * q->to_n + group * BLOCK) * rows,
                     (strip * q->groups + group) * rows);
    }
  }
}

/* Where element `p` of a row is, from the row's first; `p` is a multiple of eight. */
INLINE int64_t place_of(const x86_quantize *q, int64_t p) {
  return q->run == X86_EIGHT ? p * q->rows : p / BLOCK * BLOCK * q->rows + p % BLOCK;
}

/* A group's elements from number `p` of its row on, eight by eight; zeros up to a multiple of eight. `to`: the row's
 * first. */
INLINE int32_t round_rest(x86_real type, const x86_quantize *q, const void *x, int64_t p, int64_t n, float inverse,
                          quantized *to) {
  int32_t sum = 0;
  for (; n > 0; n -= X86_EIGHT, p += X86_EIGHT, x = element_of(type, x, X86_EIGHT)) {
    quantized *eight = to + place_of(q, p);
    if (n >= X86_EIGHT) {
      sum += round_eight(type, x, inverse, eight);
      continue;
    }
    memset(eight, 0, X86_EIGHT * sizeof *eight);
    sum += round_all(type, x, n, inverse, eight);
  }
  return sum;
}

/* A group of any length: n elements of a row from number `p` on, whose integers begin at `to`. Blocks, where they lie
 * together. */
INLINE void quantize_group(x86_real type, const x86_quantize *q, const void *x, quantized *to, int64_t p, int64_t n,
                           int64_t at, float scale) {
  const int64_t blocks = q->run == BLOCK ? n / BLOCK : 0, in_blocks = blocks * BLOCK;
  if (q->scales) {
    const uint32_t rest = largest_of(type, x, in_blocks, n - in_blocks), most = largest_of_run(type, x, blocks);
    q->scales[at] = scale = scale_of(magnitude(type, most > rest ? most : rest));
  }
  const float inverse = inverse_of(scale);
  if (!(inverse > 0)) { /* what NaN and infinities would become is not even a sum */
    for (int64_t i = p; i < p + n; i += X86_EIGHT) memset(to + place_of(q, i), 0, X86_EIGHT * sizeof *to);
    q->starts[at] = 0;
    return;
  }
  int32_t sum = round_run(type, x, blocks, inverse, to + p * q->rows, BLOCK * q->rows);
  if (in_blocks < n)
    sum += round_rest(type, q, element_of(type, x, in_blocks), p + in_blocks, n - in_blocks, inverse, to);
  q->starts[at] = -q->lift * sum;
}

INLINE void quantize_rows(x86_real type, const x86_quantize *q) {
  const int64_t blocks = q->group == BLOCK && q->run == BLOCK ? q->n / BLOCK : 0;
  if (blocks) quantize_all_blocks(type, q, blocks);
  if (blocks * BLOCK == q->n) return;
  for (int64_t s = 0; s < q->strips; s++)
    for (int64_t i = 0; i < q->rows; i++) {
      const int64_t row = s * q->rows + i;
      const char *from = (const char *)q->from + row * q->from_stride;
      quantized *to = (quantized *)q->to + s * q->rows * q->to_n + i * q->run;
      for (int64_t p = blocks * BLOCK, g = blocks; p < q->n; p += q->group, g++) {
        const int64_t n = q->n - p < q->group ? q->n - p : q->group;
        quantize_group(type, q, element_of(type, from, p), to, p, n, (s * q->groups + g) * q->rows + i,
                       q->scales ? 0 : q->row_scales[row]);
      }
    }
}

SHARED void quantize(const x86_quantize *q) {
  if (q->type == X86_REAL_F32)
    quantize_rows(X86_REAL_F32, q);
  else if (q->type == X86_REAL_BF16)
    quantize_rows(X86_REAL_BF16, q);
  else
    quantize_rows(X86_REAL_F16, q);
}

#endif
