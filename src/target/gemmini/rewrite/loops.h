/* loops.h - a flat sequence back into loop nests.
 *
 * Each element of the sequence has a kind (equal kinds do the same) and values that may differ (addresses). A run of
 * repetitions of the same kinds, whose values grow by the same amounts from one to the next, becomes a loop; loops are
 * elements again, so that nests form from the inside out. What fits no loop stays as it is. */
#ifndef TW_GEMMINI_REWRITE_LOOPS_H
#define TW_GEMMINI_REWRITE_LOOPS_H

#include <stddef.h>
#include <stdint.h>

#include "tilewright/status.h"

enum { GM_LOOP_VALUES = 2 };

/* A kind of element. */
typedef struct gm_shape {
  uint32_t count;    /* iterations; 0: a leaf */
  uint32_t n_body;   /* of a loop: elements of its body */
  uint32_t *body;    /* their shapes */
  int64_t *delta;    /* what each value of the body grows by in an iteration */
  uint32_t n_values; /* of a leaf: GM_LOOP_VALUES; of a loop: all of its body's */
  uint32_t weight;   /* leaves, bodies counted once */
  const void *leaf;  /* what the caller gave, of the first of its kind */
} gm_shape;

typedef struct gm_loops {
  size_t n_shapes, shapes_room;
  gm_shape *shape;
  size_t n;          /* the sequence */
  uint32_t *element; /* shapes */
  size_t *at;        /* of its values, in `value` */
  int64_t *value;
  size_t n_values, values_room;
} gm_loops;

/* Appends a leaf. `kind` (size bytes) tells equal kinds, and must live as long as the loops. */
tw_status gm_loops_add(gm_loops *, const void *kind, size_t size, const int64_t value[GM_LOOP_VALUES], tw_error *);
/* Folds the sequence. */
tw_status gm_loops_fold(gm_loops *, tw_error *);
/* Leaves that are left to write, bodies counted once. */
size_t gm_loops_weight(const gm_loops *);
void gm_loops_free(gm_loops *);

#endif
