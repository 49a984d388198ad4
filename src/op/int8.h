/* int8.h - shared by ops on int8 operands with int32 accumulators: inputs in whose results errors show, exact dot
 * products, and the step from an accumulator to a result. */
#ifndef TW_OP_INT8_H
#define TW_OP_INT8_H

#include <stdbool.h>
#include <stdint.h>

#include "base/random.h"
#include "tilewright/extend/op.h"

/* act(sat8(round(scale * acc))), the scaling in binary32, ties to even. */
int8_t tw_round_i8(int32_t acc, float scale, bool relu);
/* act(sat16(round(x))), ties to even. */
int16_t tw_round_i16(double x, bool relu);

/* ---- inputs ----
 *
 * Random inputs in whose results errors show. For an int8 result the products' sum should have a standard deviation
 * of about 40 after scaling: neither all saturated nor all near zero. Elements uniform in [-amplitude, amplitude]
 * have variance amplitude (amplitude + 1) / 3; a sum of k products has k times its square. Where even amplitude 1 is
 * too much, elements are zero with probability 1 - density. Besides, about one line of an operand in 64 (at least
 * one if there are 4) uses the whole range, so that saturation occurs. */
typedef struct tw_distribution {
  int64_t amplitude;
  double density;
} tw_distribution;

enum { TW_INT8_DEVIATION = 40 };
extern const tw_distribution tw_full_range;

/* For sums of `products` products that are scaled by `scale` and rounded to int8: the amplitude of elements that have
 * no limit, and the distribution of int8. */
double tw_amplitude(int64_t products, double scale);
tw_distribution tw_int8_distribution(int64_t products, double scale);
int8_t tw_draw_i8(tw_random *, tw_distribution);
/* Is line `index` of `count` of this operand one with the whole range? About one in `one_in` is. */
enum { TW_FULL_RANGE_ONE_IN = 64 };
bool tw_is_full_range(uint64_t seed, int operand, int64_t index, int64_t count, int64_t one_in);
/* The bias of an int8 result is as large as the products' sum: a deviation of about 40 after scaling, and at most
 * 2^20. That of an int32 result (`scale` 0) is up to 2^20. Row r of `columns` begins at r * pitch. */
void tw_fill_bias_i32(uint64_t seed, double scale, int64_t rows, int64_t columns, int64_t pitch, int32_t *data);

/* ---- dot products ----
 *
 * sum[i][j] += a_i . b_j, exact as long as the sums fit 32 bits. Row i of a begins at i * depth and has `depth`
 * elements, a multiple of 16, with zeros after the last; likewise b. int8 widened to 16 bits: a compiler turns that
 * into multiply-add-pairs of the host. */
enum { TW_DOT_ROWS = 32, TW_DOT_COLUMNS = 64 }; /* size of a block that fits a 256 KB cache */
void tw_dot_block(const int16_t *a, int64_t rows, const int16_t *b, int64_t columns, int64_t depth,
                  int32_t sum[TW_DOT_ROWS][TW_DOT_COLUMNS]);
int64_t tw_dot_depth(int64_t products); /* rounded up to a multiple of 16 */

/* int8 -> int16: `rows` x k elements, element (row, p) at row * row_step + p * step, to rows of tw_dot_depth(k).
 * malloc'ed; NULL without memory. */
int16_t *tw_dot_widen(const int8_t *from, int64_t rows, int64_t k, int64_t row_step, int64_t step, int threads);

#endif
