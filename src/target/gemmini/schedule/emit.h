/* emit.h - shared by the parts of the emitter. */
#ifndef TW_GEMMINI_EMIT_H
#define TW_GEMMINI_EMIT_H

#include "target/gemmini/schedule/emit_slots.h"
#include "target/gemmini/schedule/plan.h"
#include "target/gemmini/schedule/writer.h"

typedef struct gm_emitter gm_emitter;
typedef struct gm_nest gm_nest; /* emit_nest.h */

/* A way to give pairs their operands. Functions may be NULL: nothing to do. */
typedef struct gm_addresses {
  bool carry_sizes;                /* addresses have the size of a command in their high bits */
  void (*constants)(gm_emitter *); /* macros, before the kernel */
  void (*begin)(gm_emitter *);     /* before all loops */
  void (*operands)(gm_emitter *);  /* of a step */
  void (*enter)(gm_nest *, int x); /* in a rolled loop: its operands, once per iteration */
  void (*keep)(gm_nest *);         /* before unrolled code */
  void (*pair)(gm_nest *, bool reused);
} gm_addresses;
extern const gm_addresses gm_combined, gm_hoisted; /* emit_addresses.c */

struct gm_emitter {
  const gm_config *config;
  const gm_gemm *g;
  const gm_plan *plan;
  const gm_layout *layout;
  gm_slot_names slots;
  const gm_addresses *addresses;
  gm_writer out;
  /* rows of blocks at the end of the tile of C that are not complete and may not be stored yet: "0" */
  char unready[24];
};

/* Names of the variables of a place in the iteration space, for the step that computes and the step that loads. */
typedef struct gm_place {
  const char *i, *j, *k, *rows; /* first block row, block column, block of k; height of the tile */
} gm_place;

/* Blocks of the step along k at this place: "k ? 4 : 1", or a constant. */
const char *gm_depth_text(const gm_emitter *, const gm_place *, char out[48]);

/* moves: chunks of A and B. A load is set up once in each step (source, destination, number of rows of blocks), then
 * done row by row, all at once or among the pairs. */
void gm_emit_move_variables(gm_emitter *);
void gm_emit_set_loads(gm_emitter *, const gm_place *);
bool gm_all_have_slots(const gm_emitter *); /* true if each row of loads has a slot among the pairs before its step */
void gm_emit_all_loads(gm_emitter *);       /* the remainder of a step's loads */
/* The loads of the step at this place, with variables of their own: a row of A, then B, then the rest of A. */
void gm_emit_first_loads(gm_emitter *, const gm_place *);
void gm_emit_no_loads(gm_emitter *);   /* none are left */
void gm_emit_some_loads(gm_emitter *); /* one row, if any is left */
void gm_emit_set_stores(gm_emitter *); /* for the complete tile */
void gm_emit_all_stores(gm_emitter *);
void gm_emit_some_stores(gm_emitter *); /* one row; when no row is left, one row of fills ahead */
void gm_emit_set_fill(gm_emitter *, const gm_place *, const char *to); /* zeros or bias into the tile at a place */
void gm_emit_all_fills(gm_emitter *);

/* pairs: the computation of one step, with loads and stores among them. */
void gm_emit_pairs(gm_emitter *);

/* the hardware loop instead of all of these */
void gm_emit_hardware_loop(gm_emitter *);

#endif
