/* attention_multistage.h - the structure of kernels for attention whose groups are alike; attention.h has the one for machines whose
 * copies signal barriers.
 *
 * Forward, each group has queries of its own, in registers, and goes through the keys with the others of its block, who copy
 * tiles of keys and values together; online softmax as in attention.h. The empty schedule is one group, 16 queries. Steps:
 *
 *   tile queries=32 keys=64   queries of a group; keys at a time
 *   groups 4                  of a block
 *   stages 2                  tiles of keys and values in shared memory
 *   copy registers            through registers, not past them
 *   product 32                matrix instructions of 32 x 32, not 16 x 16
 *   ahead                     scores of the next keys are multiplied while these are weighed; two stages
 *   turns                     half of the groups make scores while the others weigh and multiply values; three stages
 *
 * Backward, each group has keys and values of its own, in registers, and goes through the queries and gradients that see
 * them, of all heads that share the keys: dK and dV stay in registers. dQ is made by a kernel of its own that is as the forward
 * one: scores are computed twice, and no two blocks add to the same sums, so results are the same in every run. A kernel
 * before computes dO . O. Steps:
 *
 *   tile keys=32 queries=32   keys of a group; queries at a time
 *   dq queries=32 keys=64     of the kernel for dQ: queries of a group, keys at a time
 *   groups, stages, product,
 *   copy                      as above, of both
 *   ahead                     weights are made while the products behind their scores are multiplied; two stages
 *   pinned                    one kernel makes all three, with the machine's own loop (loop.h): five products, not seven, and dQ is
 *                             added up in memory, 32 queries by 256 keys at a time */
#ifndef TW_TILE_ATTENTION_MULTISTAGE_H
#define TW_TILE_ATTENTION_MULTISTAGE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/template.h"
#include "tile/family.h"

/* Of either pass; names beginning with dq, `pinned` and `at_once` are of the backward one, `turns` of the forward one. */
typedef struct tw_tile_attention_multistage_plan {
  int queries, keys, dq_queries, dq_keys, groups, stages, product;
  bool registers, turns, ahead, pinned;
  int at_once, dq_at_once; /* blocks on a processor */
  int64_t shared_bytes, dq_shared_bytes;
} tw_tile_attention_multistage_plan;

extern const tw_tile_family tw_tile_attention_multistage, tw_tile_attention_multistage_backward;

/* Shared by both passes. The problems that they take; says why not. */
tw_status tw_tile_attention_multistage_supports(const tw_tile_machine *, const tw_problem *, tw_error *);
/* Slots of either pass; the slot that swizzles a tile of d elements a row, with what the solver finds for how it is read. */
void tw_tile_attention_multistage_slots(tw_slots *, const tw_tile_machine *, const tw_problem *,
                                        const tw_tile_attention_multistage_plan *);
void tw_tile_attention_multistage_swizzle(tw_slots *, const tw_tile_machine *, const char *slot, tw_tile_access);
/* What follows `product` (are there any of such a side?) and `ahead` (what it needs comes with it). */
tw_status tw_tile_attention_multistage_then_mfma(const void *with, void *plan, unsigned given, tw_error *);
tw_status tw_tile_attention_multistage_then_overlap(const void *with, void *plan, unsigned given, tw_error *);

#endif
