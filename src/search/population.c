/* population.c - all candidates of a search: numbering, duplicates, evaluation of new candidates. */
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/cores.h"
#include "base/utilization.h"
#include "evaluate/plausible.h"
#include "search/state.h"

bool tw_state_is_interrupted(const tw_state *s) { return tw_is_set(s->options.interrupt); }

static bool are_enough(const tw_state *s, int samples) {
  return s->options.samples > 0 && samples >= s->options.samples;
}

bool tw_state_is_full(const tw_state *s, size_t waiting) {
  return are_enough(s, s->samples + s->in_flight + (int)waiting);
}

bool tw_state_is_stopped(const tw_state *s) {
  return tw_state_is_interrupted(s) || tw_now() >= s->deadline || are_enough(s, s->samples);
}

bool tw_is_better(const tw_candidate *a, const tw_candidate *b) {
  if (a->measured.cost != b->measured.cost) return a->measured.cost < b->measured.cost;
  return a->number < b->number;
}

void tw_state_note(tw_state *s, const char *format, ...) {
  char line[1024];
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(line, sizeof line, format, arguments);
  va_end(arguments);
  tw_text_add(&s->notes, "%s\n", line);
}

double tw_simulation_seconds(const tw_target *t, const tw_bound *bound) {
  return t->traits.simulated && t->traits.simulation_rate > 0 ? bound->cost / t->traits.simulation_rate : 0;
}

tw_candidate *tw_state_emit(const tw_state *s, const tw_schedule *schedule, int parent, double limit, const char *lever,
                            const char *why) {
  tw_candidate *c = tw_candidate_new();
  if (!c) return NULL;
  tw_error message = {0};
  char *source = NULL;
  tw_target_emit(s->target, &s->problem, schedule, &source, &message);
  if (!tw_candidate_set_kernel(c, s->target, schedule, source)) {
    tw_candidate_free(c);
    return NULL;
  }
  c->iteration = s->iteration;
  c->parent = parent;
  c->limit = limit;
  c->n_levers = 1;
  snprintf(c->lever[0], sizeof c->lever[0], "%s", lever);
  snprintf(c->why, sizeof c->why, "%s", why);
  if (!source) {
    c->verdict = TW_ILLEGAL;
    c->message = strdup(message.text);
  }
  return c;
}

tw_status tw_state_follow(const tw_state *s, const tw_candidate *from, const tw_menu_item *item, double limit,
                          tw_candidate **made, tw_error *error) {
  tw_schedule longer = *from->schedule;
  *made = NULL;
  if (tw_schedule_add(&longer, item->step, NULL) != TW_OK) return TW_OK;
  tw_candidate *c = tw_state_emit(s, &longer, from->number, limit, item->lever, item->why);
  if (!c) return tw_no_memory(error, "another candidate");
  if (c->verdict == TW_ILLEGAL)
    tw_candidate_free(c);
  else
    *made = c;
  return TW_OK;
}

tw_status tw_state_add(tw_state *s, tw_candidate *c, tw_error *error) {
  bool room = s->n < s->room;
  if (!room) {
    size_t larger = s->room ? 2 * s->room : 256;
    tw_candidate **all = tw_resize(s->all, larger, sizeof(tw_candidate *));
    if (all) {
      s->all = all;
      s->room = larger;
      room = true;
    }
  }
  int number = (int)s->n;
  int twin = c->source ? tw_index_find(&s->sources, &c->source_digest) : TW_NONE;
  if (!room || (c->schedule && !tw_index_add(&s->schedules, &c->schedule_digest, number)) ||
      (c->source && !tw_index_add(&s->sources, &c->source_digest, number))) {
    tw_candidate_free(c);
    return tw_fail(error, TW_NO_MEMORY, "no memory for more than %zu candidates", s->n);
  }
  c->number = number;
  c->twin = twin;
  if (twin != TW_NONE) c->verdict = TW_DUPLICATE;
  s->all[s->n++] = c;
  return TW_OK;
}

tw_candidate *tw_state_find(const tw_state *s, const tw_schedule *schedule) {
  tw_digest digest = tw_schedule_digest(schedule);
  int number = tw_index_find(&s->schedules, &digest);
  return number == TW_NONE ? NULL : s->all[number];
}

const tw_candidate *tw_state_evaluated(const tw_state *s, const tw_candidate *c) {
  return c->verdict == TW_DUPLICATE ? s->all[c->twin] : c;
}

tw_candidate *tw_state_with_schedule(const tw_state *s, tw_candidate *c) {
  while (!c->schedule && c->parent != TW_NONE) c = s->all[c->parent];
  return c->schedule ? c : NULL;
}

const char *tw_state_start_name(const tw_state *s) { return s->start->schedule ? "the baseline" : "the program"; }

size_t tw_state_shared_steps(const tw_state *s, const tw_schedule *schedule) {
  const tw_schedule *baseline = s->start->schedule;
  if (!baseline || schedule->n < baseline->n) return 0;
  for (size_t i = 0; i < baseline->n; i++)
    if (strcmp(schedule->step[i], baseline->step[i]) != 0) return 0;
  return baseline->n;
}

tw_schedule tw_beginning(const tw_schedule *schedule, size_t n) {
  tw_schedule shorter = *schedule;
  shorter.n = n;
  return shorter;
}

static void report_progress(void *context) {
  tw_state *s = context;
  const tw_search_options *o = &s->options;
  if (!o->progress && !o->watch) return;
  int to_come = s->in_flight + s->to_propose;
  if (s->iteration < o->iterations && !s->is_patient)
    to_come += (o->iterations - s->iteration) * o->beam * o->plans * o->kernels;
  if (o->samples > 0 && to_come > o->samples - s->samples)
    to_come = o->samples > s->samples ? o->samples - s->samples : 0;
  tw_progress p = {
      .iteration = s->iteration,
      .iterations = s->is_patient ? 0 : o->iterations,
      .done = s->samples,
      .planned = s->samples + to_come,
      .correct = s->correct,
      .best_utilization = s->best ? s->best->measured.utilization : 0,
      .elapsed = tw_now() - s->started,
  };
  p.left = p.done > 0 && !s->is_patient ? p.elapsed / p.done * to_come : -1;
  if (o->seconds > 0 && (p.left < 0 || p.left > o->seconds - p.elapsed))
    p.left = p.elapsed < o->seconds ? o->seconds - p.elapsed : 0;
  if (o->progress) o->progress(o->context, &p);
  if (!o->watch) return;
  const tw_search_status status = {.progress = p,
                                   .best_cost = s->best ? s->best->measured.cost : 0,
                                   .start_cost = s->start ? s->start->measured.cost : 0,
                                   .bound_cost = s->bound.cost,
                                   .recalled = s->recalled};
  o->watch(o->context, &status);
}

static void count_candidate(tw_state *s, tw_candidate *c) {
  s->in_flight--;
  s->samples += c->verdict != TW_SKIPPED;
  s->recalled += c->verdict != TW_SKIPPED && c->recalled;
  s->correct += c->verdict == TW_CORRECT;
  s->slower += c->verdict == TW_SLOWER;
  if (c->verdict == TW_CORRECT && (!s->best || tw_is_better(c, s->best))) s->best = c;
  if (s->journal) tw_journal_record(s->journal, c);
  report_progress(s);
}

static void take_outcome(tw_state *s, tw_candidate *c, const tw_outcome *o) {
  c->verdict = o->verdict;
  c->measured = o->measured;
  tw_set_utilization(&s->bound, &c->measured);
  memcpy(c->place, o->place, sizeof c->place);
  if (s->by_runner && !s->machine[0]) memcpy(s->machine, o->evaluator, sizeof s->machine);
  if (s->by_runner && s->journal && o->evaluator[0] && !tw_journal_is_machine(s->journal, o->evaluator)) {
    c->verdict = TW_UNAVAILABLE;
    c->message = strdup("evaluated on another machine, compiler or version than the journal; costs of different "
                        "machines are not comparable; use another --out");
    count_candidate(s, c);
    return;
  }
  c->seconds = o->seconds;
  c->build_seconds = o->build_seconds;
  if (c->verdict == TW_CORRECT) s->trial_seconds = fmin(s->trial_seconds, c->seconds - c->build_seconds);
  memcpy(c->coverage, o->coverage, sizeof c->coverage);
  if (*o->error.text) c->message = strdup(o->error.text);
  count_candidate(s, c);
}

static void end_evaluation(void *context, tw_job *job) {
  take_outcome(context, job->owner, &job->outcome);
  free(job);
}

static tw_trial trial_of(const tw_state *s, const tw_candidate *c) {
  return (tw_trial){.target = s->target,
                    .problem = &s->problem,
                    .source = c->source,
                    .length = strlen(c->source),
                    .seed = s->options.inputs,
                    .limit = c->limit,
                    .deadline = isfinite(s->last_trial) ? s->last_trial : 0,
                    /* the text is the library's own, because the target emitted it */
                    .trust = s->options.trust || c->schedule,
                    .check_part = true};
}

/* Threads of this process use all cores, so planning would disturb the time of a kernel. */
static bool may_overlap(const tw_state *s) {
  return s->backend->is_away || (s->backend->is_elsewhere && !s->target->traits.device);
}

static tw_pool pool_of(tw_state *s) {
  return (tw_pool){
      .backend = s->backend,
      .data = &s->data,
      .bound = &s->bound,
      .jobs = s->options.jobs,
      .holds = !may_overlap(s),
      .deadline = s->deadline,
      .interrupt = s->options.interrupt,
      .done = end_evaluation,
      .tick = report_progress,
      .context = s,
  };
}

/* Starts an evaluation; without memory the candidate is skipped. */
static void start_evaluation(tw_state *s, tw_candidate *c) {
  if (!s->batch) {
    s->pool = pool_of(s);
    s->batch = tw_batch_open(&s->pool);
  }
  tw_job *job = s->batch ? tw_new(1, sizeof *job) : NULL;
  if (!job) {
    c->verdict = TW_SKIPPED;
    return;
  }
  *job = (tw_job){.trial = trial_of(s, c), .owner = c};
  s->in_flight++;
  tw_batch_add(s->batch, job);
}

/* Evaluations on other computers use no core of this one. */
int tw_state_planners(const tw_state *s) { return s->backend->is_elsewhere ? tw_cores() : s->options.jobs; }

void tw_state_poll(tw_state *s) {
  if (!s->batch) return;
  tw_journal_together(s->journal, true);
  tw_batch_poll(s->batch);
  tw_journal_together(s->journal, false);
}

static void ignore(void *context, tw_job *job) { (void)context, (void)job; }

/* One trial outside of the search, which is not recorded. `data`: NULL for the search's case. A deadline of HUGE_VAL:
 * none. */
static void run_alone(tw_state *s, const tw_trial *trial, const tw_case *data, const tw_stop *until, tw_outcome *out) {
  tw_job job = {.trial = *trial}, *all[] = {&job};
  tw_pool pool = pool_of(s);
  if (data) pool.data = data;
  pool.deadline = until->deadline;
  pool.interrupt = until->interrupt;
  pool.done = ignore;
  job.trial.limit = 0;
  job.trial.deadline = isfinite(until->deadline) ? until->deadline : 0;
  tw_pool_run(&pool, all, 1);
  *out = job.outcome;
}

void tw_state_check(tw_state *s, const tw_candidate *c, uint64_t seed, const tw_case *data, tw_outcome *out) {
  tw_trial trial = trial_of(s, c);
  trial.seed = seed;
  trial.check_only = true;
  trial.check_part = false;
  if (!c->schedule) trial.more_cases = tw_trial_more_cases(&s->problem); /* a source from a model or a user */
  /* A kernel from a model or a user is confirmed even after the deadline. */
  const tw_stop until = {.deadline = c->schedule ? tw_state_end(s) : HUGE_VAL, .interrupt = s->options.interrupt};
  run_alone(s, &trial, data, &until, out);
}

void tw_state_measure(tw_state *s, const tw_candidate *c, const tw_stop *until, tw_outcome *out) {
  const tw_trial trial = trial_of(s, c);
  run_alone(s, &trial, NULL, until, out);
}

/* Rejects an impossible cost in a journal. */
static bool recall(tw_state *s, tw_candidate *c) {
  if (!tw_journal_recall(s->journal, c)) return false;
  if (!tw_verdict_has_cost(c->verdict) || tw_plausible(s->target, &s->bound, c->measured.cost, NULL) == TW_OK) {
    tw_set_utilization(&s->bound, &c->measured);
    return true;
  }
  free(c->message);
  c->message = NULL;
  c->verdict = TW_PENDING;
  c->measured = (tw_measurement){0};
  c->recalled = false;
  return false;
}

void tw_state_hand_over(tw_state *s, size_t first) {
  for (size_t i = first; i < s->n; i++) {
    tw_candidate *c = s->all[i];
    if (c->verdict != TW_PENDING) { /* a duplicate, or illegal */
      if (s->journal) tw_journal_record(s->journal, c);
    } else if (tw_state_is_full(s, 0)) {
      c->verdict = TW_SKIPPED;
    } else if (s->journal && recall(s, c)) {
      s->in_flight++;
      count_candidate(s, c);
    } else {
      start_evaluation(s, c);
    }
  }
}

void tw_state_await(tw_state *s) {
  tw_batch_close(s->batch);
  s->batch = NULL;
}

void tw_state_abandon(tw_state *s) {
  if (s->batch) tw_batch_abandon(s->batch);
  tw_state_await(s);
}

void tw_state_evaluate(tw_state *s, size_t first) {
  tw_state_hand_over(s, first);
  tw_state_await(s);
}

void tw_state_reconsider(tw_state *s, tw_candidate *c) {
  s->samples--;
  s->slower--;
  c->verdict = TW_PENDING;
  c->limit = 0;
  free(c->message);
  c->message = NULL;
  start_evaluation(s, c);
  tw_state_await(s);
}
