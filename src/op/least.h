/* least.h - what every kernel of a problem must do, for bounds that no possible kernel is below. */
#ifndef TW_OP_LEAST_H
#define TW_OP_LEAST_H

#include "tilewright/extend/op.h"

/* Bytes that are read and written, and multiply-adds. Inputs count only if every element has an effect: not with
 * gaps between windows, with weights that meet only padding, or with scale=0. Products with padding do not count. */
typedef struct tw_least {
  double read, written, operations;
} tw_least;

/* first_only: of the outputs, the kernel writes the first alone. */
tw_least tw_least_work(const tw_problem *, bool first_only);

/* Whether the result has the input's elements, so that one copy with other strides computes it. */
bool tw_is_copy(const tw_problem *);

#endif
