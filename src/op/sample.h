/* sample.h - sampled elements that represent an output: a random one from each of many equal blocks. */
#ifndef TW_OP_SAMPLE_H
#define TW_OP_SAMPLE_H

#include "base/random.h"
#include "tilewright/extend/op.h"

/* x as a whole number of [least, most]. */
int64_t tw_limited(double x, int64_t least, int64_t most);
/* A random number from part `i` of `n` equal parts of [0, size). */
int64_t tw_sample_part(tw_random *, int64_t size, int64_t i, int64_t n);
/* For qsort: by row, then by column. */
int tw_place_order(const void *, const void *);
/* About `wanted` elements, in order: one from each block of a grid whose blocks are as square as possible.
 * malloc'ed; NULL without memory. */
tw_place *tw_sample_elements(tw_random *, int64_t rows, int64_t columns, double wanted, size_t *n);

#endif
