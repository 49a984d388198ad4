/* plain.h - the baseline of an op in CUDA C++: where a search starts, and slow, obvious and right. */
#ifndef TW_CUDA_PLAIN_H
#define TW_CUDA_PLAIN_H

#include "tilewright/op.h"

/* TW_USAGE for an op or types that have none. */
tw_status cuda_plain(const tw_problem *, char **source, tw_error *);

#endif
