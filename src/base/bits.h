/* bits.h - converts an f32 to its 32 bits (IEEE binary32) and back; rounds to bf16. */
#ifndef TW_BASE_BITS_H
#define TW_BASE_BITS_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

static inline uint32_t tw_bits_of(float x) {
  uint32_t bits;
  memcpy(&bits, &x, sizeof bits);
  return bits;
}

static inline float tw_float_of(uint32_t bits) {
  float x;
  memcpy(&x, &bits, sizeof x);
  return x;
}

/* The nearest bf16, ties to even, as the bits of an f32. NaN keeps sign and the upper payload, and becomes quiet. */
static inline uint32_t tw_round_to_bf16(uint32_t bits) {
  const bool is_nan = (bits & 0x7FFFFFFF) > 0x7F800000;
  const uint32_t odd = bits >> 16 & 1; /* a tie (lower half 0x8000) carries only into an odd upper half */
  return (is_nan ? bits | 0x400000 : bits + 0x7FFF + odd) & 0xFFFF0000; /* the largest values may carry to infinity */
}

#endif
