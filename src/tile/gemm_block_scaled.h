/* gemm_block_scaled.h - the structure of a GEMM of tiles with block-scaled operands (MXFP4, MXFP6, MXFP8, in any mixture): A is
 * quantized in the kernel, by its groups together, and shared by them; weights, packed beforehand for the matrix
 * instructions, go from memory to registers. A kernel before it packs them: what a real model does once. An A whose numbers
 * are such blocks already is packed and loaded as weights are.
 *
 *   tile m=16 n=128       a block computes m x n of C, 256 of its sums at a time
 *   groups 4              that share it, and the quantization of A: each has n / groups of its columns
 *   ahead 2               steps whose operands are on their way; as many as k has: all in registers from the start
 *   split 4               blocks share a tile's k; a kernel after them adds their sums
 *   order window=8 chunk=8  which block has which tile
 *
 * `pinned` is for large products of two operands of one type, MXFP4 or MXFP8 (gemm_block_scaled_hand_scheduled.c): both are packed beforehand,
 * copied to LDS with their scales, and multiplied by the machine's own loop (loop.h):
 *
 *   tile m=256 n=256      a block computes m x n of C
 *   pinned                128 bytes of a row at a time; 2 x 2 groups
 *   product 32, stages 2  as gemm_multistage.h has them */
#ifndef TW_TILE_GEMM_BLOCK_SCALED_H
#define TW_TILE_GEMM_BLOCK_SCALED_H

#include "base/template.h"
#include "op/gemm_problem.h"
#include "tile/family.h"

typedef struct tw_tile_block_scaled_plan {
  int m, n, groups, ahead, split, window, chunk;
  bool pinned;
  int side, stages;                    /* of a pinned one */
  int64_t columns, deep, shared_bytes; /* of the packed weights: n and k rounded up */
  int64_t lines;                       /* of a packed A: m rounded up; 0: it is quantized in the kernel */
} tw_tile_block_scaled_plan;

extern const tw_tile_family tw_tile_block_scaled;

/* What A becomes, and as what its numbers lie in memory. */
tw_type tw_tile_block_scaled_left(const tw_gemm *);
tw_type tw_tile_block_scaled_stored(const tw_gemm *);
/* Slots of either kernel. */
void tw_tile_block_scaled_slots(tw_slots *, const tw_tile_machine *, const tw_gemm *,
                                const tw_tile_block_scaled_plan *);

/* Of a plan that is pinned. */
tw_status tw_tile_block_scaled_settle_hand_scheduled(const tw_tile_machine *, const tw_gemm *,
                                                     tw_tile_block_scaled_plan *, tw_error *);
tw_status tw_tile_block_scaled_write_hand_scheduled(const tw_tile_machine *, const tw_gemm *,
                                                    const tw_tile_block_scaled_plan *, tw_text *, tw_error *);

#endif
