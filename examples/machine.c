/* machine.c - a machine and an op that the library does not know, added by a program: no file of the library changes.
 *
 * The op `scale` is y = factor * x. The machine `abacus` has 16 lanes and 8 registers; its kernels are two lines of text,
 * which say how many lanes work at once and how often the loop is unrolled. Its simulator runs them and counts cycles. The
 * search knows of all that only what the tables below say.
 *
 *   cc machine.c $(pkg-config --cflags --libs tilewright) -o machine */
#define _GNU_SOURCE
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <tilewright/extend/extend.h>

/* ---- the op: keys, operands, inputs, reference, comparison, cost ---- */

static const tw_key keys[] = {
    {.name = "n", .kind = TW_KEY_INT, .min = 1, .max = 1 << 20, .example = 1024, .help = "elements"},
    {.name = "factor", .kind = TW_KEY_REAL, .fallback = "2", .help = "on each"},
    {.name = "reverse", .kind = TW_KEY_BOOL, .fallback = "0", .help = "y begins with the last of x"},
};

static tw_status validate(const tw_problem *p, tw_error *error) {
  if (isfinite((float)tw_problem_real(p, "factor"))) return TW_OK;
  return tw_fail(error, TW_USAGE, "factor does not fit a 32-bit float");
}

static size_t operands(const tw_problem *p, tw_operand out[TW_OPERANDS_MAX]) {
  out[0] = tw_operand_dense("x", TW_F32, 1, (int64_t[]){tw_problem_int(p, "n")});
  out[1] = tw_operand_dense("y", TW_F32, 1, (int64_t[]){tw_problem_int(p, "n")});
  out[1].is_output = true;
  return 2;
}

static void inputs(const tw_problem *p, uint64_t seed, void *const buffers[]) {
  float *x = buffers[0];
  for (int64_t i = 0; i < tw_problem_int(p, "n"); i++) {
    seed = seed * 6364136223846793005u + 1442695040888963407u;
    x[i] = (float)(seed >> 40) - 8e6f;
  }
}

static void reference(const tw_problem *p, void *const buffers[], int threads) {
  const float *x = buffers[0], factor = (float)tw_problem_real(p, "factor");
  const int64_t n = tw_problem_int(p, "n");
  float *y = buffers[1];
  (void)threads;
  for (int64_t i = 0; i < n; i++) y[i] = factor * x[tw_problem_int(p, "reverse") ? n - 1 - i : i];
}

static tw_status compare(const tw_problem *p, void *const expected[], void *const actual[], tw_error *error) {
  const float *y = actual[1], *right = expected[1];
  for (int64_t i = 0; i < tw_problem_int(p, "n"); i++)
    if (memcmp(&y[i], &right[i], sizeof *y))
      return tw_fail(error, TW_FAILED, "y[%d] is %g, not %g", (int)i, y[i], right[i]);
  return TW_OK;
}

static double operations(const tw_problem *p) { return (double)tw_problem_int(p, "n"); }
static double bytes(const tw_problem *p) { return 8 * operations(p); }

static const tw_op scale = {.size = sizeof(tw_op),
                            .name = "scale",
                            .summary = "y = factor * x",
                            .keys = keys,
                            .n_keys = sizeof keys / sizeof *keys,
                            .validate = validate,
                            .operands = operands,
                            .inputs = inputs,
                            .reference = reference,
                            .compare = compare,
                            .operations = operations,
                            .bytes = bytes};

/* ---- machine x op: a plan, the steps that change it, its model, its source ---- */

enum { LANES = 16, REGISTERS = 8, MEMORY_CYCLES = 1, LOOP_CYCLES = 2 };

typedef struct plan {
  int lanes, unroll;
} plan;

static const tw_verb verbs[] = {
    {TW_VERB("lanes", "lanes 4", "Compute this many elements at once.", 1, TW_NUMBER("", plan, lanes, 1, LANES))},
    {TW_VERB("unroll", "unroll 2", "Unroll the loop.", 1, TW_NUMBER("", plan, unroll, 1, REGISTERS))},
};
static const tw_language language = {TW_LANGUAGE("scale on abacus", verbs)};

/* A register holds a vector until it is stored; the machine has no masks. */
static tw_status legal(const void *problem, const void *looked_at, tw_error *error) {
  const plan *p = looked_at;
  if (tw_problem_int(problem, "n") % (p->lanes * p->unroll) == 0) return TW_OK;
  return tw_fail(error, TW_USAGE, "%d elements at a time do not divide n", p->lanes * p->unroll);
}

static tw_status plan_of(const tw_problem *p, const tw_schedule *s, plan *out, tw_error *error) {
  *out = (plan){1, 1};
  return tw_steps_apply(&language, p, s, out, legal, error);
}

static double cycles_of(const tw_problem *p, const plan *k) {
  const double vectors = operations(p) / k->lanes;
  return vectors * (2 * MEMORY_CYCLES + 1) + vectors / k->unroll * LOOP_CYCLES;
}

static double judge(const void *problem, const void *looked_at) {
  return legal(problem, looked_at, NULL) == TW_OK ? cycles_of(problem, looked_at) : 0;
}

static tw_status steps(const tw_target *t, const tw_problem *p, const tw_schedule *s, tw_menu *out, tw_error *error) {
  plan now, next;
  (void)t;
  const tw_status status = plan_of(p, s, &now, error);
  if (status != TW_OK) return status;
  tw_menu_builder m = {.language = &language,
                       .context = p,
                       .schedule = s,
                       .now = &now,
                       .next = &next,
                       .plan_size = sizeof now,
                       .judge = judge,
                       .now_cost = judge(p, &now)};
  for (int n = 1; n <= LANES; n *= 2) tw_menu_offer(&m, "lanes", "more elements at once", "lanes %d", n);
  for (int n = 1; n <= REGISTERS; n *= 2) tw_menu_offer(&m, "unroll", "fewer turns of the loop", "unroll %d", n);
  return tw_menu_finish(&m, out, error);
}

static tw_status emit(const tw_target *t, const tw_problem *p, const tw_schedule *s, char **source, tw_error *error) {
  plan k;
  (void)t;
  const tw_status status = plan_of(p, s, &k, error);
  if (status != TW_OK) return status;
  if (asprintf(source, "lanes %d\nunroll %d\n", k.lanes, k.unroll) >= 0) return TW_OK;
  return tw_no_memory(error, NULL);
}

static tw_status predict(const tw_target *t, const tw_problem *p, const tw_schedule *s, double *cost, tw_error *error) {
  plan k;
  (void)t;
  const tw_status status = plan_of(p, s, &k, error);
  if (status == TW_OK) *cost = cycles_of(p, &k);
  return status;
}

static tw_status bound(const tw_target *t, const tw_problem *p, tw_bound *out, tw_error *error) {
  (void)t, (void)error;
  out->compute_cost = operations(p) / LANES;
  out->cost = out->memory_cost = 2 * MEMORY_CYCLES * operations(p) / LANES;
  snprintf(out->limit, sizeof out->limit, "memory: a vector in and a vector out");
  return TW_OK;
}

static tw_status settle(const tw_target *t, tw_problem *p, tw_error *error) {
  (void)t, (void)p, (void)error;
  return TW_OK; /* it has one type */
}

static const tw_family families[] = {{.op = "scale",
                                      .keys = "n factor", /* not reverse: the core refuses it */
                                      .settle = settle,
                                      .steps = steps,
                                      .emit = emit,
                                      .predict = predict,
                                      .bound = bound}};

/* ---- the machine: the core ---- */

struct tw_artefact {
  plan kernel;
};

static tw_status available(const tw_target *t, tw_error *error) {
  (void)t, (void)error;
  return TW_OK;
}

static char *describe(const tw_target *t) {
  (void)t;
  return strdup("lanes        16\nregisters    8\n");
}

/* The compiler: a source is a schedule that says all. */
static tw_status build(const tw_target *t, const tw_problem *p, const char *source, size_t length, tw_evaluation *e,
                       tw_artefact **out, tw_error *error) {
  tw_schedule s;
  plan kernel;
  (void)t, (void)length, (void)e; /* the source is no program */
  if (tw_schedule_parse(source, &s, error) != TW_OK || plan_of(p, &s, &kernel, error) != TW_OK) return TW_FAILED;
  if (!(*out = malloc(sizeof **out))) return tw_no_memory(error, NULL);
  (*out)->kernel = kernel;
  return TW_OK;
}

/* The simulator: all lanes of a vector, vector by vector. */
static tw_status check(const tw_target *t, tw_artefact *a, const tw_case *k, tw_evaluation *e, tw_error *error) {
  const float *x = k->buffer[0], factor = (float)tw_problem_real(k->problem, "factor");
  float *y = malloc(k->operand[1].bytes);
  (void)t, (void)e;
  if (!y) return tw_no_memory(error, NULL);
  memset(y, TW_POISON, k->operand[1].bytes);
  for (int64_t at = 0; at < k->operand[0].dims[0]; at += a->kernel.lanes)
    for (int lane = 0; lane < a->kernel.lanes; lane++) y[at + lane] = factor * x[at + lane];
  const tw_status status = k->problem->op->compare(k->problem, k->buffer, (void *[]){k->buffer[0], y}, error);
  free(y);
  return status;
}

static tw_status measure(const tw_target *t, tw_artefact *a, const tw_case *k, tw_evaluation *e, tw_measurement *out,
                         tw_error *error) {
  (void)t, (void)e, (void)error;
  *out = (tw_measurement){.cost = cycles_of(k->problem, &a->kernel)};
  out->cycles = out->cost;
  out->utilization = operations(k->problem) / LANES / out->cost;
  return TW_OK;
}

static void release(tw_artefact *a) { free(a); }

static const tw_target abacus = {
    .size = sizeof(tw_target),
    .name = "abacus",
    .summary = "16 lanes and 8 registers",
    .unit = "cycles",
    .traits = {.simulated = true, .deterministic = true, .language = "schedule", .source_name = "kernel.txt"},
    .n_families = sizeof families / sizeof *families,
    .family = families,
    .available = available,
    .describe = describe,
    .build = build,
    .check = check,
    .measure = measure,
    .release = release,
};

/* ---- what it is good for ---- */

static int fail(const char *text) { return fprintf(stderr, "%s\n", text), 1; }

int main(void) {
  tw_error error;
  tw_problem problem;
  tw_search_result *r;
  if (tw_op_register(&scale, &error) || tw_target_register(&abacus, &error)) return fail(error.text);
  const tw_target *t = tw_target_find("abacus");
  if (tw_problem_parse(t, "scale n=4096 reverse=1", &problem, &error)) return fail(error.text);
  if (tw_target_supports(t, &problem, &error) != TW_UNSUPPORTED)
    return fail("a key that abacus does not honour was taken");
  puts(error.text);
  if (tw_problem_parse(t, "scale n=4096 factor=3", &problem, &error)) return fail(error.text);

  const tw_search_options options = {.size = sizeof options, .seed = 1, .jobs = 1, .dropout = -1};
  if (tw_search(t, &problem, &options, &r, &error) != TW_OK) return fail(error.text);
  const tw_rung *rung;
  for (size_t i = 0; (rung = tw_search_result_rung(r, i)); i++) printf("%6.0f cycles  %s\n", rung->cost, rung->step);
  const char *source = tw_search_result_source(r);
  printf("%d candidates, %d of them correct\n%s", tw_search_result_samples(r), tw_search_result_correct(r), source);
  const bool best = strcmp(source, "lanes 16\nunroll 8\n") == 0; /* 832 cycles: no legal kernel takes fewer */
  tw_search_result_free(r);
  return best ? 0 : fail("the search did not find the best kernel");
}
