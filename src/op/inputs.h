/* inputs.h - random inputs of real types. The same seed gives the same bytes on every machine, with any number of
 * cores: each row has its own stream. */
#ifndef TW_OP_INPUTS_H
#define TW_OP_INPUTS_H

#include "base/random.h"
#include "op/operand.h"

/* Multiples of 2^-24 amplitude, uniform in (-amplitude, amplitude), rounded to the operand's type. `operand` (its
 * index) tells the streams of one seed apart. */
void tw_fill_uniform(uint64_t seed, int operand, const tw_operand *, double amplitude, void *data);

/* Factors of results: magnitudes uniform in (0.25, 1.75), none near 0, with random signs. */
void tw_fill_factors(uint64_t seed, int operand, const tw_operand *, void *data);

/* As tw_fill_uniform, with a middle and an amplitude for each row. */
typedef struct tw_row_spread {
  double middle, amplitude;
} tw_row_spread;
void tw_fill_rows(uint64_t seed, int operand, const tw_operand *, tw_row_spread (*)(uint64_t seed, int64_t row),
                  void *data);

/* Replaces one element of one row in `one_in`, both at random, by what `outlier` makes of it. */
void tw_fill_outliers(uint64_t seed, int one_in, const tw_operand *, double (*outlier)(double element, tw_random *),
                      void *data);

/* Rows around 0 with an amplitude from 1 down to 2^-7. */
tw_row_spread tw_spread_by_row(uint64_t seed, int64_t row);
/* From 8, where functions bend and products reach beyond 1, down to 2^-4, where functions are almost lines. */
tw_row_spread tw_spread_to_bends(uint64_t seed, int64_t row);

/* As tw_fill_uniform, for operands of products: each line (a row or a column) is drawn in one of four manners. The
 * seed chooses how frequent each manner is. So lines differ from each other, and so do cases.
 *
 *   uniform   in (-1, 1)
 *   upper     magnitudes in [1/2, 1): no product is small, so that leaving one out shows
 *   binades   magnitudes in [1/16, 1), equally often in each of four binades
 *   few       one element of four in [1/2, 1), the other three in [1/8, 1/4)
 *
 * Each line is multiplied by a number of its own in [1/2, 1). If `wide`, it is also multiplied by 1, 1/2, 1/4 or
 * 1/8, and a run of 32 to 128 lines of every 256 by 1/8. Signs are random in all manners: bounds rely on partial
 * sums being walks (numerics.h). */
typedef enum tw_lines { TW_LINES_ROWS, TW_LINES_COLUMNS } tw_lines;
void tw_fill_lines(uint64_t seed, int operand, const tw_operand *, tw_lines, bool wide, void *data);

/* The terms of a sum of n products differ in size: some factors of one operand are small, and the factors of the other
 * operand are larger by the same ratio. Products keep their size, so each product still counts. A kernel with less
 * accuracy for small factors is therefore found. One term of every eight is small alone; of every 256 terms a run of 32
 * to 128 is small together. The exponent of two of term p: one operand has the factor 2^exponent, the other
 * 2^-exponent. */
int tw_term_exponent(uint64_t seed, int64_t p, int64_t n);

/* Multiplies each element by 2^exponent of its term, or by 2^-exponent. Exact, unless the type has fewer exponents.
 * `far`: one of two neighbouring terms, drawn at random, has exponent 24, and the other -24. Types with exponents of 8
 * bits hold the results; a kernel that computes in f16, in fixed point or with limits does not. */
typedef struct tw_terms {
  uint64_t seed;
  int64_t n;
  int64_t run; /* rows that share a term; 0: the column of an element is its term */
  bool inverse, far;
} tw_terms;
void tw_scale_terms(const tw_terms *, const tw_operand *, void *data);

/* One line of zeros: its index for seeds of TW_SEED_KIND if there are two lines or more, else -1. It reveals a
 * kernel that divides by the largest element of a line, or skips zeros. */
int64_t tw_zero_line(uint64_t seed, int operand, int64_t lines);
void tw_zero_row(const tw_operand *, int64_t row, void *data); /* -1: nothing */
void tw_zero_column(const tw_operand *, int64_t column, void *data);
/* tw_zero_line and tw_zero_row for an operand whose rows are lines. */
void tw_zero_a_row(uint64_t seed, int operand, const tw_operand *, void *data);

#endif
