/* reduce.c - replays the steps of a schedule, offers the next ones, and fills the kernels; reduce.h lists the steps,
 * kernels/reduce.cuh.in are the kernels. */
#include "gpu/nvidia/reduce.h"

#include "base/template.h"
#include "gpu/common/rows_language.h"
#include "gpu/common/verbs.h"
#include "op/reduce.h"

#define PLAN tw_tile_reduce_plan

enum {
  BLOCKS_MAX = 4096,
  THREADS_USUAL = 256,
  LOADS_USUAL = 4,
  JOIN_MANY = 1 << 15 /* results that fill a GPU with one thread each */
};

static void set_pieces(const tw_reduce *r, PLAN *plan) {
  plan->count = tw_tile_piece(r->type, r->inner == 1 ? r->n : r->inner);
  plan->piece_bytes = plan->count * tw_tile_type_bytes(r->type);
  plan->items = r->inner == 1 ? r->n / plan->count : r->n;
  plan->groups = r->outer * (r->inner == 1 ? 1 : r->inner / plan->count);
}

/* Lanes and blocks that the steps left open: as many as keep all multiprocessors busy. */
static void set_shares(const tw_tile_machine *machine, const tw_reduce *r, PLAN *plan) {
  const int64_t wanted = (int64_t)2 * machine->processors * plan->threads;
  if (!plan->lanes) {
    const int most = r->inner == 1 ? plan->threads : plan->threads / machine->warp_threads;
    for (plan->lanes = 1; 2 * plan->lanes <= most && (int64_t)plan->lanes * plan->loads < plan->items &&
                          (r->inner == 1 || plan->groups * plan->lanes < wanted);)
      plan->lanes *= 2;
  }
  if (plan->blocks) return;
  for (plan->blocks = 1; 2 * plan->blocks <= BLOCKS_MAX && plan->groups * plan->lanes * plan->blocks < wanted &&
                         plan->items > (int64_t)2 * plan->lanes * plan->blocks * plan->loads;)
    plan->blocks *= 2;
}

static tw_status settle_reduce(const tw_tile_machine *machine, const tw_problem *p, void *settled, tw_error *error) {
  PLAN *plan = settled;
  const tw_reduce r = tw_reduce_of(p);
  set_pieces(&r, plan);
  if (!plan->threads) plan->threads = THREADS_USUAL;
  if (!plan->loads) plan->loads = LOADS_USUAL;
  TW_REJECT_IF(plan->threads & (plan->threads - 1) || plan->threads < machine->warp_threads,
               "unsupported threads %d; expected a power of 2 from %d", plan->threads, machine->warp_threads);
  set_shares(machine, &r, plan);
  TW_REJECT_IF(plan->lanes & (plan->lanes - 1) || plan->lanes > plan->threads,
               "unsupported lanes %d; expected a power of 2 up to the %d threads of a block", plan->lanes,
               plan->threads);
  TW_REJECT_IF(plan->blocks > plan->items, "split %d: a line has only %lld pieces; use fewer blocks", plan->blocks,
               (long long)plan->items);
  const int64_t width = plan->threads / plan->lanes;
  plan->grid = (plan->groups + width - 1) / width * plan->blocks;
  return plan->grid <= INT32_MAX && (r.outer * r.inner + width) / width <= INT32_MAX
             ? TW_OK
             : tw_fail(error, TW_USAGE, "more than 2^31 blocks; use fewer lanes or more threads");
}

/* ---- steps ---- */

static const tw_verb verbs[] = {
    {TW_NUMBERED("lanes", "lanes 8", "Set the threads of a block that share a line.", PLAN, lanes, 1, 1024),
     .offers = "1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024",
     .why = "more threads for each line keep all multiprocessors busy"},
    {TW_NUMBERED("split", "split 4", "Share each line among this many blocks; a second kernel joins their results.",
                 PLAN, blocks, 1, BLOCKS_MAX),
     .offers = "1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024, 2048, 4096",
     .why = "more threads for each line keep all multiprocessors busy"},
    {TW_NUMBERED("loads", "loads 4", "Set the number of loads that a thread has in flight.", PLAN, loads, 1, 16),
     .offers = "1, 2, 4, 8, 16", .why = "loads in flight hide memory latency"},
    TW_TILE_THREADS(PLAN, "64, 128, 256, 512, 1024", "smaller blocks end sooner, larger ones share more"),
};
static const tw_language language = {TW_LANGUAGE("reduce on NVIDIA GPUs", verbs)};

/* ---- the kernels ---- */

static void slots(const tw_tile_machine *machine, const tw_problem *p, const void *settled, tw_slots *s) {
  (void)machine;
  const PLAN *plan = settled;
  const tw_reduce r = tw_reduce_of(p);
  tw_slots_text(s, "type", tw_tile_type_word(r.type));
  tw_slots_text(s, "result", tw_reduce_finds(&r) ? "i32" : tw_tile_type_word(r.type));
  tw_slots_number(s, "outer", r.outer);
  tw_slots_number(s, "n", r.n);
  tw_slots_number(s, "inner", r.inner);
  tw_slots_number(s, "count", plan->count);
  tw_slots_number(s, "items", plan->items);
  tw_slots_number(s, "groups", plan->groups);
  tw_slots_number(s, "blocks", plan->blocks);
  tw_slots_number(s, "join", r.outer * r.inner >= JOIN_MANY ? 1 : THREADS_USUAL);
  tw_slots_flag(s, "vector", plan->count > 1);
  tw_slots_flag(s, "rows", r.inner == 1);
  tw_slots_flag(s, "split", plan->blocks > 1);
  tw_slots_flag(s, "pairs", tw_reduce_has_pairs(&r));
  tw_slots_flag(s, "shared", r.shared);
  tw_slots_flag(s, "finds", tw_reduce_finds(&r));
  tw_slots_flag(s, "adds", !tw_reduce_chooses(&r));
  tw_slots_text(s, "more", r.function == TW_REDUCE_MIN || r.function == TW_REDUCE_ARGMIN ? "<" : ">");
  tw_slots_text(s, "sign", r.function == TW_REDUCE_MIN || r.function == TW_REDUCE_ARGMIN ? "" : "-");
  tw_slots_flag(s, "mean", r.function == TW_REDUCE_MEAN);
  tw_slots_flag(s, "norm", r.function == TW_REDUCE_NORM);
  for (tw_reduce_term any = 0; any < TW_REDUCE_TERMS; any++)
    tw_slots_flag(s, tw_reduce_term_name(any), any == (r.function == TW_REDUCE_NORM ? TW_REDUCE_OF_SQUARE : r.term));
}

const tw_tile_family tw_tile_reduce = {.language = &language,
                                       .plan_size = sizeof(PLAN),
                                       .settle = settle_reduce,
                                       .kernel = "gpu/nvidia/kernels/reduce.cuh.in",
                                       .slots = slots};

tw_status tw_tile_reduce_plain(const tw_problem *p, tw_text *t, tw_error *error) {
  const tw_tile_machine any = {.header = "tile_core.cuh", .processors = 40, .warp_threads = 32};
  PLAN plan = {0};
  const tw_status status = settle_reduce(&any, p, &plan, error);
  return status == TW_OK ? tw_tile_write(&tw_tile_reduce, &any, p, &plan, t, error) : status;
}
