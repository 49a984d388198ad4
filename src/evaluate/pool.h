/* pool.h - a batch of trials, several at a time. */
#ifndef TW_EVALUATE_POOL_H
#define TW_EVALUATE_POOL_H

#include "evaluate/backend.h"

typedef struct tw_job {
  tw_trial trial;
  tw_outcome outcome;
  void *owner; /* the caller's */
} tw_job;

typedef struct tw_pool {
  tw_backend *backend;
  const tw_case *data;           /* shared by all trials; NULL: made for each trial */
  const tw_bound *bound;         /* shared by all trials; NULL: made for each trial */
  int jobs;                      /* trials at a time, >= 1 */
  double deadline;               /* by tw_now; HUGE_VAL = none. No trial is started after it ... */
  const volatile int *interrupt; /* ... nor once this is non-zero; NULL = never */
  /* Both are called from the calling thread only: after each trial, in the order in which they end, and a few times a
   * second while nothing ends. */
  void (*done)(void *context, tw_job *);
  void (*tick)(void *context);
  void *context;
} tw_pool;

/* Evaluates all trials. Trials that were not started end with TW_SKIPPED. The outcomes do not depend on `jobs`; only
 * the order of calls to `done` does. */
void tw_pool_run(const tw_pool *, tw_job *const job[], size_t n);

#endif
