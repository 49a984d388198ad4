/* bench.c - one problem through plan, pack and execute: some elements are checked, then the best of many times is kept.
 *
 * Decode shapes (m <= 16) read their weights from memory: packed copies of 512 MiB in total are used in turn. Memory
 * bandwidth changes from one second to the next, so each execution is followed by a plain read of another copy, and
 * fraction_of_memory is the median of the ratios of such pairs. */
#include "target/x86/bench.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/random.h"
#include "base/utilization.h"
#include "op/compare.h"
#include "op/gemm_numerics.h"
#include "op/int8.h"
#include "target/count.h"
#include "target/x86/plan.h"
#include "target/x86/rates.h"
#include "target/x86/runtime/convert.h"

enum { DECODE_ROWS = 16, CHECKED = 64, COPIES_MAX = 256, PAIRS_MAX = 4096, ROUNDS_LEAST = 5, ROUNDS_MAX = 16384 };
static const size_t ROTATED_BYTES = (size_t)512 << 20;
static const double LEAST_SECONDS = 0.5; /* of timing */

tw_gemm_spec x86_spec_of(const tw_problem *p) {
  const tw_gemm g = tw_gemm_of(p);
  return (tw_gemm_spec){.size = sizeof(tw_gemm_spec),
                        .m = g.m,
                        .n = g.n,
                        .k = g.k,
                        .a = g.a,
                        .b = g.b,
                        .c = g.c,
                        .a_transposed = g.a_transposed,
                        .b_transposed = g.b_transposed,
                        .lda = g.lda,
                        .ldb = g.ldb,
                        .ldc = g.ldc,
                        .alpha = g.scale,
                        .activation = g.relu ? TW_ACTIVATION_RELU : TW_ACTIVATION_LINEAR,
                        .group = (int)g.group,
                        .a_rounding = (tw_a_rounding)g.a_rounding,
                        .threads = (int)tw_problem_int(p, "threads")};
}

typedef struct subject {
  const tw_problem *problem;
  tw_gemm_plan *plan;
  tw_operand operand[TW_OPERANDS_MAX];
  size_t n_operands;
  void *buffer[TW_OPERANDS_MAX];
  char *packed; /* copies, `stride` bytes apart */
  size_t stride, copies;
} subject;

static void *new_memory(size_t bytes) {
  void *memory;
  return tw_memory_alloc(bytes, &memory, NULL) == TW_OK ? memory : NULL;
}

static void *output_of(const subject *s) { return s->buffer[s->n_operands - 1]; }

/* D is a row, the only form of bias that the library supports. */
static tw_gemm_operands operands_of(const subject *s, size_t copy) {
  return (tw_gemm_operands){.size = sizeof(tw_gemm_operands),
                            .a = s->buffer[0],
                            .packed_b = s->packed + copy * s->stride,
                            .c = output_of(s),
                            .bias = s->n_operands == 4 ? s->buffer[2] : NULL};
}

static tw_status prepare(subject *s, uint64_t seed, tw_error *error) {
  const tw_problem *p = s->problem;
  s->n_operands = p->op->operands(p, s->operand);
  for (size_t i = 0; i < s->n_operands; i++)
    if (!(s->buffer[i] = new_memory(s->operand[i].bytes))) return tw_fail(error, TW_NO_MEMORY, "x86: out of memory");
  p->op->inputs(p, seed, s->buffer);
  memset(output_of(s), TW_POISON, s->operand[s->n_operands - 1].bytes);
  s->stride = (tw_gemm_packed_bytes(s->plan) + TW_GEMM_ALIGNMENT - 1) / TW_GEMM_ALIGNMENT * TW_GEMM_ALIGNMENT;
  s->copies = tw_problem_int(p, "m") <= DECODE_ROWS ? ROTATED_BYTES / s->stride + 1 : 1;
  if (s->copies > COPIES_MAX) s->copies = COPIES_MAX;
  if (!(s->packed = new_memory(s->stride * s->copies))) return tw_fail(error, TW_NO_MEMORY, "x86: out of memory");
  tw_status status = tw_gemm_pack(s->plan, s->buffer[1], s->packed, error);
  for (size_t i = 1; i < s->copies; i++) memcpy(s->packed + i * s->stride, s->packed, s->stride);
  return status;
}

static void release(subject *s) {
  for (size_t i = 0; i < s->n_operands; i++) tw_memory_free(s->buffer[i]);
  tw_memory_free(s->packed);
  tw_gemm_plan_destroy(s->plan);
}

static double at(const tw_operand *o, const void *data, int64_t row, int64_t column) {
  return tw_operand_element(o, data, row, column);
}

/* Checks one element in double. */
static tw_status check_element(const subject *s, int64_t i, int64_t j, tw_error *error) {
  const tw_gemm g = tw_gemm_of(s->problem);
  const tw_gemm_numerics numerics = tw_gemm_numerics_of(&g);
  const tw_operand *o = s->operand;
  tw_gemm_sizes z = {0};
  double sum = 0;
  for (int64_t q = 0; q < g.k; q++) {
    const double a = g.a_transposed ? at(&o[0], s->buffer[0], q, i) : at(&o[0], s->buffer[0], i, q);
    const double b = g.b_transposed ? at(&o[1], s->buffer[1], j, q) : at(&o[1], s->buffer[1], q, j);
    sum += a * b;
    tw_gemm_sizes_add(&z, a, b);
  }
  if (g.c == TW_I8) {
    const int rounded = tw_round_i8((int32_t)sum, g.scale, g.relu),
              result = (int)at(&o[s->n_operands - 1], output_of(s), i, j);
    if (result == rounded) return TW_OK;
    return tw_fail(error, TW_FAILED, "x86: C[%d][%d] is %d, expected %d", (int)i, (int)j, result, rounded);
  }
  if (g.bias != TW_GEMM_BIAS_NONE) sum += z.bias = at(&o[2], s->buffer[2], 0, j);
  tw_gemm_sizes_finish(&z);
  z.value = (double)g.scale * sum;
  if (g.relu && z.value < 0) z.value = 0;
  const double bound = tw_gemm_tolerance(&g, &numerics, &z, false), got = at(&o[s->n_operands - 1], output_of(s), i, j);
  if (fabs(got - z.value) <= bound) return TW_OK;
  return tw_fail(error, TW_FAILED, "x86: C[%d][%d] is %.9g, expected %.9g within %.3g", (int)i, (int)j, got, z.value,
                 bound);
}

static tw_status check(const subject *s, uint64_t seed, tw_error *error) {
  tw_gemm_operands o = operands_of(s, 0);
  tw_status status = tw_gemm_plan_execute(s->plan, &o, error);
  tw_random r;
  tw_random_seed_stream(&r, seed, 0x9e37);
  for (int i = 0; status == TW_OK && i < CHECKED; i++)
    status = check_element(s, tw_random_between(&r, 0, tw_problem_int(s->problem, "m") - 1),
                           tw_random_between(&r, 0, tw_problem_int(s->problem, "n") - 1), error);
  return status;
}

typedef struct times {
  tw_spread spread;          /* time of one execution: the best is the cost */
  double memory;             /* bytes a second of the best read; 0: not a decode shape */
  double fraction_of_memory; /* median of (rate of an execution) / (rate of the read that followed) */
} times;

static void execute(const subject *s, size_t copy) {
  const tw_gemm_operands o = operands_of(s, copy);
  tw_gemm_plan_execute(s->plan, &o, NULL);
}

/* In runs long enough for the clock. */
static times time_in_cache(const subject *s, int threads) {
  static double time[ROUNDS_MAX];
  const double start = tw_now(), enough = 50e-6;
  size_t n = 0;
  long runs = 1;
  while (n < ROUNDS_MAX && (n < ROUNDS_LEAST || tw_now() - start < LEAST_SECONDS)) {
    const double began = x86_now_of(threads);
    for (long i = 0; i < runs; i++) execute(s, 0);
    const double seconds = x86_now_of(threads) - began;
    if (seconds < enough)
      runs *= 2, n = 0;
    else
      time[n++] = seconds / (double)runs;
  }
  return (times){.spread = tw_spread_of(time, n)};
}

static times time_from_memory(const subject *s, int threads) {
  static double ratio[PAIRS_MAX], time[PAIRS_MAX];
  const double start = tw_now(), bytes = (double)s->stride;
  times t = {0};
  size_t copy = 0, n = 0;
  while (n < PAIRS_MAX && (n < s->copies || tw_now() - start < 2 * LEAST_SECONDS)) {
    const double began = x86_now_of(threads);
    execute(s, copy);
    const double seconds = x86_now_of(threads) - began;
    copy = (copy + 1) % s->copies;
    const double read = x86_read_seconds(s->packed + copy * s->stride, s->stride, threads);
    copy = (copy + 1) % s->copies;
    ratio[n] = read / seconds;
    time[n++] = seconds;
    if (bytes / read > t.memory) t.memory = bytes / read;
  }
  t.spread = tw_spread_of(time, n);
  t.fraction_of_memory = tw_spread_of(ratio, n).median;
  return t;
}

static void fill_bench(const subject *s, tw_bench *out) {
  const int threads = s->plan->threads;
  const times t = s->copies > 1 ? time_from_memory(s, threads) : time_in_cache(s, threads);
  const double seconds = t.spread.median;
  const double operations = 2 * s->problem->op->operations(s->problem);
  const char *limit;
  const double peak = x86_peak_of(s->plan, threads, &limit),
               bandwidth = s->copies > 1 ? t.memory : x86_read_bandwidth(threads);
  const double bytes = (double)s->stride;
  tw_measurement *m = &out->measurement;
  snprintf(out->kernel, sizeof out->kernel, "%s", tw_gemm_plan_kernel(s->plan));
  tw_gemm_plan_print(s->plan, out->plan, sizeof out->plan);
  m->cost = m->seconds = seconds;
  m->spread = t.spread;
  m->utilization = operations / seconds / peak;
  tw_count(m, "gflops", "GFLOP/s", "2 m n k per second", operations / seconds * 1e-9);
  tw_count(m, "weight_gb_s", "GB/s", "bytes of packed weights read per second", bytes / seconds * 1e-9);
  tw_count(m, "peak_gflops", "GFLOP/s", "peak of this CPU for these types, measured without memory accesses",
           peak * 1e-9);
  tw_count(m, "fraction_of_peak", "", "gflops / peak_gflops", operations / seconds / peak);
  tw_count(m, "memory_gb_s", "GB/s", "rate at which the same number of threads reads memory", bandwidth * 1e-9);
  if (s->copies > 1)
    tw_count(m, "fraction_of_memory", "",
             "median of weight_gb_s relative to a read of the same bytes immediately after it", t.fraction_of_memory);
  tw_count(m, "threads", "", "threads that computed", threads);
  tw_bound *b = &out->bound;
  b->compute_cost = operations / peak;
  b->memory_cost = s->copies > 1 && bandwidth > 0 ? bytes / bandwidth : 0;
  b->cost = fmax(b->compute_cost, b->memory_cost);
  tw_set_utilization(b, m);
  snprintf(b->limit, sizeof b->limit, "%s",
           b->memory_cost > b->compute_cost ? "reading the weights from memory" : limit);
}

tw_status x86_bench(const tw_target *t, const tw_problem *p, uint64_t seed, tw_bench *out, tw_error *error) {
  (void)t;
  subject s = {.problem = p};
  const tw_gemm_spec spec = x86_spec_of(p);
  tw_status status = tw_gemm_plan_create(&spec, &s.plan, error);
  if (status == TW_OK) status = prepare(&s, seed, error);
  if (status == TW_OK) status = check(&s, seed, error);
  if (status == TW_OK) fill_bench(&s, out);
  release(&s);
  return status;
}
