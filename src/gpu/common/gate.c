/* gate.c - plans a kernel for the gate of an MLP (op/gate.c); kernels/gate.cuh.in is the kernel. A thread computes 16 bytes of results of
 * each half, `chunks` times: all loads are in flight before the first is used. */
#include "op/gate.h"
#include "base/template.h"
#include "gpu/common/rows_language.h"

enum { THREADS_USUAL = 256 };

static int64_t chunk_of(const tw_problem *p) { return TW_TILE_CHUNK / tw_tile_type_bytes(tw_problem_type(p, "a")); }

static int64_t items_of(const tw_problem *p) {
  return tw_problem_int(p, "rows") * (tw_problem_int(p, "cols") / chunk_of(p));
}

static tw_status settle_gate(const tw_tile_machine *machine, const tw_problem *p, void *settled, tw_error *error) {
  tw_tile_rows_plan *plan = settled;
  if (tw_problem_int(p, "cols") % chunk_of(p))
    return tw_fail(error, TW_USAGE,
                   "unsupported cols=%lld; halves of rows are read 16 bytes at a time, so expected a multiple of %lld",
                   (long long)tw_problem_int(p, "cols"), (long long)chunk_of(p));
  if (!plan->each) plan->each = 1;
  if (!plan->threads) plan->threads = THREADS_USUAL;
  if (plan->threads % machine->warp_threads || plan->threads > machine->block_threads)
    return tw_fail(error, TW_USAGE, "unsupported threads %d; expected a multiple of %d up to %d", plan->threads,
                   machine->warp_threads, machine->block_threads);
  const int64_t of_block = (int64_t)plan->each * plan->threads;
  plan->chunks = plan->each * (tw_gate_is_backward(p) ? 3 : 2);
  plan->block_threads = plan->threads;
  plan->blocks = (items_of(p) + of_block - 1) / of_block;
  return plan->blocks < INT32_MAX ? TW_OK
                                  : tw_fail(error, TW_USAGE, "more than 2^31 blocks; use more chunks or threads");
}

static tw_status write(const tw_tile_machine *machine, const tw_problem *p, const void *settled, tw_text *t,
                       tw_error *error) {
  const tw_tile_rows_plan *plan = settled;
  tw_slots s = {0};
  tw_slots_text(&s, "header", machine->header);
  tw_slots_text(&s, "type", tw_tile_type_word(tw_problem_type(p, "a")));
  tw_slots_text(&s, "act", tw_tile_act_word(tw_gate_act(p)));
  tw_slots_flag(&s, "backward", tw_gate_is_backward(p));
  tw_slots_number(&s, "chunks", plan->each);
  tw_slots_number(&s, "threads", plan->threads);
  tw_slots_number(&s, "count", chunk_of(p));
  /* Divisions of 32 bits where the last thread's number fits. */
  tw_slots_text(&s, "index", plan->blocks * plan->each * plan->threads <= INT32_MAX ? "u32" : "i64");
  tw_slots_text(&s, "once", plan->once ? "_once" : NULL);
  const tw_status status = tw_template_add(t, "gpu/common/kernels/gate.cuh.in", &s, error);
  tw_slots_free(&s);
  return status;
}

const tw_tile_family tw_tile_gate = {.language = &tw_tile_gate_language,
                                     .plan_size = sizeof(tw_tile_rows_plan),
                                     .settle = settle_gate,
                                     .offers = tw_tile_rows_offers,
                                     .write = write};
