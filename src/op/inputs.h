/* inputs.h - random inputs of real types. The same seed gives the same bytes on every machine, with any number of cores:
 * each row has a stream of its own. */
#ifndef TW_OP_INPUTS_H
#define TW_OP_INPUTS_H

#include "op/operand.h"

/* Multiples of 2^-24 amplitude, uniform in (-amplitude, amplitude), rounded to the operand's type. `operand` (its index)
 * tells the streams of one seed apart. */
void tw_fill_uniform(uint64_t seed, int operand, const tw_operand *, double amplitude, void *data);

/* Factors of results: magnitudes uniform in (0.25, 1.75), none near 0, with random signs. */
void tw_fill_factors(uint64_t seed, int operand, const tw_operand *, void *data);

/* As tw_fill_uniform, with a middle and an amplitude for each row. */
typedef struct tw_spread {
  double middle, amplitude;
} tw_spread;
void tw_fill_rows(uint64_t seed, int operand, const tw_operand *, tw_spread (*)(uint64_t seed, int64_t row),
                  void *data);

/* As tw_fill_uniform, for operands of products: each line (a row, or a column) is of one of four manners, by chance, and which of them
 * there are how often is of the seed's choice, so that lines differ from each other and cases do.
 *
 *   uniform   in (-1, 1)
 *   upper     magnitudes in [1/2, 1): no product is small, so that none can be left out unseen
 *   binades   magnitudes in [1/16, 1), as often in each of four binades
 *   few       one element of four in [1/2, 1), the others in [1/8, 1/4)
 *
 * and all of it times a number in [1/2, 1) of the line's own, and, if `wide`, one of 1, 1/2, 1/4, 1/8. Signs are random in all
 * of them: partial sums are walks, which bounds count on (numerics.h). */
typedef enum tw_lines { TW_LINES_ROWS, TW_LINES_COLUMNS } tw_lines;
void tw_fill_lines(uint64_t seed, int operand, const tw_operand *, tw_lines, bool wide, void *data);

#endif
