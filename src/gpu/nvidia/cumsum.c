/* cumsum.c - plans kernels for op `cumsum` (op/cumsum.c); kernels/cumsum.cuh.in is the kernel. */
#include "gpu/nvidia/cumsum.h"

#include "base/template.h"
#include "gpu/common/rows_language.h"

enum { THREADS_USUAL = 256, CHUNKS_USUAL = 2 };

static tw_status settle_cumsum(const tw_tile_machine *machine, const tw_problem *p, void *settled, tw_error *error) {
  tw_tile_rows_plan *plan = settled;
  if (!plan->each) plan->each = CHUNKS_USUAL;
  if (!plan->threads) plan->threads = THREADS_USUAL;
  const tw_status status = tw_tile_check_threads(machine, plan->threads, error);
  if (status != TW_OK) return status;
  plan->chunks = plan->each;
  plan->block_threads = plan->threads;
  plan->blocks = tw_problem_int(p, "rows");
  return TW_OK;
}

static void slots(const tw_tile_machine *machine, const tw_problem *p, const void *settled, tw_slots *s) {
  (void)machine;
  const tw_tile_rows_plan *plan = settled;
  const int64_t cols = tw_problem_int(p, "cols"), count = tw_tile_piece(tw_problem_type(p, "a"), cols);
  tw_slots_text(s, "type", tw_tile_type_word(tw_problem_type(p, "a")));
  tw_slots_number(s, "cols", cols);
  tw_slots_text(s, "once", plan->once ? "_once" : NULL);
  tw_slots_number(s, "count", count);
  tw_slots_number(s, "items", cols / count);
  tw_slots_flag(s, "vector", count > 1);
  tw_slots_flag(s, "reverse", tw_problem_int(p, "reverse"));
  tw_slots_flag(s, "masked", tw_problem_int(p, "masked"));
  tw_slots_flag(s, "exclusive", tw_problem_int(p, "exclusive"));
}

const tw_tile_family tw_tile_cumsum = {.language = &tw_tile_gate_language,
                                       .plan_size = sizeof(tw_tile_rows_plan),
                                       .settle = settle_cumsum,
                                       .kernel = "gpu/nvidia/kernels/cumsum.cuh.in",
                                       .slots = slots};
