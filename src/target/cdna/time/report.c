/* report.c - see report.h. */
#include "target/cdna/time/report.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/trace.h"
#include "op/gemm_problem.h"
#include "target/cdna/layout/mfma.h"
#include "target/cdna/views/views.h"

void cdna_times_add(cdna_times *sum, const cdna_times *one, bool is_main) {
  const cdna_times before = *sum;
  if (is_main || sum->seconds == 0) *sum = *one;
  if (before.seconds == 0) return;
  sum->seconds = before.seconds + one->seconds;
  sum->cycles = before.cycles + one->cycles;
  sum->matrix_flops = before.matrix_flops + one->matrix_flops;
  sum->instructions = before.instructions + one->instructions;
  sum->waves = before.waves + one->waves;
  for (int u = 0; u < CDNA_UNITS; u++) sum->bytes[u] = before.bytes[u] + one->bytes[u];
}

/* ---- bounds ---- */

/* The type of the matrix units for a tensor type; CDNA_TYPES: not supported. */
static cdna_type matrix_type(tw_type t) {
  switch (t) {
  case TW_F32: return CDNA_F32;
  case TW_F16: return CDNA_F16;
  case TW_BF16: return CDNA_BF16;
  case TW_I8:
  case TW_U8: return CDNA_I8;
  case TW_E4M3:
  case TW_E4M3FNUZ:
  case TW_MXFP8: return CDNA_FP8;
  case TW_E5M2: return CDNA_BF8;
  case TW_E2M3:
  case TW_MXFP6: return CDNA_FP6;
  case TW_E3M2: return CDNA_BF6;
  case TW_MXFP4: return CDNA_FP4;
  default: return CDNA_TYPES;
  }
}

double cdna_matrix_peak(const cdna_machine *m, cdna_arch arch, tw_type type) {
  const cdna_type wanted = matrix_type(type);
  const cdna_mfma *i;
  double best = 0;
  for (size_t n = 0; (i = cdna_mfma_at(n)); n++) {
    const bool any = i->a == CDNA_F8F6F4 && wanted >= CDNA_FP8 && wanted <= CDNA_FP4;
    if ((i->a != wanted && !any) || cdna_mfma_is_sparse(i)) continue;
    const int passes = cdna_mfma_passes(i, arch, any ? wanted : i->a, any ? wanted : i->b);
    if (passes > 0) best = fmax(best, (double)cdna_mfma_macs(i) / (4.0 * passes));
  }
  return 2 * best * m->simds * m->caches.xcds * m->caches.cus * m->clock_mhz * 1e6;
}

/* The type of the problem that matrix units multiply fastest: a kernel may convert operands to it before it
 * multiplies. */
static double fastest(const cdna_machine *m, cdna_arch arch, const tw_problem *p, tw_type *type) {
  tw_operand operand[TW_OPERANDS_MAX];
  tw_type have[TW_OPERANDS_MAX + 2];
  const size_t n = p->op->operands(p, operand);
  size_t types = 0;
  double peak = 0;
  for (size_t i = 0; i < n; i++)
    if (!operand[i].is_output) have[types++] = operand[i].type;
  if (strcmp(p->op->name, "gemm") == 0) { /* blocks with scales come as the numbers that they are */
    const tw_gemm g = tw_gemm_of(p);
    have[types++] = g.a, have[types++] = g.b;
  }
  for (size_t i = 0; i < types; i++) {
    const double here = cdna_matrix_peak(m, arch, have[i]);
    if (here > peak) peak = here, *type = have[i];
  }
  return peak;
}

tw_status cdna_bound(const tw_target *t, const tw_problem *p, tw_bound *out, tw_error *error) {
  const cdna_machine *m = cdna_machine_of(t);
  tw_type type = TW_F32;
  double peak = fastest(m, cdna_arch_of(t), p, &type);
  (void)error;
  if (peak == 0) peak = cdna_matrix_peak(m, cdna_arch_of(t), TW_F32);
  const double bytes = p->op->bytes(p), kept = (double)m->caches.llc_bytes;
  const cdna_rates *r = &m->rates;
  const double rate = cdna_stream_rate(m, bytes);
  *out = (tw_bound){.compute_cost = 2 * p->op->operations(p) / peak, .memory_cost = bytes / rate};
  out->cost = fmax(out->compute_cost, out->memory_cost);
  /* what the LLC cannot hold comes from memory, or goes there; the model of caches is off by some percent */
  const double beyond = fmax(0, bytes - kept), memory = m->memory_tbs * 1e12 * r->memory_use;
  out->least = fmax(0.999 * out->compute_cost, 0.9 * fmax(bytes / (r->llc_gbs * 1e9), beyond / memory));
  if (out->compute_cost >= out->memory_cost)
    snprintf(out->limit, sizeof out->limit, "matrix units with %s: %.0f Tflop/s at %d MHz, without a launch",
             tw_type_name(type), peak * 1e-12, m->clock_mhz);
  else
    snprintf(out->limit, sizeof out->limit, "%s: %.3g MB at %.1f TB/s, without a launch",
             bytes <= kept ? "LLC" : "memory", bytes * 1e-6, rate * 1e-12);
  return TW_OK;
}

/* ---- measurements ---- */

void cdna_report(const cdna_machine *m, const cdna_result_counts *c, double whole, const cdna_times *t,
                 const tw_problem *p, tw_measurement *out) {
  *out = (tw_measurement){.cost = t->seconds, .seconds = t->seconds, .cycles = t->cycles};
  out->instructions = c->waves ? (double)c->instructions * whole : t->instructions;
  const cdna_arch arch = m->arch;
  memcpy(out->bottleneck, t->bottleneck, sizeof out->bottleneck);
  if (p) {
    tw_type type;
    const double peak = fastest(m, arch, p, &type);
    if (peak > 0) out->utilization = 2 * p->op->operations(p) / t->seconds / peak;
  }
#define ADD(name, unit, help, value)                                                                                   \
  out->counter[out->n_counters++] = (tw_counter) { name, unit, help, value }
  const double flops = p ? 2 * p->op->operations(p) : t->matrix_flops;
  ADD("tflops", "Tflop/s", "operations of the problem in the modelled time", flops / t->seconds * 1e-12);
  ADD("clock", "MHz", "clock that the power limit allows at this load of matrix and vector units", t->mhz);
  ADD("matrix_busy", "%", "time in which matrix units multiply, while a CU has workgroups", 100 * t->use[CDNA_MATRIX]);
  ADD("vector_busy", "%", "time in which vector units issue, while a CU has workgroups", 100 * t->use[CDNA_VECTOR]);
  ADD("lds_busy", "%", "time in which LDS serves requests, while a CU has workgroups", 100 * t->use[CDNA_LDS]);
  ADD("l1_busy", "%", "time in which L1 is looked up or moves data, while a CU has workgroups", 100 * t->use[CDNA_L1]);
  ADD("l2_busy", "%", "used part of a CU's share of the bandwidth of L2", 100 * t->use[CDNA_L2]);
  ADD("llc_busy", "%", "used part of a CU's share of the bandwidth of the last-level cache", 100 * t->use[CDNA_LLC]);
  ADD("memory_busy", "%", "used part of a CU's share of the bandwidth of memory", 100 * t->use[CDNA_MEMORY]);
  ADD("cus_working", "%", "time in which CUs have workgroups, mean over the CUs", 100 * t->working);
  static const char *const name[] = {"wait_issue",   "wait_matrix",  "wait_result", "wait_register", "wait_vmcnt",
                                     "wait_lgkmcnt", "wait_barrier", "wait_lds",    "wait_memory",   "wait_code"};
  static const char *const wait[] = {"waves' time in which other waves of the SIMD issue",
                                     "waves' time in which they wait for the busy matrix unit",
                                     "waves' time in which they wait for results of matrix instructions",
                                     "waves' time in which they wait for other registers, s_nop, s_sleep or a branch",
                                     "waves' time in which they wait for vmcnt (vector memory)",
                                     "waves' time in which they wait for lgkmcnt (LDS and scalar memory)",
                                     "waves' time in which they wait at a barrier",
                                     "waves' time in which the queue of LDS is full",
                                     "waves' time in which the queue of vector memory is full",
                                     "waves' time in which they wait for instructions"};
  for (int s = 0; s < CDNA_WAITS; s++) ADD(name[s], "%", wait[s], 100 * t->stall[s]);
  ADD("l2_hits", "%", "hits of L2, of the loads that miss L1", 100 * t->l2_hits);
  ADD("llc_hits", "%", "hits of the last-level cache, of the loads that miss L2", 100 * t->llc_hits);
  ADD("lds_conflicts", "%", "additional LDS cycles because of bank conflicts", 100 * t->conflicts);
  ADD("l2_bytes", "bytes", "bytes requested from L2", t->bytes[CDNA_L2]);
  ADD("llc_bytes", "bytes", "bytes requested from the last-level cache", t->bytes[CDNA_LLC]);
  ADD("memory_bytes", "bytes", "bytes requested from memory", t->bytes[CDNA_MEMORY]);
  ADD("workgroups", "workgroups", "workgroups on a CU at a time", t->together);
  ADD("waves", "waves", "waves of the launch", t->waves);
#undef ADD
}

/* ---- traces ---- */

/* Lanes: first SIMD 0, then the shared lanes, then the other SIMDs. */
enum { LANES_OF_SIMD = 2 + 8, SHARED = 2, SIMDS = 4 };
static int lane_number(const cdna_span *s) {
  if (s->kind == CDNA_LDS || s->kind == CDNA_L1) return LANES_OF_SIMD + (s->kind == CDNA_L1);
  const int within = s->kind == CDNA_MATRIX ? 0 : s->kind < CDNA_UNITS ? 1 : 2 + s->wave;
  return (s->simd ? SHARED : 0) + s->simd * LANES_OF_SIMD + within;
}
static void lane_name(const cdna_span *s, char *text, size_t size) {
  if (s->kind == CDNA_LDS || s->kind == CDNA_L1)
    snprintf(text, size, "%s", cdna_unit_name((cdna_unit)s->kind));
  else if (s->kind < CDNA_UNITS)
    snprintf(text, size, "%s %d", s->kind == CDNA_MATRIX ? "matrix" : "vector", s->simd);
  else
    snprintf(text, size, "wave %d.%d", s->simd, s->wave);
}

tw_status cdna_write_trace(const cdna_spans *spans, double mhz, const char *path, tw_error *error) {
  enum { ALL = SIMDS * LANES_OF_SIMD + SHARED };
  FILE *f = fopen(path, "w");
  if (!f) return tw_fail(error, TW_MISSING, "cannot write %s", path);
  tw_trace t = tw_trace_begin(f, mhz);
  const cdna_span *of_lane[ALL] = {NULL};
  char lane[24];
  int64_t end = 0;
  for (size_t i = 0; i < spans->n; i++) {
    of_lane[lane_number(&spans->at[i])] = &spans->at[i];
    if (spans->at[i].to > end) end = spans->at[i].to;
  }
  for (int i = 0; i < ALL; i++) {
    if (!of_lane[i]) continue;
    lane_name(of_lane[i], lane, sizeof lane);
    tw_trace_lane(&t, lane);
  }
  tw_trace_lane(&t, "kernel");
  for (size_t i = 0; i < spans->n; i++) {
    const cdna_span *s = &spans->at[i];
    lane_name(s, lane, sizeof lane);
    char name[48];
    snprintf(name, sizeof name, "%s%s", s->kind >= CDNA_UNITS ? "waits for " : "", s->name);
    /* half a cycle shorter, so that rounding makes no two spans overlap */
    tw_trace_span(&t, lane, name, (double)s->from, (double)s->to - 0.5);
  }
  tw_trace_end(&t, "kernel", 0, (double)end);
  return fclose(f) == 0 ? TW_OK : tw_fail(error, TW_MISSING, "cannot write %s", path);
}
