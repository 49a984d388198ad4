/* rows.h - kernels that memory's bandwidth limits: every element is read once, kept in registers, and written once.
 *
 * rotary: a thread turns 16 bytes of each half of `heads` neighbouring heads by the same angles. Steps:
 *   heads 2          heads of a thread
 *   threads 256      of a block
 * layernorm, softmax: `warps` warps keep a row in registers. Steps:
 *   row warps=4      of a row
 *   block rows=2     rows of a block
 * all:
 *   once             loads and stores pass by the caches
 *
 * The empty schedule has no kernel here: what is plainest is the target's. */
#ifndef TW_TILE_ROWS_H
#define TW_TILE_ROWS_H

#include "tile/machine.h"
#include "tilewright/menu.h"
#include "tilewright/op.h"

typedef struct tw_tile_rows_plan {
  int warps, rows, heads, threads; /* 0: not said yet */
  bool once;
  int64_t chunks;                /* of 16 bytes that a thread has under way */
  int64_t blocks, block_threads; /* of the launch */
} tw_tile_rows_plan;

typedef struct tw_tile_rows {
  const char *op;
  tw_status (*plan)(const tw_tile_machine *, const tw_problem *, const tw_schedule *, tw_tile_rows_plan *, tw_error *);
  tw_status (*emit)(const tw_tile_machine *, const tw_problem *, const tw_schedule *, char **source, tw_error *);
  tw_status (*steps)(const tw_tile_machine *, const tw_problem *, const tw_schedule *,
                     double (*predict)(const void *predictor, const tw_tile_rows_plan *), const void *predictor,
                     tw_menu *, tw_error *);
} tw_tile_rows;

extern const tw_tile_rows tw_tile_rotary, tw_tile_layernorm, tw_tile_softmax;

#endif
