/* compare.h - format_kernels.compare, once for every instruction set: in the compiler's vectors, which give the same bits
 * however wide they are. The including file defines COMPARE, the function's name, and COMPARE_WIDTH, the f32 in a register. */
#include "format/internal.h"

typedef float compare_reals __attribute__((vector_size(4 * COMPARE_WIDTH)));
typedef int32_t compare_masks __attribute__((vector_size(4 * COMPARE_WIDTH)));
typedef float compare_half __attribute__((vector_size(2 * COMPARE_WIDTH)));
typedef double compare_doubles __attribute__((vector_size(4 * COMPARE_WIDTH))); /* of half as many values */

/* sum[0..] += (double)v * (double)v, of half a vector */
static inline __attribute__((always_inline)) void compare_square(double *sum, const float *v) {
  compare_half half;
  compare_doubles total;
  memcpy(&half, v, sizeof half);
  memcpy(&total, sum, sizeof total);
  const compare_doubles wide = __builtin_convertvector(half, compare_doubles);
  total += wide * wide;
  memcpy(sum, &total, sizeof total);
}

static inline __attribute__((always_inline)) void compare_step(const float *x_at, const float *y_at,
                                                               const float *limit_at, float *error_at, int lane,
                                                               format_errors *sums) {
  compare_reals x, y, limit, max_error, max_value;
  compare_masks clipped, exact, faults;
  memcpy(&x, x_at, sizeof x), memcpy(&y, y_at, sizeof y), memcpy(&limit, limit_at, sizeof limit);
  memcpy(&max_error, sums->max_error + lane, sizeof max_error);
  memcpy(&max_value, sums->max_value + lane, sizeof max_value);
  memcpy(&clipped, sums->clipped + lane, sizeof clipped), memcpy(&exact, sums->exact + lane, sizeof exact);
  memcpy(&faults, sums->faults + lane, sizeof faults);
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
  memcpy(error_at, &error, sizeof error);
  float values[COMPARE_WIDTH];
  memcpy(values, &value, sizeof value);
  for (int h = 0; h < COMPARE_WIDTH; h += COMPARE_WIDTH / 2) {
    compare_square(sums->error2 + lane + h, error_at + h);
    compare_square(sums->value2 + lane + h, values + h);
  }
  memcpy(sums->max_error + lane, &max_error, sizeof max_error);
  memcpy(sums->max_value + lane, &max_value, sizeof max_value);
  memcpy(sums->clipped + lane, &clipped, sizeof clipped), memcpy(sums->exact + lane, &exact, sizeof exact);
  memcpy(sums->faults + lane, &faults, sizeof faults);
}

static void COMPARE(const float *x, const float *y, const float *limit, size_t n, float *error, format_errors *result) {
  format_errors sums = *result; /* so that nothing else can be meant by a store to `error` */
  for (size_t i = 0; i < n; i += COMPARE_LANES) {
    for (int lane = 0; lane < COMPARE_LANES; lane += COMPARE_WIDTH)
      compare_step(x + i + lane, y + i + lane, limit + i + lane, error + i + lane, lane, &sums);
  }
  *result = sums;
}
