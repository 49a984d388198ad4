/* gemm_stream.h - the structure of a GEMM of few rows whose weights are codes (packed=1): every thread brings its own, a few
 * chunks ahead, through a place of its own in shared memory, makes numbers of them and multiplies; warps wait for nobody
 * between the first chunk and the sums. A lies in shared memory, arranged once for all warps of a block.
 *
 *   stream n=224 rows=16 warps=2    columns of a block, and of a warp; warps that share k
 *   ahead 4                         chunks of 64 bytes of a row that a warp has under way
 *   early 1024                      bytes of a row set out for the L2 cache before the kernel before has ended
 *   blocks 2                        of a processor at once
 *   split 2                         blocks share k, and A: a team adds their sums */
#ifndef TW_TILE_GEMM_STREAM_H
#define TW_TILE_GEMM_STREAM_H

#include "tile/family.h"

typedef struct tw_tile_stream_plan {
  int n, rows, warps, ahead, early, blocks, split;
  int few, chunks, together; /* rows of A rounded up; of a block; chunks that share a factor of sums, 0: all */
  int threads;
  int64_t shared_bytes;
} tw_tile_stream_plan;

extern const tw_tile_family tw_tile_stream;

#endif
