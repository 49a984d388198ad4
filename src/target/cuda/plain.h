/* plain.h - the baseline of an op in CUDA C++: where a search starts, and slow, obvious and right. */
#ifndef TW_CUDA_PLAIN_H
#define TW_CUDA_PLAIN_H

#include "tilewright/op.h"

/* Has the op such a kernel? */
bool cuda_has_plain(const tw_problem *);
/* TW_USAGE for types that have none. */
tw_status cuda_plain(const tw_problem *, char **source, tw_error *);

#endif
