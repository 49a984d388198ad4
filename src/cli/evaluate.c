/* evaluate.c - `tilewright evaluate`: trials from standard input, an outcome for each on standard output, a JSON object
 * per line (evaluate/text.h). A search with --runner starts this, here or on another machine.
 *
 * Inputs and expected outputs are kept from one trial to the next, because a search needs the same problem and seed
 * repeatedly. */
#define _GNU_SOURCE /* getline */
#include <stdlib.h>
#include <string.h>

#include "base/parallel.h"
#include "cli/cli.h"
#include "evaluate/evaluator.h"
#include "evaluate/text.h"

enum { LINE_MAX_BYTES = 64 << 20 };

/* The data of the last trial. */
typedef struct kept {
  const tw_target *target;
  tw_problem problem; /* owned by the data, so it outlives the trial */
  uint64_t seed;
  tw_case data;
  tw_bound bound;
  const tw_target *described; /* the target to which the digest `machine` belongs */
  char machine[TW_HASH_TEXT];
  int jobs;
  const volatile int *interrupt;
} kept;

static bool is_same_problem(const tw_problem *a, const tw_problem *b) {
  char x[4096], y[4096];
  return tw_problem_print(a, x, sizeof x) < sizeof x && tw_problem_print(b, y, sizeof y) < sizeof y && !strcmp(x, y);
}

/* False if the data cannot be made; the trial then has the reason. */
static bool keep_data(kept *k, const tw_trial *t, int jobs) {
  if (k->target == t->target && k->seed == t->seed && is_same_problem(&k->problem, t->problem)) return true;
  tw_case_free(&k->data);
  k->target = NULL;
  k->data = (tw_case){0};
  k->problem = *t->problem;
  k->seed = t->seed;
  if (tw_target_bound(t->target, &k->problem, &k->bound, NULL) != TW_OK ||
      tw_target_case(t->target, &k->problem, t->seed, jobs, &k->data, NULL) != TW_OK)
    return false;
  k->target = t->target;
  return true;
}

/* The version of a compiler is determined once. */
static const char *machine_of(kept *k, const tw_target *t) {
  if (k->described != t) tw_evaluator_digest(t, k->machine);
  k->described = t;
  return k->machine;
}

static void evaluate(int jobs, kept *k, const char *line, tw_outcome *out) {
  tw_read_trial read;
  tw_error error = {0};
  tw_status status = tw_trial_read(line, NULL, &read, &error);
  const tw_target *t = read.trial.target;
  if (status == TW_OK && !t->build)
    status = tw_fail(&error, TW_UNSUPPORTED, "%s cannot build kernels; it supports only `tilewright model`", t->name);
  if (status == TW_OK && (status = t->available(t, &error)) == TW_OK) {
    tw_setting setting = {.jobs = jobs, .interrupt = k->interrupt};
    if (keep_data(k, &read.trial, setting.jobs)) {
      setting.data = &k->data;
      setting.bound = &k->bound;
    }
    tw_trial_run(&read.trial, &setting, out);
    snprintf(out->evaluator, sizeof out->evaluator, "%s", machine_of(k, t));
  }
  if (status != TW_OK) tw_outcome_fail(out, TW_UNAVAILABLE, status, "%s", error.text);
  tw_read_trial_free(&read);
}

tw_status cli_evaluate(const cli *c, tw_error *error) {
  kept k = {0};
  char *line = NULL;
  size_t room = 0;
  tw_status status = cli_no_words(c, 0, error);
  *c->printed = true;
  for (ssize_t length; status == TW_OK && (length = getline(&line, &room, stdin)) > 0;) {
    tw_outcome outcome;
    if (length > LINE_MAX_BYTES)
      tw_outcome_fail(&outcome, TW_UNAVAILABLE, TW_USAGE, "the trial is longer than %d bytes", LINE_MAX_BYTES);
    else if (strlen(line) != (size_t)length)
      tw_outcome_fail(&outcome, TW_UNAVAILABLE, TW_USAGE, "the trial contains a zero byte");
    else
      evaluate((int)c->options.jobs, &k, line, &outcome);
    char *text = tw_outcome_print(&outcome);
    if (!text || printf("%s\n", text) < 0 || fflush(stdout) != 0)
      status = tw_fail(error, TW_MISSING, "cannot write an outcome to standard output");
    free(text);
  }
  tw_case_free(&k.data);
  free(line);
  return status;
}

static char *answer(void *context, const char *trial) {
  kept *k = context;
  tw_outcome outcome;
  evaluate(k->jobs, k, trial, &outcome);
  return tw_outcome_print(&outcome);
}

void cli_serve_rank(tw_ranks *ranks, const char *about) {
  kept k = {.interrupt = cli_catch_interrupt(), .jobs = tw_cores() / (ranks->local > 0 ? ranks->local : 1)};
  if (k.jobs < 1) k.jobs = 1;
  tw_ranks_serve(ranks, about, answer, &k);
  tw_case_free(&k.data);
}
