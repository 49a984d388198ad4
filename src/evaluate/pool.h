/* pool.h - trials, several at a time: all of them at once, or as they are made. */
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
  bool holds;                    /* no trial is started before its batch is closed */
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

/* Trials that are evaluated while the caller makes further ones. The pool must outlive the batch; a job must live until
 * `done` is called for it. One thread makes all calls. */
typedef struct tw_batch tw_batch;
/* NULL without memory. */
tw_batch *tw_batch_open(const tw_pool *);
/* Starts a trial, or queues it until a slot is free. Without memory it is evaluated here, at once. */
void tw_batch_add(tw_batch *, tw_job *);
/* Calls `done` for the trials that have ended, and does not wait. */
void tw_batch_poll(tw_batch *);
/* Trials that have not begun end with TW_SKIPPED. */
void tw_batch_abandon(tw_batch *);
/* Waits for all trials, calls `done` for each, and frees the batch. NULL is allowed. */
void tw_batch_close(tw_batch *);

#endif
