/* run.c - see run.h. */
#include "tilewright/run.h"

#include <stdio.h>

#include "base/random.h"
#include "evaluate/trial.h"

tw_status tw_run(const tw_target *target, const tw_problem *problem, const char *source, size_t length,
                 const tw_run_options *options, tw_run_result *out, tw_error *error) {
  const tw_run_options o = options ? *options : (tw_run_options){0};
  *out = (tw_run_result){.seed = o.seed ? o.seed : tw_random_system()};
  tw_status status = tw_target_bound(target, problem, &out->bound, error);
  if (status != TW_OK) return status;
  const tw_trial trial = {.target = target,
                          .problem = problem,
                          .source = source,
                          .length = length,
                          .seed = out->seed,
                          .more_cases = 1,
                          .trust = o.trust};
  const tw_setting setting = {.bound = &out->bound, .jobs = o.jobs, .trace = o.trace};
  tw_outcome outcome;
  tw_trial_run(&trial, &setting, &outcome);
  out->measured = outcome.measured;
  snprintf(out->coverage, sizeof out->coverage, "%s", outcome.coverage);
  if (outcome.verdict == TW_CORRECT) return TW_OK;
  return tw_fail(error, outcome.error.status ? outcome.error.status : TW_FAILED, "%s", outcome.error.text);
}
