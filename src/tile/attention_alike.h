/* attention_alike.h - the structure of a kernel for attention's forward pass whose groups are alike; attention.h has the one for
 * machines whose copies signal barriers.
 *
 * Each group has queries of its own, in registers, and goes through the keys with the others of its block, who copy tiles of
 * keys and values together; online softmax as in attention.h. The empty schedule is one group, 16 queries. Steps:
 *
 *   tile queries=32 keys=64   queries of a group; keys at a time
 *   groups 4                  of a block
 *   stages 2                  tiles of keys and values in shared memory
 *   copy registers            through registers, not past them */
#ifndef TW_TILE_ATTENTION_ALIKE_H
#define TW_TILE_ATTENTION_ALIKE_H

#include <stdbool.h>
#include <stdint.h>

#include "tile/machine.h"
#include "tilewright/menu.h"
#include "tilewright/op.h"

typedef struct tw_tile_attention_alike_plan {
  int queries, keys, groups, stages;
  bool registers;
  int64_t shared_bytes;
} tw_tile_attention_alike_plan;

tw_status tw_tile_attention_alike_supports(const tw_problem *, tw_error *);
tw_status tw_tile_attention_alike_plan_of(const tw_tile_machine *, const tw_problem *, const tw_schedule *,
                                          tw_tile_attention_alike_plan *, tw_error *);
tw_status tw_tile_attention_alike_steps(const tw_tile_machine *, const tw_problem *, const tw_schedule *,
                                        double (*predict)(const void *predictor, const tw_tile_attention_alike_plan *),
                                        const void *predictor, tw_menu *, tw_error *);
tw_status tw_tile_attention_alike_emit(const tw_tile_machine *, const tw_problem *, const tw_schedule *, char **source,
                                       tw_error *);

#endif
