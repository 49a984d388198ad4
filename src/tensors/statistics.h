/* statistics.h - the loss of a conversion: compares values x with the converted values y. */
#ifndef TW_TENSORS_STATISTICS_H
#define TW_TENSORS_STATISTICS_H

#include <math.h>

#include "format/internal.h"

enum { ERROR_BINS = 256 };

typedef struct statistics {
  uint64_t values;
  uint64_t non_finite; /* x is NaN or infinite, or y is although x is not; such values are not counted elsewhere */
  uint64_t clipped;    /* |x| is beyond what its scale can represent, so y is the largest value */
  uint64_t exact;      /* y == x */
  double max_error;    /* largest |x - y| */
  double max_value;    /* largest |x| */
  double sum_error2, sum_value2;
  uint64_t bin[ERROR_BINS]; /* the other values: bin[e] has 2^(e - 127) <= |x - y| < 2^(e - 126) */
} statistics;

/* Statistics of a part of a matrix: counts, and sums that are not yet combined. */
typedef struct statistics_part {
  statistics counts;
  format_errors sums;
} statistics_part;

/* Measures a part of a matrix after encoding and decoding: rows x columns, without gaps. May run on any thread. */
void statistics_measure(statistics_part *, const tw_packing *, size_t rows, size_t columns, const float *x,
                        const float *y, const void *codes, const void *scales);
/* Adds a part. Sums are rounded: to get the same bits, add parts in the same order. */
void statistics_add(statistics *, const statistics_part *);

/* The root of the mean square of x - y. */
static inline double statistics_rms(const statistics *s) {
  const uint64_t counted = s->values - s->non_finite;
  return counted ? sqrt(s->sum_error2 / (double)counted) : 0;
}

/* The same relative to the root mean square of x; 0 if all x are 0. */
static inline double statistics_relative(const statistics *s) {
  return s->sum_value2 > 0 ? sqrt(s->sum_error2 / s->sum_value2) : 0;
}

#endif
