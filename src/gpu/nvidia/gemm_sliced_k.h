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
#include "op/gemm_problem.h"

typedef struct tw_tile_sliced_k_plan {
  /* `ahead` is register_prefetch, `rest` prefetch_weights, `late` prefetch_delay, `blocks` blocks_per_sm. */
  int n, rows, warps, ahead, rest, late, blocks;
  int threads;
  int64_t shared_bytes;
} tw_tile_sliced_k_plan;

extern const tw_tile_family tw_tile_sliced_k;

/* ---- shared with swap-AB GEMM ---- */

enum { TW_TILE_SLICE = 64 }; /* bytes of a row of B in a slice */
int tw_tile_slice_codes(const tw_gemm *);
/* Slices that share a word of scales; 0: a row has one scale. */
int tw_tile_slices_of_scale(const tw_gemm *);
/* `kernel` is the name in errors. */
tw_status tw_tile_slices_support(const char *kernel, const tw_tile_machine *, const tw_problem *, tw_error *);
void tw_tile_slices_slots(tw_slots *, const tw_gemm *);

#endif
