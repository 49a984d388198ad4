/* evaluate.c - a batch of candidates through build, check and measure, on several threads.
 *
 * Worker threads take the next pending candidate each; the calling thread only waits for results and hands them
 * on, so that the journal and the progress line need no locks of their own. A candidate is touched by one thread at a
 * time: by its worker until it is queued in `ended`, by the calling thread after that. */
#include "search/evaluate.h"

#include <errno.h>
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "base/strings.h"
#include "evaluate/plausible.h"

static const long TICK_NANOSECONDS = 200 * 1000 * 1000;

static bool is_interrupted(const tw_evaluator *e) { return tw_is_set(e->interrupt); }

/* ---- one candidate ---- */

typedef struct outcome {
  tw_verdict verdict;
  tw_error error;
} outcome;

static outcome failed(tw_status status, tw_verdict stage, const tw_error *error) {
  outcome o = {.verdict = status == TW_MISSING ? TW_UNAVAILABLE : status == TW_INTERRUPTED ? TW_SKIPPED : stage};
  o.error = *error;
  return o;
}

static tw_status measure(const tw_evaluator *e, tw_artefact *artefact, tw_candidate *c, tw_error *error) {
  const tw_status status = e->target->measure(e->target, artefact, e->data, NULL, &c->measured, error);
  if (status == TW_OK && !(isfinite(c->measured.cost) && c->measured.cost > 0))
    return tw_fail(error, TW_FAILED, "the cost %g that was measured is no positive number", c->measured.cost);
  return status;
}

static const outcome correct = {.verdict = TW_CORRECT}, slower = {.verdict = TW_SLOWER};

static outcome hopeless(double least) {
  outcome o = slower;
  snprintf(o.error.text, sizeof o.error.text, "not measured: it cannot take less than %g", least);
  return o;
}

/* Both, in the target's order. What is too slow to be of use is not checked, where measuring comes first. */
static outcome check_and_measure(const tw_evaluator *e, tw_artefact *artefact, tw_candidate *c) {
  const tw_target *t = e->target;
  tw_error error = {0};
  tw_status status = TW_OK;
  if (t->traits.measures_first && c->limit > 0) {
    const double least = t->quick ? t->quick->least(t, artefact) : 0;
    if (least > c->limit) return hopeless(least);
    status = measure(e, artefact, c, &error);
    if (status == TW_OK && c->measured.cost > c->limit) return slower;
    if (status == TW_OK && tw_plausible(t, e->bound, c->measured.cost, &error) != TW_OK)
      return failed(TW_FAILED, TW_IMPOSSIBLE, &error);
    if (status == TW_OK) status = t->check(t, artefact, e->data, &error);
    return status == TW_OK ? correct : failed(status, TW_WRONG, &error);
  }
  if ((status = t->check(t, artefact, e->data, &error)) != TW_OK) return failed(status, TW_WRONG, &error);
  status = measure(e, artefact, c, &error);
  if (status == TW_OK && tw_plausible(t, e->bound, c->measured.cost, &error) != TW_OK)
    return failed(TW_FAILED, TW_IMPOSSIBLE, &error);
  return status == TW_OK ? correct : failed(status, TW_UNMEASURED, &error);
}

/* What the target itself made of a recipe is the library's own text. */
static bool is_trusted(const tw_candidate *c, bool trust) { return trust || c->recipe; }

static outcome build_check_measure(const tw_evaluator *e, tw_candidate *c) {
  const tw_target *t = e->target;
  tw_artefact *artefact = NULL;
  tw_error error = {0};
  tw_status status = t->build(t, e->problem, c->source, strlen(c->source), is_trusted(c, e->trust), &artefact, &error);
  if (status != TW_OK) return failed(status, TW_UNBUILDABLE, &error);
  const outcome o = check_and_measure(e, artefact, c);
  t->release(artefact);
  return o;
}

static void evaluate_one(const tw_evaluator *e, tw_candidate *c) {
  double start = tw_now();
  if (is_interrupted(e) || start >= e->deadline) {
    c->verdict = TW_SKIPPED;
    return;
  }
  outcome o = build_check_measure(e, c);
  /* Ctrl-C reaches the compiler too: a failure after an interrupt says nothing about the kernel. */
  c->verdict = !tw_verdict_has_cost(o.verdict) && is_interrupted(e) ? TW_SKIPPED : o.verdict;
  if (!tw_verdict_has_cost(c->verdict)) c->measured = (tw_measurement){0};
  if (*o.error.text) c->message = strdup(o.error.text);
  c->seconds = tw_now() - start;
}

tw_status tw_recheck(const tw_target *t, const tw_problem *problem, const tw_candidate *c, bool trust,
                     const tw_case *data, tw_error *error) {
  tw_artefact *artefact = NULL;
  tw_status status = t->build(t, problem, c->source, strlen(c->source), is_trusted(c, trust), &artefact, error);
  if (status != TW_OK) return status;
  status = t->check(t, artefact, data, error);
  t->release(artefact);
  return status;
}

/* ---- a batch ---- */

typedef struct batch {
  const tw_evaluator *evaluator;
  tw_candidate *const *candidate;
  size_t n;
  pthread_mutex_t lock; /* guards what follows */
  pthread_cond_t changed;
  size_t next;          /* the first that nobody took */
  tw_candidate **ended; /* in order of their end */
  size_t n_ended;
} batch;

static tw_candidate *take(batch *b) {
  tw_candidate *taken = NULL;
  pthread_mutex_lock(&b->lock);
  if (b->next < b->n) taken = b->candidate[b->next++];
  pthread_mutex_unlock(&b->lock);
  return taken;
}

static void *work(void *context) {
  batch *b = context;
  for (tw_candidate *c; (c = take(b));) {
    if (c->verdict == TW_PENDING) evaluate_one(b->evaluator, c);
    pthread_mutex_lock(&b->lock);
    b->ended[b->n_ended++] = c;
    pthread_cond_signal(&b->changed);
    pthread_mutex_unlock(&b->lock);
  }
  return NULL;
}

/* The next that ended, or NULL after a while. */
static tw_candidate *wait_for(batch *b, size_t collected) {
  struct timespec until;
  clock_gettime(CLOCK_MONOTONIC, &until);
  until.tv_nsec += TICK_NANOSECONDS;
  until.tv_sec += until.tv_nsec / 1000000000;
  until.tv_nsec %= 1000000000;
  int result = 0;
  pthread_mutex_lock(&b->lock);
  while (b->n_ended == collected && result != ETIMEDOUT) result = pthread_cond_timedwait(&b->changed, &b->lock, &until);
  tw_candidate *c = b->n_ended > collected ? b->ended[collected] : NULL;
  pthread_mutex_unlock(&b->lock);
  return c;
}

static void collect(batch *b) {
  const tw_evaluator *e = b->evaluator;
  for (size_t collected = 0; collected < b->n;) {
    tw_candidate *c = wait_for(b, collected);
    collected += c != NULL;
    if (c)
      e->done(e->context, c);
    else
      e->tick(e->context);
  }
}

/* Without memory or threads: one after the other, here. */
static void evaluate_here(const tw_evaluator *e, tw_candidate *const *candidate, size_t n) {
  for (size_t i = 0; i < n; i++) {
    if (candidate[i]->verdict == TW_PENDING) evaluate_one(e, candidate[i]);
    e->done(e->context, candidate[i]);
  }
}

void tw_evaluate(const tw_evaluator *e, tw_candidate *const *candidate, size_t n) {
  size_t jobs = (size_t)e->jobs < n ? (size_t)e->jobs : n, started = 0;
  batch b = {.evaluator = e, .candidate = candidate, .n = n, .lock = PTHREAD_MUTEX_INITIALIZER};
  pthread_t *thread = tw_new(jobs + 1, sizeof *thread);
  b.ended = tw_new(n + 1, sizeof(tw_candidate *));
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
    evaluate_here(e, candidate, n);
  for (size_t i = 0; i < started; i++) pthread_join(thread[i], NULL);
  pthread_cond_destroy(&b.changed);
  pthread_mutex_destroy(&b.lock);
  free(b.ended);
  free(thread);
}
