/* attention.h - warp-specialized attention kernels for NVIDIA GPUs, forward and backward: the plan of a schedule.
 *
 * Forward: a consumer warpgroup has 64 queries. It goes through the keys with online softmax (FlashAttention) and keeps the
 * maximum score and the sum of weights of each row. The scores of the next keys are multiplied during the softmax of the
 * current keys. Steps:
 *
 *   tile keys=128 consumers=2             keys of an iteration; consumer warpgroups
 *   pingpong                              consumers alternate: one multiplies while the other computes its softmax
 *   persistent                            one block on each multiprocessor; copies of the next tile start during the last one
 *   stages 2                              tiles of keys and values in flight
 *   registers producer=24 consumer=240    registers of a thread
 *
 * Backward: a consumer warpgroup has 64 keys. It goes through the queries, of all heads that share these keys. dK and dV stay
 * in registers, and dQ is added up in memory. A kernel before it prepares dQ, and a kernel after it rounds dQ. Steps:
 *
 *   tile queries=64 consumers=2           queries of an iteration; consumer warpgroups
 *   stages 2, registers                   as above; the tiles are queries and gradients of O
 *
 * Supported: bf16 and f16, any number of queries and keys, grouped queries, causal or not; forward d = 48 to 256 in steps of 16
 * with sliding windows, soft caps, sequences that follow one another (`tokens`), `lengths`, and pages of a multiple of 16 keys;
 * backward d = 64 and 128. Heads are padded to a multiple of 64 elements in shared memory, where copies
 * write zeros, so d = 96 costs as much as 128. The empty schedule is the target's plain kernel. */
#ifndef TW_TILE_ATTENTION_H
#define TW_TILE_ATTENTION_H

#include <stdbool.h>
#include <stdint.h>

#include "gpu/common/family.h"

enum { TW_TILE_ATTENTION_LEAST_D = 48 };

typedef struct tw_tile_attention_plan {
  /* keys = 0: no `tile` step yet. `groups` are consumer warpgroups. */
  int keys, groups;
  /* Elements of a head in shared memory. */
  int width;
  /* Backward only. */
  int queries;
  /* apart: O has separate shared memory; otherwise it overwrites Q. */
  bool pingpong, persistent, apart;
  /* 0: not given yet. */
  int stages, registers_copy, registers_multiply;
  /* Causal: number of heads whose longest rows run first, at the same time, so that the L2 holds their keys and
   * values. */
  int heads_at_once;
  int64_t shared_bytes;
} tw_tile_attention_plan;

/* The number of heads, from `least` to `most`, whose operands fit together into half of the L2; `sharing` heads have
 * the same operands, of `bytes`. */
int tw_tile_attention_heads_at_once(const tw_tile_machine *, int64_t bytes, int64_t sharing, int64_t least,
                                    int64_t most);

extern const tw_tile_family tw_tile_attention, tw_tile_attention_backward;

#endif
