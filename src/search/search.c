/* search.c - the beam search over candidates.
 *
 * Method: Autocomp (C. Hong et al., section 3): in each iteration every parent in the beam gets plans, each plan gets
 * kernels, and the best that are correct and beat their parent are the next parents. tw_search is the whole flow.
 *
 * Why the outcome does not depend on `jobs`: candidates are numbered before they are evaluated, in the order of the
 * beam; evaluation changes only a candidate's own verdict; everything that is decided is decided between iterations, by
 * cost and number. Why a resumed search ends alike: the same numbers are proposed again, and the journal recalls the
 * verdicts of equal sources. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/parallel.h"
#include "search/state.h"
#include "tilewright/tilewright.h"

/* Iterations without a child that beats its parent, before the search gives up on new plans. */
static const int PATIENCE = 3;
/* The search ends, too, when TW_STALL_ITERATIONS together made the best candidate less than so much better. */
static const double STALL_GAIN = 0.001;
static const double DROPOUT = 0.3;

/* How much search by default. A candidate on a simulated target takes time in proportion to its cost: problems whose
 * bound takes longer to simulate get fewer samples. */
static const struct effort {
  double seconds; /* up to this long for the bound */
  int iterations, plans, kernels, beam;
} EFFORT[] = {
    {0.16, 10, 4, 2, 4},
    {0.64, 6, 3, 2, 3},
    {2.56, 4, 3, 1, 2},
    {HUGE_VAL, 3, 2, 1, 1},
};

static void fill(int *option, int fallback) {
  if (*option == 0) *option = fallback;
}

static void fill_options(tw_search_options *o, double simulation_seconds) {
  const struct effort *effort = EFFORT;
  while (simulation_seconds > effort->seconds) effort++;
  fill(&o->iterations, effort->iterations);
  fill(&o->plans, effort->plans);
  fill(&o->kernels, effort->kernels);
  fill(&o->beam, effort->beam);
  fill(&o->jobs, tw_cores());
  if (o->dropout < 0) o->dropout = DROPOUT;
}

static tw_status check_options(const tw_search_options *o, tw_error *error) {
  const struct {
    const char *name;
    int value, max;
  } range[] = {
      {"iterations", o->iterations, 1000}, {"plans", o->plans, 256}, {"kernels", o->kernels, 256},
      {"beam", o->beam, TW_BEAM_MAX},      {"jobs", o->jobs, 1024},
  };
  for (size_t i = 0; i < sizeof range / sizeof range[0]; i++)
    if (range[i].value < 0 || range[i].value > range[i].max)
      return tw_fail(error, TW_USAGE, "%s=%d is out of range: give 1 to %d, or 0 for the default", range[i].name,
                     range[i].value, range[i].max);
  if (!(o->dropout < 1))
    return tw_fail(error, TW_USAGE, "dropout=%g is out of range: give 0 up to, but less than, 1", o->dropout);
  if (!(o->seconds >= 0))
    return tw_fail(error, TW_USAGE, "seconds=%g is out of range: give a time, or 0 for no limit", o->seconds);
  return TW_OK;
}

/* ---- opening ---- */

/* All that decides what a search proposes, but for the seed. */
static char *print_options(const tw_search_options *o) {
  tw_text t = {0};
  char dropout[32];
  if (o->exhaustive) tw_text_add(&t, "exhaustive ");
  tw_text_add(&t, "iterations=%d plans=%d kernels=%d beam=%d dropout=%s", o->iterations, o->plans, o->kernels, o->beam,
              tw_print_real(o->dropout, dropout));
  for (size_t i = 0; o->start && i < o->start->n; i++) tw_text_add(&t, "\nstart: %s", o->start->step[i]);
  return tw_text_take(&t);
}

static char *print_problem(const tw_problem *problem) {
  size_t length = tw_problem_print(problem, NULL, 0);
  char *text = malloc(length + 1);
  if (text) tw_problem_print(problem, text, length + 1);
  return text;
}

static void print_machine(const tw_target *target, char digest[TW_HASH_TEXT]) {
  char *description = target->describe ? target->describe(target) : NULL;
  tw_hash hash;
  tw_hash_start(&hash);
  tw_hash_add_string(&hash, description ? description : "");
  tw_hash_finish_text(&hash, digest);
  free(description);
}

static tw_status open_journal(tw_state *s, tw_error *error) {
  if (!s->options.journal) return TW_OK;
  char machine[TW_HASH_TEXT];
  print_machine(s->target, machine);
  char *options = print_options(&s->options), *problem = print_problem(&s->problem);
  const tw_journal_subject subject = {
      .version = TILEWRIGHT_VERSION,
      .target = s->target->name,
      .machine = machine,
      .problem = problem,
      .unit = s->target->unit,
  };
  tw_status status = options && problem ? tw_journal_open(s->options.journal, &subject, s->agent->name, options,
                                                          s->options.seed, &s->journal, error)
                                        : tw_fail(error, TW_MISSING, "no memory for the journal");
  free(options);
  free(problem);
  return status;
}

/* Everything that a search needs before its first candidate. What is open already is closed by close_search. */
static tw_status open_search(tw_state *s, const tw_target *target, const tw_problem *problem,
                             const tw_search_options *options, tw_error *error) {
  *s = (tw_state){.target = target, .agent = &tw_agent_rules, .problem = *problem, .options = *options};
  s->started = tw_now();
  s->deadline = HUGE_VAL;
  tw_status status = check_options(&s->options, error);
  if (status == TW_OK && target->available) status = target->available(target, error);
  if (status == TW_OK) status = target->supports(target, &s->problem, error);
  if (status == TW_OK) status = target->bound(target, &s->problem, &s->bound, error);
  if (status != TW_OK) return status;
  fill_options(&s->options, tw_simulation_seconds(target, &s->bound));
  status = open_journal(s, error);
  if (status == TW_OK)
    status = tw_target_case(s->target, &s->problem, s->options.seed, s->options.jobs, &s->data, error);
  return status;
}

static void close_search(tw_state *s, bool finished) {
  tw_journal_close(s->journal, finished);
  for (size_t i = 0; i < s->n; i++) tw_candidate_free(s->all[i]);
  free(s->all);
  free(s->experience);
  tw_index_free(&s->schedules);
  tw_index_free(&s->sources);
  tw_case_free(&s->data);
  tw_text_free(&s->notes);
}

/* ---- the first candidates ---- */

/* Adds the kernel of a schedule to the starts. */
static tw_status add_start(tw_state *s, const tw_schedule *schedule, const char *lever, tw_error *error) {
  char *source = NULL;
  tw_status status = s->target->emit(s->target, &s->problem, schedule, &source, error);
  if (status != TW_OK) return status;
  tw_candidate *c = tw_candidate_new();
  if (!c) {
    free(source);
    return tw_fail(error, TW_MISSING, "no memory for a candidate");
  }
  tw_candidate_set_kernel(c, schedule, source);
  c->n_levers = 1;
  snprintf(c->lever[0], sizeof c->lever[0], "%s", lever);
  return tw_state_add(s, c, error);
}

/* The schedule of another run on this problem: steps that are illegal here are left out. */
static tw_schedule replay(tw_state *s, const tw_schedule *schedule) {
  tw_schedule legal = {0};
  for (size_t i = 0; i < schedule->n; i++) {
    tw_schedule longer = legal;
    tw_error why = {0};
    char *source = NULL;
    if (tw_schedule_add(&longer, schedule->step[i], &why) == TW_OK &&
        s->target->emit(s->target, &s->problem, &longer, &source, &why) == TW_OK)
      legal = longer;
    else
      tw_state_note(s, "the step '%s' of the known schedule is left out: %s", schedule->step[i], why.text);
    free(source);
  }
  return legal;
}

/* A simulator that was changed without a new version gives other costs: recorded ones must not be mixed with them. The
 * plainest kernel, which is always evaluated anew, tells. */
static tw_status compare_with_journal(tw_state *s, double recorded, tw_error *error) {
  double now = s->plainest->measured.cost;
  if (recorded == now || !s->target->traits.deterministic) return TW_OK;
  char then_text[32], now_text[32];
  return tw_fail(error, TW_USAGE,
                 "the journal %s is of another build: the plainest kernel took %s %s then, %s now; "
                 "give another file name",
                 s->options.journal, tw_print_real(recorded, then_text), s->target->unit, tw_print_real(now, now_text));
}

static tw_status evaluate_plainest(tw_state *s, tw_error *error) {
  const tw_schedule plainest = {0};
  tw_status status = add_start(s, &plainest, "start", error);
  if (status != TW_OK) return status;
  tw_journal *journal = s->journal;
  tw_candidate *c = s->plainest = s->all[0];
  tw_candidate recorded = {.source = c->source, .source_digest = c->source_digest};
  bool known = journal && tw_journal_recall(journal, &recorded) && recorded.verdict == TW_CORRECT;
  free(recorded.message);
  s->journal = NULL; /* neither recalled nor written before it is compared */
  tw_state_evaluate(s, 0);
  s->journal = journal;
  if (c->verdict == TW_SKIPPED) return tw_fail(error, TW_INTERRUPTED, "stopped before the first kernel was measured");
  if (c->verdict != TW_CORRECT)
    return tw_fail(error, c->verdict == TW_UNAVAILABLE ? TW_MISSING : TW_FAILED, "the plainest kernel: %s: %s",
                   tw_verdict_name(c->verdict), c->message ? c->message : "?");
  if (known && (status = compare_with_journal(s, recorded.measured.cost, error)) != TW_OK) return status;
  if (journal) tw_journal_record(journal, c);
  return TW_OK;
}

/* The plainest kernel, and beside it the schedule to start from: the first beam. */
static tw_status evaluate_starts(tw_state *s, tw_error *error) {
  tw_status status = evaluate_plainest(s, error);
  if (status != TW_OK) return status;
  size_t first = s->n;
  if (s->options.start) {
    tw_schedule known = replay(s, s->options.start);
    if (known.n > 0 && (status = add_start(s, &known, "known schedule", error)) != TW_OK) return status;
    tw_state_evaluate(s, first);
  }
  s->beam[s->n_beam++] = s->best;
  if (s->best != s->plainest && s->options.beam > 1) s->beam[s->n_beam++] = s->plainest;
  if (s->options.seconds > 0) s->deadline = s->started + s->options.seconds;
  return TW_OK;
}

/* ---- the flow ---- */

/* Something that every candidate of an iteration lacked: no more will come of it. */
static bool is_cut_off(tw_state *s, size_t first) {
  size_t unavailable = 0, others = 0;
  const char *reason = NULL;
  for (size_t i = first; i < s->n; i++) {
    others += tw_verdict_is_final(s->all[i]->verdict) || s->all[i]->verdict == TW_SLOWER;
    if (s->all[i]->verdict == TW_UNAVAILABLE && unavailable++ == 0) reason = s->all[i]->message;
  }
  if (unavailable == 0 || others > 0) return false;
  tw_state_note(s, "the search ends early, no candidate could be evaluated any more: %s", reason ? reason : "?");
  return true;
}

static bool is_stalled(const tw_state *s) {
  return s->iteration >= TW_STALL_ITERATIONS &&
         s->best->measured.cost > s->best_cost[TW_STALL_ITERATIONS - 1] * (1 - STALL_GAIN);
}

static bool goes_on(const tw_state *s) {
  return s->iteration < s->options.iterations && s->idle < PATIENCE && !is_stalled(s) && !tw_state_is_stopped(s);
}

/* One iteration. *more is false when nothing is left to try. */
static tw_status iterate(tw_state *s, bool *more, tw_error *error) {
  size_t first = s->n;
  tw_error why = {0};
  s->iteration++;
  memmove(&s->best_cost[1], &s->best_cost[0], sizeof s->best_cost - sizeof s->best_cost[0]);
  s->best_cost[0] = s->best->measured.cost;
  tw_status status = tw_propose(s, &why);
  if (status != TW_OK && s->iteration == 1) return tw_fail(error, status, "%s", why.text);
  if (status != TW_OK) { /* what was found stays found */
    tw_state_note(s, "the search ends early: %s", why.text);
    *more = false;
  }
  tw_state_evaluate(s, first);
  tw_select_beam(s, first);
  if (s->n == first || is_cut_off(s, first)) *more = false;
  return TW_OK;
}

static tw_status fill_result(tw_state *s, tw_search_result *out, tw_error *error) {
  tw_search_result r = {
      .schedule = s->best->schedule,
      .source = strdup(s->best->source),
      .best = s->best->measured,
      .start = s->plainest->measured,
      .start_source = strdup(s->plainest->source),
      .bound = s->bound,
      .samples = s->samples,
      .correct = s->correct,
      .slower = s->slower,
      .wall_seconds = tw_now() - s->started,
  };
  tw_status status =
      r.source && r.start_source ? tw_climb(s, &r, error) : tw_fail(error, TW_MISSING, "no memory for the result");
  const char *trouble = s->journal ? tw_journal_trouble(s->journal) : NULL;
  if (trouble) tw_state_note(s, "%s", trouble);
  r.notes = tw_text_take(&s->notes);
  if (status == TW_OK)
    *out = r;
  else
    tw_search_result_free(&r);
  return status;
}

tw_status tw_search(const tw_target *target, const tw_problem *problem, const tw_search_options *options,
                    tw_search_result *out, tw_error *error) {
  tw_state s;
  bool more = true;
  *out = (tw_search_result){0};
  tw_status status = open_search(&s, target, problem, options, error);
  if (status == TW_OK) status = evaluate_starts(&s, error);
  if (status == TW_OK && s.options.exhaustive) status = tw_enumerate(&s, error);
  while (status == TW_OK && !s.options.exhaustive && more && goes_on(&s)) status = iterate(&s, &more, error);
  if (status == TW_OK && !s.options.exhaustive) tw_polish(&s);
  if (status == TW_OK) status = tw_finish(&s, error);
  if (status == TW_OK) status = fill_result(&s, out, error);
  if (status == TW_OK && tw_state_is_interrupted(&s))
    status = tw_fail(error, TW_INTERRUPTED, "stopped after %d candidates; the best so far is kept", s.samples);
  close_search(&s, status == TW_OK);
  return status;
}

void tw_search_result_free(tw_search_result *r) {
  free(r->source);
  free(r->start_source);
  free(r->rung);
  free(r->notes);
  *r = (tw_search_result){0};
}
