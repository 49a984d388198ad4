/* rows_split.h - the structure of kernels for norms and softmax whose rows are longer than a block's registers, or too few to fill a GPU: blocks
 * share a row, which is read twice. Steps:
 *
 *   split_row blocks=64    blocks of a row
 *   threads 256            threads of a block
 *   chunks 4               16-byte chunks that a thread has in flight
 *   lag 8                  one kernel, which reads a row again when it has measured this many further rows: from the L2
 *
 * Rows that are no multiple of 16 bytes are read element by element. Norms without dropout and residual. */
#ifndef TW_TILE_ROWS_SPLIT_H
#define TW_TILE_ROWS_SPLIT_H

#include <stdint.h>

#include "gpu/common/family.h"

typedef struct tw_tile_rows_split_plan {
  /* blocks = 0: no `split_row` step yet. */
  int blocks, threads, each;
  /* 0: two kernels. */
  int lag;
  /* Elements of a load; of a block. */
  int count;
  int64_t part;
} tw_tile_rows_split_plan;

extern const tw_tile_family tw_tile_rows_split;

#endif
