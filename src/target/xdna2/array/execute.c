/* execute.c - see execute.h. */
#include "target/xdna2/array/execute.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/strings.h"
#include "op/element.h"
#include "target/xdna2/array/cost.h"
#include "target/xdna2/array/pack.h"
#include "target/xdna2/array/reference.h"
#include "target/xdna2/array/trace.h"

/* ---- checking ---- */

/* What is checked: a problem with dense operands of its own. */
typedef struct part {
  tw_problem problem;
  size_t n; /* operands: A, B, C */
  tw_operand operand[TW_OPERANDS_MAX];
  void *host[TW_OPERANDS_MAX], *expected[TW_OPERANDS_MAX]; /* expected: of C alone; else as host */
  void *device[XD_GEMM_OPERANDS];
} part;

/* One macro-tile (or `whole` of it, if that is less), and what is left over. */
static int64_t part_of(int64_t size, int64_t macro, int count) {
  const int64_t some = count * macro + size % macro;
  return size < some ? size : some;
}

static tw_status choose_part(const xd_gemm *g, const tw_case *k, tw_problem *out, tw_error *error) {
  *out = *k->problem;
  if ((double)g->m * (double)g->n * (double)g->k <= XD_CHECK_MACS) return TW_OK;
  const xd_gemm_shape s = xd_gemm_shape_of(g);
  const struct {
    const char *key;
    int64_t size;
  } set[] = {{"m", part_of(g->m, s.macro_m, 1)}, {"n", part_of(g->n, s.macro_n, 1)}, {"k", part_of(g->k, s.step, 2)}};
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
    const size_t row = (size_t)p->operand[i].dims[1] * element, pitch = (size_t)k->operand[i].pitch * element;
    for (int64_t r = 0; r < p->operand[i].dims[0]; r++)
      memcpy((char *)p->host[i] + (size_t)r * row, (const char *)k->buffer[i] + (size_t)r * pitch, row);
  }
}

/* Between what the op has (bfp16 as f32) and what lies in DDR. */
static void to_device(const xd_gemm *g, part *p) {
  if (g->kernel->a == TW_BFP16)
    xd_pack_a(g, p->host[0], p->device[XD_GEMM_A]);
  else
    memcpy(p->device[XD_GEMM_A], p->host[0], p->operand[0].bytes);
  if (g->kernel->b == TW_BFP16)
    xd_pack_b(g, p->host[1], p->device[XD_GEMM_B]);
  else if (g->kernel->b == TW_I4 || g->kernel->b == TW_TERNARY)
    xd_pack_weights(g, p->host[1], p->device[XD_GEMM_B]);
  else
    memcpy(p->device[XD_GEMM_B], p->host[1], p->operand[1].bytes);
}

static void from_device(const xd_gemm *g, part *p) {
  if (g->c == TW_BFP16)
    xd_unpack_c(g, p->device[XD_GEMM_C], p->host[p->n - 1]);
  else
    memcpy(p->host[p->n - 1], p->device[XD_GEMM_C], p->operand[p->n - 1].bytes);
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

/* Kernels of bf16 and bfp16 round sums on the way, so the op's comparison must be wide; the definition in reference.h
 * is met to the bit. */
static tw_status check_bits(const xd_gemm *g, const part *p, tw_error *error) {
  const tw_type a_type = p->operand[0].type, c_type = p->operand[p->n - 1].type;
  float *a = tw_new((size_t)(g->m * g->k), sizeof *a), *c = tw_new((size_t)(g->m * g->n), sizeof *c);
  tw_status status = a && c ? TW_OK : tw_fail(error, TW_MISSING, "out of memory");
  for (int64_t i = 0; status == TW_OK && i < g->m * g->k; i++) a[i] = (float)tw_element(a_type, p->host[0], i);
  if (status == TW_OK) status = xd_gemm_reference(g, a, p->host[1], c, error);
  for (int64_t i = 0; status == TW_OK && i < g->m * g->n; i++) {
    const double got = tw_element(c_type, p->host[p->n - 1], i), expected = (double)c[i];
    if (got != expected && !(isnan(got) && isnan(expected)))
      status = tw_fail(error, TW_FAILED, "wrong result: C[%lld][%lld] is %.9g and should be exactly %.9g",
                       (long long)(i / g->n), (long long)(i % g->n), got, expected);
  }
  free(a);
  free(c);
  return status;
}

static tw_status check_part(const xd_config *c, const xd_gemm *g, const tw_case *k, part *p, tw_error *error) {
  if (!make_part(g, p)) return tw_fail(error, TW_MISSING, "out of memory");
  copy_inputs(k, p);
  to_device(g, p);
  tw_status check = run_part(c, g, p, error);
  if (check != TW_OK) return check;
  from_device(g, p);
  if (g->kernel->b == TW_BFP16 && (check = check_bits(g, p, error)) != TW_OK) return check;
  p->problem.op->reference(&p->problem, p->expected, 1);
  return p->problem.op->compare(&p->problem, p->expected, p->host, error);
}

tw_status xd_execute_check(const xd_config *c, const xd_gemm *whole, const tw_case *k, tw_error *error) {
  part p = {0};
  xd_gemm g = *whole;
  tw_status status = choose_part(whole, k, &p.problem, error);
  if (status != TW_OK) return status;
  g.m = tw_problem_int(&p.problem, "m");
  g.n = tw_problem_int(&p.problem, "n");
  g.k = tw_problem_int(&p.problem, "k");
  status = check_part(c, &g, k, &p, error);
  free_part(&p);
  return status;
}

/* ---- measuring ---- */

static void count(tw_measurement *m, const char *name, const char *unit, const char *help, double value) {
  m->counter[m->n_counters++] = (tw_counter){name, unit, help, value};
}

static void fill(const xd_config *c, const xd_gemm *g, const xd_run_result *r, tw_measurement *m) {
  const double hz = c->clock_mhz * 1e6, cores = g->rows * g->columns;
  const double macs = (double)g->m * (double)g->n * (double)g->k;
  *m = (tw_measurement){.cycles = r->cycles, .seconds = r->cycles / hz + c->array.dispatch_us * 1e-6};
  m->cost = m->seconds;
  m->utilization = macs / (m->seconds * hz) / xd_peak_macs(c, g->kernel) / (c->rows * c->columns);
  count(m, "tflops", "Tflop/s", "useful operations a second, dispatch included", 2e-12 * macs / m->seconds);
  count(m, "compute", "cycles", "a core is in kernels, mean", r->call_cycles / cores);
  count(m, "wait_input", "cycles", "a core waits for A or B, mean", r->wait_input_cycles / cores);
  count(m, "wait_output", "cycles", "a core waits until C has left, mean", r->wait_output_cycles / cores);
  count(m, "ddr_busy", "cycles", "data moves between DDR and the array", r->ddr_busy_cycles);
  count(m, "read_bytes", "bytes", "from DDR", r->read_bytes);
  count(m, "written_bytes", "bytes", "to DDR", r->written_bytes);
  count(m, "read_gbs", "GB/s", "from DDR, over the whole run", r->read_bytes / (r->cycles / hz) * 1e-9);
  count(m, "kernel_calls", "calls", "of all cores", (double)r->calls);
  count(m, "events", "events", "simulated", (double)r->events);
  m->n_memories = 2;
  m->memory[0] = (tw_memory_use){"l1", (size_t)xd_gemm_l1_bytes(g), (size_t)(c->l1_bytes - c->stack_bytes)};
  m->memory[1] = (tw_memory_use){"l2", (size_t)xd_gemm_l2_bytes(g), (size_t)c->l2_bytes};
}

tw_status xd_execute_measure(const xd_config *c, const xd_gemm *g, const char *trace, tw_measurement *out,
                             tw_error *error) {
  xd_run_options options = {.timing_only = true, .cost = xd_cost_of(c)};
  xd_program program;
  xd_run_result r = {0};
  FILE *f = NULL;
  xd_trace lines;
  tw_status status = xd_gemm_program(c, g, &program, error);
  if (status != TW_OK) return status;
  if (trace && !(f = fopen(trace, "w"))) status = tw_fail(error, TW_USAGE, "%s: %s", trace, strerror(errno));
  if (f) {
    lines = xd_trace_begin(f, c, &program);
    options.span = xd_trace_span;
    options.span_context = &lines;
  }
  if (status == TW_OK) status = xd_run(c, &program, &options, &r, error);
  if (f) xd_trace_end(&lines, r.cycles);
  if (f && fclose(f) && status == TW_OK) status = tw_fail(error, TW_MISSING, "%s: %s", trace, strerror(errno));
  if (status == TW_OK) fill(c, g, &r, out);
  xd_program_free(&program);
  return status;
}
