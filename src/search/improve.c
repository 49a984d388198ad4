/* improve.c - a user's program as the start: rewrites of the program compete with a new schedule.
 *
 * Rewrites are applied greedily, in a search with a beam of one whose only agent is `rewrites`. Two are tried at a
 * time and the better one is kept, until none makes the program faster. There are few rewrites, and each is a whole
 * step, so a wider beam would find the same. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/parallel.h"
#include "base/random.h"
#include "base/sized.h"
#include "base/strings.h"
#include "search/state.h"

/* Rewrites are tried two at a time, for any number of threads: the better one is kept, and the result must not
 * depend on threads. */
enum { REWRITES_AT_ONCE = 2, ITERATIONS_MOST = 1000 };

typedef struct improving {
  const tw_target *target;
  const tw_problem *problem;
  const tw_search_options *options;
  double started;
} improving;

/* Lists the steps of the rewritten program, which are not a schedule. */
static void list_rewrites(const tw_search_result *r, tw_schedule *out) {
  *out = (tw_schedule){0};
  for (size_t i = 1; i < r->n_rungs; i++) tw_schedule_add(out, r->rung[i].step, NULL);
}

/* Runs the search over rewrites, from the user's program. It may use half of the time if a fresh schedule competes. */
static tw_status rewrite(const improving *k, const char *source, size_t length, bool rewrites_only,
                         tw_search_result *out, tw_improvement *how, tw_error *error) {
  tw_search_options options = *k->options;
  const double seconds = rewrites_only ? options.seconds : options.seconds / 2;
  const tw_stop stop = {.deadline = seconds > 0 ? k->started + seconds : 0, .interrupt = options.interrupt};
  const int jobs = options.jobs ? options.jobs : tw_cores();
  tw_program *program = NULL;
  tw_member member = {.share = 1};
  tw_status status =
      k->target->rewriter->study(k->target, k->problem, source, length, options.trust,
                                 options.inputs ? options.inputs : tw_random_system(), jobs, &stop, &program, error);
  if (status == TW_OK) status = k->target->rewriter->diagnose(program, jobs, &how->diagnosis, error);
  char *start = status == TW_OK ? strndup(source, length) : NULL;
  if (status == TW_OK && !start) status = tw_no_memory(error, "the program");
  if (status == TW_OK) status = tw_rewrites_open(k->target, program, &member.agent, error);
  if (status == TW_OK) {
    options.exhaustive = false;
    options.iterations = ITERATIONS_MOST;
    options.plans = options.beam = 1;
    options.kernels = REWRITES_AT_ONCE;
    options.seconds = seconds;
    options.began = k->started;
    options.start = NULL;
    options.start_source = NULL;
    const tw_search_subject subject = {.target = k->target,
                                       .problem = k->problem,
                                       .n_members = 1,
                                       .member = &member,
                                       .program = start,
                                       .is_patient = true};
    status = tw_search_by(&subject, &options, out, error);
    member.agent->close(member.agent, NULL);
  }
  free(start);
  if (program) k->target->rewriter->forget(program);
  if (!out->source) return status;
  how->rewritten = true;
  list_rewrites(out, &how->rewrites);
  out->schedule = how->rewrites;
  how->after = out->best;
  return status;
}

/* Appends the fresh search's ladder to the user's program. */
static void take_fresh(tw_search_result *fresh, tw_search_result *r) {
  tw_rung *rung = tw_new(fresh->n_rungs + 1, sizeof *rung);
  r->has_schedule = fresh->has_schedule;
  r->schedule = fresh->schedule;
  r->best = fresh->best;
  r->cost_from = fresh->cost_from;
  free(r->source);
  r->source = fresh->source;
  fresh->source = NULL;
  if (!rung) return;
  rung[0] = r->rung[0];
  memcpy(rung + 1, fresh->rung, fresh->n_rungs * sizeof *rung);
  if (fresh->n_rungs) {
    snprintf(rung[1].step, sizeof rung[1].step, "%s", "fresh schedule");
    snprintf(rung[1].why, sizeof rung[1].why, "the search's own baseline for the same problem");
  }
  free(r->rung);
  r->rung = rung;
  r->n_rungs = fresh->n_rungs + 1;
  tw_mark_rungs(r);
}

static tw_status compete(const improving *k, tw_search_result *r, tw_improvement *how) {
  tw_search_result fresh = {0};
  tw_error why = {0};
  tw_search_options options = *k->options;
  if (options.seconds > 0 && k->started + options.seconds <= tw_now()) return TW_OK;
  options.began = k->started;
  tw_status status = tw_search_into(k->target, k->problem, &options, &fresh, &why);
  if (fresh.source) {
    how->searched = true;
    how->fresh = fresh.best;
    r->samples += fresh.samples;
    r->correct += fresh.correct;
    r->recalled += fresh.recalled;
    r->slower += fresh.slower;
    r->known_lost = fresh.known_lost;
    for (const char *line = fresh.notes; line && *line; line += strcspn(line, "\n") + 1)
      tw_search_result_note(r, "%.*s", (int)strcspn(line, "\n"), line);
    if (fresh.best.cost < r->best.cost) {
      how->rewritten = false;
      take_fresh(&fresh, r);
    }
  } else if (status != TW_INTERRUPTED) {
    tw_search_result_note(r, "no fresh schedule competes: %s", why.text);
  }
  tw_search_result_clear(&fresh);
  return status == TW_INTERRUPTED ? status : TW_OK;
}

static tw_status improve(const improving *k, const char *source, size_t length, bool rewrites_only,
                         tw_search_result *out, tw_improvement *how, tw_error *error) {
  if (!k->target->rewriter)
    return tw_fail(error, TW_UNSUPPORTED, "%s cannot start from your own program; leave out --from", k->target->name);
  tw_status status = rewrite(k, source, length, rewrites_only, out, how, error);
  if (status == TW_OK && !rewrites_only && !tw_is_set(k->options->interrupt)) status = compete(k, out, how);
  if (status == TW_INTERRUPTED || (status == TW_OK && tw_is_set(k->options->interrupt)))
    status = tw_fail(error, TW_INTERRUPTED, "interrupted; the result so far is kept");
  out->wall_seconds = tw_now() - k->started;
  if (status != TW_OK && status != TW_INTERRUPTED) tw_search_result_clear(out);
  return status;
}

tw_status tw_improve(const tw_target *target, const tw_problem *problem, const char *source, size_t length,
                     const tw_search_options *options, bool rewrites_only, tw_search_result *out, tw_improvement *how,
                     tw_error *error) {
  tw_search_options own;
  tw_improvement unused;
  improving k = {.target = target, .problem = problem, .options = &own, .started = tw_now()};
  *out = (tw_search_result){0};
  if (!how) how = &unused;
  *how = (tw_improvement){0};
  const tw_status status = tw_sized_take("tw_search_options", options, &own, sizeof own, error);
  if (own.began > 0) k.started = own.began;
  return status == TW_OK ? improve(&k, source, length, rewrites_only, out, how, error) : status;
}
