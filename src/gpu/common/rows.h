/* rows.h - kernels that memory bandwidth limits: every element is read once, kept in registers, and written once.
 *
 * rotary: a thread rotates 16 bytes of each half of `heads` neighbouring heads by the same angles. Steps:
 *   heads 2          heads of a thread
 *   threads 256      threads of a block
 * gate, elementwise: a thread computes `chunks` times 16 bytes, of each half of a gate. Steps:
 *   chunks 2         chunks of a thread
 *   threads 256      threads of a block
 * layernorm, softmax: `warps` warps keep a row in registers. Steps:
 *   row warps=4      warps of a row
 *   block rows=2     rows of a block
 * all:
 *   streaming        loads and stores bypass the caches
 *
 * The empty schedule is the target's plain kernel. */
#ifndef TW_TILE_ROWS_H
#define TW_TILE_ROWS_H

#include "gpu/common/family.h"

typedef struct tw_tile_rows_plan {
  int warps, rows, heads, each, threads; /* 0: not given yet */
  bool once;
  int64_t chunks;                /* pieces of 16 bytes that a thread has in flight */
  int64_t blocks, block_threads; /* of the launch */
} tw_tile_rows_plan;

extern const tw_tile_family tw_tile_rotary, tw_tile_layernorm, tw_tile_softmax, tw_tile_gate, tw_tile_elementwise;

#endif
