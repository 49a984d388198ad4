/* gemm_swap_ab.h - swap-AB GEMM for few rows and packed weights (packed=1) on Hopper: C^T = B A^T by wgmma.
 *
 * Rows of B are the 64 rows of the instruction, and codes become its register operand. Rows of A are its 8, 16, 24 or 32 columns. So the
 * instructions of a weight do not depend on the rows of A. One warp copies codes by TMA, others put A into the codes' order in
 * shared memory, and warpgroups multiply. With shuffle=mma A needs no order, and two or three warps copy. Warpgroups with the same columns share the k of each stage.
 *
 *   swap_ab n=64 k=512 consumers=2       columns of a block (with shuffle=mma, any multiple of 16: the last warps of an incomplete
 *                                        product repeat rows), k of a stage; consumer warpgroups: a multiple of n / 64, rounded up
 *   stages 6                             stages in flight [default: as many as fit]
 *   blocks_per_sm 2                      blocks of a multiprocessor at once
 *   split_k 2                            blocks of a cluster divide k and add their partial sums
 *   prefetch_weights 1                   as for skinny GEMM (gemm_skinny.h) */
#ifndef TW_TILE_GEMM_SWAP_AB_H
#define TW_TILE_GEMM_SWAP_AB_H

#include "gpu/common/family.h"

typedef struct tw_tile_swap_ab_plan {
  int n, k, consumers, stages, blocks, split, rest; /* n = 0: no step yet; `rest` is prefetch_weights */
  int few;                                          /* m rounded up to the columns of a product */
  int prepare, producers;                           /* warps that prepare A; that copy */
  int slices, count;                                /* of 64 bytes of a row of B: of a stage, of a warpgroup */
  int words;                                        /* of scales of a stage and row; 0: none are copied */
  int threads;
  int64_t shared_bytes;
} tw_tile_swap_ab_plan;

extern const tw_tile_family tw_tile_swap_ab;

#endif
