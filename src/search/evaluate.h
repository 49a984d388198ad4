/* evaluate.h - build, check and measure candidates on several threads. */
#ifndef TW_SEARCH_EVALUATE_H
#define TW_SEARCH_EVALUATE_H

#include "agent/candidate.h"
#include "base/clock.h"

typedef struct tw_evaluator {
  const tw_target *target;
  const tw_problem *problem;
  const tw_bound *bound;         /* of the problem: what costs less than its `least` is no result */
  const tw_case *data;           /* inputs and expected outputs */
  bool trust;                    /* see tw_search_options */
  int jobs;                      /* >= 1 */
  double deadline;               /* by tw_now; HUGE_VAL = none. No candidate is started after it ... */
  const volatile int *interrupt; /* ... nor once this is non-zero; NULL = never */
  /* Both are called from the calling thread only: after each candidate, in the order in which they end, and a few
   * times a second while nothing ends. */
  void (*done)(void *context, tw_candidate *);
  void (*tick)(void *context);
  void *context;
} tw_evaluator;

/* Evaluates those candidates that are TW_PENDING; each ends with a verdict, TW_SKIPPED if its turn did
 * not come. What the verdicts are does not depend on `jobs`, only the order of the calls to `done` does. */
void tw_evaluate(const tw_evaluator *, tw_candidate *const *candidate, size_t n);

/* Builds and checks one candidate on other data, in the calling thread. TW_OK if it is right there too. */
tw_status tw_recheck(const tw_target *, const tw_problem *, const tw_candidate *, bool trust, const tw_case *,
                     tw_error *);

#endif
