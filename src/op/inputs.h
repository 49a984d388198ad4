/* inputs.h - random inputs of real types. The same seed gives the same bytes on every machine, with any number of cores:
 * each row has a stream of its own. */
#ifndef TW_OP_INPUTS_H
#define TW_OP_INPUTS_H

#include "op/operand.h"

/* Multiples of 2^-24 amplitude, uniform in (-amplitude, amplitude), rounded to the operand's type. `operand` (its index)
 * tells the streams of one seed apart. */
void tw_fill_uniform(uint64_t seed, int operand, const tw_operand *, double amplitude, void *data);

/* Likewise, with a middle and an amplitude for each row. */
typedef struct tw_spread {
  double middle, amplitude;
} tw_spread;
void tw_fill_rows(uint64_t seed, int operand, const tw_operand *, tw_spread (*)(uint64_t seed, int64_t row),
                  void *data);

#endif
