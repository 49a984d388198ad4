/* attention_decode.h - the structure of attention kernels for few queries and many keys (FlashDecoding): a schedule, and the kernel
 * that it describes.
 *
 * The queries of all heads that share keys are the rows of one product, by mma.sync. Each warp goes through tiles of keys of its
 * own. Steps:
 *
 *   decode keys=32 warps=4    keys of a warp's tile; warps of a block
 *   split_kv 16               blocks that share the keys of a sequence and head; with two or more a second kernel adds their results
 *   stages 3                  tiles of keys, and of values, of each warp in shared memory
 *   blocks_per_sm 2           blocks of a multiprocessor at once
 *
 * bf16 and f16, at most 64 rows, d a multiple of 16 up to 256, causal or not, windows, soft caps, lengths and pages. */
#ifndef TW_TILE_ATTENTION_DECODE_H
#define TW_TILE_ATTENTION_DECODE_H

#include <stdint.h>

#include "gpu/common/family.h"

typedef struct tw_tile_attention_decode_plan {
  int keys, warps, splits; /* keys = 0: no `decode` step yet */
  int stages, blocks;
  int rows;  /* rows of the product: queries of all heads that share keys, and rows of zeros */
  int width; /* elements of a shared row: d, or more if rows of d elements have no swizzle */
  int64_t shared_bytes;
} tw_tile_attention_decode_plan;

extern const tw_tile_family tw_tile_attention_decode;

#endif
