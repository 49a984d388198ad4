/* normalize.c - plans kernels for layernorm and softmax (op/layernorm.c, op/softmax.c); kernels/layernorm.cuh.in and
 * kernels/softmax.cuh.in are the kernels. `warps` warps read a row once, keep it in registers as floats, and write it
 * once. kernels/norm_inner.cuh.in is the kernel of rows whose elements are `inner` apart: a thread keeps elements of
 * neighbouring rows.
 *
 * Threads without a row work on the last row and store nothing, because all threads of a block take part in its
 * reductions. */
#include "gpu/common/rows_language.h"

#include <string.h>

#include "base/template.h"
#include "op/layernorm.h"

enum {
  /* Floats of rows that a thread keeps at most. */
  VALUES_MAX = 64,
  /* Warps of a block [default]. */
  ROWS_USUAL_WARPS = 8,
  /* Registers of a thread that hold neither floats of rows nor what `settle_row` counts. */
  REGISTERS_MORE = 24,
  /* The largest block, in warps, whose threads can each keep VALUES_MAX floats. */
  WARPS_FULL = 16
};

static bool is_norm(const tw_problem *p) { return strcmp(p->op->name, "layernorm") == 0; }

/* How rows are read. With inner = 1, a load has `count` elements of one row, and the threads of a warp share a row.
 * With inner > 1, a load has one element of each of `count` neighbouring rows, and no thread of the warp shares them. */
typedef struct layout {
  /* Elements from one element of a row to the next. */
  int64_t inner;
  /* Elements of a load. */
  int count;
  /* Rows that are read together are a group: its loads, and the number of groups. */
  int64_t pieces, groups;
  /* Threads of a warp that share a group. */
  int sharing;
} layout;

static layout layout_of(const tw_tile_machine *machine, const tw_problem *p) {
  const tw_type type = tw_problem_type(p, "a");
  const int64_t rows = tw_problem_int(p, "rows"), cols = tw_problem_int(p, "cols"),
                inner = is_norm(p) ? tw_problem_int(p, "inner") : 1;
  if (inner == 1) {
    const int count = TW_TILE_CHUNK / tw_tile_type_bytes(type);
    return (layout){
        .inner = 1, .count = count, .pieces = cols / count, .groups = rows, .sharing = machine->warp_threads};
  }
  int count = tw_tile_piece(type, inner);
  if (cols * count > VALUES_MAX * WARPS_FULL) count = 1; /* long rows, one at a time */
  return (layout){.inner = inner, .count = count, .pieces = cols, .groups = rows * (inner / count), .sharing = 1};
}

/* Some threads have fewer pieces than others. */
static bool is_ragged(const layout *l, const tw_tile_rows_plan *plan) { return l->pieces % (plan->warps * l->sharing); }

static tw_status settle_row(const tw_tile_machine *machine, const tw_problem *p, void *settled, tw_error *error) {
  tw_tile_rows_plan *plan = settled;
  const layout l = layout_of(machine, p);
  const int64_t cols = tw_problem_int(p, "cols");
  TW_REJECT_IF(
      is_norm(p) && l.inner == 1 &&
          (!tw_problem_int(p, "affine") || tw_problem_int(p, "groups") > 1 || tw_problem_int(p, "span") > 1),
      "rows in registers do not support affine=0, groups and span; NVIDIA GPUs have 'split_row blocks=64' for them");
  TW_REJECT_IF(l.inner == 1 && cols % l.count,
               "unsupported cols=%lld; rows are read 16 bytes at a time, so expected a multiple of %d", (long long)cols,
               l.count);
  if (!plan->warps)
    for (plan->warps = 1; plan->warps < 32 && l.pieces * l.count > (int64_t)plan->warps * l.sharing * 16;)
      plan->warps *= 2;
  if (!plan->rows) plan->rows = plan->warps < ROWS_USUAL_WARPS ? ROWS_USUAL_WARPS / plan->warps : 1;
  const int64_t threads = (int64_t)plan->warps * machine->warp_threads, sharing = (int64_t)plan->warps * l.sharing,
                together = (int64_t)plan->rows * machine->warp_threads / l.sharing;
  TW_REJECT_IF(threads * plan->rows > machine->block_threads,
               "%d rows of %d warps exceed the %d threads of a block; use fewer", plan->rows, plan->warps,
               machine->block_threads);
  plan->each = (int)((l.pieces + sharing - 1) / sharing);
  const int64_t values = (int64_t)plan->each * l.count;
  TW_REJECT_IF(values > VALUES_MAX, "row warps=%d: %lld elements per thread exceed its registers; use more warps",
               plan->warps, (long long)values);
  /* A thread also keeps two numbers of each of its rows, and the address of each element that is loaded alone. */
  const int64_t need = values + 2 * l.count + (l.count == 1 ? 2 * plan->each : 0) + REGISTERS_MORE;
  TW_REJECT_IF(l.inner > 1 && machine->registers && need * threads * plan->rows > machine->registers,
               "%lld elements in each of %lld threads exceed the registers of a block; use other warps, or fewer rows",
               (long long)values, (long long)(threads * plan->rows));
  plan->chunks = (int64_t)plan->each * (is_norm(p) && tw_problem_int(p, "residual") ? 2 : 1);
  plan->block_threads = threads * plan->rows;
  plan->blocks = (l.groups + together - 1) / together;
  return TW_OK;
}

/* The slots of all kernels. */
static void set_common(tw_slots *s, const tw_tile_machine *machine, const tw_problem *p,
                       const tw_tile_rows_plan *plan) {
  const layout l = layout_of(machine, p);
  tw_slots_text(s, "op", p->op->name);
  tw_slots_text(s, "type", tw_tile_type_word(tw_problem_type(p, "a")));
  tw_slots_number(s, "cols", tw_problem_int(p, "cols"));
  tw_slots_flag(s, "one_warp", plan->warps == 1);
  tw_slots_text(s, "once", plan->once ? "_once" : NULL);
  tw_slots_number(s, "each", plan->each);
  tw_slots_flag(s, "ragged", is_ragged(&l, plan));
}

static tw_status write_layernorm(const tw_tile_machine *machine, const tw_problem *p, const void *settled, tw_text *t,
                                 tw_error *error) {
  const tw_tile_rows_plan *plan = settled;
  const layout l = layout_of(machine, p);
  const int64_t norm = tw_problem_int(p, "norm");
  const double dropout = tw_problem_real(p, "dropout");
  tw_slots s = {0};
  tw_slots_flag(&s, "residual", tw_problem_int(p, "residual"));
  tw_slots_flag(&s, "layer", norm == TW_NORM_LAYER);
  tw_slots_flag(&s, "rms", norm == TW_NORM_RMS);
  tw_slots_flag(&s, "abs", norm == TW_NORM_ABS);
  tw_slots_flag(&s, "l2", norm == TW_NORM_L2);
  tw_slots_flag(&s, "weight", tw_problem_int(p, "affine"));
  tw_slots_flag(&s, "bias", norm == TW_NORM_LAYER && tw_problem_int(p, "affine"));
  tw_slots_flag(&s, "dropout", dropout > 0);
  tw_slots_flag(&s, "quantize", tw_problem_int(p, "quantize"));
  tw_slots_flag(&s, "ragged_or_dropout", dropout > 0 || is_ragged(&l, plan));
  tw_slots_number(&s, "threshold", (unsigned)(dropout * 0x1p32));
  tw_slots_number(&s, "inner", l.inner);
  tw_slots_number(&s, "pieces", l.inner / l.count);
  tw_slots_number(&s, "count", l.count);
  tw_slots_flag(&s, "vector", l.count > 1);
  set_common(&s, machine, p, plan);
  return tw_tile_fill(&tw_tile_layernorm, machine, plan,
                      l.inner > 1 ? "gpu/common/kernels/norm_inner.cuh.in" : "gpu/common/kernels/layernorm.cuh.in", &s,
                      t, error);
}

static void slots_softmax(const tw_tile_machine *machine, const tw_problem *p, const void *plan, tw_slots *s) {
  tw_slots_flag(s, "log", tw_problem_int(p, "log"));
  set_common(s, machine, p, plan);
}

const tw_tile_family tw_tile_layernorm = {.language = &tw_tile_row_language,
                                          .plan_size = sizeof(tw_tile_rows_plan),
                                          .settle = settle_row,
                                          .write = write_layernorm};

const tw_tile_family tw_tile_softmax = {.language = &tw_tile_row_language,
                                        .plan_size = sizeof(tw_tile_rows_plan),
                                        .settle = settle_row,
                                        .kernel = "gpu/common/kernels/softmax.cuh.in",
                                        .slots = slots_softmax};
