/* gemm_mx.h - the structure of a GEMM of tiles with block-scaled operands (MXFP4, MXFP6, MXFP8, in any mixture): A is
 * quantized in the kernel, by its groups together, and shared by them; weights, packed beforehand for the matrix
 * instructions, go from memory to registers. A kernel before it packs them: what a real model does once.
 *
 *   tile m=16 n=128       a block computes m x n of C, 256 of its sums at a time
 *   groups 4              that share it, and the quantization of A: each has n / groups of its columns
 *   ahead 2               steps whose operands are on their way; as many as k has: all in registers from the start
 *   split 4               blocks share a tile's k; a kernel after them adds their sums
 *   order window=8 chunk=8  which block has which tile */
#ifndef TW_TILE_GEMM_MX_H
#define TW_TILE_GEMM_MX_H

#include "tile/family.h"

typedef struct tw_tile_mx_plan {
  int m, n, groups, ahead, split, window, chunk;
  int64_t columns, deep, shared_bytes; /* of the packed weights: n and k rounded up */
} tw_tile_mx_plan;

extern const tw_tile_family tw_tile_mx;

#endif
