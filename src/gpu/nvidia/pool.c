/* pool.c - replays the steps of a schedule, offers the next ones, and fills the kernel; pool.h lists the steps,
 * kernels/pool.cuh.in is the kernel. */
#include "gpu/nvidia/pool.h"

#include "base/integers.h"
#include "base/template.h"
#include "gpu/common/rows_language.h"
#include "gpu/common/verbs.h"
#include "op/pool.h"

#define PLAN tw_tile_pool_plan

enum { WARP = 32, THREADS_USUAL = 256, OUTPUTS_MAX = 16, UNROLLED_MAX = 2048, VECTORS_MAX = 4 };

/* Rows of x that a thread's results are computed from. */
static int64_t rows_of(const tw_pool *l, int outputs) {
  return (outputs - 1) * l->stride[1] + (l->window[1] - 1) * l->dilation + 1;
}

/* Elements of 16 bytes. */
static int64_t count_of(const tw_pool *l) { return 16 / (tw_type_bits(l->type) / 8); }
/* Elements of a row before its first window, of the first warp: enough to write from a multiple of 16 bytes on. */
static int64_t before_of(const tw_pool *l) { return tw_round_up(l->pad[2] + count_of(l) - 1, count_of(l)); }

static tw_status settle_vectors(const tw_pool *l, PLAN *plan, tw_error *error) {
  const int64_t count = count_of(l), wide = WARP * count * plan->vectors;
  TW_REJECT_IF(plan->outputs, "vectors requires one result in each column; leave out 'outputs'");
  TW_REJECT_IF(l->stride[2] != 1, "vectors requires stride=1 along rows (found %lld)", (long long)l->stride[2]);
  TW_REJECT_IF(l->size[2] % count, "vectors requires w to be a multiple of %lld (found %lld)", (long long)count,
               (long long)l->size[2]);
  plan->span = wide - tw_round_up((l->window[2] - 1) * l->dilation + count - 1, count);
  TW_REJECT_IF(
      plan->span < wide / 2,
      "vectors %d: a window is too wide for the %lld elements of a warp; use more vectors (at most %d), or leave "
      "the step out",
      plan->vectors, (long long)wide, VECTORS_MAX);
  plan->spans = (l->out[2] - l->pad[2] + before_of(l) + plan->span - 1) / plan->span;
  return TW_OK;
}

static tw_status settle_pool(const tw_tile_machine *machine, const tw_problem *p, void *settled, tw_error *error) {
  PLAN *plan = settled;
  const tw_pool l = tw_pool_of(p);
  if (!plan->threads) plan->threads = THREADS_USUAL;
  tw_status status = tw_tile_check_threads(machine, plan->threads, error);
  if (status == TW_OK && plan->vectors) status = settle_vectors(&l, plan, error);
  if (status != TW_OK) return status;
  if (!plan->outputs) plan->outputs = 1;
  TW_REJECT_IF(plan->outputs > l.out[1], "outputs %d: an image has only %lld rows of results; use fewer", plan->outputs,
               (long long)l.out[1]);
  TW_REJECT_IF(plan->outputs > 1 && rows_of(&l, plan->outputs) * l.window[2] * plan->outputs > UNROLLED_MAX,
               "outputs %d: the windows have too many elements for one thread; use fewer", plan->outputs);
  const int64_t rows = l.n * l.out[0] * ((l.out[1] + plan->outputs - 1) / plan->outputs),
                items = rows * (plan->vectors ? plan->spans * WARP : l.out[2]);
  plan->blocks = (items + plan->threads - 1) / plan->threads;
  return plan->blocks <= INT32_MAX ? TW_OK
                                   : tw_fail(error, TW_USAGE, "more than 2^31 blocks; use more outputs or threads");
}

static const tw_verb verbs[] = {
    {TW_NUMBERED("outputs", "outputs 4",
                 "Set the results of a thread, one below another, which share the rows of their windows.", PLAN,
                 outputs, 1, OUTPUTS_MAX),
     .offers = "1, 2, 4, 8, 16", .why = "windows that overlap are read once"},
    {TW_NUMBERED("vectors", "vectors 4",
                 "Set the pieces of 16 bytes that a thread loads of a row; warps exchange what windows share.", PLAN,
                 vectors, 1, VECTORS_MAX),
     .offers = "1, 2, 4", .why = "a window takes few steps, and loads and stores have 16 bytes"},
    TW_TILE_THREADS(PLAN, "64, 128, 256, 512, 1024", "larger blocks share more lines of the L1"),
};
static const tw_language language = {TW_LANGUAGE("pool on NVIDIA GPUs", verbs)};

static void slots(const tw_tile_machine *machine, const tw_problem *p, const void *settled, tw_slots *s) {
  (void)machine;
  static const char *const names[3][5] = {{"depth", "t", "out_depth", "stride_t", "pad_t"},
                                          {"height", "r", "out_height", "stride_r", "pad_r"},
                                          {"width", "s", "out_width", "stride_s", "pad_s"}};
  const PLAN *plan = settled;
  const tw_pool l = tw_pool_of(p);
  tw_slots_text(s, "type", tw_tile_type_word(l.type));
  for (int i = 0; i < 3; i++) {
    const int64_t numbers[] = {l.size[i], l.window[i], l.out[i], l.stride[i], l.pad[i]};
    for (int k = 0; k < 5; k++) tw_slots_number(s, names[i][k], numbers[k]);
  }
  tw_slots_number(s, "n", l.n);
  tw_slots_number(s, "dilation", l.dilation);
  tw_slots_number(s, "span", plan->span);
  tw_slots_number(s, "spans", plan->spans);
  tw_slots_number(s, "before", before_of(&l));
  tw_slots_number(s, "rows", rows_of(&l, plan->outputs));
  tw_slots_flag(s, "mean", l.mean);
  tw_slots_text(s, "index", plan->blocks * plan->threads <= INT32_MAX ? "u32" : "i64");
}

const tw_tile_family tw_tile_pool = {.language = &language,
                                     .plan_size = sizeof(PLAN),
                                     .settle = settle_pool,
                                     .kernel = "gpu/nvidia/kernels/pool.cuh.in",
                                     .slots = slots};
