/* gate.c - plans kernels for the gate of an MLP (op/gate.c) and for functions of elements (op/elementwise.c);
 * kernels/gate.cuh.in and kernels/elementwise.cuh.in are the kernels. A thread computes 16 bytes of results, of each
 * half where there are halves, `chunks` times: all loads are in flight before the first is used. */
#include "op/gate.h"
#include "base/template.h"
#include "gpu/common/rows_language.h"
#include "op/elementwise.h"

enum { THREADS_USUAL = 256 };

static int64_t chunk_of(const tw_problem *p) { return TW_TILE_CHUNK / tw_tile_type_bytes(tw_problem_type(p, "a")); }

/* `items`: how often 16 bytes of results are computed; `loads`: loads of 16 bytes for each. */
static tw_status settle_items(const tw_tile_machine *machine, int64_t items, int loads, tw_tile_rows_plan *plan,
                              tw_error *error) {
  if (!plan->each) plan->each = 1;
  if (!plan->threads) plan->threads = THREADS_USUAL;
  const tw_status status = tw_tile_check_threads(machine, plan->threads, error);
  if (status != TW_OK) return status;
  const int64_t of_block = (int64_t)plan->each * plan->threads;
  plan->chunks = plan->each * loads;
  plan->block_threads = plan->threads;
  plan->blocks = (items + of_block - 1) / of_block;
  return plan->blocks < INT32_MAX ? TW_OK
                                  : tw_fail(error, TW_USAGE, "more than 2^31 blocks; use more chunks or threads");
}

static tw_status settle_gate(const tw_tile_machine *machine, const tw_problem *p, void *settled, tw_error *error) {
  tw_tile_rows_plan *plan = settled;
  TW_REJECT_IF(tw_problem_int(p, "cols") % chunk_of(p),
               "unsupported cols=%lld; halves of rows are read 16 bytes at a time, so expected a multiple of %lld",
               (long long)tw_problem_int(p, "cols"), (long long)chunk_of(p));
  const int64_t items = tw_problem_int(p, "rows") * (tw_problem_int(p, "cols") / chunk_of(p));
  return settle_items(machine, items, tw_gate_is_backward(p) ? 3 : 2, plan, error);
}

static tw_status settle_elementwise(const tw_tile_machine *machine, const tw_problem *p, void *plan, tw_error *error) {
  const int64_t n = tw_problem_int(p, "rows") * tw_problem_int(p, "cols");
  TW_REJECT_IF(
      n % chunk_of(p),
      "unsupported rows=%lld cols=%lld; elements are read 16 bytes at a time, so expected a multiple of %lld elements",
      (long long)tw_problem_int(p, "rows"), (long long)tw_problem_int(p, "cols"), (long long)chunk_of(p));
  return settle_items(machine, n / chunk_of(p), 1, plan, error);
}

/* The slots of both kernels. */
static void set_common(tw_slots *s, const tw_problem *p, const tw_tile_rows_plan *plan) {
  tw_slots_text(s, "type", tw_tile_type_word(tw_problem_type(p, "a")));
  tw_slots_number(s, "count", chunk_of(p));
  tw_slots_text(s, "once", plan->once ? "_once" : NULL);
  /* Divisions of 32 bits suffice if the last thread's number fits. */
  tw_slots_text(s, "index", plan->blocks * plan->each * plan->threads <= INT32_MAX ? "u32" : "i64");
}

void tw_tile_elementwise_slots(const tw_problem *p, tw_slots *s) {
  const tw_elementwise f = tw_elementwise_function(p);
  for (tw_elementwise any = 0; any < TW_ELEMENTWISE_FUNCTIONS; any++)
    tw_slots_flag(s, tw_elementwise_name(any), any == f);
  tw_slots_flag(s, "expm1", f == TW_ELU || f == TW_SELU || f == TW_TANH);
  tw_slots_format(s, "alpha", "%.9ef", tw_problem_real(p, "alpha"));
  tw_slots_format(s, "beta", "%.9ef", tw_problem_real(p, "beta"));
}

static void slots_elementwise(const tw_tile_machine *machine, const tw_problem *p, const void *plan, tw_slots *s) {
  (void)machine;
  tw_tile_elementwise_slots(p, s);
  set_common(s, p, plan);
}

static void slots_gate(const tw_tile_machine *machine, const tw_problem *p, const void *plan, tw_slots *s) {
  (void)machine;
  tw_slots_text(s, "act", tw_tile_act_word(tw_gate_act(p)));
  tw_slots_flag(s, "backward", tw_gate_is_backward(p));
  set_common(s, p, plan);
}

const tw_tile_family tw_tile_gate = {.language = &tw_tile_gate_language,
                                     .plan_size = sizeof(tw_tile_rows_plan),
                                     .settle = settle_gate,
                                     .kernel = "gpu/common/kernels/gate.cuh.in",
                                     .slots = slots_gate};

const tw_tile_family tw_tile_elementwise = {.language = &tw_tile_gate_language,
                                            .plan_size = sizeof(tw_tile_rows_plan),
                                            .settle = settle_elementwise,
                                            .kernel = "gpu/common/kernels/elementwise.cuh.in",
                                            .slots = slots_elementwise};
