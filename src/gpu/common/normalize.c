/* normalize.c - plans kernels for layernorm and softmax (op/layernorm.c, op/softmax.c); kernels/layernorm.cuh.in and
 * kernels/softmax.cuh.in are the kernels. `warps` warps read a row once, keep it in registers as floats, and write it once.
 *
 * Threads without a row work on the last row and store nothing, because all threads of a block take part in its
 * reductions. */
#include "gpu/common/rows_language.h"

#include <string.h>

#include "base/template.h"
#include "op/layernorm.h"

enum { VALUES_MAX = 64, ROWS_USUAL_WARPS = 8 }; /* floats of a row that a thread keeps; warps of a block */

static tw_status settle_row(const tw_tile_machine *machine, const tw_problem *p, void *settled, tw_error *error) {
  tw_tile_rows_plan *plan = settled;
  const int64_t cols = tw_problem_int(p, "cols"), rows = tw_problem_int(p, "rows");
  const int64_t chunk = TW_TILE_CHUNK / tw_tile_type_bytes(tw_problem_type(p, "a"));
  TW_REJECT_IF(
      strcmp(p->op->name, "layernorm") == 0 &&
          (!tw_problem_int(p, "affine") || tw_problem_int(p, "groups") > 1 || tw_problem_int(p, "span") > 1),
      "rows in registers do not support affine=0, groups and span; NVIDIA GPUs have 'split_row blocks=64' for them");
  TW_REJECT_IF(cols % chunk, "unsupported cols=%lld; rows are read 16 bytes at a time, so expected a multiple of %lld",
               (long long)cols, (long long)chunk);
  if (!plan->warps)
    for (plan->warps = 1; plan->warps < 32 && cols > (int64_t)plan->warps * machine->warp_threads * 16;)
      plan->warps *= 2;
  if (!plan->rows) plan->rows = plan->warps < ROWS_USUAL_WARPS ? ROWS_USUAL_WARPS / plan->warps : 1;
  const int64_t threads = (int64_t)plan->warps * machine->warp_threads;
  TW_REJECT_IF(threads * plan->rows > machine->block_threads,
               "%d rows of %d warps exceed the %d threads of a block; use fewer", plan->rows, plan->warps,
               machine->block_threads);
  const int64_t each = (cols / chunk + threads - 1) / threads;
  TW_REJECT_IF(each * chunk > VALUES_MAX, "row warps=%d: %lld elements per thread exceed its registers; use more warps",
               plan->warps, (long long)(each * chunk));
  plan->chunks = each * (strcmp(p->op->name, "layernorm") == 0 && tw_problem_int(p, "residual") ? 2 : 1);
  plan->block_threads = threads * plan->rows;
  plan->blocks = (rows + plan->rows - 1) / plan->rows;
  return TW_OK;
}

/* The slots of both kernels. */
static void set_common(tw_slots *s, const tw_tile_machine *machine, const tw_problem *p,
                       const tw_tile_rows_plan *plan) {
  const tw_type type = tw_problem_type(p, "a");
  const int64_t chunk = TW_TILE_CHUNK / tw_tile_type_bytes(type), chunks = tw_problem_int(p, "cols") / chunk;
  const int64_t threads = (int64_t)plan->warps * machine->warp_threads;
  tw_slots_text(s, "op", p->op->name);
  tw_slots_text(s, "type", tw_tile_type_word(type));
  tw_slots_number(s, "cols", chunks * chunk);
  tw_slots_flag(s, "one_warp", plan->warps == 1);
  tw_slots_text(s, "once", plan->once ? "_once" : NULL);
  tw_slots_number(s, "each", (chunks + threads - 1) / threads);
  tw_slots_flag(s, "ragged", chunks % threads); /* some threads have fewer chunks */
}

static void slots_layernorm(const tw_tile_machine *machine, const tw_problem *p, const void *settled, tw_slots *s) {
  const tw_tile_rows_plan *plan = settled;
  const bool rms = tw_problem_int(p, "norm") == TW_NORM_RMS;
  const double dropout = tw_problem_real(p, "dropout");
  const int64_t chunks = tw_problem_int(p, "cols") * tw_tile_type_bytes(tw_problem_type(p, "a")) / TW_TILE_CHUNK;
  tw_slots_flag(s, "residual", tw_problem_int(p, "residual"));
  tw_slots_flag(s, "rms", rms);
  tw_slots_flag(s, "bias", !rms);
  tw_slots_flag(s, "dropout", dropout > 0);
  tw_slots_flag(s, "ragged_or_dropout", dropout > 0 || chunks % (plan->warps * machine->warp_threads));
  tw_slots_number(s, "threshold", (unsigned)(dropout * 0x1p32));
  set_common(s, machine, p, plan);
}

static void slots_softmax(const tw_tile_machine *machine, const tw_problem *p, const void *plan, tw_slots *s) {
  tw_slots_flag(s, "log", tw_problem_int(p, "log"));
  set_common(s, machine, p, plan);
}

const tw_tile_family tw_tile_layernorm = {.language = &tw_tile_row_language,
                                          .plan_size = sizeof(tw_tile_rows_plan),
                                          .settle = settle_row,
                                          .kernel = "gpu/common/kernels/layernorm.cuh.in",
                                          .slots = slots_layernorm};

const tw_tile_family tw_tile_softmax = {.language = &tw_tile_row_language,
                                        .plan_size = sizeof(tw_tile_rows_plan),
                                        .settle = settle_row,
                                        .kernel = "gpu/common/kernels/softmax.cuh.in",
                                        .slots = slots_softmax};
