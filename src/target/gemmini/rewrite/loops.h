/* loops.h - a flat sequence back into loop nests.
 *
 * Each element of the sequence has a kind (equal kinds are the same command) and values that may differ (addresses).
 * Three repetitions of the same kinds, whose values grow by the same amounts from one to the next, become a loop as
 * soon as they are at the end of the sequence; elements that continue a loop join it; loops are elements again, so that
 * nests form from the inside out (nested loop recognition, Ketterlin and Clauss, CGO 2008). Other elements are
 * unchanged.
 *
 * The time for an element is bounded by the longest body, whatever the length of the sequence: equal blocks are found
 * by the hashes of all prefixes, and the values of a block are contiguous. */
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
  uint32_t n_body; /* of a loop: elements of its body; of a leaf: 0 */
  gm_element *body;
  int64_t *delta;    /* increment of each value of the body in an iteration */
  uint32_t n_values; /* of a leaf: GM_LOOP_VALUES; of a loop: all of its body's */
  uint32_t weight;   /* leaves, bodies counted once */
  const void *leaf;  /* what the caller gave, of the first of its kind */
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

/* Appends a leaf and folds the loops that it completes. `kind` (size bytes) tells equal kinds, and must live as long as
 * the loops. TW_INTERRUPTED when `stop` says so. */
tw_status gm_loops_add(gm_loops *, const void *kind, size_t size, const int64_t value[GM_LOOP_VALUES], tw_error *);
/* Folds what only the whole sequence shows: loops of two turns. TW_INTERRUPTED when `stop` says so. */
tw_status gm_loops_fold(gm_loops *, tw_error *);
/* Leaves that are left to write, bodies counted once. */
size_t gm_loops_weight(const gm_loops *);
void gm_loops_free(gm_loops *);

#endif
