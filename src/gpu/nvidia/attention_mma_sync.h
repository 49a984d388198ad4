/* attention_mma_sync.h - the structure of kernels for attention without wgmma and TMA: a schedule, and the kernel that it describes.
 *
 * All warps of a block copy keys and values by cp.async and multiply by mma.sync (FlashAttention-2). Steps:
 *
 *   tile queries=128 keys=64 warps=4    queries of a block, shared among its warps; keys at a time
 *   stages 2                            tiles of keys, and of values, in shared memory
 *   blocks_per_sm 2                     blocks of a multiprocessor at once: one multiplies while another computes P
 *
 * Backward, a block goes through the queries for its keys, 32 of each two warps, and for all heads that share them: dK and dV stay in
 * registers, dQ is added up in memory. Kernels before and after it prepare and round. Steps:
 *
 *   tile queries=64 keys=128            queries of a step; keys of a block
 *   stages 2, blocks_per_sm             as above, of queries and gradients of O
 *
 * bf16 and f16, any number of queries and keys, grouped queries, causal or not; d a multiple of 16 up to 256, backward 32, 64 and 128. */
#ifndef TW_TILE_ATTENTION_MMA_SYNC_H
#define TW_TILE_ATTENTION_MMA_SYNC_H

#include <stdint.h>

#include "gpu/common/family.h"

typedef struct tw_tile_attention_mma_plan {
  int queries, keys, warps; /* queries = 0: no tiles yet */
  int stages, blocks;
  int width; /* elements of a shared row: d, or more if rows of d elements have no swizzle */
  /* causal: number of heads whose longest rows come first, so that the L2 holds their keys and values */
  int heads_at_once;
  int64_t shared_bytes;
} tw_tile_attention_mma_plan;

/* Elements of a shared row of a head: it has 32, 64 or n x 128 bytes, and its pieces divide the threads. */
int tw_tile_attention_mma_width(int64_t d);

/* The slots of the kernels of both passes. */
void tw_tile_attention_mma_slots(const tw_tile_machine *, const tw_problem *, const void *plan, tw_slots *);

extern const tw_tile_family tw_tile_attention_mma_sync, tw_tile_attention_mma_sync_backward;

#endif
