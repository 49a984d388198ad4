/* reduce.h - the structure of kernels for op `reduce`. A thread adds up pieces of a line; `lanes` threads of a block, and
 * as many of `blocks` blocks, share a line. A piece is 16 bytes where sizes permit it, else one element. With inner=1 the
 * pieces are of one line; else each element of a piece belongs to a line of its own. Steps:
 *
 *   lanes 8          threads of a block that share a line
 *   split 4          blocks that share a line; a second kernel joins their results
 *   loads 4          pieces that a thread has in flight
 *   threads 256      threads of a block
 *
 * Every size is supported. */
#ifndef TW_TILE_REDUCE_H
#define TW_TILE_REDUCE_H

#include <stdint.h>

#include "gpu/common/family.h"

typedef struct tw_tile_reduce_plan {
  /* The steps' numbers; 0: not given yet. */
  int lanes, blocks, loads, threads;
  /* Elements of a piece, and its bytes. */
  int count, piece_bytes;
  /* Pieces of a line, and groups of `count` lines (of one line with inner=1). */
  int64_t items, groups;
  /* Thread blocks of the launch. */
  int64_t grid;
} tw_tile_reduce_plan;

extern const tw_tile_family tw_tile_reduce;

/* The kernel of the empty schedule for machines without tile kernels. */
tw_status tw_tile_reduce_plain(const tw_problem *, tw_text *, tw_error *);

#endif
