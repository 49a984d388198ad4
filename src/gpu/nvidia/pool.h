/* pool.h - the structure of kernels for op `pool`: a thread computes results that are one below another, and reads what
 * their windows share once. Neighbouring threads have neighbouring columns. With `vectors`, a warp computes a span of a
 * row, reads and writes 16 bytes at a time, and its threads exchange what their windows share. Steps:
 *
 *   outputs 4        results of a thread
 *   vectors 4        pieces of 16 bytes of a thread, instead of `outputs`
 *   threads 256      threads of a block */
#ifndef TW_TILE_POOL_H
#define TW_TILE_POOL_H

#include <stdint.h>

#include "gpu/common/family.h"

typedef struct tw_tile_pool_plan {
  /* The steps' numbers; 0: not given yet. */
  int outputs, vectors, threads;
  /* With `vectors`: results of a warp, and warps that share a row. */
  int64_t span, spans;
  /* Thread blocks of the launch. */
  int64_t blocks;
} tw_tile_pool_plan;

extern const tw_tile_family tw_tile_pool;

#endif
