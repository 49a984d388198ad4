/* core.c - from a kernel's description to its cycles: graphs, schedules, the checker, and their sum. */
#include "target/xdna2/core/core.h"
#include "target/xdna2/core/builder.h"

#include <pthread.h>
#include <string.h>

#include "target/xdna2/core/gemm_core.h"
#include "target/xdna2/core/plan.h"

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

/* ---- the call ---- */

/* The only cost of a zero-overhead loop is the time between its set-up and its end: prologue and body. */
static int loop_cycles(xd_core_loop l, int iterations) {
  if (!iterations) return 0;
  const int stages = (l.length + l.ii - 1) / l.ii, to_end = stages * l.ii, need = xc_machine_aie2p()->loop_bundles;
  return (iterations - 1) * l.ii + l.length + (to_end < need ? need - to_end : 0);
}

static xd_core_loop loop_of(const xc_timetable *s) { return (xd_core_loop){s->ii, s->length}; }

int xc_loop_cycles(const xc_loop *l, int iterations) { return loop_cycles(loop_of(&l->table), iterations); }

/* The prologue has all overlapping iterations except the last; the epilogue has all except the first. */
static int code_bytes(const xc_machine *m, const xc_timetable *s) {
  const int stages = (s->length + s->ii - 1) / s->ii;
  return m->bundle_bytes * (stages == 1 ? s->length : (2 * (stages - 1) + s->copies) * s->ii);
}

static void find_phases(const xc_loop *l, xd_core_result *out) {
  int first = l->table.length, last = 0;
  for (int i = 0; i < l->graph.n_nodes; i++) {
    if (l->graph.node[i].role != 'M') continue;
    if (l->table.cycle[i] < first) first = l->table.cycle[i];
    if (l->table.cycle[i] > last) last = l->table.cycle[i];
  }
  out->prologue = first;
  out->epilogue = l->table.length - 1 - last;
}

static tw_status plan_conversion(const xc_machine *m, const xd_core_kernel *k, xd_core_loop *out, int *code,
                                 tw_error *error) {
  xc_loop l;
  const int scratch = m->banks - 1;
  tw_status status = xc_plan_conversion(m, (int[]){k->bank[0], k->bank[0] < 0 ? -1 : scratch}, &l, error);
  if (status != TW_OK) return status;
  *out = loop_of(&l.table);
  *code += code_bytes(m, &l.table);
  xc_loop_free(&l);
  return TW_OK;
}

static int conversion_turns(const xd_core_kernel *k) {
  enum { BLOCK = 64 };
  const int blocks = k->m * k->k / BLOCK;
  return (blocks + XC_CONVERT_BLOCKS - 1) / XC_CONVERT_BLOCKS;
}

static void note_loop(const xc_loop *l, int clusters, xd_core_result *out) {
  const xc_timetable *s = &l->table;
  out->ii = (s->ii + clusters - 1) / clusters;
  out->resource_ii = (s->resource_ii + clusters - 1) / clusters;
  out->recurrence_ii = s->recurrence_ii;
  out->length = s->length;
  out->copies = s->copies;
  out->vectors = s->used[XC_VECTOR];
  out->accumulators = s->used[XC_ACCUMULATOR];
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

/* `loop` runs `each` clusters at a time; the remainder, and A's conversion, have separate loops. */
static tw_status find_pace(const xd_core_kernel *k, const xc_loop *loop, int each, xd_core_pace *out, tw_error *error) {
  const xc_machine *m = xc_machine_aie2p();
  xc_loop single;
  tw_status status = TW_OK;
  *out = (xd_core_pace){each, loop_of(&loop->table), loop_of(&loop->table), {0}, code_bytes(m, &loop->table)};
  if (each > 1 && (status = xc_plan_loop(m, k, 1, &single, error)) == TW_OK) {
    out->cluster = loop_of(&single.table);
    if (count_clusters(k) % each) out->code_bytes += code_bytes(m, &single.table);
    xc_loop_free(&single);
  }
  if (status == TW_OK && k->convert_a) status = plan_conversion(m, k, &out->convert, &out->code_bytes, error);
  if (k->unpack) out->code_bytes *= 3; /* also clusters that do not unpack, and the function of the last step of K */
  if (status == TW_OK && out->code_bytes > m->program_bytes)
    return tw_fail(error, TW_USAGE, "the kernel needs %d bytes of code, but the program memory has %d; unroll less",
                   out->code_bytes, m->program_bytes);
  return status;
}

tw_status xd_core_pace_of(const xd_core_kernel *k, xd_core_pace *out, tw_error *error) {
  xc_loop loop;
  int each;
  tw_status status = xc_plan_kernel(k, &each, &loop, error);
  if (status != TW_OK) return status;
  status = find_pace(k, &loop, each, out, error);
  xc_loop_free(&loop);
  return status;
}

static int clusters_cycles(const xd_core_pace *p, int clusters) {
  return loop_cycles(p->block, clusters / p->each) + loop_cycles(p->cluster, clusters % p->each);
}

static int cluster_cycles(const xd_core_pace *p, const xd_core_kernel *k) {
  return clusters_cycles(p, count_clusters(k));
}

double xd_core_pace_cycles(const xd_core_pace *p, const xd_core_kernel *k) {
  return cluster_cycles(p, k) + (k->convert_a ? loop_cycles(p->convert, conversion_turns(k)) : 0);
}

tw_status xd_core_schedule(const xd_core_kernel *k, xd_core_result *out, tw_error *error) {
  xc_loop loop;
  xd_core_pace pace;
  int each;
  *out = (xd_core_result){0};
  tw_status status = xc_plan_kernel(k, &each, &loop, error);
  if (status != TW_OK) return status;
  status = find_pace(k, &loop, each, &pace, error);
  if (status == TW_OK) {
    out->clusters = count_clusters(k);
    out->vmacs = k->cluster[0] * k->cluster[1] * (k->k / xd_core_shape(k->mac)[1]) * xc_macs[k->mac].issues;
    note_loop(&loop, each, out);
    find_phases(&loop, out);
    out->code_bytes = pace.code_bytes;
    out->steady = cluster_cycles(&pace, k) - out->prologue - out->epilogue;
    out->cycles = xd_core_pace_cycles(&pace, k);
    out->convert_cycles = out->cycles - cluster_cycles(&pace, k);
    out->convert_ii = pace.convert.ii;
    out->efficiency = (double)out->vmacs * out->clusters / out->cycles;
  }
  xc_loop_free(&loop);
  return status;
}

/* ---- passes ---- */

static struct {
  tw_status status;
  tw_error error;
  xd_core_loop loop;
} passes[XD_PASSES];
static pthread_once_t passes_once = PTHREAD_ONCE_INIT;

static void plan_passes(void) {
  for (int i = 0; i < XD_PASSES; i++) {
    xc_loop l;
    passes[i].status = xc_plan_pass(xc_machine_aie2p(), (xd_core_pass)i, &l, &passes[i].error);
    if (passes[i].status != TW_OK) continue;
    passes[i].loop = loop_of(&l.table);
    xc_loop_free(&l);
  }
}

tw_status xd_core_pass_cycles(xd_core_pass pass, int64_t count, double *cycles, tw_error *error) {
  enum { BLOCK = 64 };
  const int turn = pass == XD_PASS_UNPACK_I8 || pass == XD_PASS_UNPACK_I4 ? XC_UNPACK_BLOCKS * BLOCK
                   : pass == XD_PASS_UNPACK_BFP16                         ? XC_SCALED_BLOCKS * BLOCK
                                                                          : BLOCK;
  pthread_once(&passes_once, plan_passes);
  if (passes[pass].status != TW_OK) return tw_fail(error, passes[pass].status, "%s", passes[pass].error.text);
  *cycles = loop_cycles(passes[pass].loop, (int)((count + turn - 1) / turn));
  return TW_OK;
}

/* ---- unpacking beside products ---- */

/* Clusters that unpack come first, if fewer than all suffice. */
tw_status xd_core_hidden_cycles(const xd_core_kernel *k, double *cycles, tw_error *error) {
  enum { CODES = 64 * XC_UNPACK_BLOCKS };
  xd_core_kernel with = *k, without = *k;
  xd_core_pace pace[2];
  double rest = 0;
  with.unpack = true;
  without.unpack = false;
  tw_status status = xd_core_pace_of(&with, &pace[0], error);
  if (status == TW_OK) status = xd_core_pace_of(&without, &pace[1], error);
  if (status != TW_OK) return status;
  const int64_t codes = (int64_t)k->k * k->n, vectors = (codes + CODES - 1) / CODES;
  const int clusters = count_clusters(k), unpacking = vectors < clusters ? (int)vectors : clusters;
  if (vectors > unpacking)
    status = xd_core_pass_cycles(k->mac == XD_CORE_I8_I4 ? XD_PASS_UNPACK_I4 : XD_PASS_UNPACK_I8,
                                 (vectors - unpacking) * CODES, &rest, error);
  *cycles = clusters_cycles(&pace[0], unpacking) + clusters_cycles(&pace[1], clusters - unpacking) + rest;
  return status;
}
