/* bits.h - an f32 as the 32 bits that it is stored in (IEEE binary32), and back. */
#ifndef TW_BASE_BITS_H
#define TW_BASE_BITS_H

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

#endif
