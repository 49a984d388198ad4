/* search.c - the beam search over candidates.
 *
 * Method: Autocomp (C. Hong et al., section 3): in each iteration every parent in the beam gets plans, and each plan
 * gets kernels. The best correct kernels that beat their parent are the next parents. tw_search is the whole flow.
 *
 * The outcome does not depend on `jobs`. Candidates are numbered in the order of the beam, not of their evaluation.
 * An evaluation changes only the candidate's own verdict. Decisions are made between iterations, by cost and number.
 * A resumed search gives the same result, because the same numbers are proposed again and the journal recalls the
 * verdicts of equal sources. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/parallel.h"
#include "base/sized.h"
#include "search/prune.h"
#include "search/state.h"
#include "tilewright/extend/extend.h"

/* Number of iterations without a child that beats its parent, after which the search ends. */
static const int PATIENCE = 3;
/* The search also ends when TW_STALL_ITERATIONS together improve the best candidate by less than this fraction. */
static const double STALL_GAIN = 0.001;

/* Does an agent that asks a model still answer? */
static bool is_answered_by_models(const tw_state *s) {
  for (size_t i = 0; i < s->n_members; i++)
    if (s->member[i].agent->asks_models && !s->is_retired[i]) return true;
  return false;
}

/* True if every candidate in this iteration failed for lack of the same resource: the search ends. */
static bool is_cut_off(tw_state *s, size_t first) {
  size_t unavailable = 0, others = 0;
  const char *reason = NULL;
  for (size_t i = first; i < s->n; i++) {
    others += tw_verdict_is_final(s->all[i]->verdict) || s->all[i]->verdict == TW_SLOWER;
    if (s->all[i]->verdict == TW_UNAVAILABLE && unavailable++ == 0) reason = s->all[i]->message;
  }
  if (unavailable == 0 || others > 0) return false;
  tw_state_note(s, "the search ends early because no candidate could be evaluated any more: %s", reason ? reason : "?");
  return true;
}

static bool is_stalled(const tw_state *s) {
  return s->iteration >= TW_STALL_ITERATIONS &&
         s->best->measured.cost > s->best_cost[TW_STALL_ITERATIONS - 1] * (1 - STALL_GAIN);
}

/* Reuse continues until the last plan was offered. Steps are offered until two iterations have not improved the best
 * kernel. */
static bool reuse_goes_on(const tw_state *s) {
  return s->member[0].agent->asks_models || s->iteration < s->first_iteration + 1 ||
         s->best->measured.cost < s->best_cost[1];
}

static bool goes_on(const tw_state *s) {
  if (s->iteration >= s->options.iterations || tw_state_is_stopped(s)) return false;
  if (s->is_reuse) return reuse_goes_on(s);
  return s->is_patient || (s->idle < PATIENCE && !is_stalled(s));
}

/* Failed kernels are repaired as long as an agent tries. */
static tw_status repair_all(tw_state *s, tw_round *round, tw_error *error) {
  for (size_t before = 0; before != s->n;) {
    before = s->n;
    const tw_status status = tw_repair(round, error);
    tw_state_evaluate(s, before);
    if (status != TW_OK) return status;
  }
  return TW_OK;
}

/* One iteration. *more is false when nothing is left to try. */
static tw_status iterate(tw_state *s, bool *more, tw_error *error) {
  size_t first = s->n;
  tw_error why = {0};
  tw_round *round = NULL;
  tw_team_set_deadline(s);
  s->iteration++;
  memmove(&s->best_cost[1], &s->best_cost[0], sizeof s->best_cost - sizeof s->best_cost[0]);
  s->best_cost[0] = s->best->measured.cost;
  tw_status status = tw_propose(s, &round, &why);
  tw_state_await(s);
  if (status != TW_OK && s->iteration == 1 &&
      !tw_team_asks_models(&s->team[0])) { /* the error is the target's, not a server's */
    tw_round_free(round);
    return tw_fail(error, status, "%s", why.text);
  }
  if (status == TW_OK) status = repair_all(s, round, &why);
  tw_round_free(round);
  const bool may_pass = is_answered_by_models(s); /* the next iteration may succeed; PATIENCE decides */
  if (status != TW_OK && !may_pass) {             /* the result so far remains valid */
    tw_state_note(s, "the search ends early: %s", why.text);
    *more = false;
  }
  tw_select_beam(s, first);
  if ((s->n == first && !may_pass) || is_cut_off(s, first)) *more = false;
  return TW_OK;
}

/* Removes dead steps from the schedule of the result, even steps of the baseline. The source then names the same
 * steps. */
static tw_status prune_schedule(tw_state *s, tw_search_result *r, tw_error *error) {
  r->schedule = *s->best->schedule;
  tw_prune_schedule(s->target, &s->problem, &r->schedule);
  if (r->schedule.n == s->best->schedule->n) return TW_OK;
  free(r->source);
  r->source = NULL;
  return tw_target_emit(s->target, &s->problem, &r->schedule, &r->source, error);
}

static tw_status fill_result(tw_state *s, tw_search_result *out, tw_error *error) {
  tw_search_result r = {
      .source = strdup(s->best->source),
      .has_schedule = s->best->schedule,
      .best = s->best->measured,
      .start = s->start->measured,
      .start_source = strdup(s->start->source),
      .bound = s->bound,
      .samples = s->samples,
      .correct = s->correct,
      .recalled = s->recalled,
      .slower = s->slower,
      .wall_seconds = tw_now() - s->started,
  };
  memcpy(r.coverage, s->best->coverage, sizeof r.coverage);
  tw_journal_state(s->journal, "best", NULL, s->best->number);
  tw_journal_state(s->journal, "seconds", NULL, r.wall_seconds);
  r.is_baseline = s->best == s->start;
  r.known_lost = s->n_known;
  for (size_t i = 0; i < s->n_known; i++) r.known_lost = r.known_lost && s->known[i].lost;
  r.cost_from = s->cost_from;
  tw_status status = s->best->schedule ? prune_schedule(s, &r, error) : TW_OK;
  if (status == TW_OK && !(r.source && r.start_source)) status = tw_no_memory(error, "the result");
  if (status == TW_OK) status = tw_climb(s, &r, error);
  if (status == TW_OK) tw_exchanges_take(s, &r);
  const char *trouble = s->journal ? tw_journal_trouble(s->journal) : NULL;
  if (trouble) tw_state_note(s, "%s", trouble);
  tw_note_ranks(s);
  r.notes = tw_text_take(&s->notes);
  if (status == TW_OK)
    *out = r;
  else
    tw_search_result_clear(&r);
  return status;
}

/* The most complete translation, which need not be the fastest kernel. */
static void note_translation(tw_state *s) {
  const tw_candidate *most = NULL;
  for (size_t i = 0; i < s->n; i++)
    if (s->all[i]->verdict == TW_CORRECT && s->all[i]->complete > (most ? most->complete : 0)) most = s->all[i];
  if (most)
    tw_state_note(s, "translated: %d%%, by the model's estimate; the fastest kernel: %d%%", most->complete,
                  s->best->complete);
}

/* From the first plan to a result. */
static tw_status run_team(tw_state *s, size_t team, tw_error *error) {
  bool more = true;
  tw_status status = TW_OK;
  tw_team_begin(s, team);
  tw_keep_schedules(s);
  while (status == TW_OK && more && goes_on(s)) status = iterate(s, &more, error);
  if (status != TW_OK || s->is_reuse || s->best == s->finished) return status;
  note_translation(s);
  tw_polish(s);
  status = tw_finish(s, error);
  s->finished = s->best;
  return status;
}

tw_status tw_search_by(const tw_search_subject *subject, const tw_search_options *options, tw_search_result *out,
                       tw_error *error) {
  tw_state s;
  *out = (tw_search_result){0};
  const tw_stop interrupt = {.interrupt = options->interrupt}, *before = tw_stop_by(&interrupt);
  tw_status status = tw_state_open(&s, subject, options, error);
  if (status == TW_OK) status = tw_evaluate_starts(&s, subject->program, error);
  if (status == TW_OK && s.options.exhaustive) {
    tw_team_begin(&s, 0);
    status = tw_enumerate(&s, error);
    if (status == TW_OK) status = tw_finish(&s, error);
  } else {
    for (size_t i = 0; status == TW_OK && i < s.n_teams; i++) status = run_team(&s, i, error);
  }
  if (status == TW_OK) status = tw_confirm_here(&s, error);
  if (status == TW_OK) status = fill_result(&s, out, error);
  if (status == TW_OK && tw_state_is_interrupted(&s))
    status = tw_fail(error, TW_INTERRUPTED, "stopped after %d candidates; the best so far is kept", s.samples);
  tw_state_close(&s, status == TW_OK);
  tw_stop_by(before);
  return status;
}

/* Final notes of agents go to the result's notes. */
static void close_members(size_t n, tw_member member[], tw_search_result *out) {
  tw_text notes = {0};
  if (out->notes) tw_text_add_string(&notes, out->notes);
  for (size_t i = 0; i < n; i++) member[i].agent->close(member[i].agent, &notes);
  if (out->notes) {
    free(out->notes);
    out->notes = tw_text_take(&notes);
  }
  tw_text_free(&notes);
}

/* The recordings of the user. Also the schedule of another shape, if some of its steps are illegal here, because the
 * menu may have similar steps. */
static tw_status read_recordings(const tw_target *target, const tw_problem *problem, const tw_search_options *options,
                                 tw_recordings *out, tw_error *error) {
  tw_status status = TW_OK;
  for (size_t i = 0; status == TW_OK && i < options->n_reuse; i++)
    status = tw_recordings_read(options->reuse[i], target, problem, out, error);
  char *source = NULL;
  if (status == TW_OK && options->start && !options->start_is_exact && !options->exhaustive &&
      tw_target_emit(target, problem, options->start, &source, NULL) != TW_OK)
    status = tw_recordings_add(out, options->start, error);
  free(source);
  for (size_t i = 0; i < out->n; i++) tw_target_rename_steps(target, problem, &out->schedule[i]);
  return status;
}

/* An error if no agent can use the recordings. */
static tw_status check_reuse(const tw_search_options *o, const tw_recordings *r, bool models, tw_error *error) {
  if (o->n_reuse && o->exhaustive)
    return tw_fail(error, TW_USAGE,
                   "--exhaustive evaluates every kernel and cannot be combined with --reuse; remove one");
  if (o->n_reuse && r->n == 0 && !models)
    return tw_fail(error, TW_USAGE,
                   "the recording '%s' has plans for language models, and no agent asks one; add llm:MODEL or "
                   "exec:COMMAND",
                   o->reuse[0]);
  return TW_OK;
}

/* The search, with the library's own structs. */
static tw_status search(const tw_target *target, const tw_problem *problem, const tw_search_options *options,
                        tw_search_result *out, tw_error *error) {
  static const char *const alone[] = {"rules"};
  const char *const *names = options->n_agents ? options->agents : alone;
  const size_t wanted = options->n_agents ? options->n_agents : 1;
  tw_member member[TW_MEMBERS_MAX];
  tw_model_options model = {0};
  bool models = false;
  size_t n = 0;
  tw_status status = tw_check_members(wanted, error);
  if (status == TW_OK && options->model)
    status = tw_sized_take("tw_model_options", options->model, &model, sizeof model, error);
  while (status == TW_OK && n < wanted)
    if ((status = tw_agent_open(names[n], target, &model, &member[n], error)) == TW_OK)
      models = member[n++].agent->asks_models || models;
  if (status == TW_OK) status = tw_without_check(options->without, n, member, error);
  if (status == TW_OK && !models) status = tw_llm_check_unused(&model, error);
  tw_recordings recordings = {0};
  tw_agent *reuse = NULL;
  if (status == TW_OK) status = read_recordings(target, problem, options, &recordings, error);
  if (status == TW_OK) status = check_reuse(options, &recordings, models, error);
  if (status == TW_OK && recordings.n) status = tw_recorded_open(recordings.n, recordings.schedule, &reuse, error);
  const tw_search_subject subject = {.target = target,
                                     .problem = problem,
                                     .n_members = n,
                                     .member = member,
                                     .program = options->program,
                                     .recordings = &recordings,
                                     .reuse = reuse};
  if (status == TW_OK) status = tw_search_by(&subject, options, out, error);
  close_members(n, member, out);
  if (reuse) reuse->close(reuse, NULL);
  tw_recordings_free(&recordings);
  return status;
}

tw_status tw_search_into(const tw_target *target, const tw_problem *problem, const tw_search_options *options,
                         tw_search_result *out, tw_error *error) {
  tw_search_options own;
  *out = (tw_search_result){0};
  tw_status status = tw_check_subject(target, problem, error);
  if (status == TW_OK) status = tw_sized_take("tw_search_options", options, &own, sizeof own, error);
  return status == TW_OK ? search(target, problem, &own, out, error) : status;
}

tw_status tw_search(const tw_target *target, const tw_problem *problem, const tw_search_options *options,
                    tw_search_result **out, tw_error *error) {
  tw_search_result *r = calloc(1, sizeof *r);
  *out = NULL;
  if (!r) return tw_no_memory(error, "the result");
  const tw_status status = tw_search_into(target, problem, options, r, error);
  if (r->source)
    *out = r;
  else
    tw_search_result_free(r);
  return status;
}
