/* execute.c - see execute.h. */
#include "target/xdna2/mlir/execute.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/strings.h"
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

/* The case's A and B through the design: C. */
static tw_status run(const xd_config *c, const xd_mlir_design *d, const xd_mlir_work *w, const tw_case *k, void *result,
                     tw_error *error) {
  memory m = {{0}};
  xd_run_result r;
  const size_t bytes = k->operand[2].bytes;
  const xd_run_options options = {.cost = xd_cost_of(c), .external = m.device};
  tw_status status = make_memory(&d->program, &m) ? TW_OK : tw_fail(error, TW_MISSING, "out of memory");
  if (status == TW_OK && w->packed) {
    xd_operands_to_device(&w->gemm, k->operand, k->buffer, m.device);
  } else if (status == TW_OK) {
    memcpy(m.device[0], k->buffer[0], k->operand[0].bytes);
    memcpy(m.device[1], k->buffer[1], k->operand[1].bytes);
  }
  if (status == TW_OK) status = xd_run(c, &d->program, &options, &r, error);
  if (status == TW_FAILED) xd_mlir_locate(d, error);
  if (status == TW_OK && w->packed)
    xd_result_from_device(&w->gemm, &k->operand[2], m.device[XD_GEMM_C], result);
  else if (status == TW_OK)
    memcpy(result, m.device[2], bytes);
  free_memory(&m);
  return status;
}

/* ---- the comparison ---- */

/* `rows` rows of the matrix, evenly spread over all, the last among them. */
static void take_rows(const tw_operand *o, const char *from, int64_t rows, char *to) {
  const size_t row = o->bytes / (size_t)o->dims[0];
  for (int64_t i = 0; i < rows; i++)
    memcpy(to + (size_t)i * row, from + (size_t)((i + 1) * o->dims[0] / rows - 1) * row, row);
}

/* Sums of bf16 that are rounded after every step: by definition, to the bit. */
static tw_status check_steps(const tw_problem *p, int step, const uint16_t *a, const uint16_t *b, const uint16_t *c,
                             tw_error *error) {
  const int64_t m = tw_problem_int(p, "m"), n = tw_problem_int(p, "n"), k = tw_problem_int(p, "k");
  for (int64_t i = 0; i < m; i++)
    for (int64_t j = 0; j < n; j++) {
      float sum = 0;
      for (int64_t q = 0; q < k; q++) {
        sum += tw_bf16_to_f32(a[i * k + q]) * tw_bf16_to_f32(b[q * n + j]);
        if ((q + 1) % step == 0) sum = tw_bf16_to_f32(tw_f32_to_bf16(sum));
      }
      if (sum != tw_bf16_to_f32(c[i * n + j]))
        return tw_fail(error, TW_FAILED,
                       "wrong result: row %lld of those compared, column %lld is %.9g and should be %.9g", (long long)i,
                       (long long)j, (double)tw_bf16_to_f32(c[i * n + j]), (double)sum);
    }
  return TW_OK;
}

/* How many rows of C are compared. */
static int64_t rows_of(const tw_problem *p) {
  const int64_t m = tw_problem_int(p, "m");
  const double row = (double)tw_problem_int(p, "k") * (double)tw_problem_int(p, "n");
  const int64_t least = m < 64 ? m : 64, most = (int64_t)(XD_COMPARE_MACS / row);
  return most > m ? m : most < least ? least : most;
}

void xd_mlir_coverage(const tw_problem *p, char *text, size_t size) {
  const long long rows = rows_of(p), m = tw_problem_int(p, "m");
  if (rows == m)
    snprintf(text, size, "every element");
  else
    snprintf(text, size, "all is computed, %lld of %lld rows of C are compared, evenly spread over all tiles", rows, m);
}

/* A and C of those rows, as a problem of their own; B is the case's. */
static tw_status compare(const xd_mlir_work *w, const tw_case *k, const char *result, tw_error *error) {
  const int64_t rows = rows_of(k->problem);
  tw_problem problem = *k->problem;
  tw_operand operand[TW_OPERANDS_MAX];
  char number[32];
  snprintf(number, sizeof number, "%lld", (long long)rows);
  tw_status status = tw_problem_set(&problem, "m", number, error);
  if (status != TW_OK) return status;
  problem.op->operands(&problem, operand);
  char *a = tw_new(operand[0].bytes + 1, 1), *c = tw_new(operand[2].bytes + 1, 1),
       *expected = tw_new(operand[2].bytes + 1, 1);
  if (!a || !c || !expected) status = tw_fail(error, TW_MISSING, "out of memory");
  if (status == TW_OK) {
    take_rows(&k->operand[0], k->buffer[0], rows, a);
    take_rows(&k->operand[2], result, rows, c);
    void *const is[] = {a, k->buffer[1], c}, *const should[] = {a, k->buffer[1], expected};
    xd_gemm g = w->gemm;
    g.m = rows;
    if (g.kernel && (g.kernel->b == TW_BFP16 || xd_gemm_narrow_sums(&g)))
      status = xd_check_bits(&g, 3, operand, is, error);
    if (w->step) {
      status = check_steps(&problem, w->step, (const void *)a, k->buffer[1], (const void *)c, error);
    } else if (status == TW_OK) {
      problem.op->reference(&problem, should, 1);
      status = problem.op->compare(&problem, should, is, error);
    }
  }
  free(a);
  free(c);
  free(expected);
  return status;
}

tw_status xd_mlir_check(const xd_config *c, const xd_mlir_design *d, const xd_mlir_work *w, const tw_case *k,
                        tw_error *error) {
  char *result = tw_new(k->operand[2].bytes + 1, 1);
  if (!result) return tw_fail(error, TW_MISSING, "out of memory");
  tw_status status = run(c, d, w, k, result, error);
  if (status == TW_OK) status = compare(w, k, result, error);
  free(result);
  return status;
}

tw_status xd_mlir_measure(const xd_config *c, const xd_mlir_design *d, const xd_mlir_work *w, const tw_problem *p,
                          const char *trace, tw_measurement *out, tw_error *error) {
  const xd_work work = {
      (double)tw_problem_int(p, "m") * (double)tw_problem_int(p, "n") * (double)tw_problem_int(p, "k"), w->peak};
  const tw_status status = xd_measure_program(c, &d->program, &work, trace, out, error);
  if (status == TW_FAILED) xd_mlir_locate(d, error);
  return status;
}
