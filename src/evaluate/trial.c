/* trial.c - builds, checks and measures a kernel, and turns each failure into a verdict. */
#include "evaluate/trial.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/device.h"
#include "base/parallel.h"
#include "base/random.h"
#include "base/status.h"
#include "base/utilization.h"
#include "evaluate/plausible.h"
#include "evaluate/stated.h"

static const char EVERY_ELEMENT[] = "every element";

typedef struct stage {
  const tw_trial *trial;
  const tw_setting *setting;
  const tw_case *data;
  const tw_bound *bound;
  tw_artefact *artefact;
  tw_stop stop;
  tw_evaluation evaluation;
  tw_outcome *out;
} stage;

void tw_outcome_fail(tw_outcome *out, tw_verdict verdict, tw_status status, const char *format, ...) {
  va_list arguments;
  *out = (tw_outcome){.verdict = verdict, .error = {.status = status}};
  va_start(arguments, format);
  vsnprintf(out->error.text, sizeof out->error.text, format, arguments);
  va_end(arguments);
}

/* A missing resource or an interrupt says nothing about the kernel. */
static void judge(tw_outcome *out, tw_status status, tw_verdict if_failed) {
  out->error.status = status;
  out->verdict = tw_status_group(status) == TW_MISSING ? TW_UNAVAILABLE
                 : status == TW_INTERRUPTED            ? TW_SKIPPED
                                                       : if_failed;
}

/* Stages check the clock and end early: their result then says nothing about the kernel. The error of a stage that
 * noticed the interrupt names the work that did not end. */
static tw_status unless_stopped(const stage *s, tw_status status) {
  return status != TW_INTERRUPTED && tw_is_stopped(&s->stop) ? tw_fail(&s->out->error, TW_INTERRUPTED, "interrupted")
                                                             : status;
}

static tw_status check_on(stage *s, const tw_case *data) {
  const tw_target *t = s->trial->target;
  int lock = -1;
  tw_status status = tw_device_lock(t->traits.device, true, &s->stop, &lock, &s->out->error);
  s->evaluation.coverage[0] = '\0';
  if (status == TW_OK) status = t->check(t, s->artefact, data, &s->evaluation, &s->out->error);
  tw_device_unlock(lock);
  return unless_stopped(s, status);
}

/* The compared part of the outputs, in the last check. */
static const char *coverage_of(const stage *s) {
  return *s->evaluation.coverage ? s->evaluation.coverage : EVERY_ELEMENT;
}

static bool check(stage *s) {
  const tw_status status = check_on(s, s->data);
  if (status != TW_OK) {
    judge(s->out, status, TW_WRONG);
    return false;
  }
  snprintf(s->out->coverage, sizeof s->out->coverage, "%.*s", (int)sizeof s->out->coverage - 1, coverage_of(s));
  return true;
}

static bool measure(stage *s, tw_verdict if_failed) {
  const tw_target *t = s->trial->target;
  int lock = -1;
  tw_measurement *m = &s->out->measured;
  tw_status status = tw_device_lock(t->traits.device, false, &s->stop, &lock, &s->out->error);
  if (status == TW_OK) status = t->measure(t, s->artefact, s->data, &s->evaluation, m, &s->out->error);
  tw_device_unlock(lock);
  status = unless_stopped(s, status);
  if (status == TW_OK && !(isfinite(m->cost) && m->cost > 0))
    status = tw_fail(&s->out->error, TW_FAILED, "the measured cost %g is not a positive number", m->cost);
  if (status != TW_OK) {
    judge(s->out, status, if_failed);
    return false;
  }
  status = tw_plausible(t, s->bound, m->cost, &s->out->error);
  tw_set_utilization(s->bound, m);
  if (status != TW_OK) judge(s->out, status, TW_IMPOSSIBLE);
  return status == TW_OK;
}

/* A measurement on a device keeps its results. The check of a trusted kernel compares these and repeats no runs. */
static bool is_measured_first(const tw_trial *trial) {
  const tw_traits *t = &trial->target->traits;
  return t->measures_first && !trial->check_only && (trial->limit > 0 || (trial->trust && !t->simulated));
}

/* Measures. True: the kernel failed or is too slow to be useful, and is not checked. */
static bool is_too_slow(stage *s) {
  const double limit = s->trial->limit, least = s->evaluation.least;
  if (limit > 0 && least > limit) {
    tw_outcome_fail(s->out, TW_SLOWER, TW_OK, "not measured: its cost is at least %g", least);
    return true;
  }
  s->evaluation.limit = limit;
  const bool measured = measure(s, TW_WRONG);
  s->evaluation.limit = 0;
  if (!measured) return true;
  s->out->verdict = TW_SLOWER;
  return limit > 0 && s->out->measured.cost > limit;
}

static void check_and_measure(stage *s) {
  const bool measures_first = is_measured_first(s->trial);
  if (measures_first && is_too_slow(s)) return;
  if (!check(s)) return;
  /* Sources of models and users are measured in full: a few calls would be easier to survive. */
  s->evaluation.limit = measures_first || !s->trial->trust ? 0 : s->trial->limit;
  /* compares the timed run with the checked run where both are known */
  const bool again = s->trial->target->traits.measures_checked;
  if ((!measures_first || again) && !s->trial->check_only && !measure(s, TW_UNMEASURED)) return;
  s->out->verdict = TW_CORRECT;
}

static bool is_vast(const tw_problem *p) { return p->op->operations(p) > 1e12; }

int tw_trial_more_cases(const tw_problem *p) {
  static const double LARGE = 1e8; /* multiply-adds */
  return is_vast(p) ? 1 : p->op->operations(p) > LARGE ? 2 : 4;
}

/* The last case may be compared in full even if the first was sampled. */
static void add_cases_to_coverage(stage *s) {
  const char *last = coverage_of(s);
  char *coverage = s->out->coverage;
  const size_t length = strlen(coverage), room = sizeof s->out->coverage - length;
  const int cases = 1 + s->trial->more_cases;
  if (!strcmp(last, EVERY_ELEMENT) && strcmp(coverage, EVERY_ELEMENT) != 0)
    snprintf(coverage, sizeof s->out->coverage, "%s of the last of %d cases, samples of the first %d", EVERY_ELEMENT,
             cases, cases - 1);
  else
    snprintf(coverage + length, room, ", in %d cases", cases);
}

/* A single correct result may be luck, or an answer that was known. So the kernel is checked on other inputs, which
 * include other kinds. */
static void check_on_others(stage *s) {
  const tw_trial *trial = s->trial;
  tw_random r;
  tw_random_seed_stream(&r, trial->seed, 0xca5e);
  /* inspection takes most of the time of a vast problem, and its findings hardly depend on the inputs */
  if (is_vast(trial->problem)) s->evaluation.inspection = NULL;
  for (int i = 0; i < trial->more_cases && s->out->verdict == TW_CORRECT; i++) {
    tw_case other = {0};
    tw_error *error = &s->out->error;
    const int left = trial->more_cases - i;
    const uint64_t kind = left == 1 ? TW_SEED_WHOLE : left == 2 ? TW_SEED_KIND : 0;
    const uint64_t seed = (tw_random_next(&r) & ~TW_SEED_KIND) | kind;
    tw_status status = tw_target_case(trial->target, trial->problem, seed, s->setting->jobs, &other, error);
    if (status == TW_OK && (status = check_on(s, &other)) == TW_FAILED) {
      const tw_error why = *error;
      tw_fail(error, status, "correct on its first inputs, wrong on other inputs: %s", why.text);
    }
    if (status != TW_OK) judge(s->out, status, TW_UNCONFIRMED);
    tw_case_free(&other);
  }
  if (s->out->verdict == TW_CORRECT && trial->more_cases) add_cases_to_coverage(s);
}

void tw_trial_run(const tw_trial *trial, const tw_setting *setting, tw_outcome *out) {
  const tw_target *t = trial->target;
  const double start = tw_now(), waited = tw_waited();
  tw_case made = {0};
  tw_bound bound;
  *out = (tw_outcome){.verdict = TW_PENDING};
  stage s = {.trial = trial,
             .setting = setting,
             .data = setting->data,
             .bound = setting->bound,
             .stop = {.deadline = trial->deadline, .interrupt = setting->interrupt},
             .evaluation = {.trust = trial->trust,
                            .headers = setting->headers,
                            .in_part = trial->check_part,
                            .inspection = t->traits.inspects ? setting->inspection : NULL,
                            .trace = setting->trace},
             .out = out};
  s.evaluation.stop = &s.stop;
  const tw_stop *before = tw_stop_by(&s.stop), *loops_before = tw_parallel_until(&s.stop);
  tw_status status = t->build(t, trial->problem, trial->source, trial->length, &s.evaluation, &s.artefact, &out->error);
  if (status != TW_OK) status = unless_stopped(&s, status);
  const double build_seconds = tw_now() - start - (tw_waited() - waited);
  if (status != TW_OK) {
    judge(out, status, TW_UNBUILDABLE);
  } else {
    if (!s.data &&
        (status = tw_target_case(t, trial->problem, trial->seed, setting->jobs, &made, &out->error)) == TW_OK)
      s.data = &made;
    if (status == TW_OK && !s.bound && !trial->check_only &&
        (status = tw_target_bound(t, trial->problem, &bound, &out->error)) == TW_OK)
      s.bound = &bound;
    if (status == TW_OK)
      check_and_measure(&s);
    else
      judge(out, status, TW_UNAVAILABLE);
    tw_case_free(&made);
    if (out->verdict == TW_CORRECT) check_on_others(&s);
    t->release(s.artefact);
  }
  if (out->error.status == TW_FAILED) tw_stated_explain(trial, &out->error);
  /* Ctrl-C reaches the compiler too. */
  if (!tw_verdict_has_cost(out->verdict) && tw_is_set(setting->interrupt)) out->verdict = TW_SKIPPED;
  if (!tw_verdict_has_cost(out->verdict)) out->measured = (tw_measurement){0};
  tw_case_free(&made);
  tw_parallel_until(loops_before);
  tw_stop_by(before);
  out->seconds = tw_now() - start - (tw_waited() - waited);
  out->build_seconds = build_seconds;
}
