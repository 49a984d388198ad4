/* finish.c - makes the result from the best candidate: removes needless steps of its schedule, finds the gain of each
 * step and checks it on new inputs. The steps of a source without a schedule are its lineage. They were all evaluated,
 * and none can be removed. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/parallel.h"
#include "search/prune.h"
#include "search/state.h"

/* The removal of steps may use one sample for every four of the search, and the ladder one for every four that the
 * search may use. A short search on a large problem, whose samples take long, omits both. */
enum { SAMPLES_PER_EXTRA = 4 };

/* Emits a schedule as a new candidate, unless a candidate has it. */
static tw_status add_schedule(tw_state *s, const tw_schedule *schedule, double limit, int parent, const char *lever,
                              const char *why, tw_error *error) {
  if (tw_state_find(s, schedule)) return TW_OK;
  tw_candidate *c = tw_state_emit(s, schedule, parent, limit, lever, why);
  return c ? tw_state_add(s, c, error) : tw_no_memory(error, "another candidate");
}

/* A kernel that an earlier candidate has with another schedule becomes a separate candidate. */
static tw_candidate *adopt(const tw_state *s, tw_candidate *c) {
  const tw_candidate *twin = tw_state_evaluated(s, c);
  c->verdict = twin->verdict;
  c->measured = twin->measured;
  c->recalled = twin->recalled;
  memcpy(c->coverage, twin->coverage, sizeof c->coverage);
  return c;
}

tw_schedule tw_state_pruned(const tw_state *s, const tw_candidate *c) {
  tw_schedule pruned = *c->schedule;
  tw_prune_schedule_after(s->target, &s->problem, tw_state_shared_steps(s, &pruned), &pruned);
  return pruned;
}

/* Dead steps are removed at the end of a search only: before that, a later step may give an effect to an earlier
 * one. The removal needs neither samples nor time on the machine, so it also happens in searches that were stopped. */
static tw_status prune(tw_state *s, tw_error *error) {
  const tw_schedule pruned = tw_state_pruned(s, s->best);
  if (pruned.n == s->best->schedule->n) return TW_OK;
  const size_t first = s->n;
  const tw_status status =
      add_schedule(s, &pruned, 0, s->best->number, "prune", "steps without effect are left out", error);
  if (status != TW_OK) return status;
  tw_state_evaluate(s, first);
  tw_candidate *c = tw_state_find(s, &pruned);
  if (c && tw_state_evaluated(s, c)->verdict == TW_CORRECT) s->best = adopt(s, c);
  return TW_OK;
}

/* Removes steps without effect on the cost of the best schedule. */
static tw_status shorten(tw_state *s, tw_error *error) {
  int most = s->samples + s->samples / SAMPLES_PER_EXTRA;
  while (!tw_state_is_stopped(s)) {
    const tw_schedule schedule = *s->best->schedule;
    const size_t shared = tw_state_shared_steps(s, &schedule);
    if (s->samples + (int)schedule.n > most) return TW_OK;
    double cost = s->best->measured.cost;
    int parent = s->best->number;
    size_t first = s->n;
    for (size_t i = shared; i < schedule.n; i++) {
      tw_schedule shorter = tw_schedule_without(&schedule, i);
      tw_status status = add_schedule(s, &shorter, cost, parent, "leave out", schedule.step[i], error);
      if (status != TW_OK) return status;
    }
    tw_state_evaluate(s, first);
    tw_candidate *chosen = NULL;
    for (size_t i = shared; i < schedule.n; i++) {
      tw_schedule shorter = tw_schedule_without(&schedule, i);
      tw_candidate *c = tw_state_find(s, &shorter);
      const tw_candidate *e = c ? tw_state_evaluated(s, c) : NULL;
      if (e && e->verdict == TW_CORRECT &&
          e->measured.cost <= (chosen ? tw_state_evaluated(s, chosen)->measured.cost : cost))
        chosen = c;
    }
    if (!chosen) return TW_OK;
    s->best = adopt(s, chosen);
  }
  return TW_OK;
}

/* The step of `rest` with the best prediction; TW_NONE if none is legal. */
static int next_by_model(const tw_state *s, const tw_schedule *beginning, const tw_schedule *rest, const bool *taken) {
  int best = TW_NONE;
  double least = HUGE_VAL;
  for (size_t i = 0; i < rest->n; i++) {
    tw_schedule longer = *beginning;
    double cost;
    if (taken[i] || tw_schedule_add(&longer, rest->step[i], NULL) != TW_OK ||
        tw_target_predict(s->target, &s->problem, &longer, &cost, NULL) != TW_OK || cost >= least)
      continue;
    best = (int)i;
    least = cost;
  }
  return best;
}

static bool is_same_kernel(const tw_state *s, const tw_schedule *schedule) {
  char *source = NULL;
  if (tw_target_emit(s->target, &s->problem, schedule, &source, NULL) != TW_OK) return false;
  tw_digest digest = tw_target_source_digest(s->target, source);
  free(source);
  return !memcmp(&digest, &s->best->source_digest, sizeof digest);
}

/* Orders the steps by their effect, for readers, if the kernel stays the same. */
static tw_status arrange(tw_state *s, tw_error *error) {
  const tw_schedule schedule = *s->best->schedule;
  tw_schedule better = tw_beginning(&schedule, tw_state_shared_steps(s, &schedule));
  bool taken[TW_STEPS_MAX] = {false};
  for (size_t i = 0; i < better.n; i++) taken[i] = true;
  while (better.n < schedule.n) {
    int i = next_by_model(s, &better, &schedule, taken);
    if (i == TW_NONE) return TW_OK;
    taken[i] = true;
    tw_schedule_add(&better, schedule.step[i], NULL);
  }
  if (tw_state_find(s, &better) || !is_same_kernel(s, &better)) return TW_OK;
  size_t first = s->n;
  tw_status status =
      add_schedule(s, &better, 0, s->best->number, "arrange", "the most effective steps come first", error);
  if (status != TW_OK) return status;
  tw_state_evaluate(s, first);
  s->best = adopt(s, s->all[first]);
  return TW_OK;
}

static size_t samples_of_ladder(const tw_state *s) {
  const tw_search_options *o = &s->options;
  const int64_t planned = 1 + (int64_t)o->plans * o->kernels * (1 + (int64_t)(o->iterations - 1) * o->beam);
  return (size_t)(planned > s->samples ? planned : s->samples) / SAMPLES_PER_EXTRA;
}

/* Evaluates the prefixes of the last schedule, for the ladder. A prefix may be better than the whole schedule. */
static tw_status walk(tw_state *s, tw_error *error) {
  const tw_candidate *last = tw_state_with_schedule(s, s->best);
  if (!last) return TW_OK;
  const tw_schedule schedule = tw_state_pruned(s, last);
  const size_t shared = tw_state_shared_steps(s, &schedule);
  size_t missing = 0;
  for (size_t n = shared + 1; n < schedule.n; n++) {
    tw_schedule beginning = tw_beginning(&schedule, n);
    missing += !tw_state_find(s, &beginning);
  }
  if (missing > samples_of_ladder(s) || tw_state_is_stopped(s)) return TW_OK;
  size_t first = s->n;
  for (size_t n = shared + 1; n < schedule.n; n++) {
    tw_schedule beginning = tw_beginning(&schedule, n), before = tw_beginning(&schedule, n - 1);
    const tw_candidate *parent = tw_state_find(s, &before);
    tw_status status = add_schedule(s, &beginning, 0, parent ? parent->number : TW_NONE, "ladder",
                                    "a step of the best schedule, for the ladder", error);
    if (status != TW_OK) return status;
  }
  tw_state_evaluate(s, first);
  /* A kernel on the ladder may have been too slow to be checked. */
  for (size_t n = shared + 1; n < schedule.n && !tw_state_is_stopped(s); n++) {
    tw_schedule beginning = tw_beginning(&schedule, n);
    tw_candidate *c = tw_state_find(s, &beginning);
    if (c && c->verdict == TW_DUPLICATE) c = s->all[c->twin];
    if (c && c->verdict == TW_SLOWER) tw_state_reconsider(s, c);
  }
  return TW_OK;
}

/* ---- confirmation on new inputs ---- */

static tw_candidate *next_best(const tw_state *s) {
  tw_candidate *best = NULL;
  for (size_t i = 0; i < s->n; i++)
    if (s->all[i]->verdict == TW_CORRECT && (!best || tw_is_better(s->all[i], best))) best = s->all[i];
  return best;
}

/* Marks the kernel as wrong, with each of its schedules. */
static void reject(tw_state *s, const tw_candidate *wrong, const tw_error *reason) {
  const tw_digest digest = wrong->source_digest;
  tw_state_note(s, "candidate %d was correct on the search's inputs and is wrong on fresh ones: %s", wrong->number,
                reason->text);
  for (size_t i = 0; i < s->n; i++) {
    tw_candidate *c = s->all[i];
    if (c->verdict != TW_CORRECT || memcmp(&c->source_digest, &digest, sizeof digest) != 0) continue;
    c->verdict = TW_UNCONFIRMED;
    if (c->twin != TW_NONE) continue; /* adopted: not counted and not evaluated */
    s->correct--;
    c->message = strdup(reason->text);
    if (s->journal) tw_journal_amend(s->journal, c);
  }
}

/* Lower bound of the reference's multiply-adds per second on one core, and the seconds that a full reference may
 * take. */
static const double REFERENCE_RATE = 2.5e8, REFERENCE_SECONDS = 300;

/* Inputs of another seed. The result is compared in full, even where the search compared samples, if the target can
 * do so and time remains for the reference. */
static tw_status fresh_case(tw_state *s, uint64_t seed, tw_case *out, tw_error *error) {
  const int jobs = s->options.jobs;
  const double seconds = s->problem.op->operations(&s->problem) / REFERENCE_RATE / jobs;
  const double left = s->options.seconds > 0 ? s->last_measurement - tw_now() : HUGE_VAL;
  if (s->target->traits.own_reference && s->target->traits.reference_up_to > 0 && !s->target->traits.simulated &&
      seconds < REFERENCE_SECONDS && seconds < left)
    return tw_case_make(&s->problem, seed, jobs, out, error);
  return tw_target_case(s->target, &s->problem, seed, jobs, out, error);
}

static const char NO_TIME[] = "the time limit was reached";

/* Tries candidates, best first, until one is correct on inputs of another seed. */
static tw_status confirm(tw_state *s, tw_error *error) {
  const uint64_t other = s->options.inputs ^ 0x1e3779b97f4a7c15u;
  tw_case fresh = {0};
  tw_error why = {0};
  const double end = tw_state_end(s);
  const tw_stop stop = {.deadline = isfinite(end) && s->best->schedule ? end : 0, .interrupt = s->options.interrupt};
  const tw_stop *before = tw_stop_by(&stop);
  const tw_status made = s->backend->is_elsewhere ? TW_OK : fresh_case(s, other, &fresh, &why);
  tw_stop_by(before);
  if (made == TW_INTERRUPTED && !tw_is_set(stop.interrupt)) tw_fail(&why, made, "%s", NO_TIME);
  if (made != TW_OK) {
    tw_state_note(s, "the best candidate could not be checked again: %s", why.text);
    return TW_OK;
  }
  while (s->best) {
    tw_outcome o;
    tw_state_check(s, s->best, other, &fresh, &o);
    if (o.verdict == TW_CORRECT) memcpy(s->best->coverage, o.coverage, sizeof s->best->coverage);
    if (o.verdict == TW_CORRECT || tw_state_is_interrupted(s)) break;
    if (o.verdict == TW_SKIPPED) tw_fail(&o.error, TW_INTERRUPTED, "%s", NO_TIME);
    if (!tw_verdict_is_final(o.verdict)) { /* the verdict says nothing about the kernel */
      tw_state_note(s, "the best candidate could not be checked again: %s", o.error.text);
      break;
    }
    reject(s, s->best, &o.error);
    s->best = next_best(s);
    if (s->best) tw_defend(s); /* it was not compared with the incumbent yet */
  }
  tw_case_free(&fresh);
  return s->best ? TW_OK : tw_fail(error, TW_FAILED, "no kernel is correct on fresh inputs, not even the baseline");
}

static bool is_other_kernel(const tw_state *s, const tw_candidate *c) {
  return tw_state_evaluated(s, s->best) != tw_state_evaluated(s, c);
}

/* Only a failed confirmation discards the result. Other failures become notes. */
tw_status tw_finish(tw_state *s, tw_error *error) {
  tw_error why = {0};
  /* Measurements against the incumbent come first: the removal of steps would use their time. */
  if (!s->target->traits.deterministic) tw_defend(s);
  tw_candidate *const winner = s->best;
  tw_status status = s->best->schedule ? prune(s, &why) : TW_OK;
  if (status == TW_OK && s->best->schedule) status = shorten(s, &why);
  if (status == TW_OK && s->best->schedule) status = arrange(s, &why);
  if (status == TW_OK && s->best->schedule) status = prune(s, &why);
  if (status == TW_OK) status = walk(s, &why);
  if (status != TW_OK)
    tw_state_note(s, "the schedule of the best candidate could not be measured step by step: %s", why.text);
  /* The winner was compared with the incumbent; the kernel of fewer steps was not. */
  if (s->target->traits.deterministic)
    tw_defend(s);
  else if (is_other_kernel(s, winner) && !tw_beats_incumbent(s, s->best))
    s->best = winner;
  /* The baseline was checked before. If its check took all of the time, a second check would exceed it. */
  if (s->best == s->start && !s->target->traits.checks_part && tw_now() > s->last_measurement) return TW_OK;
  if (!tw_state_is_interrupted(s) && (status = confirm(s, error)) != TW_OK) return status;
  return TW_OK;
}
