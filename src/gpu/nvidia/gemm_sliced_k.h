/* gemm_sliced_k.h - sliced-K GEMV: GEMM of few rows with packed weights (packed=1) for NVIDIA GPUs.
 *
 * Each warp has its own slices of k, and all rows of B of the block in them. Its slice of A stays in registers while rows of B
 * stream by. Warps do not synchronize until they add their partial sums.
 *
 *   sliced_k n=224 rows=32 warps=16  columns of a block, and of a step of a warp; warps, which divide k
 *   register_prefetch 4              steps that a warp has in flight
 *   prefetch_weights 1               weights are constant across launches, so loads start before the previous kernel has ended
 *                                    (PDL). This many blocks on each multiprocessor, some without work, keep the blocks of
 *                                    every launch in the same places
 *   prefetch_delay 400               nanoseconds to wait before these loads, so that A of the previous kernel goes first
 *   blocks_per_sm 2                  blocks of a multiprocessor at once
 *
 * One or two rows of A have a separate product (tile_slices_products.cuh). */
#ifndef TW_TILE_GEMM_SLICED_K_H
#define TW_TILE_GEMM_SLICED_K_H

#include "gpu/common/family.h"

typedef struct tw_tile_sliced_k_plan {
  /* `ahead` is register_prefetch, `rest` prefetch_weights, `late` prefetch_delay, `blocks` blocks_per_sm. */
  int n, rows, warps, ahead, rest, late, blocks;
  int together; /* slices that share a factor for their sums, 0: all slices */
  int threads;
  int64_t shared_bytes;
} tw_tile_sliced_k_plan;

extern const tw_tile_family tw_tile_sliced_k;

#endif
