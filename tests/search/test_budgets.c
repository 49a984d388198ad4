/* test_budgets.c - a search with few samples never ends worse than what its user has: every op and target that have a
 * baseline, each pair with 1, 2 or 5 samples, the next pair with the next budget. bench/budgets.py tries all budgets on
 * each pair, and checks the time limit.
 *
 *     test_budgets [TARGET...]
 *
 * On simulated machines a search is followed by one that knows its kernel, as a schedule or as a source. Costs are
 * compared as they are. */
#include "test.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/files.h"
#include "evaluate/trial.h"
#include "search/result.h"
#include "tilewright/extend/extend.h"

/* Problems are lines of tests/data/budgets.txt: a size and a problem. A target that cannot run one is left out. */
enum { PROBLEMS_MOST = 64 };
static char *file_text; /* of the file; lines end with '\0' */
static const char *problems[PROBLEMS_MOST];
static bool is_for_gate[PROBLEMS_MOST];
static size_t n_problems;

static int read_problems(void **state) {
  char size[16], *rest = NULL;
  int begin;
  tw_error error;
  if (tw_file_read(TW_TEST_DATA "/budgets.txt", 1 << 16, &file_text, NULL, &error) != TW_OK) fail_msg("%s", error.text);
  for (char *line = strtok_r(file_text, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest)) {
    if (line[0] == '#') continue;
    if (sscanf(line, "%15s %n", size, &begin) != 1 || n_problems == PROBLEMS_MOST) fail_msg("budgets.txt: %s", line);
    is_for_gate[n_problems] = !strcmp(size, "gate");
    problems[n_problems++] = line + begin;
  }
  return 0;
}

static int free_problems(void **state) {
  free(file_text);
  return 0;
}

static const int budgets[] = {1, 2, 5}; /* samples */
enum { BUDGETS = sizeof budgets / sizeof *budgets };

static size_t n_named; /* targets on the command line; none: all */
static char **named;

/* True if the target has a baseline for the problem. */
static bool read_pair(const tw_target *t, const char *text, tw_problem *p, char **baseline) {
  tw_schedule schedule;
  *baseline = NULL;
  return tw_problem_parse(t, text, p, NULL) == TW_OK && tw_target_supports(t, p, NULL) == TW_OK &&
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

static void expect_no_worse(const tw_target *t, const tw_problem *p, const char *text, const char *source,
                            const char *than) {
  if (!strcmp(source, than)) return;
  const double cost = cost_of(t, p, source), least = cost_of(t, p, than);
  if (cost > least) fail_msg("%s: %s: the result takes %g, the known kernel %g", t->name, text, cost, least);
}

typedef struct known {
  const tw_schedule *schedule;
  const char *source;
} known;

/* Searches; the kernel must be no worse than `than`. Returns it. */
static char *search(const tw_target *t, const tw_problem *p, const char *text, int samples, known k, const char *than,
                    tw_schedule *schedule, bool *has_schedule) {
  const tw_search_options o = {.size = sizeof o,
                               .seed = 1,
                               .inputs = 1,
                               .jobs = 2,
                               .dropout = -1,
                               .samples = samples,
                               .start = k.schedule,
                               .start_is_exact = k.schedule,
                               .start_source = k.source,
                               .trust = true};
  tw_search_result r = {0};
  tw_error error = {0};
  if (tw_search_into(t, p, &o, &r, &error) != TW_OK) fail_msg("%s: %s: %s", t->name, text, error.text);
  if (samples == 1 && !r.is_baseline) fail_msg("%s: %s: one sample is the baseline's", t->name, text);
  if (t->traits.deterministic) {
    if (r.best.cost > r.start.cost) fail_msg("%s: %s: %g, the baseline %g", t->name, text, r.best.cost, r.start.cost);
    /* with one sample a known kernel is not tried; the result is the baseline, and wisdom stays as it is */
    const bool was_tried = r.samples > 1 || !(k.schedule || k.source);
    if (was_tried) expect_no_worse(t, p, text, r.source, than);
    if (was_tried && r.known_lost) fail_msg("%s: %s: %s", t->name, text, r.notes);
  }
  if (schedule) *schedule = r.schedule;
  if (has_schedule) *has_schedule = r.has_schedule;
  char *source = strdup(r.source);
  tw_search_result_clear(&r);
  return source;
}

static void try_pair(const tw_target *t, const tw_problem *p, const char *text, const char *baseline, int samples) {
  tw_schedule schedule;
  bool has_schedule;
  char *found = search(t, p, text, samples, (known){0}, baseline, &schedule, &has_schedule);
  const bool follows = t->traits.deterministic; /* compilers for x86 take long */
  if (follows && samples == 5 && has_schedule)
    free(search(t, p, text, samples, (known){.schedule = &schedule}, found, NULL, NULL));
  if (follows && samples == 2) free(search(t, p, text, samples, (known){.source = found}, found, NULL, NULL));
  free(found);
}

/* Machines whose kernels are those of another one are tried on request. */
static bool is_wanted(const tw_target *t) {
  static const char *const alike[] = {"xdna2-", "cdna3", "trn1"};
  bool found = n_named == 0;
  for (size_t i = 0; !n_named && i < sizeof alike / sizeof *alike; i++)
    found = found && strncmp(t->name, alike[i], strlen(alike[i])) != 0;
  for (size_t i = 0; i < n_named; i++) found = found || !strcmp(named[i], t->name);
  return found && t->available(t, NULL) == TW_OK;
}

static void no_pair_ends_worse_than_what_its_user_has(void **state) {
  size_t pairs = 0;
  bool met[64] = {false};
  const tw_target *t;
  for (size_t i = 0; (t = tw_target_at(i)); i++) {
    if (!is_wanted(t)) continue;
    for (size_t j = 0; j < n_problems; j++) {
      tw_problem p;
      char *baseline;
      if (!is_for_gate[j]) continue;
      if (!read_pair(t, problems[j], &p, &baseline)) {
        free(baseline);
        continue;
      }
      const tw_op *op;
      for (size_t k = 0; k < 64 && (op = tw_op_at(k)); k++) met[k] = met[k] || op == p.op;
      if (pairs % (size_t)example_stride() == 0)
        try_pair(t, &p, problems[j], baseline, budgets[pairs % (t->traits.deterministic ? BUDGETS : 2)]);
      free(baseline);
      pairs++;
    }
  }
  print_message("%zu pairs\n", pairs);
  const tw_op *op;
  for (size_t k = 0; !n_named && (op = tw_op_at(k)); k++)
    if (!met[k]) print_message("no target here has a baseline for %s\n", op->name);
  assert_true(pairs > 0);
}

static void every_op_has_a_problem(void **state) {
  const tw_op *op;
  for (size_t k = 0; (op = tw_op_at(k)); k++) {
    bool found = false;
    const size_t n = strlen(op->name);
    for (size_t j = 0; j < n_problems; j++)
      found = found || (!strncmp(problems[j], op->name, n) && problems[j][n] == ' ');
    if (!found) fail_msg("%s has no problem in this test", op->name);
  }
}

int main(int argc, char **argv) {
  named = argv + 1;
  n_named = (size_t)(argc - 1);
  const struct CMUnitTest tests[] = {cmocka_unit_test(every_op_has_a_problem),
                                     cmocka_unit_test(no_pair_ends_worse_than_what_its_user_has)};
  return cmocka_run_group_tests(tests, read_problems, free_problems);
}
