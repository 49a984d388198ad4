/* attention_decode.c - replays the steps of a schedule, offers the next ones, and fills the kernel; attention_decode.h lists the steps,
 * kernels/attention_decode.cuh.in is the kernel. */
#include "gpu/nvidia/attention_decode.h"

#include <inttypes.h>

#include "gpu/common/attention_slots.h"
#include "gpu/common/verbs.h"
#include "gpu/nvidia/attention_mma_sync.h"

#define PLAN tw_tile_attention_decode_plan

enum {
  STAGES_MAX = 6,
  ALIGNMENT = 1024,
  ELEMENT = 2,   /* bytes */
  OVERHEAD = 48, /* registers of a thread beside queries, sums, scores and weights */
  D_MAX = 256,
  ROWS_MAX = 64,
  SPLITS_MAX = 512
};

static tw_status supports(const tw_tile_machine *machine, const tw_problem *p, tw_error *error) {
  (void)machine;
  const tw_attention a = tw_attention_of(p);
  const tw_status without = tw_attention_without(&a, TW_ATTENTION_TOKENS | TW_ATTENTION_PITCH, "decode kernels", error);
  if (without != TW_OK) return without;
  if ((a.type == TW_BF16 || a.type == TW_F16) && a.d % 16 == 0 && a.d <= D_MAX && a.scale > 0 && !a.backward &&
      a.queries * a.group <= ROWS_MAX)
    return TW_OK;
  return tw_fail(
      error, TW_USAGE,
      "decode kernels support attention with pass=forward, a=bf16 or f16, d a multiple of 16 up to %d, scale >= 0 "
      "and sq * hq / hkv up to %d (found a=%s d=%" PRId64 " sq=%" PRId64 " hq=%" PRId64 " hkv=%" PRId64 "%s)",
      D_MAX, ROWS_MAX, tw_type_name(a.type), a.d, a.queries, a.query_heads, a.key_heads,
      a.backward ? " pass=backward" : "");
}

static int64_t shared_bytes(const PLAN *p, int d, int stages) {
  const int64_t tiles = (int64_t)p->warps * 2 * stages * p->keys * p->width * ELEMENT;
  const int64_t results = (int64_t)p->warps * p->rows * (d * 4 + 16 + 8);
  return ALIGNMENT + (tiles > results ? tiles : results);
}

static tw_status settle_attention_decode(const tw_tile_machine *machine, const tw_problem *problem, void *plan,
                                         tw_error *error) {
  PLAN *p = plan;
  const tw_attention a = tw_attention_of(problem);
  const int d = (int)a.d, threads = p->warps * machine->warp_threads;
  p->width = tw_tile_attention_mma_width(a.d);
  p->rows = (int)((a.queries * a.group + 15) / 16 * 16);
  TW_REJECT_IF(p->keys % 16 || p->keys * p->width * ELEMENT % ALIGNMENT,
               "unsupported keys=%d; expected a multiple of %d", p->keys,
               16 * p->width * ELEMENT % ALIGNMENT ? 32 : 16);
  const int need = p->rows * d / 64 + p->rows * d / 32 + p->rows * p->keys / 32 * 3 / 2 + OVERHEAD;
  const int have = tw_tile_registers_of_thread(machine, threads * p->blocks);
  TW_REJECT_IF(
      need > have,
      "keys=%d with %d rows needs %d registers per thread, which exceeds %d; use fewer keys, warps or blocks_per_sm",
      p->keys, p->rows, need, have);
  const int64_t room = tw_tile_shared_of_block(machine, p->blocks);
  if (!p->stages)
    for (p->stages = 4; p->stages > 2 && shared_bytes(p, d, p->stages) > room;) p->stages--;
  p->shared_bytes = shared_bytes(p, d, p->stages);
  TW_REJECT_IF(p->shared_bytes > room,
               "%d stages need %" PRId64 " bytes of shared memory, which exceeds the %" PRId64
               " of each of %d blocks per multiprocessor; use fewer stages, warps or keys",
               p->stages, p->shared_bytes, room, p->blocks);
  return TW_OK;
}

/* ---- steps ---- */

static void begin(const void *with, void *plan) {
  (void)with;
  *(PLAN *)plan = (PLAN){.splits = 1, .blocks = 1};
}

static const tw_verb verbs[] = {
    {.name = "decode",
     .usage = "decode keys=32 warps=4",
     .help = "Multiply the queries of all heads that share keys at once; each warp goes through its own tiles of keys.",
     .needs = 2,
     .argument = {TW_NUMBER("keys", PLAN, keys, 16, 256), TW_NUMBER("warps", PLAN, warps, 1, 16)},
     .first = begin},
    {TW_NUMBERED("split_kv", "split_kv 16",
                 "Split the keys over this many blocks (split-KV); a second kernel adds their results.", PLAN, splits,
                 1, SPLITS_MAX)},
    TW_TILE_STAGES(PLAN, 2, STAGES_MAX, "2, 3, 4, 5, 6"),
    TW_TILE_BLOCKS(PLAN, "1, 2, 3, 4", "one block begins or ends while another copies"),
};
static const tw_language language = {TW_LANGUAGE("attention on NVIDIA GPUs, few queries", verbs),
                                     .begun = TW_FIELD(PLAN, keys)};

/* Splits that fill the machine with one to four blocks a multiprocessor, or as many as there are tiles. */
static void offer_splits(tw_menu_builder *m, const tw_tile_context *c) {
  const tw_attention a = tw_attention_of(c->problem);
  const int64_t heads = a.batches * a.key_heads;
  int64_t offered = 1;
  for (int waves = 1; waves <= 4; waves++) {
    const int64_t splits = c->machine->processors * waves / heads;
    if (splits <= offered || splits > SPLITS_MAX || splits * 16 > a.keys) continue;
    offered = splits;
    tw_menu_offer(m, "split_kv", "few sequences and heads leave multiprocessors idle", "split_kv %d", (int)splits);
  }
  for (int64_t splits = 2; splits <= 16; splits *= 2)
    if (splits * 16 <= a.keys)
      tw_menu_offer(m, "split_kv", "few sequences and heads leave multiprocessors idle", "split_kv %d", (int)splits);
}

static void offers(tw_menu_builder *m, const tw_tile_context *c) {
  for (int warps = 1; warps <= 8; warps *= 2)
    for (int keys = 16; keys <= 64; keys *= 2)
      tw_menu_offer(m, "decode", "more warps and larger tiles have more copies in flight", "decode keys=%d warps=%d",
                    keys, warps);
  offer_splits(m, c);
}

/* ---- the kernel ---- */

static void slots(const tw_tile_machine *machine, const tw_problem *problem, const void *plan, tw_slots *s) {
  const PLAN *p = plan;
  const tw_attention a = tw_attention_of(problem);
  tw_tile_attention_slots(s, &a);
  tw_slots_number(s, "width", p->width);
  tw_slots_number(s, "rows", p->rows);
  tw_slots_text(s, "rows_of_scores", "ROWS");
  tw_slots_flag(s, "split", p->splits > 1);
  tw_slots_flag(s, "overlap", machine->registers_move); /* Hopper */
  tw_slots_number(s, "group", a.group);
  tw_slots_number_or_empty(s, "window", a.window);
  tw_slots_number_or_empty(s, "page", a.page);
  tw_slots_flag(s, "softcap", a.softcap > 0);
  tw_slots_flag(s, "lengths_too", a.has_lengths);
  tw_slots_number(s, "lengths", a.has_lengths);
  tw_slots_number(s, "shared", p->shared_bytes);
}

const tw_tile_family tw_tile_attention_decode = {.language = &language,
                                                 .plan_size = sizeof(PLAN),
                                                 .supports = supports,
                                                 .settle = settle_attention_decode,
                                                 .offers = offers,
                                                 .kernel = "gpu/nvidia/kernels/attention_decode.cuh.in",
                                                 .slots = slots};
