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
  const tw_case *data;           /* of all trials; NULL: made for each */
  const tw_bound *bound;         /* likewise */
  int jobs;                      /* trials at a time, >= 1 */
  double deadline;               /* by tw_now; HUGE_VAL = none. No trial is started after it ... */
  const volatile int *interrupt; /* ... nor once this is non-zero; NULL = never */
  /* Both are called from the calling thread only: after each trial, in the order in which they end, and a few times a
   * second while nothing ends. */
  void (*done)(void *context, tw_job *);
  void (*tick)(void *context);
  void *context;
} tw_pool;

/* Evaluates all; those whose turn did not come end with TW_SKIPPED. What the outcomes are does not depend on `jobs`, only
 * the order of the calls to `done` does. */
void tw_pool_run(const tw_pool *, tw_job *const job[], size_t n);

#endif
