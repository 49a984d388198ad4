/* execute.c - see execute.h. */
#include "mlir_aie/execute.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/integers.h"
#include "base/random.h"
#include "base/strings.h"
#include "op/sample.h"
#include "target/xdna2/array/cost.h"
#include "target/xdna2/array/execute.h"
#include "tilewright/format.h"

/* ---- the run ---- */

typedef struct memory {
  void *device[XD_GEMM_OPERANDS];
} memory;

static void free_memory(memory *m) {
  for (int i = 0; i < XD_GEMM_OPERANDS; i++) free(m->device[i]);
}

/* False without memory. Results are poisoned. */
static bool make_memory(const xd_program *p, memory *m) {
  int n = 0;
  for (size_t i = 0; i < p->buffers.n && n < XD_GEMM_OPERANDS; i++) {
    const xd_buffer *b = &p->buffers.at[i];
    if (!b->external) continue;
    void *at = m->device[n] = tw_new((size_t)b->bytes + 8, 1);
    if (!at) return false;
    if (n++ == XD_GEMM_C) memset(at, TW_POISON, (size_t)b->bytes);
  }
  return m->device[XD_GEMM_A] && m->device[XD_GEMM_B] && m->device[XD_GEMM_C];
}

/* Memory with the case's A and B; the caller frees it, also after an error. */
static tw_status fill_memory(const xd_mlir_design *d, const xd_mlir_work *w, const tw_case *k, memory *m,
                             tw_error *error) {
  if (!make_memory(&d->program, m)) return tw_no_memory(error, NULL);
  if (w->packed) {
    const tw_status status = xd_operands_to_device(&w->gemm, k->operand, k->buffer, m->device, error);
    if (status != TW_OK) return status;
  } else {
    memcpy(m->device[0], k->buffer[0], k->operand[0].bytes);
    memcpy(m->device[1], k->buffer[1], k->operand[1].bytes);
  }
  return TW_OK;
}

/* Runs the design on the case's A and B, to C. */
static tw_status run(const xd_config *c, const xd_mlir_design *d, const xd_mlir_work *w, const tw_case *k, void *result,
                     tw_error *error) {
  memory m = {{0}};
  xd_run_result r;
  const xd_run_options options = {.cost = xd_cost_of(c), .external = m.device};
  tw_status status = fill_memory(d, w, k, &m, error);
  if (status == TW_OK) status = xd_run(c, &d->program, &options, &r, error);
  if (status == TW_FAILED) xd_mlir_locate(d, error);
  if (status == TW_OK && w->packed)
    xd_result_from_device(&w->gemm, &k->operand[2], m.device[XD_GEMM_C], result);
  else if (status == TW_OK)
    memcpy(result, m.device[2], k->operand[2].bytes);
  free_memory(&m);
  return status;
}

/* ---- the comparison ----
 *
 * Up to XD_COMPARE_MACS every element is compared with the op's reference. Beyond that, tw_case_check compares a random
 * sample, checks every element for being written and finite, and makes the op's survey of all. Kernels with special
 * rounding must agree bit by bit: in random rows, at least one of each tile. All random choices are made after the
 * run. */

/* Rows of the narrowest tiles. */
enum { TILE_ROWS = 32 };
/* At least one element of each block of this size is compared, so that a tile of 32 x 32 holds a whole block. */
static const double BLOCK = 128;

static double macs_of(const tw_problem *p) {
  return (double)tw_problem_int(p, "m") * (double)tw_problem_int(p, "n") * (double)tw_problem_int(p, "k");
}

static bool is_whole(const tw_problem *p) { return macs_of(p) <= XD_COMPARE_MACS; }

/* Must its results agree bit by bit with sums that are rounded as in the kernel? */
static bool has_bits(const xd_mlir_work *w) {
  const xd_gemm *g = &w->gemm;
  return w->step || (g->kernel && xd_gemm_has_bits(g));
}

/* The number of rows that are compared bit by bit. */
static int64_t rows_of(const tw_problem *p) {
  const int64_t m = tw_problem_int(p, "m"), tiles = tw_ceil_div(m, TILE_ROWS);
  const int64_t most = (int64_t)(XD_COMPARE_MACS * (double)m / macs_of(p));
  return is_whole(p) ? m : most < tiles ? tiles : most;
}

/* One of each of `rows` parts of all rows, at random; malloc'ed. */
static int64_t *draw_rows(int64_t m, int64_t rows) {
  int64_t *row = tw_new((size_t)rows, sizeof *row);
  tw_random r;
  tw_random_seed(&r, tw_random_system());
  for (int64_t i = 0; row && i < rows; i++) row[i] = tw_sample_part(&r, m, i, rows);
  return row;
}

static void take_rows(const tw_operand *o, const char *from, const int64_t *row, int64_t rows, char *to) {
  const size_t bytes = o->bytes / (size_t)o->dims[0];
  for (int64_t i = 0; i < rows; i++) memcpy(to + (size_t)i * bytes, from + (size_t)row[i] * bytes, bytes);
}

/* Compares sums of bf16 that are rounded after every step bit by bit with their definition. */
static tw_status check_steps(const tw_problem *p, int step, const int64_t *row, const uint16_t *a, const uint16_t *b,
                             const uint16_t *c, tw_error *error) {
  const int64_t m = tw_problem_int(p, "m"), n = tw_problem_int(p, "n"), k = tw_problem_int(p, "k");
  for (int64_t i = 0; i < m; i++)
    for (int64_t j = 0; j < n; j++) {
      float sum = 0;
      for (int64_t q = 0; q < k; q++) {
        sum += tw_bf16_to_f32(a[i * k + q]) * tw_bf16_to_f32(b[q * n + j]);
        if ((q + 1) % step == 0) sum = tw_bf16_to_f32(tw_f32_to_bf16(sum));
      }
      const float got = tw_bf16_to_f32(c[i * n + j]);
      if (sum != got && !(isnan(sum) && isnan(got)))
        return tw_fail(error, TW_FAILED, "wrong result: C[%lld][%lld] is %.9g and should be %.9g", (long long)row[i],
                       (long long)j, (double)got, (double)sum);
    }
  return TW_OK;
}

/* A and C of random rows, as a separate problem; B is the case's. */
static tw_status compare_bits(const xd_mlir_work *w, const tw_case *k, const char *result, tw_error *error) {
  const int64_t rows = rows_of(k->problem);
  tw_problem problem = *k->problem;
  tw_operand operand[TW_OPERANDS_MAX];
  char number[32];
  snprintf(number, sizeof number, "%lld", (long long)rows);
  tw_status status = tw_problem_set(&problem, "m", number, error);
  if (status != TW_OK) return status;
  problem.op->operands(&problem, operand);
  char *a = tw_new(operand[0].bytes + 1, 1), *c = tw_new(operand[2].bytes + 1, 1);
  int64_t *row = draw_rows(tw_problem_int(k->problem, "m"), rows);
  if (!a || !c || !row) status = tw_no_memory(error, NULL);
  if (status == TW_OK) {
    take_rows(&k->operand[0], k->buffer[0], row, rows, a);
    take_rows(&k->operand[2], result, row, rows, c);
    void *const is[] = {a, k->buffer[1], c};
    xd_gemm g = w->gemm;
    g.m = rows;
    status = w->step ? check_steps(&problem, w->step, row, (const void *)a, k->buffer[1], (const void *)c, error)
                     : xd_check_bits(&g, 3, operand, row, is, error);
  }
  free(a);
  free(c);
  free(row);
  return status;
}

/* Every element of a problem that is small enough. */
static tw_status compare_all(const tw_case *k, char *result, tw_error *error) {
  const tw_op *op = k->problem->op;
  char *expected = tw_new(k->operand[2].bytes + 1, 1);
  if (!expected) return tw_no_memory(error, NULL);
  void *const is[] = {k->buffer[0], k->buffer[1], result}, *const should[] = {k->buffer[0], k->buffer[1], expected};
  op->reference(k->problem, should, 1);
  const tw_status status = op->compare(k->problem, should, is, error);
  free(expected);
  return status;
}

static tw_status compare_sample(const tw_case *k, char *result, tw_error *error) {
  void *const is[] = {k->buffer[0], k->buffer[1], result};
  const tw_effort effort = {.budget = fmax(XD_COMPARE_MACS, macs_of(k->problem) / BLOCK)};
  tw_coverage coverage;
  return tw_case_check(k, is, &effort, &coverage, error);
}

/* Sums in steps of bf16 have larger errors than the op allows. */
static tw_status compare(const xd_mlir_work *w, const tw_case *k, char *result, tw_error *error) {
  tw_status status = has_bits(w) ? compare_bits(w, k, result, error) : TW_OK;
  if (status != TW_OK || w->step) return status;
  return is_whole(k->problem) ? compare_all(k, result, error) : compare_sample(k, result, error);
}

void xd_mlir_coverage(const xd_mlir_work *w, const tw_problem *p, char *text, size_t size) {
  const long long m = tw_problem_int(p, "m"), rows = has_bits(w) ? rows_of(p) : 0;
  if (is_whole(p))
    snprintf(text, size, "every element");
  else if (rows)
    snprintf(
        text, size,
        "sampled: all elements are computed; %lld of %lld rows of C, chosen at random after the run, are compared%s",
        rows, m, w->step ? "" : " bit by bit; of all elements a sample");
  else
    snprintf(text, size,
             "sampled: all elements are computed; a sample of C, chosen at random after the run, is compared: one "
             "element of "
             "each %.0f at least; a survey covers all elements where their type has one",
             BLOCK);
}

tw_status xd_mlir_check(const xd_config *c, const xd_mlir_design *d, const xd_mlir_work *w, const tw_case *k,
                        tw_error *error) {
  char *result = tw_new(k->operand[2].bytes + 1, 1);
  if (!result) return tw_no_memory(error, NULL);
  tw_status status = run(c, d, w, k, result, error);
  if (status == TW_OK) status = compare(w, k, result, error);
  free(result);
  return status;
}

/* Scalar code may compute less for data that it knows, such as zeros, so it gets the data of the check. */
tw_status xd_mlir_measure(const xd_config *c, const xd_mlir_design *d, const xd_mlir_work *w, const tw_case *k,
                          const char *trace, tw_measurement *out, tw_error *error) {
  const xd_work work = {macs_of(k->problem), w->peak};
  memory m = {{0}};
  tw_status status;
  if (xd_has_scalars(&d->program)) {
    status = fill_memory(d, w, k, &m, error);
    if (status == TW_OK) status = xd_measure_run(c, &d->program, &work, m.device, trace, out, error);
    free_memory(&m);
  } else {
    status = xd_measure_program(c, &d->program, &work, trace, out, error);
  }
  if (status == TW_FAILED) xd_mlir_locate(d, error);
  return status;
}
