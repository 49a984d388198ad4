/* execute.c - see execute.h. */
#include "target/xdna2/array/execute.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/integers.h"
#include "base/strings.h"
#include "op/element.h"
#include "target/count.h"
#include "target/xdna2/array/cost.h"
#include "target/xdna2/array/pack.h"
#include "target/xdna2/array/reference.h"
#include "target/xdna2/array/trace.h"

/* ---- checking ---- */

/* The checked part of a problem, with dense operands. */
typedef struct part {
  tw_problem problem;
  size_t n; /* operands: A, B, C */
  tw_operand operand[TW_OPERANDS_MAX];
  void *host[TW_OPERANDS_MAX], *expected[TW_OPERANDS_MAX]; /* expected: C only; for A and B it equals host */
  void *device[XD_GEMM_OPERANDS];
} part;

/* The size of the checked part: one macro-tile (or `whole`, if that is smaller) and the remainder. */
static int64_t part_of(int64_t size, int64_t macro, int count) {
  const int64_t some = count * macro + size % macro;
  return size < some ? size : some;
}

/* A part has whole groups, since each group has one scale. */
static int64_t depth_of_part(const xd_gemm *g, const xd_gemm_shape *s) {
  if (!xd_scaled_weights(g->kernel)) return part_of(g->k, s->step, 2);
  return g->group ? part_of(g->k, s->step * (g->group / tw_common_divisor(s->step, g->group)), 2) : g->k;
}

static bool is_whole(const xd_gemm *g) { return (double)g->m * (double)g->n * (double)g->k <= XD_CHECK_MACS; }

static tw_status choose_part(const xd_gemm *g, const tw_problem *whole, tw_problem *out, tw_error *error) {
  *out = *whole;
  if (is_whole(g)) return TW_OK;
  const xd_gemm_shape s = xd_gemm_shape_of(g);
  const struct {
    const char *key;
    int64_t size;
  } set[] = {{"m", part_of(g->m, s.macro_m, 1)}, {"n", part_of(g->n, s.macro_n, 1)}, {"k", depth_of_part(g, &s)}};
  for (int i = 0; i < 3; i++) {
    char text[32];
    snprintf(text, sizeof text, "%lld", (long long)set[i].size);
    const tw_status status = tw_problem_set(out, set[i].key, text, error);
    if (status != TW_OK) return status;
  }
  return TW_OK;
}

static bool make_part(const xd_gemm *g, part *p) {
  int64_t bytes[XD_GEMM_OPERANDS];
  p->n = p->problem.op->operands(&p->problem, p->operand);
  xd_gemm_bytes(g, bytes);
  for (size_t i = 0; i < p->n; i++)
    if (!(p->host[i] = tw_new(p->operand[i].bytes + 1, 1))) return false;
  memcpy(p->expected, p->host, sizeof p->host);
  if (!(p->expected[p->n - 1] = tw_new(p->operand[p->n - 1].bytes + 1, 1))) return false;
  for (int i = 0; i < XD_GEMM_OPERANDS; i++)
    if (!(p->device[i] = tw_new((size_t)bytes[i] + 1, 1))) return false;
  memset(p->device[XD_GEMM_C], TW_POISON, (size_t)bytes[XD_GEMM_C]);
  return true;
}

static void free_part(part *p) {
  if (p->n) free(p->expected[p->n - 1]);
  for (size_t i = 0; i < p->n; i++) free(p->host[i]);
  for (int i = 0; i < XD_GEMM_OPERANDS; i++) free(p->device[i]);
}

/* The first rows and columns of the case's operands. */
static void copy_inputs(const tw_case *k, part *p) {
  for (size_t i = 0; i + 1 < p->n; i++) {
    const size_t element = (size_t)tw_type_bits(p->operand[i].type) / 8;
    const size_t row = (size_t)p->operand[i].dims[1] * element, pitch = (size_t)k->operand[i].stride[0] * element;
    for (int64_t r = 0; r < p->operand[i].dims[0]; r++)
      memcpy((char *)p->host[i] + (size_t)r * row, (const char *)k->buffer[i] + (size_t)r * pitch, row);
  }
}

tw_status xd_operands_to_device(const xd_gemm *g, const tw_operand operand[], void *const host[], void *const device[],
                                tw_error *error) {
  if (g->kernel->a == TW_BFP16)
    xd_pack_a(g, host[0], device[XD_GEMM_A]);
  else
    memcpy(device[XD_GEMM_A], host[0], operand[0].bytes);
  if (xd_scaled_weights(g->kernel)) return xd_pack_scaled_weights(g, host[1], device[XD_GEMM_B], error);
  if (g->kernel->b == TW_BFP16)
    xd_pack_b(g, host[1], device[XD_GEMM_B]);
  else if (g->kernel->b == TW_I4 || g->kernel->b == TW_TERNARY)
    xd_pack_weights(g, host[1], device[XD_GEMM_B]);
  else
    memcpy(device[XD_GEMM_B], host[1], operand[1].bytes);
  return TW_OK;
}

void xd_result_from_device(const xd_gemm *g, const tw_operand *c, const void *device, void *host) {
  if (g->c == TW_BFP16)
    xd_unpack_c(g, device, host);
  else
    memcpy(host, device, c->bytes);
}

static tw_status run_part(const xd_config *c, const xd_gemm *g, part *p, tw_error *error) {
  const xd_run_options options = {.cost = xd_cost_of(c), .external = p->device};
  xd_program program;
  xd_run_result result;
  tw_status status = xd_gemm_program(c, g, &program, error);
  if (status != TW_OK) return status;
  status = xd_run(c, &program, &options, &result, error);
  xd_program_free(&program);
  return status;
}

/* malloc'ed; NULL without memory. */
static float *to_f32(tw_type type, const void *from, int64_t n) {
  float *to = tw_new((size_t)n, sizeof *to);
  for (int64_t i = 0; to && i < n; i++) to[i] = (float)tw_element(type, from, i);
  return to;
}

tw_status xd_check_bits(const xd_gemm *g, size_t n, const tw_operand operand[], const int64_t *row, void *const host[],
                        tw_error *error) {
  const tw_type a_type = operand[0].type, c_type = operand[n - 1].type;
  float *a = to_f32(a_type, host[0], g->m * g->k), *b = to_f32(operand[1].type, host[1], g->k * g->n);
  float *c = tw_new((size_t)(g->m * g->n), sizeof *c);
  tw_status status = a && b && c ? TW_OK : tw_no_memory(error, NULL);
  if (status == TW_OK && xd_scaled_weights(g->kernel)) status = xd_round_scales(g, b, error);
  if (status == TW_OK)
    status = (xd_gemm_narrow_sums(g) ? xd_gemm_narrow_reference : xd_gemm_reference)(g, a, b, c, error);
  for (int64_t i = 0; status == TW_OK && i < g->m * g->n; i++) {
    const double got = tw_element(c_type, host[n - 1], i), expected = (double)c[i];
    if (got != expected && !(isnan(got) && isnan(expected)))
      status = tw_fail(error, TW_FAILED, "wrong result: C[%lld][%lld] is %.9g and should be exactly %.9g",
                       (long long)(row ? row[i / g->n] : i / g->n), (long long)(i % g->n), got, expected);
  }
  free(a);
  free(b);
  free(c);
  return status;
}

static tw_status check_part(const xd_config *c, const xd_gemm *g, const tw_case *k, part *p, tw_error *error) {
  if (!make_part(g, p)) return tw_no_memory(error, NULL);
  copy_inputs(k, p);
  tw_status check = xd_operands_to_device(g, p->operand, p->host, p->device, error);
  if (check == TW_OK) check = run_part(c, g, p, error);
  if (check != TW_OK) return check;
  xd_result_from_device(g, &p->operand[p->n - 1], p->device[XD_GEMM_C], p->host[p->n - 1]);
  if (xd_gemm_has_bits(g) && (check = xd_check_bits(g, p->n, p->operand, NULL, p->host, error)) != TW_OK) return check;
  p->problem.op->reference(&p->problem, p->expected, 1);
  return p->problem.op->compare(&p->problem, p->expected, p->host, error);
}

tw_status xd_execute_check(const xd_config *c, const xd_gemm *whole, const tw_case *k, tw_error *error) {
  part p = {0};
  xd_gemm g = *whole;
  tw_status status = choose_part(whole, k->problem, &p.problem, error);
  if (status != TW_OK) return status;
  g.m = tw_problem_int(&p.problem, "m");
  g.n = tw_problem_int(&p.problem, "n");
  g.k = tw_problem_int(&p.problem, "k");
  status = check_part(c, &g, k, &p, error);
  free_part(&p);
  return status;
}

void xd_execute_coverage(const xd_gemm *g, const tw_problem *whole, char *text, size_t size) {
  tw_problem smaller;
  if (is_whole(g) || choose_part(g, whole, &smaller, NULL) != TW_OK)
    snprintf(text, size, "every element");
  else
    snprintf(text, size,
             "sampled: every element of a smaller product with the same tiles (m=%lld n=%lld k=%lld), because the "
             "whole product is timed and not computed",
             (long long)tw_problem_int(&smaller, "m"), (long long)tw_problem_int(&smaller, "n"),
             (long long)tw_problem_int(&smaller, "k"));
}

/* ---- measuring ---- */

/* Bytes of the buffers of the fullest tile of a kind. */
static int64_t fullest(const xd_program *p, xd_tile_kind kind) {
  int64_t most = 0;
  for (size_t i = 0; i < p->buffers.n; i++) {
    int64_t used = 0;
    const xd_buffer *b = &p->buffers.at[i];
    if (b->external || xd_kind_of(b->tile) != kind) continue;
    for (size_t j = 0; j < p->buffers.n; j++)
      if (!p->buffers.at[j].external && xd_same_place(p->buffers.at[j].tile, b->tile)) used += p->buffers.at[j].bytes;
    if (used > most) most = used;
  }
  return most;
}

static void fill_measurement(const xd_config *c, const xd_program *p, const xd_work *w, const xd_run_result *r,
                             tw_measurement *m) {
  const double hz = c->clock_mhz * 1e6, cores = (double)p->cores.n;
  *m = (tw_measurement){.cycles = r->cycles, .seconds = r->cycles / hz + c->array.dispatch_us * 1e-6};
  m->cost = m->seconds;
  m->utilization = w->macs / (m->seconds * hz) / w->peak / (c->rows * c->columns);
  if (w->macs > 0)
    tw_count(m, "tflops", "Tflop/s", "useful operations per second, dispatch included", 2e-12 * w->macs / m->seconds);
  tw_count(m, "dispatch", "seconds", "time before the first transfer: part of the cost, but not of the cycles",
           c->array.dispatch_us * 1e-6);
  tw_count(m, "compute", "cycles", "time in which a core computes, mean over the cores", r->call_cycles / cores);
  tw_count(m, "wait_input", "cycles", "time in which a core waits for A or B, mean over the cores",
           r->wait_input_cycles / cores);
  tw_count(m, "wait_output", "cycles", "time in which a core waits for the transfer of C, mean over the cores",
           r->wait_output_cycles / cores);
  tw_count(m, "ddr_busy", "cycles", "time with transfers between DDR and the array", r->ddr_busy_cycles);
  tw_count(m, "read_bytes", "bytes", "bytes that the array reads from DDR", r->read_bytes);
  tw_count(m, "written_bytes", "bytes", "bytes that the array writes to DDR", r->written_bytes);
  tw_count(m, "read_gbs", "GB/s", "rate of reads from DDR, mean over the run", r->read_bytes / (r->cycles / hz) * 1e-9);
  tw_count(m, "kernel_calls", "calls", "calls of the micro-kernel on all cores", (double)r->calls);
  tw_count(m, "events", "events", "events that the simulator processed", (double)r->events);
  m->n_memories = 2;
  m->memory[0] = (tw_memory_use){"l1", (size_t)fullest(p, XD_COMPUTE), (size_t)(c->l1_bytes - c->stack_bytes)};
  m->memory[1] = (tw_memory_use){"l2", (size_t)fullest(p, XD_MEMORY), (size_t)c->l2_bytes};
}

bool xd_has_scalars(const xd_program *p) {
  for (size_t c = 0; c < p->cores.n; c++)
    for (size_t i = 0; i < p->cores.at[c].ops.n; i++)
      if (p->cores.at[c].ops.at[i].kind == XD_SCALAR) return true;
  return false;
}

/* Zeros for each external buffer; NULL without memory. */
static void **make_zeros(const xd_program *p) {
  void **at = tw_new(p->buffers.n + 1, sizeof *at);
  size_t n = 0;
  bool good = at;
  for (size_t i = 0; i < p->buffers.n && good; i++)
    if (p->buffers.at[i].external) good = (at[n++] = tw_new((size_t)p->buffers.at[i].bytes + 8, 1));
  if (good) return at;
  for (size_t i = 0; at && i < n; i++) free(at[i]);
  free(at);
  return NULL;
}

static void free_zeros(const xd_program *p, void **at) {
  for (size_t i = 0, n = 0; at && i < p->buffers.n; i++)
    if (p->buffers.at[i].external) free(at[n++]);
  free(at);
}

tw_status xd_measure_run(const xd_config *c, const xd_program *program, const xd_work *work, void *const external[],
                         const char *trace, tw_measurement *out, tw_error *error) {
  xd_run_options options = {.timing_only = !external, .cost = xd_cost_of(c), .external = external};
  xd_run_result r = {0};
  FILE *f = NULL;
  tw_trace lines;
  if (trace && !(f = fopen(trace, "w"))) return tw_fail(error, TW_USAGE, "%s: %s", trace, strerror(errno));
  if (f) {
    lines = xd_trace_begin(f, c, program);
    options.span = xd_trace_span;
    options.span_context = &lines;
  }
  tw_status status = xd_run(c, program, &options, &r, error);
  if (f) tw_trace_end(&lines, "array", 0, r.cycles);
  if (f && fclose(f) && status == TW_OK) status = tw_fail(error, TW_MISSING, "%s: %s", trace, strerror(errno));
  if (status == TW_OK) fill_measurement(c, program, work, &r, out);
  return status;
}

tw_status xd_measure_program(const xd_config *c, const xd_program *program, const xd_work *work, const char *trace,
                             tw_measurement *out, tw_error *error) {
  if (!xd_has_scalars(program)) return xd_measure_run(c, program, work, NULL, trace, out, error);
  void **zeros = make_zeros(program);
  const tw_status status =
      zeros ? xd_measure_run(c, program, work, zeros, trace, out, error) : tw_no_memory(error, NULL);
  free_zeros(program, zeros);
  return status;
}

tw_status xd_execute_measure(const xd_config *c, const xd_gemm *g, const char *trace, tw_measurement *out,
                             tw_error *error) {
  const xd_work work = {(double)g->m * (double)g->n * (double)g->k, xd_peak_macs(c, g->kernel)};
  xd_program program;
  tw_status status = xd_gemm_program(c, g, &program, error);
  if (status != TW_OK) return status;
  status = xd_measure_program(c, &program, &work, trace, out, error);
  xd_program_free(&program);
  return status;
}
