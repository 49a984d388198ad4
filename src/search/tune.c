/* tune.c - see tune.h: wisdom, a search, and wisdom again. */
#include "tilewright/tune.h"

#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/sized.h"
#include "search/known.h"
#include "search/result.h"
#include "tilewright/extend/target.h"
#include "tilewright/wisdom.h"

typedef struct tuning {
  const tw_target *target;
  tw_problem problem; /* with its types */
  tw_tune_options options;
  tw_search_options search;
  tw_known known;
  bool from_program; /* the start is the user's program */
} tuning;

/* ---- the result of an earlier search ---- */

static bool is_answered(const tuning *t) {
  if (t->options.again || t->from_program || !(t->known.source || t->known.is_exact) || t->known.cost <= 0)
    return false;
  const uint64_t here = tw_wisdom_machine(t->target);
  if (!here || t->known.machine != here) return false;
  return t->known.source ||
         (t->known.has_schedule && !tw_wisdom_is_hopeless(t->target, &t->problem, &t->known.schedule));
}

/* All steps are in the ladder, but only the last rung has a cost. */
static tw_status answer(const tuning *t, tw_search_result *r, tw_error *error) {
  const double started = tw_now();
  const tw_known *k = &t->known;
  r->has_schedule = !k->source;
  if (r->has_schedule) r->schedule = k->schedule;
  r->best = (tw_measurement){.cost = k->cost, .utilization = k->utilization};
  if (!strcmp(t->target->unit, "cycles")) r->best.cycles = k->cost;
  if (!strcmp(t->target->unit, "seconds")) r->best.seconds = k->cost;
  r->cost_from = TW_COST_WISDOM;
  r->error = t->target->traits.error;
  tw_status status = tw_target_bound(t->target, &t->problem, &r->bound, error);
  if (status == TW_OK && r->has_schedule)
    status = tw_target_emit(t->target, &t->problem, &k->schedule, &r->source, error);
  if (status == TW_OK && k->source && !(r->source = strdup(k->source))) status = tw_no_memory(error, "the kernel");
  r->wall_seconds = tw_now() - started;
  return status;
}

/* ---- the search ---- */

static tw_status search(tuning *t, tw_search_result *r, tw_error *error) {
  const tw_tune_options *o = &t->options;
  if (!o->program) return tw_search_into(t->target, &t->problem, &t->search, r, error);
  tw_improvement *how = calloc(1, sizeof *how);
  if (!how) return tw_no_memory(error, "the result");
  const size_t length = o->program_length ? o->program_length : strlen(o->program);
  const tw_status status =
      tw_improve(t->target, &t->problem, o->program, length, &t->search, o->rewrites_only, r, how, error);
  r->how = how;
  return status;
}

static void start_from_wisdom(tuning *t) {
  tw_search_options *o = &t->search;
  if (!o->start && t->known.has_schedule) {
    o->start = &t->known.schedule;
    o->start_is_exact = t->known.is_exact;
  } else if (!o->start && t->known.recording.n) {
    o->start = &t->known.recording;
    o->start_is_exact = false;
  }
  if (!o->start_source) o->start_source = t->known.source;
}

/* ---- wisdom ---- */

/* The result was measured in this search and is faster than the baseline and the known entries. So it replaces them,
 * even if their recorded costs are lower. A rewritten program of a user is a source without a schedule: its steps
 * belong to that program. */
static tw_status store(const tuning *t, const tw_search_result *r, tw_error *error) {
  const char *path = t->options.wisdom;
  const bool rewritten = r->how && r->how->rewritten, is_usual = r->is_baseline && !t->from_program;
  const bool is_replaced = !r->is_baseline && !rewritten && (t->known.is_exact || t->known.source);
  const bool is_outdated = r->known_lost || (*t->known.illegal.text && !t->known.source);
  if (is_usual) return is_outdated ? tw_wisdom_forget(path, t->target->name, &t->problem, NULL, error) : TW_OK;
  const tw_schedule *schedule = r->has_schedule && !rewritten ? &r->schedule : NULL;
  const uint64_t machine = r->cost_from == TW_COST_REPORTED ? 0 : tw_wisdom_machine(t->target);
  tw_wisdom *new = NULL;
  tw_status status =
      tw_wisdom_add(&new, t->target, &t->problem, schedule, schedule ? NULL : r->source, &r->best, machine, error);
  if (status == TW_OK)
    status = r->known_lost || is_replaced ? tw_wisdom_replace(path, new, error)
                                          : tw_wisdom_keep(path, new, NULL, NULL, error);
  tw_wisdom_free(new);
  return status;
}

/* ---- all of it ---- */

static tw_status tune(tuning *t, tw_search_result *r, tw_error *error) {
  tw_error unread = {0}, unstored = {0};
  tw_status status = tw_target_supports(t->target, &t->problem, error);
  if (status != TW_OK) return status;
  const bool wise = !t->options.no_wisdom;
  const bool unreadable = wise && tw_known_find(t->options.wisdom, t->target, &t->problem, &t->known, &unread) != TW_OK;
  if (is_answered(t)) return answer(t, r, error);
  start_from_wisdom(t);
  status = search(t, r, error);
  if (unreadable) tw_search_result_note(r, "continuing without wisdom: %s", unread.text);
  if (wise && r->source && store(t, r, &unstored) != TW_OK)
    tw_search_result_note(r, "wisdom is unchanged, and the result is not stored: %s", unstored.text);
  return status;
}

tw_status tw_tune(const tw_target *target, const tw_problem *problem, const tw_tune_options *options,
                  tw_search_result **out, tw_error *error) {
  tuning t = {.target = target};
  *out = NULL;
  tw_status status = tw_check_subject(target, problem, error);
  if (status != TW_OK) return status;
  if (options) status = tw_sized_take("tw_tune_options", options, &t.options, sizeof t.options, error);
  t.problem = *problem;
  t.search = (tw_search_options){.size = sizeof t.search, .dropout = -1, .seed = 1};
  if (status == TW_OK && t.options.search)
    status = tw_sized_take("tw_search_options", t.options.search, &t.search, sizeof t.search, error);
  if (t.search.began <= 0) t.search.began = tw_now();
  if (status == TW_OK && t.options.rewrites_only && !t.options.program)
    status = tw_fail(error, TW_USAGE, "rewrites_only requires a program to rewrite; set tw_tune_options.program");
  if (status != TW_OK) return status;
  t.from_program = t.options.program || t.search.program;
  tw_search_result *r = calloc(1, sizeof *r);
  if (!r) return tw_no_memory(error, "the result");
  status = tune(&t, r, error);
  free(t.known.source);
  if (r->source)
    *out = r;
  else
    tw_search_result_free(r);
  return status;
}
