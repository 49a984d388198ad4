/* improve.c - a user's program as the start: rewrites of it, in competition with a fresh schedule.
 *
 * Rewrites are climbed greedily: all that apply to the program as it stands are evaluated, the best is kept, until
 * none makes it faster. There are few, and each is a whole step: a beam would find the same. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/parallel.h"
#include "base/strings.h"
#include "search/evaluate.h"
#include "tilewright/search.h"

enum { REWRITES_MAX = 24 };        /* of one program */
static const double GAIN = 0.0005; /* a rewrite that brings less is not worth a step */

typedef struct climb {
  const tw_target *target;
  const tw_problem *problem;
  const tw_search_options *options;
  const tw_program *program;
  tw_evaluator evaluator;
  tw_stop stop;
  tw_case data;
  tw_candidate *best;
  int samples, correct;
  double started;
  size_t n_rungs;
  tw_rung rung[REWRITES_MAX + 1];
} climb;

static void report(void *context) {
  climb *k = context;
  if (!k->options->progress) return;
  const tw_progress p = {.done = k->samples,
                         .correct = k->correct,
                         .best_utilization = k->best ? k->best->measured.utilization : 0,
                         .elapsed = tw_now() - k->started,
                         .left = -1};
  k->options->progress(k->options->context, &p);
}

static void count(void *context, tw_candidate *c) {
  climb *k = context;
  k->samples++;
  k->correct += c->verdict == TW_CORRECT;
  report(k);
}

static bool is_stopped(const climb *k) { return tw_is_stopped(&k->stop); }

static void add_rung(climb *k, const char *step, const char *why, const tw_measurement *m) {
  tw_rung *r = &k->rung[k->n_rungs++];
  snprintf(r->step, sizeof r->step, "%s", step);
  snprintf(r->why, sizeof r->why, "%s", why);
  r->cost = m->cost;
  r->utilization = m->utilization;
}

/* The user's program itself: it must be right, or there is nothing to start from. */
static tw_status evaluate_start(climb *k, const char *source, size_t length, tw_error *error) {
  char *copy = strndup(source, length);
  if (!copy || !(k->best = tw_candidate_new())) {
    free(copy);
    return tw_fail(error, TW_MISSING, "no memory for the program");
  }
  const tw_schedule nothing = {0};
  tw_candidate_set_kernel(k->best, &nothing, copy);
  tw_evaluate(&k->evaluator, &k->best, 1);
  if (k->best->verdict == TW_CORRECT) {
    add_rung(k, "start", "the program as it was given", &k->best->measured);
    return TW_OK;
  }
  if (k->best->verdict == TW_SKIPPED)
    return tw_fail(error, TW_INTERRUPTED, "interrupted before the program was measured");
  return tw_fail(error, k->best->verdict == TW_UNAVAILABLE ? TW_MISSING : TW_FAILED, "%s",
                 k->best->message ? k->best->message : "the program cannot be measured");
}

/* Candidates that are evaluated together. Not as many as there are threads: the best of a batch is taken, and the result
 * must not depend on them. */
enum { BATCH = 2 };
typedef struct batch {
  size_t n;
  tw_candidate *candidate[BATCH];
  const char *why[BATCH];
} batch;

/* Makes candidates of the next rewrites of the menu, from *next on. */
static tw_status propose(climb *k, const tw_menu *menu, size_t *next, batch *b, tw_error *error) {
  b->n = 0;
  for (; *next < menu->n && b->n < BATCH && !is_stopped(k); ++*next) {
    const tw_menu_item *item = &menu->item[*next];
    tw_schedule longer = k->best->schedule;
    char *source = NULL;
    if (tw_schedule_add(&longer, item->step, NULL) != TW_OK ||
        k->target->rewrite(k->program, &longer, &source, NULL) != TW_OK)
      continue;
    tw_candidate *c = tw_candidate_new();
    if (!c) {
      free(source);
      return tw_fail(error, TW_MISSING, "no memory for another candidate");
    }
    tw_candidate_set_kernel(c, &longer, source);
    b->why[b->n] = item->why;
    b->candidate[b->n++] = c;
  }
  return TW_OK;
}

/* The best of the batch that beats what there is, and frees the others. */
static bool take_best(climb *k, batch *b) {
  size_t best = b->n;
  for (size_t i = 0; i < b->n; i++) {
    const tw_candidate *c = b->candidate[i];
    double limit = best < b->n ? b->candidate[best]->measured.cost : k->best->measured.cost * (1 - GAIN);
    if (c->verdict == TW_CORRECT && c->measured.cost < limit) best = i;
  }
  if (best < b->n) {
    tw_candidate_free(k->best);
    k->best = b->candidate[best];
    add_rung(k, k->best->schedule.step[k->best->schedule.n - 1], b->why[best], &k->best->measured);
  }
  for (size_t i = 0; i < b->n; i++)
    if (i != best) tw_candidate_free(b->candidate[i]);
  return best < b->n;
}

/* One step up, if there is any: rewrites in the order of what is expected of them, until one has kept its promise. */
static tw_status step(climb *k, bool *more, tw_error *error) {
  tw_menu menu = {0};
  tw_status status = k->target->rewrites(k->program, &k->best->schedule, &menu, error);
  *more = false;
  for (size_t next = 0; status == TW_OK && !*more && next < menu.n && !is_stopped(k);) {
    batch b = {0};
    status = propose(k, &menu, &next, &b, error);
    if (status == TW_OK) tw_evaluate(&k->evaluator, b.candidate, b.n);
    *more = take_best(k, &b);
  }
  tw_menu_free(&menu);
  return is_stopped(k) && status == TW_INTERRUPTED ? TW_OK : status; /* what was found until then is kept */
}

/* ---- the result ---- */

static void take_rungs(climb *k, tw_search_result *r) {
  r->rung = tw_new(k->n_rungs, sizeof *r->rung);
  if (!r->rung) return;
  r->n_rungs = k->n_rungs;
  memcpy(r->rung, k->rung, k->n_rungs * sizeof *r->rung);
}

/* The fresh search's ladder behind the user's program. */
static void take_fresh(climb *k, tw_search_result *fresh, tw_search_result *r) {
  tw_rung *rung = tw_new(fresh->n_rungs + 1, sizeof *rung);
  r->schedule = fresh->schedule;
  r->best = fresh->best;
  free(r->source);
  r->source = fresh->source;
  fresh->source = NULL;
  if (!rung) return;
  rung[0] = k->rung[0];
  memcpy(rung + 1, fresh->rung, fresh->n_rungs * sizeof *rung);
  if (fresh->n_rungs) {
    snprintf(rung[1].step, sizeof rung[1].step, "%s", "fresh schedule");
    snprintf(rung[1].why, sizeof rung[1].why, "the search's own plainest kernel for the same problem");
  }
  free(r->rung);
  r->rung = rung;
  r->n_rungs = fresh->n_rungs + 1;
}

static tw_status compete(climb *k, tw_improvement *out) {
  tw_search_result fresh = {0};
  tw_search_result *r = &out->result;
  tw_error why = {0};
  tw_search_options options = *k->options;
  if (options.seconds > 0) options.seconds -= tw_now() - k->started;
  if (k->options->seconds > 0 && options.seconds <= 0) return TW_OK;
  tw_status status = tw_search(k->target, k->problem, &options, &fresh, &why);
  if (fresh.source) {
    out->searched = true;
    out->fresh = fresh.best;
    r->samples += fresh.samples;
    r->correct += fresh.correct;
    r->slower += fresh.slower;
    r->bound = fresh.bound;
    if (fresh.best.cost < r->best.cost) {
      out->rewritten = false;
      take_fresh(k, &fresh, r);
    }
    free(r->notes);
    r->notes = fresh.notes;
    fresh.notes = NULL;
  } else if (status != TW_INTERRUPTED) {
    tw_text notes = {0};
    tw_text_add(&notes, "no fresh schedule competes: %s\n", why.text);
    free(r->notes);
    r->notes = tw_text_take(&notes);
  }
  tw_search_result_free(&fresh);
  return status == TW_INTERRUPTED ? status : TW_OK;
}

/* The rewritten kernel on inputs that it never saw. */
static tw_status confirm(climb *k, tw_error *error) {
  tw_case other = {0};
  if (k->best->schedule.n == 0) return TW_OK;
  tw_status status = tw_case_make(k->problem, k->options->seed + 0x9e3779b97f4a7c15, k->evaluator.jobs, &other, error);
  if (status == TW_OK && tw_recheck(k->target, k->problem, k->best, &other, error) != TW_OK)
    status = tw_fail(
        error, TW_FAILED,
        "a rewritten program is right on one set of inputs and wrong on another: this is a fault of tilewright");
  tw_case_free(&other);
  return status;
}

static tw_status fill(climb *k, const char *source, size_t length, const tw_measurement *start, tw_improvement *out,
                      tw_error *error) {
  tw_search_result *r = &out->result;
  out->rewritten = true;
  out->rewrites = r->schedule = k->best->schedule;
  out->after = r->best = k->best->measured;
  r->start = *start;
  r->source = strdup(k->best->source);
  r->start_source = strndup(source, length);
  r->notes = strdup("");
  r->samples = k->samples;
  r->correct = k->correct;
  take_rungs(k, r);
  if (!r->source || !r->start_source || !r->notes || !r->rung)
    return tw_fail(error, TW_MISSING, "no memory for the result");
  return k->target->bound(k->target, k->problem, &r->bound, error);
}

/* Half of the time is for the rewrites, if a fresh schedule competes for the rest. */
static tw_status start_climb(climb *k, const char *source, size_t length, bool rewrites_only, tw_program **program,
                             tw_error *error) {
  const tw_search_options *o = k->options;
  const double seconds = rewrites_only ? o->seconds : o->seconds / 2;
  const int jobs = o->jobs ? o->jobs : tw_cores();
  k->stop = (tw_stop){.deadline = seconds > 0 ? k->started + seconds : 0, .interrupt = o->interrupt};
  tw_status status = k->target->study(k->target, k->problem, source, length, o->seed, jobs, &k->stop, program, error);
  k->program = *program;
  if (status == TW_OK) status = tw_case_make(k->problem, o->seed, jobs, &k->data, error);
  k->evaluator = (tw_evaluator){.target = k->target,
                                .problem = k->problem,
                                .data = &k->data,
                                .jobs = jobs,
                                .deadline = HUGE_VAL,
                                .interrupt = o->interrupt,
                                .done = count,
                                .tick = report,
                                .context = k};
  if (status == TW_OK) status = evaluate_start(k, source, length, error); /* whatever the limit on time */
  if (k->stop.deadline > 0) k->evaluator.deadline = k->stop.deadline;
  return status;
}

/* Behind the start: the diagnosis, the steps up, and the fresh schedule. */
static tw_status improve(climb *k, const char *source, size_t length, bool rewrites_only, tw_improvement *out,
                         tw_error *error) {
  const volatile int *interrupt = k->options->interrupt;
  const tw_measurement start = k->best->measured;
  bool more = true;
  tw_status status = k->target->diagnose(k->program, k->evaluator.jobs, &out->diagnosis, error);
  while (status == TW_OK && more && k->n_rungs < REWRITES_MAX && !is_stopped(k)) status = step(k, &more, error);
  if (status == TW_OK && !tw_is_set(interrupt)) status = confirm(k, error);
  if (status == TW_OK) status = fill(k, source, length, &start, out, error);
  if (status == TW_OK && !rewrites_only && !tw_is_set(interrupt)) status = compete(k, out);
  if (status == TW_OK && tw_is_set(interrupt))
    status = tw_fail(error, TW_INTERRUPTED, "interrupted: this is what was found until then");
  return status;
}

tw_status tw_improve(const tw_target *target, const tw_problem *problem, const char *source, size_t length,
                     const tw_search_options *options, bool rewrites_only, tw_improvement *out, tw_error *error) {
  tw_program *program = NULL;
  *out = (tw_improvement){0};
  if (!target->study)
    return tw_fail(error, TW_USAGE, "%s cannot start from a program of yours: leave --from away", target->name);
  climb *k = calloc(1, sizeof *k);
  if (!k) return tw_fail(error, TW_MISSING, "no memory for the search");
  *k = (climb){.target = target, .problem = problem, .options = options, .started = tw_now()};
  tw_status status = start_climb(k, source, length, rewrites_only, &program, error);
  if (status == TW_OK && k->best) status = improve(k, source, length, rewrites_only, out, error);
  out->result.wall_seconds = tw_now() - k->started;
  if (program) target->forget(program);
  if (k->best) tw_candidate_free(k->best);
  tw_case_free(&k->data);
  free(k);
  if (status != TW_OK && status != TW_INTERRUPTED) tw_improvement_free(out);
  return status;
}

void tw_improvement_free(tw_improvement *i) {
  tw_search_result_free(&i->result);
  *i = (tw_improvement){0};
}
