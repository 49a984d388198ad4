/* rows_split.c - replays the steps of a schedule, offers the next ones, and fills the kernels; rows_split.h lists the steps,
 * kernels/rows_split.cuh.in are the kernels. */
#include "gpu/nvidia/rows_split.h"

#include <string.h>

#include "base/template.h"
#include "gpu/common/rows_language.h"
#include "gpu/common/verbs.h"
#include "op/layernorm.h"

#define PLAN tw_tile_rows_split_plan

enum { BLOCKS_MAX = 4096, REGISTERS_MAX = 1 << 16 /* elements of a row that a block keeps in registers */ };

static int count_of(const tw_problem *p) { return tw_tile_piece(tw_problem_type(p, "a"), tw_problem_int(p, "cols")); }

static bool is_softmax(const tw_problem *p) { return strcmp(p->op->name, "softmax") == 0; }

static tw_status supports(const tw_tile_machine *machine, const tw_problem *p, tw_error *error) {
  (void)machine;
  const int64_t cols = tw_problem_int(p, "cols"), rows = tw_problem_int(p, "rows");
  const int count = count_of(p);
  TW_REJECT_IF(cols > INT32_MAX / 2 || rows > INT32_MAX / BLOCKS_MAX / 2,
               "unsupported rows=%lld cols=%lld; split_row supports up to %d rows of 2^30 elements", (long long)rows,
               (long long)cols, INT32_MAX / BLOCKS_MAX / 2);
  TW_REJECT_IF(!is_softmax(p) && tw_problem_int(p, "span") > 1 && tw_problem_int(p, "span") % count,
               "unsupported span=%lld; expected 1 or a multiple of %d elements, which are 16 bytes",
               (long long)tw_problem_int(p, "span"), count);
  TW_REJECT_IF(!is_softmax(p) && (tw_problem_int(p, "residual") || tw_problem_real(p, "dropout") > 0),
               "split_row does not support residual and dropout; use 'row warps=4'");
  TW_REJECT_IF(!is_softmax(p) && tw_problem_int(p, "quantize"),
               "split_row does not support quantize; use 'row warps=4'");
  TW_REJECT_IF(!is_softmax(p) && tw_problem_int(p, "inner") > 1, "split_row does not support inner; use 'row warps=4'");
  return TW_OK;
}

static tw_status settle_rows_split(const tw_tile_machine *machine, const tw_problem *p, void *settled,
                                   tw_error *error) {
  PLAN *plan = settled;
  plan->count = count_of(p);
  const int64_t rows = tw_problem_int(p, "rows"), chunks = tw_problem_int(p, "cols") / plan->count;
  TW_REJECT_IF(plan->blocks > chunks,
               "split_row blocks=%d: a row has only %lld chunks of %d elements; use fewer blocks", plan->blocks,
               (long long)chunks, plan->count);
  TW_REJECT_IF(plan->lag > rows, "lag %d: the problem has only rows=%lld; use a smaller lag", plan->lag,
               (long long)rows);
  TW_REJECT_IF(plan->threads % machine->warp_threads, "unsupported threads=%d; expected a multiple of %d",
               plan->threads, machine->warp_threads);
  plan->part = (chunks + plan->blocks - 1) / plan->blocks * plan->count;
  return TW_OK;
}

/* ---- steps ---- */

static void begin(const void *with, void *plan) {
  (void)with;
  *(PLAN *)plan = (PLAN){.threads = 256, .each = 4};
}

static const tw_verb verbs[] = {
    {.name = "split_row",
     .usage = "split_row blocks=64",
     .help = "Share each row among this many blocks, which read it twice: a first kernel measures its parts.",
     .needs = 1,
     .argument = {TW_NUMBER("blocks", PLAN, blocks, 1, BLOCKS_MAX)},
     .first = begin},
    TW_TILE_THREADS(PLAN, "128, 256, 512, 1024", "more threads have more loads in flight"),
    {TW_NUMBERED("chunks", "chunks 4", "Set the number of 16-byte chunks that a thread has in flight.", PLAN, each, 1,
                 16),
     .offers = "1, 2, 4, 8, 16", .why = "loads in flight hide memory latency"},
    {TW_NUMBERED("lag", "lag 8",
                 "Use one kernel, which reads a row again after it has measured this many further rows: from the L2.",
                 PLAN, lag, 1, 1 << 20)},
};
static const tw_language language = {TW_LANGUAGE("long rows on NVIDIA GPUs", verbs), .begun = TW_FIELD(PLAN, blocks)};

static void offers(tw_menu_builder *m, const tw_tile_context *c) {
  const int64_t rows = tw_problem_int(c->problem, "rows"), processors = c->machine->processors;
  /* Other rows are faster in registers, if their pieces are aligned. */
  const bool useful =
      rows < 2 * processors || tw_problem_int(c->problem, "cols") > REGISTERS_MAX || count_of(c->problem) == 1;
  for (int64_t blocks = 1; useful && blocks <= BLOCKS_MAX; blocks *= 2)
    if (blocks == 1 || (rows * blocks <= 256 * processors && rows * blocks * 2 > processors))
      tw_menu_offer(m, "split_row", "few or long rows leave multiprocessors idle", "split_row blocks=%d", (int)blocks);
  const int64_t row = tw_problem_int(c->problem, "cols") * tw_tile_type_bytes(tw_problem_type(c->problem, "a"));
  for (int64_t lag = 1; lag <= rows && lag * row <= c->machine->l2_bytes; lag *= 2)
    if (4 * lag * row >= c->machine->l2_bytes / 8)
      tw_menu_offer(m, "lag", "the second reading of a row comes from the L2", "lag %d", (int)lag);
}

/* ---- the kernels ---- */

static void slots(const tw_tile_machine *machine, const tw_problem *p, const void *settled, tw_slots *s) {
  (void)machine;
  const PLAN *plan = settled;
  const bool softmax = is_softmax(p), affine = !softmax && tw_problem_int(p, "affine");
  const int64_t norm = softmax ? -1 : tw_problem_int(p, "norm");
  const bool layer = norm == TW_NORM_LAYER;
  tw_slots_text(s, "op", p->op->name);
  tw_slots_text(s, "type", tw_tile_type_word(tw_problem_type(p, "a")));
  tw_slots_number(s, "cols", tw_problem_int(p, "cols"));
  tw_slots_number(s, "part", plan->part);
  tw_slots_number(s, "count", plan->count);
  tw_slots_flag(s, "vector", plan->count > 1);
  tw_slots_flag(s, "softmax", softmax);
  tw_slots_flag(s, "log", softmax && tw_problem_int(p, "log"));
  tw_slots_flag(s, "layer", layer);
  tw_slots_flag(s, "centered", softmax || layer);
  tw_slots_flag(s, "abs", norm == TW_NORM_ABS);
  tw_slots_flag(s, "l2", norm == TW_NORM_L2);
  tw_slots_flag(s, "weight", affine);
  tw_slots_flag(s, "bias", affine && layer);
  tw_slots_number(s, "groups", softmax ? 1 : tw_problem_int(p, "groups"));
  tw_slots_number(s, "span", softmax ? 1 : tw_problem_int(p, "span"));
  tw_slots_flag(s, "grouped", !softmax && tw_problem_int(p, "groups") > 1);
  tw_slots_flag(s, "spans", !softmax && (tw_problem_int(p, "span") > 1 || plan->count == 1));
}

const tw_tile_family tw_tile_rows_split = {.language = &language,
                                           .plan_size = sizeof(PLAN),
                                           .supports = supports,
                                           .settle = settle_rows_split,
                                           .offers = offers,
                                           .kernel = "gpu/nvidia/kernels/rows_split.cuh.in",
                                           .slots = slots};
