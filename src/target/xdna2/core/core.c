/* core.c - from a kernel's description to its cycles: graphs, schedules, the checker, and what they add up to. */
#include "target/xdna2/core/core.h"

#include <math.h>
#include <string.h>

#include "target/xdna2/core/check.h"
#include "target/xdna2/core/gemm.h"
#include "target/xdna2/core/plan.h"
#include "target/xdna2/core/schedule.h"

enum { REPLAYED = 5 }; /* iterations that the checker replays: more than overlap anywhere, so all pairs meet */

xd_core_kernel xd_core_kernel_of(xd_core_mac mac, xd_core_form c, int m, int k, int n) {
  return (xd_core_kernel){
      .mac = mac, .c = c, .m = m, .k = k, .n = n, .cluster = {2, 2}, .unroll = 1, .bank = {0, 1, 2}};
}

const char *xd_core_way_name(xd_core_way way) {
  static const char *const names[XD_CORE_WAYS] = {"in-turn", "unrolled", "pipelined"};
  return way < XD_CORE_WAYS ? names[way] : NULL;
}

bool xd_core_parse_way(const char *name, xd_core_way *out) {
  for (int i = 0; i < XD_CORE_WAYS; i++) {
    if (strcmp(name, xd_core_way_name((xd_core_way)i)) != 0) continue;
    *out = (xd_core_way)i;
    return true;
  }
  return false;
}

/* ---- one loop ---- */

void xc_loop_free(xc_loop *l) {
  xc_schedule_free(&l->schedule);
  xc_graph_free(&l->graph);
}

/* Schedules the graph, which it takes over, and checks the schedule. ii_max = 0: straight-line code. */
static tw_status schedule_loop(xc_graph *g, int ii_max, xc_loop *out, tw_error *error) {
  *out = (xc_loop){.graph = *g};
  tw_status status = ii_max ? xc_modulo_schedule(&out->graph, ii_max, &out->schedule, error)
                            : xc_list_schedule(&out->graph, &out->schedule, error);
  if (status == TW_OK && !ii_max) status = xc_list_repeat(&out->graph, &out->schedule, error);
  const xc_schedule *s = &out->schedule;
  const int stages = s->ii ? (s->length + s->ii - 1) / s->ii : 1;
  if (status == TW_OK) status = xc_check(&out->graph, s, REPLAYED + stages + s->copies, error);
  if (status != TW_OK) xc_loop_free(out);
  return status;
}

static bool is_better(const xc_loop *a, const xc_loop *b) {
  return a->schedule.ii != b->schedule.ii ? a->schedule.ii < b->schedule.ii : a->schedule.length < b->schedule.length;
}

/* The best over ways to bind registers. Free registers come first; sets of them help where free ones do not suffice,
 * as the scheduler then knows when one is free again. ii_max < 0: so many times the bound by resources. */
static tw_status best_loop(const xc_machine *m, const xd_core_kernel *k, int clusters, int ii_max, xc_loop *best,
                           tw_error *error) {
  static const int sets[] = {0, 3, 2, 1};
  bool found = false;
  tw_status first_status = TW_OK;
  tw_error last = {0};
  for (size_t i = 0; i < sizeof sets / sizeof *sets; i++) {
    xc_graph g;
    xc_loop l;
    tw_error why = {0};
    tw_status status = xc_cluster_graph(m, k, clusters, (xc_binding){!ii_max, sets[i]}, &g, &why);
    if (status == TW_OK) status = schedule_loop(&g, ii_max < 0 ? -ii_max * xc_resource_ii(&g) : ii_max, &l, &why);
    if (status == TW_MISSING || status == TW_FAILED) first_status = status;
    if (status != TW_OK) {
      if (!*last.text || first_status != TW_OK) last = why;
    } else if (!found || is_better(&l, best)) {
      if (found) xc_loop_free(best);
      *best = l;
      found = true;
    } else {
      xc_loop_free(&l);
    }
    if (first_status != TW_OK) break;
  }
  if (found && first_status == TW_OK) return TW_OK;
  if (found) xc_loop_free(best);
  return tw_fail(error, first_status == TW_OK ? TW_USAGE : first_status, "%s", last.text);
}

tw_status xc_plan_loop(const xc_machine *m, const xd_core_kernel *k, int clusters, xc_loop *out, tw_error *error) {
  xc_loop overlapped;
  tw_status status = best_loop(m, k, clusters, 0, out, error);
  if (status == TW_FAILED || status == TW_MISSING || k->way != XD_CORE_PIPELINED) return status;
  enum { PATIENCE = 3 };
  const int ii_max = status == TW_OK ? out->schedule.ii - 1 : -PATIENCE;
  tw_status better = best_loop(m, k, clusters, ii_max, &overlapped, status == TW_OK ? NULL : error);
  if (better != TW_OK) return status == TW_OK && better == TW_USAGE ? TW_OK : better;
  if (status == TW_OK) xc_loop_free(out);
  *out = overlapped;
  return TW_OK;
}

/* ---- the call ---- */

static int loop_cycles(const xc_schedule *s, int iterations) {
  return iterations ? (iterations - 1) * s->ii + s->length : 0;
}

/* Prologue and epilogue hold all but the last, or first, of the overlapping iterations. */
static int code_bytes(const xc_machine *m, const xc_schedule *s) {
  const int stages = (s->length + s->ii - 1) / s->ii;
  return m->bundle_bytes * (stages == 1 ? s->length : (2 * (stages - 1) + s->copies) * s->ii);
}

static void find_phases(const xc_loop *l, xd_core_result *out) {
  int first = l->schedule.length, last = 0;
  for (int i = 0; i < l->graph.n_nodes; i++) {
    if (l->graph.node[i].role != 'M') continue;
    if (l->schedule.cycle[i] < first) first = l->schedule.cycle[i];
    if (l->schedule.cycle[i] > last) last = l->schedule.cycle[i];
  }
  out->prologue = first;
  out->epilogue = l->schedule.length - 1 - last;
}

static tw_status plan_conversion(const xc_machine *m, const xd_core_kernel *k, xd_core_result *out, tw_error *error) {
  enum { BLOCK = 64, LONGEST_II = 256 };
  xc_graph g;
  xc_loop l;
  const int scratch = m->banks - 1, blocks = k->m * k->k / BLOCK, free_bank = k->bank[0] < 0 ? -1 : scratch;
  tw_status status = xc_to_bfp16_graph(m, (int[]){k->bank[0], free_bank}, &g, error);
  if (status == TW_OK) status = schedule_loop(&g, LONGEST_II, &l, error);
  if (status != TW_OK) return status;
  out->convert_cycles = loop_cycles(&l.schedule, (blocks + XC_CONVERT_BLOCKS - 1) / XC_CONVERT_BLOCKS);
  out->convert_ii = l.schedule.ii;
  out->code_bytes += code_bytes(m, &l.schedule);
  xc_loop_free(&l);
  return TW_OK;
}

static void note_loop(const xc_machine *m, const xc_loop *l, int clusters, xd_core_result *out) {
  const xc_schedule *s = &l->schedule;
  out->ii = (s->ii + clusters - 1) / clusters;
  out->resource_ii = (s->resource_ii + clusters - 1) / clusters;
  out->recurrence_ii = s->recurrence_ii;
  out->length = s->length;
  out->copies = s->copies;
  out->vectors = s->used[XC_VECTOR];
  out->accumulators = s->used[XC_ACCUMULATOR];
  out->code_bytes += code_bytes(m, s);
}

static int count_clusters(const xd_core_kernel *k) {
  const int *shape = xd_core_shape(k->mac);
  return k->m / (shape[0] * k->cluster[0]) * (k->n / (shape[2] * k->cluster[1]));
}

tw_status xc_plan_kernel(const xd_core_kernel *k, int *clusters, xc_loop *out, tw_error *error) {
  const xc_machine *m = xc_machine_aie2p();
  tw_status status = xc_check_kernel(m, k, error);
  if (status != TW_OK) return status;
  const int all = count_clusters(k), asked = k->way == XD_CORE_UNROLLED ? k->unroll : 1;
  *clusters = asked < all ? asked : all;
  return xc_plan_loop(m, k, *clusters, out, error);
}

tw_status xd_core_schedule(const xd_core_kernel *k, xd_core_result *out, tw_error *error) {
  const xc_machine *m = xc_machine_aie2p();
  xc_loop loop;
  int each;
  *out = (xd_core_result){0};
  tw_status status = xc_plan_kernel(k, &each, &loop, error);
  if (status != TW_OK) return status;
  out->clusters = count_clusters(k);
  out->vmacs = k->cluster[0] * k->cluster[1] * (k->k / xd_core_shape(k->mac)[1]);
  note_loop(m, &loop, each, out);
  find_phases(&loop, out);
  int cycles = loop_cycles(&loop.schedule, out->clusters / each);
  xc_loop_free(&loop);
  if (out->clusters % each) { /* what the unrolling leaves, one at a time */
    if ((status = xc_plan_loop(m, k, 1, &loop, error)) != TW_OK) return status;
    cycles += loop_cycles(&loop.schedule, out->clusters % each);
    out->code_bytes += code_bytes(m, &loop.schedule);
    xc_loop_free(&loop);
  }
  out->steady = cycles - out->prologue - out->epilogue;
  if (k->convert_a && (status = plan_conversion(m, k, out, error)) != TW_OK) return status;
  out->cycles = cycles + out->convert_cycles;
  out->efficiency = (double)out->vmacs * out->clusters / out->cycles;
  if (out->code_bytes > m->program_bytes)
    return tw_fail(error, TW_USAGE, "the kernel takes %d bytes of code, the program memory has %d; unroll less",
                   out->code_bytes, m->program_bytes);
  return TW_OK;
}
