/* loops.h - turns a flat sequence back into loop nests.
 *
 * Each element of the sequence has a kind (equal kinds are the same command) and values that may differ (addresses).
 * Three repetitions of the same kinds, whose values grow by equal amounts, become a loop as soon as they are at the
 * end of the sequence. Elements that continue a loop join it.
 *
 * Loops are elements again, so that nests form from the inside out (nested loop recognition, Ketterlin and Clauss,
 * CGO 2008). Other elements are unchanged. The longest body bounds the time for an element, for any length of the
 * sequence: hashes of all prefixes find equal blocks, and the values of a block are contiguous. */
#ifndef TW_GEMMINI_REWRITE_LOOPS_H
#define TW_GEMMINI_REWRITE_LOOPS_H

#include <stddef.h>
#include <stdint.h>

#include "tilewright/status.h"

enum { GM_LOOP_VALUES = 2 };

/* An element: a leaf, or `count` iterations of a loop. */
typedef struct gm_element {
  uint32_t shape, count; /* count 0: a leaf */
} gm_element;

/* The fields that elements of a kind share. */
typedef struct gm_shape {
  uint32_t n_body; /* for a loop: number of elements of its body; for a leaf: 0 */
  gm_element *body;
  int64_t *delta;    /* increment of each value of the body in an iteration */
  uint32_t n_values; /* for a leaf: GM_LOOP_VALUES; for a loop: the number of values of its body */
  uint32_t weight;   /* leaves, bodies counted once */
  const void *leaf;  /* the caller's pointer for the first leaf of this kind */
  uint64_t hash;
} gm_shape;

typedef struct gm_loops {
  const tw_stop *stop; /* the caller's; may be NULL */
  size_t n_shapes, shapes_room;
  gm_shape *shape;
  size_t slots; /* hash table of the shapes: 1 + number; 0 = free */
  uint32_t *slot;
  size_t n, room; /* the sequence */
  gm_element *element;
  uint32_t *body;   /* n_body of each, 0 of a leaf */
  uint64_t *prefix; /* hash of the preceding items; one more than elements */
  size_t *at;       /* index of its first value, with the values of one element after another; one more than elements */
  int64_t *value;
  size_t values_room;
} gm_loops;

/* Appends a leaf and folds the loops that it completes. `kind` (size bytes) identifies equal kinds and must live as
 * long as the loops. TW_INTERRUPTED if `stop` requests it. */
tw_status gm_loops_add(gm_loops *, const void *kind, size_t size, const int64_t value[GM_LOOP_VALUES], tw_error *);
/* Folds loops that need the whole sequence: loops of two iterations. TW_INTERRUPTED if `stop` requests it. */
tw_status gm_loops_fold(gm_loops *, tw_error *);
/* The number of leaves to write; bodies count once. */
size_t gm_loops_weight(const gm_loops *);
void gm_loops_free(gm_loops *);

#endif
