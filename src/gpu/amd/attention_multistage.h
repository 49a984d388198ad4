/* attention_multistage.h - multistage attention kernels for AMD GPUs, where all waves have the same code: the plan of a schedule.
 * attention.h has the warp-specialized kernels of NVIDIA.
 *
 * Forward: each wave keeps its own queries in registers. The waves of a workgroup copy tiles of keys and values together and
 * go through them with online softmax. The empty schedule is one wave with 16 queries. Steps:
 *
 *   tile queries=32 keys=64   queries of a wave; keys of an iteration
 *   waves 4                   waves of a workgroup
 *   stages 2                  tiles of keys and values in LDS
 *   copy registers            copy through registers instead of direct-to-LDS loads
 *   mfma 32                   32x32 matrix instructions instead of 16x16
 *   overlap_softmax           scores of the next keys are computed during the softmax of the current keys; needs two stages
 *   pingpong                  half of the waves compute scores while the other half computes softmax and multiplies values;
 *                             needs three stages
 *
 * Backward: each wave keeps its own keys and values in registers. It goes through the queries and gradients of all heads that
 * share the keys; dK and dV stay in registers. A second kernel, built like the forward kernel, computes dQ. Scores are
 * therefore computed twice. No two workgroups add to the same sums, so the result has the same bits in every run. A kernel
 * before both computes dO . O. Steps:
 *
 *   tile keys=32 queries=32   keys of a wave; queries of an iteration
 *   dq queries=32 keys=64     the kernel for dQ: queries of a wave, keys of an iteration
 *   waves, stages, mfma, copy as above, for both kernels
 *   overlap_softmax           P is computed while the products after the scores run; needs two stages
 *   hand_scheduled            one kernel computes dQ, dK and dV in a hand-scheduled loop (loop.h): five products instead of
 *                             seven. dQ is added up in memory, 32 queries by 256 keys at a time. A workgroup has
 *                             4 waves of 64 keys, or 8 waves of 32 keys (d = 128) */
#ifndef TW_TILE_ATTENTION_MULTISTAGE_H
#define TW_TILE_ATTENTION_MULTISTAGE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/template.h"
#include "gpu/common/family.h"

/* The plan of both passes. `dq_*`, `hand_scheduled` and `at_once` belong to the backward pass, `pingpong` to the
 * forward pass. `groups` are waves, `product` is the side of a matrix instruction, `ahead` is the step
 * overlap_softmax. */
typedef struct tw_tile_attention_multistage_plan {
  int queries, keys, dq_queries, dq_keys, groups, stages, product;
  /* As the step `tile` of the backward pass gives them; 0: the schedule has no such step. */
  int tile_keys, tile_queries;
  bool registers, pingpong, ahead, hand_scheduled;
  /* Workgroups on a compute unit at once. */
  int at_once, dq_at_once;
  int64_t shared_bytes, dq_shared_bytes;
} tw_tile_attention_multistage_plan;

extern const tw_tile_family tw_tile_attention_multistage, tw_tile_attention_multistage_backward;

/* Do the kernels of either pass support the problem? The error gives the reason if not. */
tw_status tw_tile_attention_multistage_supports(const tw_tile_machine *, const tw_problem *, tw_error *);
/* Fills the slots of either pass, including the slot of the swizzle for reading a tile with rows of d elements. */
void tw_tile_attention_multistage_slots(tw_slots *, const tw_tile_machine *, const tw_problem *,
                                        const tw_tile_attention_multistage_plan *);
void tw_tile_attention_multistage_swizzle(tw_slots *, const tw_tile_machine *, const char *slot, tw_tile_access);
/* Run after the steps mfma (rejects unsupported sizes) and overlap_softmax (sets what it requires). */
tw_status tw_tile_attention_multistage_then_mfma(const void *with, void *plan, unsigned given, tw_error *);
tw_status tw_tile_attention_multistage_then_overlap(const void *with, void *plan, unsigned given, tw_error *);

#endif
