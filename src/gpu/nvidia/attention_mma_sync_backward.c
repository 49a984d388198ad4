/* attention_mma_sync_backward.c - the backward pass of attention_mma_sync.h: replays the steps of a schedule, offers
 * the next ones, and fills kernels/attention_mma_sync_backward.cuh.in. */
#include "gpu/nvidia/attention_mma_sync.h"

#include <inttypes.h>

#include "gpu/common/verbs.h"
#include "gpu/nvidia/attention.h"
#include "op/attention.h"

#define PLAN tw_tile_attention_mma_plan

enum {
  STAGES_MAX = 4,
  QUERIES_MAX = 128,
  ALIGNMENT = 1024,
  ELEMENT = 2,   /* bytes */
  OVERHEAD = 50, /* registers of a thread in addition to sums, scores and gradients */
  D_MAX = 128,
  KEYS_OF_PAIR = 32, /* keys of two warps */
  PART = 16          /* rows and columns of the smallest part of dQ */
};

static bool is_power_of_two(int64_t x) { return x > 0 && (x & (x - 1)) == 0; }

static tw_status supports(const tw_tile_machine *machine, const tw_problem *p, tw_error *error) {
  (void)machine;
  const tw_attention a = tw_attention_of(p);
  const tw_status without = tw_attention_without(&a, TW_ATTENTION_WINDOW, "kernels of pass=backward", error);
  if (without != TW_OK) return without;
  if ((a.type == TW_BF16 || a.type == TW_F16) && is_power_of_two(a.d) && a.d >= 32 && a.d <= D_MAX && a.scale > 0 &&
      a.backward)
    return TW_OK;
  return tw_fail(
      error, TW_USAGE,
      "kernels of mma.sync support attention's backward pass with a=bf16 or f16, d=32, 64 or 128 and scale >= 0 "
      "(found a=%s d=%" PRId64 ")",
      tw_type_name(a.type), a.d);
}

static int64_t shared_bytes(const PLAN *p, int d, int stages) {
  const int64_t keys = 2 * (int64_t)p->keys * d * ELEMENT, pairs = 2 * (int64_t)p->keys * p->queries * ELEMENT;
  const int64_t tiles = keys + pairs + (int64_t)stages * p->queries * 2 * (d * ELEMENT + 4);
  const int64_t results = (int64_t)p->warps * 16 * (d / 2 * ELEMENT + 16);
  return ALIGNMENT + (tiles > results ? tiles : results);
}

static tw_status settle_attention_mma_sync_backward(const tw_tile_machine *machine, const tw_problem *problem,
                                                    void *plan, tw_error *error) {
  PLAN *p = plan;
  const tw_attention a = tw_attention_of(problem);
  const int d = (int)a.d;
  p->warps = p->keys / KEYS_OF_PAIR * 2;
  p->width = d;
  const int threads = p->warps * machine->warp_threads, chunks = d * ELEMENT / 16;
  const bool shares = p->warps && p->queries / 32 <= p->warps && p->queries * d % (p->warps * PART * PART) == 0;
  TW_REJECT_IF(p->keys % KEYS_OF_PAIR || !is_power_of_two(p->queries) || p->queries < 32 || p->queries > QUERIES_MAX ||
                   !shares || threads % chunks || threads > machine->block_threads,
               "unsupported tile queries=%d keys=%d; expected 32, 64 or 128 queries, and two warps for each %d keys, "
               "which share the %d x %d elements of dQ in parts of at least %d x %d",
               p->queries, p->keys, KEYS_OF_PAIR, p->queries, d, PART, PART);
  const int dq = p->queries * d / threads, pairs = p->keys * p->queries / threads; /* elements of a thread */
  const int need = d + (dq > 2 * pairs ? dq : 2 * pairs) + OVERHEAD;
  const int have = tw_tile_registers_of_thread(machine, threads * p->blocks);
  TW_REJECT_IF(need > have,
               "queries=%d keys=%d need %d registers per thread, which exceeds %d; use fewer queries or keys, or fewer "
               "blocks_per_sm",
               p->queries, p->keys, need, have);
  const int64_t room = tw_tile_shared_of_block(machine, p->blocks);
  if (!p->stages) p->stages = 2;
  p->shared_bytes = shared_bytes(p, d, p->stages);
  TW_REJECT_IF(p->shared_bytes > room,
               "%d stages need %" PRId64 " bytes of shared memory, which exceeds the %" PRId64
               " of each of %d blocks per multiprocessor; use fewer stages or smaller tiles",
               p->stages, p->shared_bytes, room, p->blocks);
  p->heads_at_once =
      tw_tile_attention_heads_at_once(machine, 2 * a.queries * a.group * a.d * ELEMENT, 1, 4, a.key_heads * a.batches);
  return TW_OK;
}

/* ---- steps ---- */

static void begin_tile(const void *with, void *plan) {
  (void)with;
  *(PLAN *)plan = (PLAN){.blocks = 1};
}

static const tw_verb verbs[] = {
    {.name = "tile",
     .usage = "tile queries=64 keys=128",
     .help = "Set the queries of a step and the keys of a thread block, 32 for each two warps.",
     .needs = 2,
     .argument = {TW_NUMBER("queries", PLAN, queries, 32, QUERIES_MAX), TW_NUMBER("keys", PLAN, keys, 32, 256)},
     .first = begin_tile},
    TW_TILE_STAGES(PLAN, 2, STAGES_MAX, "2, 3, 4"),
    TW_TILE_BLOCKS(PLAN, "1, 2, 3, 4", "one block multiplies while another computes exponentials"),
};
static const tw_language language = {TW_LANGUAGE("attention on NVIDIA GPUs, mma.sync, backward", verbs),
                                     .begun = TW_FIELD(PLAN, queries)};

static void offers(tw_menu_builder *m, const tw_tile_context *c) {
  (void)c;
  for (int queries = 32; queries <= QUERIES_MAX; queries *= 2)
    for (int keys = 32; keys <= 256; keys *= 2)
      tw_menu_offer(m, queries >= 64 ? "tile, 64 queries or more" : "tile, few queries",
                    "more keys read queries less often; more queries need fewer barriers", "tile queries=%d keys=%d",
                    queries, keys);
}

const tw_tile_family tw_tile_attention_mma_sync_backward = {.language = &language,
                                                            .plan_size = sizeof(PLAN),
                                                            .supports = supports,
                                                            .settle = settle_attention_mma_sync_backward,
                                                            .offers = offers,
                                                            .kernel =
                                                                "gpu/nvidia/kernels/attention_mma_sync_backward.cuh.in",
                                                            .slots = tw_tile_attention_mma_slots};
