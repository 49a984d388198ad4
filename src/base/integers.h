/* integers.h - arithmetic of whole numbers. */
#ifndef TW_BASE_INTEGERS_H
#define TW_BASE_INTEGERS_H

#include <stdint.h>

/* The greatest common divisor of two numbers >= 0 (Euclid); of 0 and 0 it is 0. */
static inline int64_t tw_common_divisor(int64_t a, int64_t b) {
  while (b) {
    const int64_t rest = a % b;
    a = b;
    b = rest;
  }
  return a;
}

/* Numbers >= 0; units > 0. */
static inline int64_t tw_ceil_div(int64_t a, int64_t unit) { return (a + unit - 1) / unit; }
static inline int64_t tw_round_up(int64_t a, int64_t unit) { return tw_ceil_div(a, unit) * unit; }

#endif
