/* least.h - what every kernel of a problem must do, for bounds that no possible kernel is below. */
#ifndef TW_OP_LEAST_H
#define TW_OP_LEAST_H

#include "tilewright/extend/op.h"

/* Bytes that are read and written, and multiply-adds. Without what a result does not depend on: elements between
 * windows, and products with padding, or by scale=0, with weights that have no other products. */
typedef struct tw_least {
  double read, written, operations;
} tw_least;

/* first_only: of the outputs, the kernel writes the first alone. */
tw_least tw_least_work(const tw_problem *, bool first_only);

/* Whether the result has the input's elements, so that one copy with other strides computes it. */
bool tw_is_copy(const tw_problem *);

#endif
