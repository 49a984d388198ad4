/* rows_split.h - the structure of kernels for layer norm, RMS norm and softmax whose rows are longer than a block's registers, or too few to fill
 * a GPU: blocks share a row, which is read twice. Steps:
 *
 *   split_row blocks=64    blocks of a row
 *   threads 256            threads of a block
 *   chunks 4               16-byte chunks that a thread has in flight
 *
 * Rows of a multiple of 16 bytes; layer norm without dropout and residual. */
#ifndef TW_TILE_ROWS_SPLIT_H
#define TW_TILE_ROWS_SPLIT_H

#include <stdint.h>

#include "gpu/common/family.h"

typedef struct tw_tile_rows_split_plan {
  /* blocks = 0: no `split_row` step yet. */
  int blocks, threads, each;
  /* Elements of a block. */
  int64_t part;
} tw_tile_rows_split_plan;

extern const tw_tile_family tw_tile_rows_split;

#endif
