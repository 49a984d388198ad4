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

enum { LARGEST = 127, PIECE = 512 };

/* A piece of a row as binary32: where it lies, or converted into `room`. */
static const float *as_f32(x86_real type, const void *row, int64_t at, int64_t n, float *room) {
  if (type == X86_REAL_F32) return (const float *)row + at;
  if (type == X86_REAL_BF16) bf16_to_f32(room, (const uint16_t *)row + at, n);
  if (type == X86_REAL_F16) f16_to_f32(room, (const uint16_t *)row + at, n);
  return room;
}

/* Magnitudes compare as their bits do, and NaN lies above infinity. */
static uint32_t largest_bits(const float *x, int64_t n, uint32_t largest) {
  for (int64_t i = 0; i < n; i++) {
    const uint32_t bits = f32_bits(x[i]) & 0x7fffffff;
    largest = bits > largest ? bits : largest;
  }
  return largest;
}

static float scale_of_bits(uint32_t largest) {
  if (largest >= 0x7f800000) return f32_of_bits(0x7fc00000);
  return f32_of_bits(largest) < 0x1p-118f ? 0 : f32_of_bits(largest) / LARGEST;
}

static float scale_of_part(x86_real type, const void *row, int64_t from, int64_t n) {
  float room[PIECE];
  uint32_t largest = 0;
  for (int64_t at = 0; at < n; at += PIECE) {
    const int64_t piece = n - at < PIECE ? n - at : PIECE;
    largest = largest_bits(as_f32(type, row, from + at, piece, room), piece, largest);
  }
  return scale_of_bits(largest);
}

static float scale_of_row(x86_real type, const void *row, int64_t n) { return scale_of_part(type, row, 0, n); }

/* Adding 1.5 * 2^23 rounds to an integer, ties to even, in the low bits of the sum. */
static int32_t round_all(const float *x, int64_t n, float scale, quantized *to) {
  const float inverse = scale > 0 ? 1 / scale : 0, magic = 0x1.8p23f;
  int32_t sum = 0;
  for (int64_t i = 0; i < n; i++) {
    const int32_t q = (int32_t)(f32_bits(x[i] * inverse + magic) - f32_bits(magic));
    to[i] = (quantized)q;
    sum += q;
  }
  return sum;
}

static void quantize_group(const x86_quantize *q, int64_t from, int64_t n, float *scale, int32_t *sum) {
  float room[PIECE];
  quantized *to = (quantized *)q->to + from;
  if (q->scales) *scale = scale_of_part(q->type, q->from, from, n);
  *sum = 0;
  for (int64_t at = 0; at < n; at += PIECE) {
    const int64_t piece = n - at < PIECE ? n - at : PIECE;
    if (*scale > 0)
      *sum += round_all(as_f32(q->type, q->from, from + at, piece, room), piece, *scale, to + at);
    else
      memset(to + at, 0, (size_t)piece * sizeof *to);
  }
}

static void quantize(const x86_quantize *q) {
  float scale = q->scale;
  for (int64_t from = 0, g = 0; from < q->n; from += q->group, g++) {
    const int64_t n = q->n - from < q->group ? q->n - from : q->group;
    quantize_group(q, from, n, q->scales ? &q->scales[g * q->pitch] : &scale, &q->sums[g * q->pitch]);
  }
}

#endif
