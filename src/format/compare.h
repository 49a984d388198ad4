/* compare.h - format_kernels.compare and .count for every instruction set, written in the compiler's vectors, which
 * give the same bits for any width. The including file defines COMPARE and COUNT (names of the functions) and
 * COMPARE_WIDTH (number of f32 in a register). */
#include "format/internal.h"

typedef float compare_reals __attribute__((vector_size(4 * COMPARE_WIDTH)));
typedef int32_t compare_masks __attribute__((vector_size(4 * COMPARE_WIDTH)));
typedef float compare_half __attribute__((vector_size(2 * COMPARE_WIDTH)));
typedef double compare_doubles __attribute__((vector_size(4 * COMPARE_WIDTH))); /* holds half as many values */

/* sum += (double)v * (double)v, for half a vector */
static inline __attribute__((always_inline)) void compare_square(compare_doubles *sum, const float *v) {
  compare_half half;
  memcpy(&half, v, sizeof half);
  const compare_doubles wide = __builtin_convertvector(half, compare_doubles);
  *sum += wide * wide;
}

/* Compares COMPARE_WIDTH lanes from `lane` on. Their sums fit into the registers. */
static inline __attribute__((always_inline)) void compare_lanes(const float *x_at, const float *y_at,
                                                                const float *limit_at, size_t n, float *error_at,
                                                                int lane, format_errors *sums) {
  compare_reals max_error, max_value;
  compare_masks clipped, exact, faults;
  compare_doubles error2[2], value2[2];
  memcpy(error2, sums->error2 + lane, sizeof error2), memcpy(value2, sums->value2 + lane, sizeof value2);
  memcpy(&max_error, sums->max_error + lane, sizeof max_error);
  memcpy(&max_value, sums->max_value + lane, sizeof max_value);
  memcpy(&clipped, sums->clipped + lane, sizeof clipped), memcpy(&exact, sums->exact + lane, sizeof exact);
  memcpy(&faults, sums->faults + lane, sizeof faults);
  for (size_t i = (size_t)lane; i < n; i += COMPARE_LANES) {
    compare_reals x, y, limit;
    memcpy(&x, x_at + i, sizeof x), memcpy(&y, y_at + i, sizeof y), memcpy(&limit, limit_at + i, sizeof limit);
    const compare_reals difference = x - y;
    compare_masks value_bits = (compare_masks)x & F32_MAGNITUDE, back_bits = (compare_masks)y & F32_MAGNITUDE;
    const compare_masks fine = (value_bits < F32_INFINITY) & (back_bits < F32_INFINITY);
    const compare_masks smaller = back_bits < value_bits;
    const compare_reals error = (compare_reals)((compare_masks)difference & F32_MAGNITUDE & fine);
    const compare_reals value = (compare_reals)(value_bits & fine);
    faults += ~fine; /* a true comparison is -1 */
    exact += (error == 0) & fine;
    clipped += (value > limit) & smaller;
    const compare_masks larger_error = error > max_error, larger_value = value > max_value;
    max_error = (compare_reals)(((compare_masks)error & larger_error) | ((compare_masks)max_error & ~larger_error));
    max_value = (compare_reals)(((compare_masks)value & larger_value) | ((compare_masks)max_value & ~larger_value));
    float values[COMPARE_WIDTH];
    memcpy(values, &value, sizeof value);
    memcpy(error_at + i, &error, sizeof error);
    for (int h = 0; h < 2; h++) {
      compare_square(&error2[h], error_at + i + h * COMPARE_WIDTH / 2);
      compare_square(&value2[h], values + h * COMPARE_WIDTH / 2);
    }
  }
  memcpy(sums->error2 + lane, error2, sizeof error2), memcpy(sums->value2 + lane, value2, sizeof value2);
  memcpy(sums->max_error + lane, &max_error, sizeof max_error);
  memcpy(sums->max_value + lane, &max_value, sizeof max_value);
  memcpy(sums->clipped + lane, &clipped, sizeof clipped), memcpy(sums->exact + lane, &exact, sizeof exact);
  memcpy(sums->faults + lane, &faults, sizeof faults);
}

static void COMPARE(const float *x, const float *y, const float *limit, size_t n, float *error, format_errors *sums) {
  for (int lane = 0; lane < COMPARE_LANES; lane += COMPARE_WIDTH) compare_lanes(x, y, limit, n, error, lane, sums);
}

/* ---- the histogram ---- */

typedef uint8_t count_bytes __attribute__((vector_size(4 * COMPARE_WIDTH)));
typedef uint32_t count_words __attribute__((vector_size(4 * COMPARE_WIDTH)));
enum { COUNT_BYTES = 4 * COMPARE_WIDTH, COUNT_PASSES = 48 };

/* The number of bytes of n vectors that equal `value`; at most 255 in each place. */
static inline __attribute__((always_inline)) uint32_t count_equal(const count_bytes *v, size_t n, unsigned value) {
  count_bytes found = {0};
  for (size_t i = 0; i < n; i++) found -= (count_bytes)(v[i] == (uint8_t)value); /* true is -1 */
  uint32_t sum = 0;
  for (size_t i = 0; i < COUNT_BYTES; i++) sum += found[i];
  return sum;
}

/* Exponent fields of four vectors become bytes, in any order. Most errors of a chunk are within a few powers of two
 * of the largest. Each of these powers takes one pass over the bytes; remaining errors are counted one by one. */
static void COUNT(const float *error, size_t n, uint32_t *bin) {
  count_bytes bytes[COUNT_MOST / COUNT_BYTES];
  count_words all = {0};
  const size_t vectors = n / COUNT_BYTES;
  for (size_t i = 0; i < vectors; i++) {
    count_words e[4];
    memcpy(e, error + i * COUNT_BYTES, sizeof e);
    const count_words four = e[0] >> 23 | (e[1] >> 15 & 0xFF00) | (e[2] >> 7 & 0xFF0000) | (e[3] << 1 & 0xFF000000);
    memcpy(&bytes[i], &four, sizeof four);
    all |= four;
  }
  unsigned top = 0;
  for (size_t i = 0; i < COMPARE_WIDTH; i++) top |= all[i] | all[i] >> 8 | all[i] >> 16 | all[i] >> 24;
  top &= 0xFF; /* no exponent field is larger */
  size_t left = vectors * COUNT_BYTES;
  const uint32_t zeros = count_equal(bytes, vectors, 0);
  bin[0] += zeros;
  left -= zeros;
  for (int pass = 0; pass < COUNT_PASSES && top > 0 && left > 0; pass++, top--) {
    const uint32_t found = count_equal(bytes, vectors, top);
    bin[top] += found;
    left -= found;
  }
  for (size_t i = 0; left > 0 && i < vectors; i++) {
    for (size_t k = 0; k < COUNT_BYTES; k++) {
      if (bytes[i][k] && bytes[i][k] <= top) bin[bytes[i][k]]++, left--;
    }
  }
  for (size_t i = vectors * COUNT_BYTES; i < n; i++) bin[tw_bits_of(error[i]) >> 23]++;
}
