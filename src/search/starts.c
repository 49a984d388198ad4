/* starts.c - the first candidates: the baseline or the user's program, and the results of earlier searches of the
 * problem. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "search/state.h"

/* Adds a kernel to the starts; takes the source over. `schedule` may be NULL. */
static tw_status add_start(tw_state *s, const tw_schedule *schedule, char *source, const char *lever, tw_error *error) {
  tw_candidate *c = source ? tw_candidate_new() : NULL;
  if (!c || !tw_candidate_set_kernel(c, s->target, schedule, source)) {
    if (!c) free(source);
    tw_candidate_free(c);
    return tw_no_memory(error, "a candidate");
  }
  c->n_levers = 1;
  snprintf(c->lever[0], sizeof c->lever[0], "%s", lever);
  return tw_state_add(s, c, error);
}

/* The same for a schedule. */
static tw_status add_schedule(tw_state *s, const tw_schedule *schedule, const char *lever, tw_error *error) {
  char *source = NULL;
  const tw_status status = tw_target_emit(s->target, &s->problem, schedule, &source, error);
  return status == TW_OK ? add_start(s, schedule, source, lever, error) : status;
}

/* The schedule of another run on this problem, without steps that are illegal here. */
static tw_schedule replay(tw_state *s, const tw_schedule *known) {
  tw_schedule legal = {0}, current = *known;
  tw_target_rename_steps(s->target, &s->problem, &current);
  const tw_schedule *schedule = &current;
  for (size_t i = 0; i < schedule->n; i++) {
    tw_schedule longer = legal;
    tw_error why = {0};
    char *source = NULL;
    if (tw_schedule_add(&longer, schedule->step[i], &why) == TW_OK &&
        tw_target_emit(s->target, &s->problem, &longer, &source, &why) == TW_OK)
      legal = longer;
    else
      tw_state_note(s, "the step '%s' of the known schedule is left out: %s", schedule->step[i], why.text);
    free(source);
  }
  return legal;
}

/* A simulator that was changed without a new version gives other costs, which must not be mixed with recorded costs.
 * The baseline, which is always evaluated again, shows such a change. */
static tw_status compare_with_journal(tw_state *s, double recorded, tw_error *error) {
  double now = s->start->measured.cost;
  if (recorded == now || !s->target->traits.deterministic) return TW_OK;
  char then_text[32], now_text[32];
  return tw_fail(error, TW_USAGE,
                 "the journal %s is of another build: the cost of the baseline was %s %s and is now %s; use another "
                 "--out, or discard the journal with --fresh",
                 s->options.journal, tw_print_real(recorded, then_text), s->target->unit, tw_print_real(now, now_text));
}

/* The first rung of the ladder. It must be correct, otherwise the search has no start. */
static tw_status evaluate_start(tw_state *s, const char *program, tw_error *error) {
  tw_schedule baseline;
  tw_status status = program ? add_start(s, NULL, strdup(program), "start", error)
                             : tw_target_baseline(s->target, &s->problem, &baseline, error);
  if (status == TW_OK && !program) status = add_schedule(s, &baseline, "start", error);
  if (status != TW_OK) return status;
  tw_journal *journal = s->journal;
  tw_candidate *c = s->start = s->all[0];
  tw_candidate recorded = {.source = c->source, .source_digest = c->source_digest};
  bool known = journal && tw_journal_recall(journal, &recorded) && recorded.verdict == TW_CORRECT;
  free(recorded.message);
  s->journal = NULL; /* compare first, before the journal recalls or writes */
  tw_state_evaluate(s, 0);
  s->journal = journal;
  const char *what = tw_state_start_name(s), *message = c->message ? c->message : "?";
  if (c->verdict == TW_SKIPPED)
    return tw_fail(error, TW_INTERRUPTED, "stopped before %s was measured", program ? what : "the first kernel");
  status = c->verdict == TW_UNAVAILABLE ? TW_MISSING : TW_FAILED;
  if (c->verdict != TW_CORRECT && program) return tw_fail(error, status, "%s", message);
  if (c->verdict != TW_CORRECT) return tw_fail(error, status, "%s: %s: %s", what, tw_verdict_name(c->verdict), message);
  if (known && (status = compare_with_journal(s, recorded.measured.cost, error)) != TW_OK) return status;
  if (journal) tw_journal_record(journal, c);
  return TW_OK;
}

/* True after the time limit: then the baseline is the result. */
static bool is_out_of_time(tw_state *s) {
  s->share = 1;
  tw_team_set_deadline(s);
  if (s->options.seconds <= 0 || tw_now() < s->deadline) return false;
  tw_state_note(s, "measuring %s took %.1f s of the %g s given, so no candidate was tried", tw_state_start_name(s),
                tw_now() - s->began, s->options.seconds);
  return true;
}

/* The first beam: the start, and the best known schedule of other searches. */
tw_status tw_evaluate_starts(tw_state *s, const char *program, tw_error *error) {
  tw_status status = evaluate_start(s, program, error);
  if (status != TW_OK) return status;
  size_t first = s->n;
  const bool more = !is_out_of_time(s);
  if (more && s->options.start) {
    tw_schedule known = replay(s, s->options.start);
    const bool is_new = known.n > 0 || (s->start->schedule && s->start->schedule->n > 0);
    if (is_new && (status = add_schedule(s, &known, "known schedule", error)) != TW_OK) return status;
    if (is_new && s->options.start_is_exact) s->known[s->n_known++].candidate = s->all[s->n - 1];
  }
  if (more && s->options.start_source) {
    status = add_start(s, NULL, strdup(s->options.start_source), "known source", error);
    if (status != TW_OK) return status;
    s->known[s->n_known++].candidate = s->all[s->n - 1];
  }
  tw_state_evaluate(s, first);
  for (size_t i = 0; i < s->n_known; i++)
    s->known[i].candidate = s->all[tw_state_evaluated(s, s->known[i].candidate)->number];
  s->beam[s->n_beam++] = s->best;
  if (s->best != s->start && s->options.beam > 1) s->beam[s->n_beam++] = s->start;
  return TW_OK;
}
