/* run.c - see run.h. */
#include "tilewright/run.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/random.h"
#include "base/sized.h"
#include "evaluate/trial.h"
#include "tilewright/extend/target.h"

struct tw_run_result {
  tw_measurement measured;
  tw_bound bound;
  char coverage[240];
  uint64_t seed;
};

static tw_status run(const tw_target *target, const tw_problem *problem, const char *source, size_t length,
                     const tw_run_options *o, tw_run_result *r, tw_error *error) {
  r->seed = o->seed ? o->seed : tw_random_system();
  const tw_status status = tw_target_bound(target, problem, &r->bound, error);
  if (status != TW_OK) return status;
  const tw_trial trial = {.target = target,
                          .problem = problem,
                          .source = source,
                          .length = length,
                          .seed = r->seed,
                          .more_cases = 1,
                          .deadline = o->seconds > 0 ? tw_now() + o->seconds : 0,
                          .trust = o->trust};
  const tw_setting setting = {.bound = &r->bound, .jobs = o->jobs, .trace = o->trace};
  tw_outcome outcome;
  tw_trial_run(&trial, &setting, &outcome);
  r->measured = outcome.measured;
  snprintf(r->coverage, sizeof r->coverage, "%s", outcome.coverage);
  if (outcome.verdict == TW_CORRECT) return TW_OK;
  if (outcome.error.status == TW_INTERRUPTED)
    return tw_fail(error, TW_INTERRUPTED, "the run did not end within %g s: %.1500s", o->seconds, outcome.error.text);
  return tw_fail(error, outcome.error.status ? outcome.error.status : TW_FAILED, "%s", outcome.error.text);
}

tw_status tw_run(const tw_target *target, const tw_problem *problem, const char *source, size_t length,
                 const tw_run_options *options, tw_run_result **out, tw_error *error) {
  tw_run_options o = {0};
  *out = NULL;
  tw_status status = tw_check_subject(target, problem, error);
  if (status != TW_OK) return status;
  if (!source) return tw_fail(error, TW_USAGE, "the source is NULL; give the text of a kernel");
  status = options ? tw_sized_take("tw_run_options", options, &o, sizeof o, error) : TW_OK;
  if (status == TW_OK && !(o.seconds >= 0))
    status = tw_fail(error, TW_USAGE, "tw_run_options.seconds is %g: it must be 0, for no limit, or more", o.seconds);
  if (status != TW_OK) return status;
  tw_run_result *r = calloc(1, sizeof *r);
  if (!r) return tw_no_memory(error, "the result");
  status = run(target, problem, source, length, &o, r, error);
  if (status == TW_OK)
    *out = r;
  else
    tw_run_result_free(r);
  return status;
}

void tw_run_result_free(tw_run_result *r) { free(r); }
const tw_measurement *tw_run_result_measurement(const tw_run_result *r) { return &r->measured; }
const tw_bound *tw_run_result_bound(const tw_run_result *r) { return &r->bound; }
const char *tw_run_result_coverage(const tw_run_result *r) { return r->coverage; }
uint64_t tw_run_result_seed(const tw_run_result *r) { return r->seed; }
