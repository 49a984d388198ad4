/* run.c - see run.h. */
#include "tilewright/run.h"

#include <stdio.h>

#include "base/random.h"
#include "base/sized.h"
#include "evaluate/trial.h"

tw_status tw_run(const tw_target *target, const tw_problem *problem, const char *source, size_t length,
                 const tw_run_options *options, tw_run_result *out, tw_error *error) {
  tw_run_options o = {0};
  tw_status status = options ? tw_sized_take("tw_run_options", options, &o, sizeof o, error) : TW_OK;
  if (status == TW_OK) status = tw_sized_check("tw_run_result", out, error);
  if (status != TW_OK) return status;
  tw_run_result r = {.seed = o.seed ? o.seed : tw_random_system()};
  status = tw_target_bound(target, problem, &r.bound, error);
  if (status != TW_OK) {
    tw_sized_give(&r, sizeof r, out);
    return status;
  }
  const tw_trial trial = {.target = target,
                          .problem = problem,
                          .source = source,
                          .length = length,
                          .seed = r.seed,
                          .more_cases = 1,
                          .trust = o.trust};
  const tw_setting setting = {.bound = &r.bound, .jobs = o.jobs, .trace = o.trace};
  tw_outcome outcome;
  tw_trial_run(&trial, &setting, &outcome);
  r.measured = outcome.measured;
  snprintf(r.coverage, sizeof r.coverage, "%s", outcome.coverage);
  tw_sized_give(&r, sizeof r, out);
  if (outcome.verdict == TW_CORRECT) return TW_OK;
  return tw_fail(error, outcome.error.status ? outcome.error.status : TW_FAILED, "%s", outcome.error.text);
}
