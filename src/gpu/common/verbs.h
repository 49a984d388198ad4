/* verbs.h - steps that the schedules of several ops share, as rows of their tables of verbs. `offers_` is
 * tw_verb.offers; "": none. */
#ifndef TW_TILE_VERBS_H
#define TW_TILE_VERBS_H

#include "tilewright/extend/verb.h"

/* The pipeline depth, in the plan's `stages`. */
#define TW_TILE_STAGES(plan, least_, most_, offers_)                                                                   \
  {                                                                                                                    \
    TW_NUMBERED("stages", "stages 4", "Set the pipeline depth: tiles in shared memory or in flight.", plan, stages,    \
                least_, most_),                                                                                        \
        .offers = (offers_), .why = "loads in flight hide memory latency"                                              \
  }

/* Blocks of a multiprocessor at once, in the plan's `blocks`. */
#define TW_TILE_BLOCKS(plan, offers_, why_)                                                                            \
  {                                                                                                                    \
    TW_NUMBERED("blocks_per_sm|blocks", "blocks_per_sm 2",                                                             \
                "Set the thread blocks that a multiprocessor runs at once.", plan, blocks, 1, 8),                      \
        .offers = (offers_), .why = (why_)                                                                             \
  }

/* Loads of constant weights that do not wait for the previous kernel, in the plan's `rest`. */
#define TW_TILE_PREFETCH_WEIGHTS(plan)                                                                                 \
  {                                                                                                                    \
    TW_NUMBERED("prefetch_weights|rest", "prefetch_weights 1",                                                         \
                "Prefetch constant weights before the previous kernel ends (programmatic dependent launch).", plan,    \
                rest, 1, 8),                                                                                           \
        .offers = "1, 2", .why = "weights load before the previous kernel ends (PDL)"                                  \
  }

/* Split-K over the blocks of a cluster, in the plan's `split`. */
#define TW_TILE_SPLIT_K(plan, offers_)                                                                                 \
  {                                                                                                                    \
    TW_NUMBERED("split_k|split", "split_k 4",                                                                          \
                "Split k over the blocks of a cluster (split-K); the first adds the partial sums.", plan, split, 1,    \
                16),                                                                                                   \
        .offers = (offers_), .why = "blocks that share k keep every processor busy with few columns"                   \
  }

/* Threads of a block, in the plan's `threads`. */
#define TW_TILE_THREADS(plan, offers_, why_)                                                                           \
  {                                                                                                                    \
    TW_NUMBERED("threads", "threads 256", "Set the threads of a thread block.", plan, threads, 32, 1024),              \
        .offers = (offers_), .why = (why_)                                                                             \
  }

/* Split-K through memory, in the plan's `parts`; the order of tiles, in its `band` and, along columns, `band_columns`:
 * `then_` is given 2 where columns were named. */
#define TW_TILE_PARTS(plan, offers_)                                                                                   \
  {                                                                                                                    \
    TW_NUMBERED("split_k_workspace|parts", "split_k_workspace 33",                                                     \
                "Split k over this many blocks (split-K) with partial sums in memory; a second kernel adds them.",     \
                plan, parts, 1, 1024),                                                                                 \
        .offers = (offers_), .why = "blocks that share a long k keep every multiprocessor busy with few tiles"         \
  }
#define TW_TILE_RASTERIZE(plan, then_)                                                                                 \
  {                                                                                                                    \
    TW_VERB("rasterize|band", "rasterize m=8, rasterize n=8",                                                          \
            "Set the rasterization: tiles in bands of rows or columns.", 1, TW_NUMBER("m", plan, band, 1, 1024),       \
            TW_NUMBER("n", plan, band, 1, 1024)),                                                                      \
        .sets = TW_FIELD(plan, band_columns), .then = (then_),                                                         \
        .offers = "m=1, m=2, m=4, m=8, m=16, m=32, n=1, n=2, n=4, n=8, n=16, n=32",                                    \
        .why = "concurrent tiles share rows and columns in the L2"                                                     \
  }

/* f32 as products of bf16, in the plan's `products`, and sums in two levels, in its `promote`. */
#define TW_TILE_PRODUCTS(plan)                                                                                         \
  { TW_NUMBERED("products", "products 3", "Compute f32 as this many products of bf16 parts.", plan, products, 1, 6) }
#define TW_TILE_PROMOTE(plan, offers_)                                                                                 \
  {                                                                                                                    \
    TW_VERB("promote", "promote k=256",                                                                                \
            "Add partial sums to a second accumulator after this many k (two-level accumulation).", 1,                 \
            TW_NUMBER("k", plan, promote, 16, 1 << 16)),                                                               \
        .offers = (offers_), .why = TW_TILE_WHY_PROMOTE                                                                \
  }
#define TW_TILE_WHY_PROMOTE "the matrix unit truncates long sums; promotion adds short sums in f32"

/* Registers of a thread, in the plan's `registers_copy` and `registers_multiply`. */
#define TW_TILE_REGISTERS(plan, offers_)                                                                               \
  {                                                                                                                    \
    TW_VERB("registers", "registers producer=40 consumer=232",                                                         \
            "Set the registers of producer and consumer warpgroups (setmaxnreg).", 2,                                  \
            TW_NUMBER("producer|copy", plan, registers_copy, 24, 240),                                                 \
            TW_NUMBER("consumer|multiply", plan, registers_multiply, 24, 240)),                                        \
        .offers = (offers_), .why = "producers need few registers, consumers many"                                     \
  }

/* The size of matrix instructions on AMD GPUs, in `side_`. */
#define TW_TILE_MFMA(plan, side_, offers_, then_)                                                                      \
  {                                                                                                                    \
    TW_NUMBERED("mfma|product", "mfma 32", "Use 32x32 matrix instructions instead of 16x16.", plan, side_, 16, 32),    \
        .then = (then_), .offers = (offers_),                                                                          \
        .why = "larger matrix instructions: fewer instructions and moves between lanes; smaller ones allow more tiles" \
  }
/* Copies to LDS on AMD GPUs, in the plan's `registers`. */
#define TW_TILE_COPY(plan)                                                                                             \
  {                                                                                                                    \
    TW_VERB("copy", "copy registers, copy direct_to_lds", "Copy to LDS directly or through registers.", 1,             \
            TW_CHOICE("", plan, registers, 0, "direct_to_lds=direct|registers")),                                      \
        .offers = "direct_to_lds, registers",                                                                          \
        .why = "direct-to-LDS loads use no registers and no stores; loads through registers need no separate wait"     \
  }
#define TW_TILE_WAVES(plan, help_, why_)                                                                               \
  { TW_NUMBERED("waves|groups", "waves 4", help_, plan, groups, 1, 8), .offers = "1, 2, 4, 8", .why = (why_) }

#endif
