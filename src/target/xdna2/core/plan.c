/* plan.c - tries several ways to bind registers and to stagger chains, has each schedule checked, and keeps the
 * fastest. */
#include "target/xdna2/core/plan.h"

#include "target/xdna2/core/check.h"
#include "target/xdna2/core/gemm_core.h"

enum { REPLAYED = 5 }; /* iterations that the checker replays in addition to the overlapping ones: all pairs meet */

void xc_loop_free(xc_loop *l) {
  xc_timetable_free(&l->table);
  xc_graph_free(&l->graph);
}

/* Schedules the graph, which it takes over, and checks the schedule. ii_max = 0: straight-line code. */
static tw_status schedule_loop(xc_graph *g, int ii_max, int skew, xc_loop *out, tw_error *error) {
  *out = (xc_loop){.graph = *g};
  tw_status status = ii_max ? xc_modulo_schedule(&out->graph, ii_max, skew, &out->table, error)
                            : xc_list_schedule(&out->graph, &out->table, error);
  if (status == TW_OK && !ii_max) status = xc_list_repeat(&out->graph, &out->table, error);
  const xc_timetable *s = &out->table;
  const int stages = status == TW_OK && s->ii > 0 ? (s->length + s->ii - 1) / s->ii : 1;
  if (status == TW_OK) status = xc_check(&out->graph, s, REPLAYED + stages + s->copies, error);
  if (status != TW_OK) xc_loop_free(out);
  return status;
}

/* Free registers are tried first. Sets of registers help if free ones do not suffice, because the scheduler then
 * knows when a set becomes free. */
static const struct attempt { int sets, skew; } attempts[] = {{0, 0}, {3, 0}, {2, 0}, {1, 0}, {0, 1}, {0, 2}, {2, 2}};
enum { ATTEMPTS = sizeof attempts / sizeof *attempts };

static bool cannot_be_better(const xc_timetable *s) {
  return s->ii <= (s->resource_ii > s->recurrence_ii ? s->resource_ii : s->recurrence_ii);
}

/* The fastest of the attempts. `ii_max`: 0 for straight-line code; negative: a multiple of the bound by resources. */
static tw_status best_loop(const xc_machine *m, const xd_core_kernel *k, int clusters, int ii_max, xc_loop *best,
                           tw_error *error) {
  bool found = false;
  tw_status hard = TW_OK; /* an error that no other attempt can avoid */
  tw_error first = {0};
  for (int i = 0; i < ATTEMPTS && hard == TW_OK && !(found && cannot_be_better(&best->table)); i++) {
    xc_graph g;
    xc_loop l;
    tw_error why = {0};
    if (!ii_max && attempts[i].skew) continue;
    tw_status status = xc_cluster_graph(m, k, clusters, (xc_binding){!ii_max, attempts[i].sets}, &g, &why);
    if (status == TW_OK) {
      const int most = found ? best->table.ii - 1 : ii_max < 0 ? -ii_max * xc_resource_ii(&g) : ii_max;
      status = schedule_loop(&g, ii_max ? most : 0, attempts[i].skew, &l, &why);
    }
    if (status == TW_NO_MEMORY || status == TW_FAILED) hard = status;
    if (status != TW_OK) {
      if (!*first.text || hard != TW_OK) first = why;
    } else if (found && l.table.ii >= best->table.ii) {
      xc_loop_free(&l);
    } else {
      if (found) xc_loop_free(best);
      *best = l;
      found = true;
    }
  }
  if (found && hard == TW_OK) return TW_OK;
  if (found) xc_loop_free(best);
  return tw_fail(error, hard == TW_OK ? TW_USAGE : hard, "%s", first.text);
}

tw_status xc_plan_loop(const xc_machine *m, const xd_core_kernel *k, int clusters, xc_loop *out, tw_error *error) {
  enum { PATIENCE = 3 };
  xc_loop overlapped;
  tw_status status = best_loop(m, k, clusters, 0, out, error);
  if (status == TW_FAILED || status == TW_NO_MEMORY || k->way != XD_CORE_PIPELINED) return status;
  const int ii_max = status == TW_OK ? out->table.ii - 1 : -PATIENCE;
  if (!ii_max) return status;
  tw_status better = best_loop(m, k, clusters, ii_max, &overlapped, status == TW_OK ? NULL : error);
  if (better != TW_OK) return status == TW_OK && better == TW_USAGE ? TW_OK : better;
  if (status == TW_OK) xc_loop_free(out);
  *out = overlapped;
  return TW_OK;
}

enum { LONGEST_II = 256 };

tw_status xc_plan_conversion(const xc_machine *m, const int bank[2], xc_loop *out, tw_error *error) {
  xc_graph g;
  tw_status status = xc_to_bfp16_graph(m, bank, &g, error);
  return status == TW_OK ? schedule_loop(&g, LONGEST_II, 0, out, error) : status;
}

tw_status xc_plan_graph(xc_graph *g, xc_loop *out, tw_error *error) {
  enum { MOST = 16 }; /* times the bound by resources: far more than any loop takes */
  return schedule_loop(g, MOST * xc_resource_ii(g), 0, out, error);
}

tw_status xc_plan_pass(const xc_machine *m, xd_core_pass pass, xc_loop *out, tw_error *error) {
  static tw_status (*const graphs[XD_PASSES])(const xc_machine *, const int[2], xc_graph *, tw_error *) = {
      [XD_PASS_UNPACK_BFP16] = xc_unpack_bfp16_graph, [XD_PASS_UNPACK_I8] = xc_unpack_graph,
      [XD_PASS_UNPACK_I4] = xc_unpack_i4_graph,       [XD_PASS_CLEAR] = xc_clear_graph,
      [XD_PASS_NARROW_I16] = xc_narrow_i16_graph,     [XD_PASS_NARROW_I8] = xc_narrow_i8_graph,
      [XD_PASS_NARROW_BF16] = xc_narrow_bf16_graph,   [XD_PASS_ROUND_BFP16] = xc_round_bfp16_graph,
  };
  xc_graph g;
  const int apart[] = {0, 1};
  tw_status status = graphs[pass](m, apart, &g, error);
  return status == TW_OK ? schedule_loop(&g, LONGEST_II, 0, out, error) : status;
}
