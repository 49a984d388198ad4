/* hazards.h - which instructions an instruction must follow: from the waits of a trace, or from the regions it touches. */
#ifndef TW_TRAINIUM_HAZARDS_H
#define TW_TRAINIUM_HAZARDS_H

#include "target/trainium/timing/cost.h"

/* An edge from an earlier instruction. If it only fixes an order (write after read, write after write,
 * accumulation), and both are on the same in-order engine, no wait is needed. */
typedef struct trn_edge {
  int instruction;
  bool is_order;
} trn_edge;

typedef struct trn_hazards {
  /* edges of instruction i: edge[first[i]] up to edge[end[i]]; a leader has the edges of its members */
  size_t *first, *end;
  trn_edge *edge;
  size_t n, capacity;
  /* instructions that must follow instruction i: successor[first_successor[i]] up to successor[first_successor[i + 1]] */
  size_t *first_successor;
  int *successor;
} trn_hazards;

tw_status trn_find_hazards(const trn_compiled *, trn_hazards *out, tw_error *);
/* Takes the arrays of a program's instructions, except places: nothing is removed or merged yet. False without memory. */
bool trn_take_arrays(trn_compiled *);
/* Back to the order of the source, without merged instructions. */
void trn_forget_groups(trn_compiled *);
/* For a program in the order of its source, before the compiler. */
tw_status trn_find_program_hazards(const trn_program *, trn_hazards *out, tw_error *);
void trn_hazards_free(trn_hazards *);

/* TW_FAILED, with both lines, if an iteration of a parallel loop reads data that another has written (races.c). */
tw_status trn_check_races(const trn_program *, tw_error *);

/* Picks a random byte in each of TRN_SLICE_PARTS equal parts of each output, and marks in needed[i] (malloc'ed) the
 * instructions that these bytes depend on. NULL: the whole program has to run, because a slice is unknown or saves
 * little. */
enum { TRN_SLICE_PARTS = 8 };
tw_status trn_slice(const trn_program *, uint64_t seed, uint8_t **needed, tw_error *);

#endif
