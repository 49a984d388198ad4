/* attention.h - the structure of kernels for attention, forward and backward: a schedule, and the kernel that it describes.
 *
 * Forward, a block goes through the keys for 64 queries of each of its groups, keeping the largest score and the sum of weights of
 * each row (online softmax, FlashAttention). The scores of the next keys are multiplied while the weights of the last ones
 * are. Steps:
 *
 *   tile keys=128 groups=2            keys at a time; groups of 64 queries
 *   turns                             groups multiply in turn: one multiplies while another makes weights of its scores
 *   persistent                        a block for each processor goes through tiles: copies of the next begin in the last
 *   stages 2                          tiles of keys and values under way
 *   registers copy=24 multiply=240    of a thread
 *
 * Backward, a block goes through the queries for 64 keys of each of its groups, and for all heads that share them: dK and dV
 * stay in registers, dQ is added up in memory. Kernels before and after it prepare and round. Steps:
 *
 *   tile queries=64 groups=2          queries at a time; groups of 64 keys
 *   stages 2, registers               as above, of queries and gradients of O
 *
 * bf16 and f16, d = 64 and 128, any number of queries and keys, grouped queries, causal or not. The empty schedule has no
 * kernel here. */
#ifndef TW_TILE_ATTENTION_H
#define TW_TILE_ATTENTION_H

#include <stdbool.h>
#include <stdint.h>

#include "tile/family.h"

typedef struct tw_tile_attention_plan {
  int keys, groups;                               /* keys = 0: no tiles yet */
  int queries;                                    /* backward */
  bool turns, persistent, apart;                  /* apart: O is laid out in room of its own, and not where Q was */
  int stages, registers_copy, registers_multiply; /* 0: not said yet */
  int heads_at_once; /* causal: heads whose longest rows come first together, so that the L2 holds their keys and values */
  int64_t shared_bytes;
} tw_tile_attention_plan;

extern const tw_tile_family tw_tile_attention, tw_tile_attention_backward;

#endif
