/* pool.c - trials on several threads.
 *
 * Each worker thread takes the next trial and evaluates it in the backend's slot of its own number. The calling thread
 * only waits for results and passes them on, so that the journal and the progress line need no locks. A job is used by
 * one thread at a time: by its worker until it is queued in `ended`, then by the calling thread. */
#include "evaluate/pool.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <time.h>

#include "base/clock.h"
#include "base/strings.h"

static const long TICK_NANOSECONDS = 200 * 1000 * 1000;

static void evaluate_one(const tw_pool *p, size_t slot, tw_job *job) {
  if (tw_is_set(p->interrupt) || tw_now() >= p->deadline)
    job->outcome = (tw_outcome){.verdict = TW_SKIPPED};
  else
    p->backend->evaluate(p->backend, slot, &job->trial, p->data, p->bound, p->interrupt, &job->outcome);
}

typedef struct batch {
  const tw_pool *pool;
  tw_job *const *job;
  size_t n;
  pthread_mutex_t lock; /* guards the members below */
  pthread_cond_t changed;
  size_t next;    /* the first trial that no worker has taken */
  tw_job **ended; /* in order of their end */
  size_t n_ended, n_workers;
} batch;

static tw_job *next_job(batch *b) {
  tw_job *taken = NULL;
  pthread_mutex_lock(&b->lock);
  if (b->next < b->n) taken = b->job[b->next++];
  pthread_mutex_unlock(&b->lock);
  return taken;
}

static void *work(void *context) {
  batch *b = context;
  pthread_mutex_lock(&b->lock);
  const size_t slot = b->n_workers++;
  pthread_mutex_unlock(&b->lock);
  for (tw_job *job; (job = next_job(b));) {
    evaluate_one(b->pool, slot, job);
    pthread_mutex_lock(&b->lock);
    b->ended[b->n_ended++] = job;
    pthread_cond_signal(&b->changed);
    pthread_mutex_unlock(&b->lock);
  }
  return NULL;
}

/* The next that ended, or NULL after a while. */
static tw_job *wait_for(batch *b, size_t collected) {
  struct timespec until;
  clock_gettime(CLOCK_MONOTONIC, &until);
  until.tv_nsec += TICK_NANOSECONDS;
  until.tv_sec += until.tv_nsec / 1000000000;
  until.tv_nsec %= 1000000000;
  int result = 0;
  pthread_mutex_lock(&b->lock);
  while (b->n_ended == collected && result != ETIMEDOUT) result = pthread_cond_timedwait(&b->changed, &b->lock, &until);
  tw_job *job = b->n_ended > collected ? b->ended[collected] : NULL;
  pthread_mutex_unlock(&b->lock);
  return job;
}

static void collect(batch *b) {
  const tw_pool *p = b->pool;
  for (size_t collected = 0; collected < b->n;) {
    tw_job *job = wait_for(b, collected);
    collected += job != NULL;
    if (job)
      p->done(p->context, job);
    else
      p->tick(p->context);
  }
}

/* Without memory or threads: sequentially, here. */
static void evaluate_here(const tw_pool *p, tw_job *const job[], size_t n) {
  for (size_t i = 0; i < n; i++) {
    evaluate_one(p, 0, job[i]);
    p->done(p->context, job[i]);
  }
}

void tw_pool_run(const tw_pool *p, tw_job *const job[], size_t n) {
  size_t jobs = (size_t)p->jobs < n ? (size_t)p->jobs : n, started = 0;
  batch b = {.pool = p, .job = job, .n = n, .lock = PTHREAD_MUTEX_INITIALIZER};
  pthread_t *thread = tw_new(jobs + 1, sizeof *thread);
  b.ended = tw_new(n + 1, sizeof(tw_job *));
  pthread_condattr_t clock;
  pthread_condattr_init(&clock);
  pthread_condattr_setclock(&clock, CLOCK_MONOTONIC);
  pthread_cond_init(&b.changed, &clock);
  pthread_condattr_destroy(&clock);
  if (thread && b.ended)
    while (started < jobs && pthread_create(&thread[started], NULL, work, &b) == 0) started++;
  if (started > 0)
    collect(&b);
  else
    evaluate_here(p, job, n);
  for (size_t i = 0; i < started; i++) pthread_join(thread[i], NULL);
  pthread_cond_destroy(&b.changed);
  pthread_mutex_destroy(&b.lock);
  free(b.ended);
  free(thread);
}
