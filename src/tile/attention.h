/* attention.h - the structure of kernels for attention, forward and backward: a schedule, and the kernel that it describes.
 *
 * Forward, a block goes through the keys for 64 queries of each of its groups, keeping the largest score and the sum of weights of
 * each row (online softmax, FlashAttention). The scores of the next keys are multiplied while the weights of the last ones
 * are. Steps:
 *
 *   tile keys=128 groups=2            keys at a time; groups of 64 queries
 *   turns                             groups multiply in turn: one multiplies while another makes weights of its scores
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

#include "tile/machine.h"
#include "tilewright/menu.h"
#include "tilewright/op.h"

typedef struct tw_tile_attention_plan {
  int keys, groups; /* keys = 0: no tiles yet */
  int queries;      /* backward */
  bool turns;
  int stages, registers_copy, registers_multiply; /* 0: not said yet */
  int heads_at_once; /* causal: heads whose longest rows come first together, so that the L2 holds their keys and values */
  int64_t shared_bytes;
} tw_tile_attention_plan;

tw_status tw_tile_attention_plan_of(const tw_tile_machine *, const tw_problem *, const tw_schedule *,
                                    tw_tile_attention_plan *, tw_error *);
tw_status tw_tile_attention_steps(const tw_tile_machine *, const tw_problem *, const tw_schedule *,
                                  double (*predict)(const void *predictor, const tw_tile_attention_plan *),
                                  const void *predictor, tw_menu *, tw_error *);
tw_status tw_tile_attention_emit(const tw_tile_machine *, const tw_problem *, const tw_schedule *, char **source,
                                 tw_error *);
tw_status tw_tile_attention_back_emit(const tw_tile_machine *, const tw_problem *, const tw_schedule *, char **source,
                                      tw_error *);
/* The problems that these kernels take; says why not. */
tw_status tw_tile_attention_supports(const tw_problem *, tw_error *);

#endif
