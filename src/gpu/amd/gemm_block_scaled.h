/* gemm_block_scaled.h - block-scaled GEMM for AMD gfx950: MXFP4, MXFP6 and MXFP8, in any mixture.
 *
 * The waves of a workgroup quantize A in the kernel and share the result. Weights are packed by a kernel before it, in the
 * layout of the matrix instructions. Packed weights go from memory to registers. An A that is block-scaled already is
 * packed and loaded like weights. With packed=1 codes and scales are given, in rows or in AITER's order, and are read
 * where they are. Steps:
 *
 *   tile m=16 n=128         the tile of C of a workgroup; a step covers 256 of k
 *   waves 4                 waves that share the quantization of A; each has n / waves columns
 *   register_prefetch 2     steps whose operands are in flight; with as many as k has, all operands are loaded at the start
 *   split_k 4               workgroups divide k; a second kernel adds the partial sums
 *   rasterize window=8 chunk=8   which workgroup has which tile
 *   fixed_shape             sizes and pitches are constants of the source: no division by variables, fewer arguments
 *   preload_arguments       arguments are in scalar registers when a wave starts
 *   prioritize_loads        a wave has priority while it issues its loads of A
 *   share_a                 waves load a packed A together and share it through LDS
 *   nontemporal_stores      C is not kept in the caches
 *   sums_in_vgprs           matrix instructions keep their sums in VGPRs
 *
 * `hand_scheduled` (gemm_block_scaled_hand_scheduled.c) is for large products of two MXFP4 or two MXFP8 operands. Both are
 * packed, copied to LDS with their scales, and multiplied in a hand-scheduled loop (loop.h):
 *
 *   tile m=256 n=256        the tile of C of a workgroup
 *   hand_scheduled          128 bytes of each row in a step; 2 x 2 waves
 *   mfma 32, stages 2       as in gemm_multistage.h */
#ifndef TW_TILE_GEMM_BLOCK_SCALED_H
#define TW_TILE_GEMM_BLOCK_SCALED_H

#include "base/template.h"
#include "gpu/common/family.h"
#include "op/gemm_problem.h"

typedef struct tw_tile_block_scaled_plan {
  /* `groups` are waves, `ahead` is register_prefetch, `split` is split_k. */
  int m, n, groups, ahead, split, window, chunk;
  bool hand_scheduled, fixed_shape, preload, sums_in_vgprs, nontemporal, prioritize, share;
  /* With hand_scheduled: the side of a matrix instruction, and the pipeline depth. */
  int side, stages;
  /* Columns and depth of the packed weights: n and k rounded up. */
  int64_t columns, deep, shared_bytes;
  /* Rows of a packed A: m rounded up; 0: A is quantized in the kernel. */
  int64_t lines;
} tw_tile_block_scaled_plan;

extern const tw_tile_family tw_tile_block_scaled;

/* The type to which A is quantized; the type of A in memory. */
tw_type tw_tile_block_scaled_left(const tw_gemm *);
tw_type tw_tile_block_scaled_stored(const tw_gemm *);
/* Is operand 'a' or 'b' given as codes and scales? */
bool tw_tile_block_scaled_given(const tw_gemm *, char operand);
/* Slots of either kernel. */
void tw_tile_block_scaled_slots(tw_slots *, const tw_gemm *, const tw_tile_block_scaled_plan *);

/* For plans with hand_scheduled. */
tw_status tw_tile_block_scaled_settle_hand_scheduled(const tw_tile_machine *, const tw_gemm *,
                                                     tw_tile_block_scaled_plan *, tw_error *);
tw_status tw_tile_block_scaled_write_hand_scheduled(const tw_tile_machine *, const tw_gemm *,
                                                    const tw_tile_block_scaled_plan *, tw_text *, tw_error *);

#endif
