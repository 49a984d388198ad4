/* hazards.h - which instructions an instruction must follow: from the waits of a trace, or from the regions it touches. */
#ifndef TW_TRAINIUM_HAZARDS_H
#define TW_TRAINIUM_HAZARDS_H

#include "target/trainium/timing/cost.h"

/* An edge from an earlier instruction. Where it is only an order (write after read, write after write, accumulation), an
 * in-order engine needs no wait for itself. */
typedef struct trn_edge {
  int instruction;
  bool is_order;
} trn_edge;

typedef struct trn_hazards {
  size_t *first, *end; /* edges of instruction i: edge[first[i]] up to edge[end[i]]; a leader has its members' */
  trn_edge *edge;
  size_t n, capacity;
} trn_hazards;

tw_status trn_find_hazards(const trn_compiled *, trn_hazards *out, tw_error *);
/* For a program in the order of its source, before the compiler. */
tw_status trn_find_program_hazards(const trn_program *, trn_hazards *out, tw_error *);
void trn_hazards_free(trn_hazards *);

/* Marks in needed[i] (malloc'ed) the instructions that a random byte of each of TRN_SLICE_PARTS equal parts of each output
 * depends on. NULL: a slice is not known or saves little, so the whole program has to run. */
enum { TRN_SLICE_PARTS = 16 };
tw_status trn_slice(const trn_program *, uint64_t seed, uint8_t **needed, tw_error *);

#endif
