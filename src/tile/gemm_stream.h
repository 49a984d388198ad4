/* gemm_stream.h - the structure of a GEMM of few rows whose weights are codes (packed=1): warps read them from memory straight
 * into registers, make numbers of them and multiply, each for itself; nothing is waited for between the first chunk and the
 * sums. A lies in shared memory, arranged once for all warps of a block.
 *
 *   stream n=224 rows=16 warps=2    columns of a block, and of a warp; warps that share k
 *   ahead 4                         chunks of 64 bytes of a row that a warp has under way
 *   blocks 2                        of a processor at once
 *   split 2                         blocks share k, and A: a team adds their sums */
#ifndef TW_TILE_GEMM_STREAM_H
#define TW_TILE_GEMM_STREAM_H

#include "tile/family.h"

typedef struct tw_tile_stream_plan {
  int n, rows, warps, ahead, blocks, split;
  int few, chunks, together; /* rows of A rounded up; of a block; chunks that share a factor of sums, 0: all */
  int threads;
  int64_t shared_bytes;
} tw_tile_stream_plan;

extern const tw_tile_family tw_tile_stream;

#endif
