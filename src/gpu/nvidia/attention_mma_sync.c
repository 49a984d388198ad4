/* attention_mma_sync.c - replays the steps of a schedule, offers the next ones, and fills the kernel;
 * attention_mma_sync.h lists the steps, kernels/attention_mma_sync.cuh.in is the kernel. */
#include "gpu/nvidia/attention_mma_sync.h"

#include <inttypes.h>

#include "gpu/common/attention_slots.h"
#include "gpu/common/verbs.h"
#include "gpu/nvidia/attention.h"

#define PLAN tw_tile_attention_mma_plan

enum {
  STAGES_MAX = 4,
  ALIGNMENT = 1024,
  ELEMENT = 2,   /* bytes */
  OVERHEAD = 44, /* registers of a thread in addition to sums, scores and P */
  D_MAX = 256
};

static tw_status supports(const tw_tile_machine *machine, const tw_problem *p, tw_error *error) {
  (void)machine;
  const tw_attention a = tw_attention_of(p);
  const tw_status without = tw_attention_without(&a, TW_ATTENTION_PITCH, "kernels of mma.sync", error);
  if (without != TW_OK) return without;
  if ((a.type == TW_BF16 || a.type == TW_F16) && a.d % 16 == 0 && a.d <= D_MAX && a.scale > 0 && !a.backward)
    return TW_OK;
  return tw_fail(
      error, TW_USAGE,
      "kernels of mma.sync support attention with pass=forward, a=bf16 or f16, d a multiple of 16 up to %d and "
      "scale >= 0 (found a=%s d=%" PRId64 "%s)",
      D_MAX, tw_type_name(a.type), a.d, a.backward ? " pass=backward" : "");
}

int tw_tile_attention_mma_width(int64_t d) {
  int width = 16;
  while (width < d) width *= 2;
  return width;
}

static int64_t shared_bytes(const PLAN *p, int d, int stages) {
  const int64_t tiles = (int64_t)(p->queries + 2 * stages * p->keys) * p->width * ELEMENT;
  const int64_t results = (int64_t)p->warps * 16 * (d * ELEMENT + 16);
  return ALIGNMENT + (tiles > results ? tiles : results);
}

static tw_status settle_attention_mma_sync(const tw_tile_machine *machine, const tw_problem *problem, void *plan,
                                           tw_error *error) {
  PLAN *p = plan;
  const tw_attention a = tw_attention_of(problem);
  const int d = (int)a.d, threads = p->warps * machine->warp_threads, rows = p->queries / p->warps;
  p->width = tw_tile_attention_mma_width(a.d);
  const int chunks = p->width * ELEMENT / 16;
  TW_REJECT_IF(p->queries % (16 * p->warps) || p->keys % 16 || threads % chunks || threads > machine->block_threads,
               "unsupported tile queries=%d keys=%d warps=%d; expected multiples of 16 queries for each warp and of 16 "
               "keys, and threads that are a multiple of the %d pieces of a row",
               p->queries, p->keys, p->warps, chunks);
  const int need = rows * d / 32 + rows * p->keys / 32 + rows / 2 + OVERHEAD;
  const int have = tw_tile_registers_of_thread(machine, threads * p->blocks);
  TW_REJECT_IF(need > have,
               "queries=%d keys=%d need %d registers per thread, which exceeds %d; use fewer queries or keys, more "
               "warps or fewer blocks_per_sm",
               p->queries, p->keys, need, have);
  const int64_t room = tw_tile_shared_of_block(machine, p->blocks);
  if (!p->stages) p->stages = shared_bytes(p, d, 2) <= room ? 2 : 1;
  p->shared_bytes = shared_bytes(p, d, p->stages);
  TW_REJECT_IF(p->shared_bytes > room || (p->queries * chunks + threads - 1) / threads > 32,
               "%d stages need %" PRId64 " bytes of shared memory, which exceeds the %" PRId64
               " of each of %d blocks per multiprocessor; use fewer stages or smaller tiles",
               p->stages, p->shared_bytes, room, p->blocks);
  p->heads_at_once =
      tw_tile_attention_heads_at_once(machine, 2 * a.keys * a.d * ELEMENT, a.group, 8, a.query_heads * a.batches);
  return TW_OK;
}

/* ---- steps ---- */

static void begin_tile(const void *with, void *plan) {
  (void)with;
  *(PLAN *)plan = (PLAN){.warps = 4, .blocks = 1};
}

static const tw_verb verbs[] = {
    {.name = "tile",
     .usage = "tile queries=128 keys=64 warps=4",
     .help = "Set the queries of a thread block, the keys of a step and the warps that share the queries.",
     .needs = 2,
     .argument = {TW_NUMBER("queries", PLAN, queries, 16, 256), TW_NUMBER("keys", PLAN, keys, 16, 256),
                  TW_NUMBER("warps", PLAN, warps, 1, 16)},
     .first = begin_tile},
    TW_TILE_STAGES(PLAN, 1, STAGES_MAX, "1, 2, 3, 4"),
    TW_TILE_BLOCKS(PLAN, "1, 2, 3, 4", "one block multiplies while another computes its softmax"),
};
static const tw_language language = {TW_LANGUAGE("attention on NVIDIA GPUs, mma.sync", verbs),
                                     .begun = TW_FIELD(PLAN, queries)};

static void offers(tw_menu_builder *m, const tw_tile_context *c) {
  (void)c;
  for (int warps = 1; warps <= 8; warps *= 2)
    for (int rows = 16; rows <= 32; rows *= 2)
      for (int keys = 16; keys <= 128; keys *= 2)
        tw_menu_offer(m, rows == 16 ? "tile, 16 queries a warp" : "tile, 32 queries a warp",
                      "more keys rescale the accumulator less often; more queries read keys less often",
                      "tile queries=%d keys=%d warps=%d", rows * warps, keys, warps);
}

/* ---- the kernel ---- */

void tw_tile_attention_mma_slots(const tw_tile_machine *machine, const tw_problem *problem, const void *plan,
                                 tw_slots *s) {
  (void)machine;
  const PLAN *p = plan;
  const tw_attention a = tw_attention_of(problem);
  tw_tile_attention_slots(s, &a);
  tw_tile_attention_mask_slots(s, &a);
  tw_slots_number(s, "width", p->width);
  tw_slots_number(s, "warps", p->warps);
  tw_slots_number(s, "heads_at_once", p->heads_at_once);
  tw_slots_number(s, "shared", p->shared_bytes);
  tw_slots_text(s, "rows_of_scores", "ROWS");
}

const tw_tile_family tw_tile_attention_mma_sync = {.language = &language,
                                                   .plan_size = sizeof(PLAN),
                                                   .supports = supports,
                                                   .settle = settle_attention_mma_sync,
                                                   .offers = offers,
                                                   .kernel = "gpu/nvidia/kernels/attention_mma_sync.cuh.in",
                                                   .slots = tw_tile_attention_mma_slots};
