/* pool.c - trials on several threads.
 *
 * Each worker thread takes the next trial and evaluates it in the backend's slot of its own number. The calling thread
 * adds trials, and passes results on, so that the journal and the progress line need no locks. A job is used by one
 * thread at a time: by its worker until it is queued in `ended`, then by the calling thread. */
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

static void evaluate_here(const tw_pool *p, tw_job *job) {
  evaluate_one(p, 0, job);
  p->done(p->context, job);
}

/* A list that grows at its end and is read from its beginning. */
typedef struct queue {
  tw_job **job;
  size_t n, room, taken;
} queue;

struct tw_batch {
  const tw_pool *pool;
  size_t n, passed_on; /* trials; trials for which `done` was called */
  size_t n_workers;    /* threads, at most pool->jobs */
  pthread_t *worker;
  pthread_mutex_t lock;          /* guards the members below */
  pthread_cond_t waits, changed; /* a trial waits, or the batch is over; a trial ended */
  bool is_over;                  /* no trial will be added */
  size_t n_slots, n_idle;        /* workers that have a slot, and that have no trial */
  queue waiting, ended;
};

/* Room for `n` jobs, so that `push` cannot fail. */
static bool make_room(queue *q, size_t n) {
  if (n <= q->room) return true;
  const size_t room = q->room ? 2 * q->room : 256;
  tw_job **larger = tw_resize(q->job, room, sizeof *larger);
  if (!larger) return false;
  q->job = larger;
  q->room = room;
  return true;
}

static void push(queue *q, tw_job *job) { q->job[q->n++] = job; }

static tw_job *pop(queue *q) { return q->taken < q->n ? q->job[q->taken++] : NULL; }

/* The next trial, or NULL after the batch has ended. */
static tw_job *next_job(tw_batch *b) {
  b->n_idle++;
  while (b->waiting.taken == b->waiting.n && !b->is_over) pthread_cond_wait(&b->waits, &b->lock);
  b->n_idle--;
  return pop(&b->waiting);
}

static void *work(void *context) {
  tw_batch *b = context;
  pthread_mutex_lock(&b->lock);
  const size_t slot = b->n_slots++;
  for (tw_job *job; (job = next_job(b));) {
    pthread_mutex_unlock(&b->lock);
    evaluate_one(b->pool, slot, job);
    pthread_mutex_lock(&b->lock);
    push(&b->ended, job);
    pthread_cond_signal(&b->changed);
  }
  pthread_mutex_unlock(&b->lock);
  return NULL;
}

tw_batch *tw_batch_open(const tw_pool *pool) {
  tw_batch *b = tw_new(1, sizeof *b);
  pthread_t *worker = tw_new((size_t)pool->jobs, sizeof *worker);
  if (!b || !worker) {
    free(b);
    free(worker);
    return NULL;
  }
  b->pool = pool;
  b->worker = worker;
  pthread_mutex_init(&b->lock, NULL);
  pthread_condattr_t clock;
  pthread_condattr_init(&clock);
  pthread_condattr_setclock(&clock, CLOCK_MONOTONIC);
  pthread_cond_init(&b->changed, &clock);
  pthread_condattr_destroy(&clock);
  pthread_cond_init(&b->waits, NULL);
  return b;
}

/* Starts one worker for each trial that has none; the caller has the lock. A worker that has not begun counts as
 * idle, because it will take a trial. */
static void start_workers(tw_batch *b) {
  const size_t most = (size_t)b->pool->jobs, wanted = b->waiting.n - b->waiting.taken;
  while (b->n_workers < most && b->n_idle + b->n_workers - b->n_slots < wanted &&
         pthread_create(&b->worker[b->n_workers], NULL, work, b) == 0)
    b->n_workers++;
}

void tw_batch_add(tw_batch *b, tw_job *job) {
  pthread_mutex_lock(&b->lock);
  const bool has_room = make_room(&b->waiting, b->waiting.n + 1) && make_room(&b->ended, b->n + 1);
  if (has_room) {
    push(&b->waiting, job);
    b->n++;
    if (!b->pool->holds) start_workers(b);
    pthread_cond_signal(&b->waits);
  }
  pthread_mutex_unlock(&b->lock);
  if (!has_room) evaluate_here(b->pool, job);
}

/* The next that ended; NULL if none did until then. `until` NULL: does not wait. */
static tw_job *next_ended(tw_batch *b, const struct timespec *until) {
  int result = until ? 0 : ETIMEDOUT;
  pthread_mutex_lock(&b->lock);
  while (b->ended.taken == b->ended.n && result != ETIMEDOUT)
    result = pthread_cond_timedwait(&b->changed, &b->lock, until);
  tw_job *job = pop(&b->ended);
  pthread_mutex_unlock(&b->lock);
  return job;
}

/* False if no trial ended. */
static bool pass_on(tw_batch *b, const struct timespec *until) {
  tw_job *job = next_ended(b, until);
  b->passed_on += job != NULL;
  if (job) b->pool->done(b->pool->context, job);
  return job;
}

void tw_batch_poll(tw_batch *b) {
  while (pass_on(b, NULL)) continue;
}

static void wait_for_all(tw_batch *b) {
  while (b->passed_on < b->n) {
    struct timespec until;
    clock_gettime(CLOCK_MONOTONIC, &until);
    until.tv_nsec += TICK_NANOSECONDS;
    until.tv_sec += until.tv_nsec / 1000000000;
    until.tv_nsec %= 1000000000;
    if (!pass_on(b, &until)) b->pool->tick(b->pool->context);
  }
}

void tw_batch_abandon(tw_batch *b) {
  pthread_mutex_lock(&b->lock);
  for (tw_job *job; (job = pop(&b->waiting));) {
    job->outcome = (tw_outcome){.verdict = TW_SKIPPED};
    push(&b->ended, job);
  }
  pthread_mutex_unlock(&b->lock);
}

void tw_batch_close(tw_batch *b) {
  if (!b) return;
  pthread_mutex_lock(&b->lock);
  start_workers(b);
  pthread_mutex_unlock(&b->lock);
  for (tw_job *job; b->n_workers == 0 && (job = pop(&b->waiting)); b->n--) evaluate_here(b->pool, job);
  wait_for_all(b);
  pthread_mutex_lock(&b->lock);
  b->is_over = true;
  pthread_cond_broadcast(&b->waits);
  pthread_mutex_unlock(&b->lock);
  for (size_t i = 0; i < b->n_workers; i++) pthread_join(b->worker[i], NULL);
  pthread_cond_destroy(&b->waits);
  pthread_cond_destroy(&b->changed);
  pthread_mutex_destroy(&b->lock);
  free(b->waiting.job);
  free(b->ended.job);
  free(b->worker);
  free(b);
}

void tw_pool_run(const tw_pool *p, tw_job *const job[], size_t n) {
  tw_batch *b = tw_batch_open(p);
  for (size_t i = 0; i < n; i++)
    if (b)
      tw_batch_add(b, job[i]);
    else
      evaluate_here(p, job[i]); /* without memory: one after another */
  tw_batch_close(b);
}
