/* verbs.h - steps that the schedules of several ops share, as rows of their tables of verbs. */
#ifndef TW_TILE_VERBS_H
#define TW_TILE_VERBS_H

#include "tilewright/extend/verb.h"

/* The pipeline depth, in the plan's `stages`. */
#define TW_TILE_STAGES(plan, least_, most_, then_)                                                                     \
  {                                                                                                                    \
    .name = "stages", .usage = "stages 4", .help = "Set the pipeline depth: tiles in shared memory or in flight.",     \
    .needs = 1, .argument = {TW_NUMBER("", plan, stages, least_, most_)}, .then = (then_)                              \
  }

/* Blocks of a multiprocessor at once, in the plan's `blocks`; split-K through the cluster, in its `split`. */
#define TW_TILE_BLOCKS(plan, then_)                                                                                    \
  {                                                                                                                    \
    .name = "blocks_per_sm|blocks", .usage = "blocks_per_sm 2",                                                        \
    .help = "Set the thread blocks that a multiprocessor runs at once.", .needs = 1,                                   \
    .argument = {TW_NUMBER("", plan, blocks, 1, 8)}, .then = (then_)                                                   \
  }
#define TW_TILE_SPLIT(plan, usage_, then_)                                                                             \
  {                                                                                                                    \
    .name = "split_k|split", .usage = (usage_),                                                                        \
    .help = "Split k over the blocks of a cluster (split-K); the first adds the partial sums.", .needs = 1,            \
    .argument = {TW_NUMBER("", plan, split, 1, 16)}, .then = (then_)                                                   \
  }

/* Split-K through memory, in the plan's `parts`; the order of tiles, in its `band` and, along columns, `band_columns`: `then_` is given 2
 * where columns were named. */
#define TW_TILE_PARTS(plan, then_)                                                                                     \
  {                                                                                                                    \
    .name = "split_k_workspace|parts", .usage = "split_k_workspace 33",                                                \
    .help = "Split k over this many blocks (split-K) with partial sums in memory; a second kernel adds them.",         \
    .needs = 1, .argument = {TW_NUMBER("", plan, parts, 1, 1024)}, .then = (then_)                                     \
  }
#define TW_TILE_RASTERIZE(plan, then_)                                                                                 \
  {                                                                                                                    \
    .name = "rasterize|band", .usage = "rasterize m=8, rasterize n=8",                                                 \
    .help = "Set the rasterization: tiles in bands of rows or columns.", .needs = 1,                                   \
    .argument = {TW_NUMBER("m", plan, band, 1, 1024), TW_NUMBER("n", plan, band, 1, 1024)},                            \
    .sets = TW_FIELD(plan, band_columns), .then = (then_)                                                              \
  }

/* Registers of a thread, in the plan's `registers_copy` and `registers_multiply`. */
#define TW_TILE_REGISTERS(plan, then_)                                                                                 \
  {                                                                                                                    \
    .name = "registers", .usage = "registers producer=40 consumer=232",                                                \
    .help = "Set the registers of producer and consumer warpgroups (setmaxnreg).", .needs = 2,                         \
    .argument = {TW_NUMBER("producer|copy", plan, registers_copy, 24, 240),                                            \
                 TW_NUMBER("consumer|multiply", plan, registers_multiply, 24, 240)},                                   \
    .then = (then_)                                                                                                    \
  }

#endif
