/* gemm_sliced_k.h - the structure of a GEMM of few rows whose weights are codes (packed=1): each warp has slices of k of its own
 * and all of the block's rows of B in them. Its slice of A stays in registers while rows go by; warps wait for nobody until
 * their sums meet.
 *
 *   slices n=224 rows=32 warps=16    columns of a block, and of a step of a warp; warps, which share k
 *   ahead 4                          steps that a warp has under way
 *   rest 1                           weights are written by nobody who may still be at work: they set out before the kernel
 *                                    before has ended. So many blocks for each processor, those without work among them, keep
 *                                    every launch's blocks one to a place
 *   late 400                         nanoseconds until they do: A of the kernel before goes first
 *   blocks 2                         of a processor at once
 *
 * One or two rows of A are multiplied otherwise than more (tile_slices_products.cuh). */
#ifndef TW_TILE_GEMM_SLICED_K_H
#define TW_TILE_GEMM_SLICED_K_H

#include "tile/family.h"

typedef struct tw_tile_sliced_k_plan {
  int n, rows, warps, ahead, rest, late, blocks;
  int together; /* slices that share a factor of sums, 0: all */
  int threads;
  int64_t shared_bytes;
} tw_tile_sliced_k_plan;

extern const tw_tile_family tw_tile_sliced_k;

#endif
