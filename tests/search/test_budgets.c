/* test_budgets.c - a search with a tiny budget never ends worse than what its user has: every op and target that have a
 * baseline, with 1, 2 and 5 samples and with 1, 2 and 5 seconds.
 *
 *     test_budgets [TARGET...]       some pairs, each with one budget of samples, the next pair with the next budget
 *     test_budgets all [TARGET...]   each pair with all six budgets
 *
 * With `all` or a target it prints a table. With `all` it goes on after a broken promise, and fails at the end.
 *
 * Each search is followed by one that knows the first one's kernel as a schedule, and one that knows it as a source.
 * Costs of simulated machines are compared as they are. A kernel of a real machine that replaces the baseline is
 * measured beside it again. */
#include "test.h"

#include <math.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "evaluate/trial.h"
#include "tilewright/tilewright.h"

/* At least one problem of each op; a target that cannot run one is left out. The first FEW_PROBLEMS are tried without
 * `all`. */
enum { FEW_PROBLEMS = 17 };
static const char *const problems[] = {
    "gemm m=64 n=64 k=64 a=i8 b=i8",
    "gemm m=64 n=64 k=64 a=i8 b=i8 c=i8",
    "gemm m=128 n=256 k=256 a=bf16 b=bf16",
    "gemm m=128 n=64 k=64 a=f16 b=f16 c=f16",
    "gemm m=32 n=32 k=32 a=f32 b=f32 c=f32",
    "gemm m=1 n=256 k=256 b=mxfp4",
    "gemm m=8 n=512 k=512 b=ternary",
    "gemm m=64 n=64 k=128 a=e4m3 b=e4m3",
    "conv2d n=1 c=16 h=8 w=8 k=16 r=3 s=3 pad=1 a=i8 b=i8",
    "conv2d n=1 c=32 h=8 w=8 k=32 r=3 s=3 pad=1 a=bf16 b=bf16",
    "conv3d n=1 c=32 d=4 h=4 w=4 k=32 t=3 r=3 s=3 pad=1 a=bf16 b=bf16",
    "mpc_forward horizon=4 states=12 inputs=4",
    "mpc_backward horizon=4 states=12 inputs=4",
    "attention b=1 hq=2 hkv=1 sq=64 sk=64 d=64 a=bf16",
    "layernorm rows=16 cols=256",
    "rotary b=1 h=2 s=32 d=64",
    "softmax rows=16 cols=256",
    "gemm m=256 n=512 k=256 a=i8 b=i8",
    "gemm m=100 n=60 k=200 a=u8 b=i8",
    "conv2d n=1 c=8 h=8 w=8 k=8 r=3 s=3 pad=1 a=f32 b=f32",
    "attention b=1 hq=2 hkv=1 sq=64 sk=64 d=64 a=bf16 pass=backward",
    "cumsum rows=16 cols=16 a=f32",
    "transpose b=4 rows=16 cols=16 a=f32",
    "maxpool n=3 h=16 w=16 pool=3 a=f32",
    "depthwise n=4 c=4 w=16 taps=3 pad=1 a=f32",
    "mamba b=2 c=8 s=16 n=8 a=f32",
    "gate rows=16 cols=256",
};
enum { PROBLEMS = sizeof problems / sizeof *problems };

typedef struct budget {
  int samples;
  double seconds;
} budget;
static const budget budgets[] = {{1, 0}, {2, 0}, {5, 0}, {0, 1}, {0, 2}, {0, 5}};
enum { BUDGETS = sizeof budgets / sizeof *budgets, BUDGETS_OF_SAMPLES = 3 };

/* What a kernel that the search called better may take of the baseline's time, when both are measured again. */
static const double NO_WORSE = 1.5;

static bool everything;
static size_t n_broken; /* promises; with `all` the remaining pairs are tried all the same */
static size_t n_named;  /* targets on the command line; none: all */
static char **named;

/* True if the target has a baseline for the problem. */
static bool read_pair(const tw_target *t, const char *text, tw_problem *p, char **baseline) {
  tw_schedule schedule;
  *baseline = NULL;
  return tw_target_read(t, text, p, NULL) == TW_OK && tw_target_supports(t, p, NULL) == TW_OK &&
         tw_target_baseline(t, p, &schedule, NULL) == TW_OK && tw_target_emit(t, p, &schedule, baseline, NULL) == TW_OK;
}

static double cost_of(const tw_target *t, const tw_problem *p, const char *source) {
  const tw_trial trial = {.target = t,
                          .problem = p,
                          .source = source,
                          .length = strlen(source),
                          .seed = 7,
                          .trust = true,
                          .more_cases = tw_trial_more_cases(p)};
  const tw_setting setting = {.jobs = 2};
  tw_outcome out;
  tw_trial_run(&trial, &setting, &out);
  if (out.verdict != TW_CORRECT)
    fail_msg("%s: the result is %s: %s", t->name, tw_verdict_name(out.verdict), out.error.text);
  return out.measured.cost;
}

/* Of one search. Fails at once, or, with `all`, at the end. */
static void broken(const tw_target *t, const char *text, const char *format, ...) {
  va_list arguments;
  char why[1000];
  va_start(arguments, format);
  vsnprintf(why, sizeof why, format, arguments);
  va_end(arguments);
  if (!everything) fail_msg("%s: %s: %s", t->name, text, why);
  printf("BROKEN: %s: %s: %s\n", t->name, text, why);
  n_broken++;
}

/* Both measured in turns: the least of each counts. */
static void expect_no_worse(const tw_target *t, const tw_problem *p, const char *text, const char *source,
                            const char *than) {
  double cost = HUGE_VAL, least = HUGE_VAL;
  if (!strcmp(source, than)) return;
  for (int i = 0; i < (t->traits.deterministic ? 1 : 5); i++) {
    cost = fmin(cost, cost_of(t, p, source));
    least = fmin(least, cost_of(t, p, than));
  }
  if (cost > least * (t->traits.deterministic ? 1 : NO_WORSE))
    broken(t, text, "the result takes %g, what was there %g", cost, least);
}

typedef struct known {
  const tw_schedule *schedule;
  const char *source;
} known;

/* Searches; the kernel must be no worse than `than`. Returns it; *seconds is what it took. */
static char *search(const tw_target *t, const tw_problem *p, const char *text, budget b, known k, const char *than,
                    tw_schedule *schedule, bool *has_recipe, double *seconds) {
  const tw_search_options o = {.size = sizeof o,
                               .seed = 1,
                               .inputs = 1,
                               .jobs = 2,
                               .dropout = -1,
                               .samples = b.samples,
                               .seconds = b.seconds,
                               .start = k.schedule,
                               .start_is_exact = k.schedule,
                               .start_source = k.source,
                               .trust = true};
  tw_search_result r = {.size = sizeof r};
  tw_error error = {0};
  const double before = tw_now();
  if (tw_search(t, p, &o, &r, &error) != TW_OK) fail_msg("%s: %s: %s", t->name, text, error.text);
  *seconds = tw_now() - before;
  if (b.samples == 1 && !r.is_baseline) broken(t, text, "one sample is the baseline's");
  if (t->traits.deterministic && r.best.cost > r.start.cost)
    broken(t, text, "%g, the baseline %g", r.best.cost, r.start.cost);
  /* with one sample a known kernel is not tried; the result is the baseline, and wisdom stays as it is */
  const bool was_tried = r.samples > 1 || !(k.schedule || k.source);
  if (was_tried && (everything || t->traits.deterministic)) expect_no_worse(t, p, text, r.source, than);
  if (was_tried && r.known_lost && t->traits.deterministic) broken(t, text, "%s", r.notes);
  const double most = fmax(1.2 * b.seconds, b.seconds + 2);
  if (everything && b.seconds > 0 && *seconds > most + 0.5 && !strstr(r.notes, "no candidate was tried"))
    broken(t, text, "%.2f s of %g, %d samples%s", *seconds, b.seconds, r.samples,
           k.schedule ? ", schedule known"
           : k.source ? ", source known"
                      : "");
  if (schedule) *schedule = r.schedule;
  if (has_recipe) *has_recipe = r.has_recipe;
  char *source = strdup(r.source);
  tw_search_result_free(&r);
  return source;
}

static void try_pair(const tw_target *t, const tw_problem *p, const char *text, const char *baseline, budget b) {
  double first_seconds, seconds;
  tw_schedule schedule;
  bool has_recipe;
  char *found = search(t, p, text, b, (known){0}, baseline, &schedule, &has_recipe, &first_seconds);
  if (everything || n_named)
    printf("%-20s %-62s %d samples %g s: %.2f s%s\n", t->name, text, b.samples, b.seconds, first_seconds,
           strcmp(found, baseline) ? "" : ", baseline");
  const bool follows = everything || t->traits.deterministic; /* compilers for x86 take long */
  if (has_recipe && (everything || (follows && b.samples == 5)))
    free(search(t, p, text, b, (known){.schedule = &schedule}, found, NULL, NULL, &seconds));
  if (everything || (follows && b.samples == 2))
    free(search(t, p, text, b, (known){.source = found}, found, NULL, NULL, &seconds));
  free(found);
}

/* Machines whose kernels are those of another one are for `all`. */
static bool is_wanted(const tw_target *t) {
  static const char *const alike[] = {"xdna2-", "cdna3", "trn1"};
  bool found = n_named == 0;
  for (size_t i = 0; !everything && !n_named && i < sizeof alike / sizeof *alike; i++)
    found = found && strncmp(t->name, alike[i], strlen(alike[i])) != 0;
  for (size_t i = 0; i < n_named; i++) found = found || !strcmp(named[i], t->name);
  return found && t->available(t, NULL) == TW_OK;
}

static void no_pair_ends_worse_than_what_its_user_has(void **state) {
  (void)state;
  size_t pairs = 0;
  bool met[64] = {false};
  const tw_target *t;
  for (size_t i = 0; (t = tw_target_at(i)); i++) {
    if (!is_wanted(t)) continue;
    for (size_t j = 0; j < (everything ? PROBLEMS : FEW_PROBLEMS); j++) {
      tw_problem p;
      char *baseline;
      if (!read_pair(t, problems[j], &p, &baseline)) {
        free(baseline);
        continue;
      }
      const tw_op *op;
      for (size_t k = 0; k < 64 && (op = tw_op_at(k)); k++) met[k] = met[k] || op == p.op;
      for (size_t k = 0; everything && k < BUDGETS; k++) try_pair(t, &p, problems[j], baseline, budgets[k]);
      if (!everything && pairs % (size_t)example_stride() == 0)
        try_pair(t, &p, problems[j], baseline, budgets[pairs % (t->traits.deterministic ? BUDGETS_OF_SAMPLES : 2)]);
      free(baseline);
      pairs++;
    }
  }
  print_message("%zu pairs\n", pairs);
  if (n_broken) fail_msg("%zu searches broke a promise: see the lines that begin with BROKEN", n_broken);
  const tw_op *op;
  for (size_t k = 0; !n_named && (op = tw_op_at(k)); k++)
    if (!met[k]) print_message("no target here has a baseline for %s\n", op->name);
  assert_true(pairs > 0);
}

static void every_op_has_a_problem(void **state) {
  (void)state;
  const tw_op *op;
  for (size_t k = 0; (op = tw_op_at(k)); k++) {
    bool found = false;
    const size_t n = strlen(op->name);
    for (size_t j = 0; j < PROBLEMS; j++)
      found = found || (!strncmp(problems[j], op->name, n) && problems[j][n] == ' ');
    if (!found) fail_msg("%s has no problem in this test", op->name);
  }
}

int main(int argc, char **argv) {
  everything = argc > 1 && !strcmp(argv[1], "all");
  setvbuf(stdout, NULL, _IOLBF, 0);
  named = argv + 1 + everything;
  n_named = (size_t)(argc - 1 - everything);
  const struct CMUnitTest tests[] = {cmocka_unit_test(every_op_has_a_problem),
                                     cmocka_unit_test(no_pair_ends_worse_than_what_its_user_has)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
