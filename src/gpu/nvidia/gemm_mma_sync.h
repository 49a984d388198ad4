/* gemm_mma_sync.h - the structure of a GEMM kernel for NVIDIA GPUs without wgmma and TMA: a schedule, and the kernel that it describes.
 *
 * All warps of a block copy tiles of A and B by cp.async, read them by ldmatrix and multiply by mma.sync. Steps:
 *
 *   tile m=128 n=256 k=32 warps_m=2 warps_n=4    a block computes m x n of C, k of its sums at a time, shared among 2 x 4 warps
 *   stages 4                                     tiles of A and B in shared memory
 *   blocks_per_sm 2                              blocks of a multiprocessor at once: one multiplies while another waits or stores
 *   split_k_workspace 4                          blocks share a tile's k; a second kernel adds their sums
 *   rasterize m=8 | rasterize n=8                the order of tiles: bands of 8 rows (columns) of them
 *
 * Operands whose pitch is not a multiple of 16 bytes are copied to the workspace first, and 8-bit and f32 operands that are stored across
 * k are transposed there. */
#ifndef TW_TILE_GEMM_MMA_SYNC_H
#define TW_TILE_GEMM_MMA_SYNC_H

#include <stdbool.h>
#include <stdint.h>

#include "gpu/common/family.h"

typedef struct tw_tile_gemm_mma_plan {
  int m, n, k, warps_m, warps_n; /* m = 0: no tiles yet */
  int stages, blocks, parts;
  bool band_columns;
  int band;
  bool moved_a, moved_b;           /* a first kernel copies them to rows that begin at multiples of 16 bytes */
  bool transposed_a, transposed_b; /* the repacked rows run along k */
  bool across_a, across_b;         /* shared tiles have k down their rows */
  bool aligned_c;                  /* rows of results begin at multiples of 16 bytes */
  int64_t shared_bytes;
} tw_tile_gemm_mma_plan;

extern const tw_tile_family tw_tile_gemm_mma_sync;

#endif
