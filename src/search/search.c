/* search.c - the beam search over candidates.
 *
 * Method: Autocomp (C. Hong et al., section 3): in each iteration every parent in the beam gets plans, each plan gets
 * kernels, and the best that are correct and beat their parent are the next parents. tw_search is the whole flow.
 *
 * Why the outcome does not depend on `jobs`: candidates are numbered before they are evaluated, in the order of the
 * beam; evaluation changes only a candidate's own verdict; everything that is decided is decided between iterations, by
 * cost and number. Why a resumed search ends alike: the same numbers are proposed again, and the journal recalls the
 * verdicts of equal sources. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/hash.h"
#include "base/parallel.h"
#include "base/random.h"
#include "base/sized.h"
#include "base/utilization.h"
#include "evaluate/evaluator.h"
#include "search/prune.h"
#include "search/state.h"
#include "tilewright/tilewright.h"

/* Iterations without a child that beats its parent, before the search gives up on new plans. */
static const int PATIENCE = 3;
/* The search also ends when TW_STALL_ITERATIONS together improve the best candidate by less than this fraction. */
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

/* With agents that ask language models: Autocomp's own numbers (section 4, 4.3 and 4.4), a beam of 6, 6 plans, 2 kernels, 10 iterations, 70%
 * of the menu hidden. */
static const struct effort MODELS_EFFORT = {HUGE_VAL, 10, 6, 2, 6};
static const double MODELS_DROPOUT = 0.7;

/* To offer recorded steps and plans: Autocomp's numbers (section 5). */
enum { REUSE_BEAM = 2, REUSE_PLANS = 2, REUSE_KERNELS = 2 };

static bool asks_models(const tw_watch *w) { return w->n_members && w->member[0].agent->asks_models; }

/* Is there one that still answers? */
static bool is_answered_by_models(const tw_state *s) {
  for (size_t i = 0; i < s->n_members; i++)
    if (s->member[i].agent->asks_models && !s->is_retired[i]) return true;
  return false;
}

static void fill(int *option, int fallback) {
  if (*option == 0) *option = fallback;
}

static void fill_options(tw_watch *w, double simulation_seconds) {
  tw_search_options *o = &w->options;
  const struct effort *effort = EFFORT;
  while (simulation_seconds > effort->seconds) effort++;
  const bool models = asks_models(w);
  if (models) effort = &MODELS_EFFORT;
  fill(&o->iterations, effort->iterations);
  fill(&o->plans, effort->plans);
  fill(&o->kernels, effort->kernels);
  fill(&o->beam, effort->beam);
  fill(&o->jobs, tw_cores());
  if (o->dropout < 0) o->dropout = models ? MODELS_DROPOUT : DROPOUT;
}

static tw_status check_members(size_t n, tw_error *error) {
  return n <= TW_MEMBERS_MAX
             ? TW_OK
             : tw_fail(error, TW_USAGE, "%zu agents are too many; at most %d are supported", n, TW_MEMBERS_MAX);
}

static tw_status check_options(const tw_search_options *o, tw_error *error) {
  const struct {
    const char *name;
    int value, max;
  } range[] = {
      {"iterations", o->iterations, 1000}, {"plans", o->plans, 256}, {"kernels", o->kernels, 256},
      {"beam", o->beam, TW_BEAM_MAX},      {"jobs", o->jobs, 1024},  {"samples", o->samples, 100000000},
  };
  for (size_t i = 0; i < sizeof range / sizeof range[0]; i++)
    if (range[i].value < 0 || range[i].value > range[i].max)
      return tw_fail(error, TW_USAGE, "%s=%d is out of range; expected 1 to %d, or 0 for the default", range[i].name,
                     range[i].value, range[i].max);
  if (!(o->dropout < 1))
    return tw_fail(error, TW_USAGE, "dropout=%g is out of range; expected at least 0 and less than 1", o->dropout);
  if (!(o->seconds >= 0))
    return tw_fail(error, TW_USAGE, "seconds=%g is out of range; expected a positive time, or 0 for no limit",
                   o->seconds);
  return TW_OK;
}

/* ---- opening ---- */

static void add_digest(tw_text *t, const char *what, const char *source) {
  char digest[TW_HASH_TEXT];
  tw_hash hash;
  tw_hash_start(&hash);
  tw_hash_add_string(&hash, source);
  tw_hash_finish_text(&hash, digest);
  tw_text_add(t, "\n%s: %s", what, digest);
}

/* "rules", or "2*rules + llm:...". */
static char *print_members(size_t n, const tw_member member[]) {
  tw_text t = {0};
  char share[32];
  for (size_t i = 0; i < n; i++) {
    tw_text_add_string(&t, i ? " + " : "");
    if (member[i].share != 1) tw_text_add(&t, "%s*", tw_print_real(member[i].share, share));
    tw_text_add_string(&t, member[i].agent->name);
  }
  return tw_text_take(&t);
}

/* All options that determine the proposals of a search, except for the seed and the agents. */
static char *print_options(const tw_state *s, const char *program) {
  tw_text t = {0};
  char dropout[32];
  const tw_search_options *o = &s->options;
  if (s->by_runner) tw_text_add_string(&t, TW_JOURNAL_RUNNER);
  if (o->exhaustive) tw_text_add(&t, "exhaustive ");
  for (size_t i = 0; i < s->n_watches; i++) {
    const tw_search_options *w = &s->watch[i].options;
    tw_text_add(&t, "%siterations=%d plans=%d kernels=%d beam=%d dropout=%s", i ? "\nthen " : "", w->iterations,
                w->plans, w->kernels, w->beam, tw_print_real(w->dropout, dropout));
  }
  if (o->without) tw_text_add(&t, "\nwithout: %" PRIu64, o->without);
  for (size_t i = 0; o->start && i < o->start->n; i++) tw_text_add(&t, "\nstart: %s", o->start->step[i]);
  if (o->start_source) add_digest(&t, "start source", o->start_source);
  if (program) add_digest(&t, "program", program);
  for (size_t k = 0; s->recordings && k < s->recordings->n; k++)
    for (size_t i = 0; i < s->recordings->schedule[k].n; i++)
      tw_text_add(&t, "\nrecording %zu: %s", k + 1, s->recordings->schedule[k].step[i]);
  for (size_t i = 0; s->recordings && i < s->recordings->n_plans; i++)
    add_digest(&t, "recorded plan", s->recordings->plan[i]);
  return tw_text_take(&t);
}

static tw_status open_journal(tw_state *s, size_t n_members, const tw_member member[], const char *program,
                              tw_error *error) {
  if (!s->options.journal) return TW_OK;
  char machine[TW_HASH_TEXT];
  tw_evaluator_digest(s->target, machine); /* its compiler, too: another one makes other costs */
  char *options = print_options(s, program), *problem = tw_problem_text(&s->problem);
  char *agents = print_members(n_members, member);
  const tw_journal_subject subject = {
      .version = TILEWRIGHT_VERSION,
      .target = s->target->name,
      .machine = machine,
      .problem = problem,
      .unit = s->target->unit,
  };
  tw_status status = options && problem && agents ? tw_journal_open(s->options.journal, &subject, agents, options,
                                                                    s->options.seed, &s->journal, error)
                                                  : tw_no_memory(error, "the journal");
  if (status == TW_OK) s->exchanges.journal = tw_journal_memo(s->journal);
  free(agents);
  free(options);
  free(problem);
  return status;
}

/* The data of a report besides candidates. A report may read them while the search runs, so they are written at the
 * start. */
static void state_facts(tw_state *s) {
  tw_journal *j = s->journal;
  const tw_bound *b = &s->bound;
  const tw_op *op = s->problem.op;
  char host[64] = "";
  int planned = 0;
  for (size_t i = 0; i < s->n_watches && !s->options.exhaustive; i++) {
    const tw_search_options *w = &s->watch[i].options;
    planned += w->iterations * w->beam * w->plans * w->kernels;
  }
  gethostname(host, sizeof host - 1);
  tw_journal_together(j, true);
  tw_journal_state(j, "command", s->options.command ? s->options.command : "", 0);
  tw_journal_state(j, "version", TILEWRIGHT_VERSION, 0);
  tw_journal_state(j, "host", host, 0);
  tw_journal_state(j, "opened", NULL, (double)time(NULL)); /* a journal has several searches: which was the last? */
  tw_journal_state(j, "jobs", NULL, s->options.jobs);
  tw_journal_state(j, "process", NULL, getpid());
  if (s->options.runner) tw_journal_state(j, "runner", s->options.runner, 0);
  if (planned) tw_journal_state(j, "planned", NULL, planned);
  tw_journal_state(j, "simulated", NULL, s->target->traits.simulated);
  tw_journal_state(j, "source_name", s->target->traits.source_name, 0);
  tw_journal_state(j, "bound_cost", NULL, b->cost);
  tw_journal_state(j, "bound_compute", NULL, b->compute_cost);
  tw_journal_state(j, "bound_memory", NULL, b->memory_cost);
  tw_journal_state(j, "bound_limit", b->limit, 0);
  tw_journal_state(j, "utilization_of", tw_utilization_of(b), 0);
  if (op->operations) tw_journal_state(j, "operations", NULL, 2 * op->operations(&s->problem));
  if (op->bytes) tw_journal_state(j, "bytes", NULL, op->bytes(&s->problem));
  tw_journal_together(j, false);
}

/* ---- watches ----
 *
 * An ensemble must never end worse than its agents without models would alone: these have the first watch, with the
 * budget that they would have alone, and do what they would do alone, to the last step. Then agents that ask models
 * continue from there, with a separate budget. Results are kept. */

static int at_most(int value, int most) { return value < most ? value : most; }

/* A watch before `next`, with `rounds` iterations at most. */
static void add_reuse(tw_state *s, const tw_watch *next, const tw_member *alone, size_t rounds) {
  tw_watch *w = &s->watch[s->n_watches++];
  *w = *next;
  w->is_reuse = true;
  w->share = next->share / 4; /* of its time */
  if (alone) w->n_members = 1, w->member[0] = *alone;
  tw_search_options *o = &w->options;
  o->iterations = (int)rounds;
  o->beam = at_most(o->beam, REUSE_BEAM);
  o->plans = at_most(o->plans, REUSE_PLANS);
  o->kernels = at_most(o->kernels, REUSE_KERNELS);
}

static size_t most_steps(const tw_recordings *r) {
  size_t most = 0;
  for (size_t i = 0; i < r->n; i++)
    if (r->schedule[i].n > most) most = r->schedule[i].n;
  return most;
}

static void divide_watches(tw_state *s, const tw_search_subject *subject, const tw_search_options *options,
                           double simulation_seconds) {
  double all = 0;
  bool is_offered = !subject->reuse;
  for (int models = 0; models < 2; models++) {
    tw_watch next, *w = &next;
    *w = (tw_watch){.options = *options};
    for (size_t i = 0; i < subject->n_members; i++) {
      if (subject->member[i].agent->asks_models != models) continue;
      w->member[w->n_members++] = subject->member[i];
      w->share += subject->member[i].share;
    }
    if (w->n_members == 0) continue;
    fill_options(w, simulation_seconds);
    all += w->share;
    const tw_member reuse = {.agent = subject->reuse, .share = 1};
    if (!is_offered) add_reuse(s, w, &reuse, most_steps(s->recordings));
    is_offered = true;
    if (models && s->recordings && s->recordings->n_plans) add_reuse(s, w, NULL, s->recordings->n_plans);
    s->watch[s->n_watches++] = next;
  }
  double before = 0; /* of the shares of full searches that end before this one */
  for (size_t i = 0; i < s->n_watches; i++) {
    const double share = s->watch[i].share / all;
    s->watch[i].share = before + share;
    if (!s->watch[i].is_reuse) before += share;
  }
}

/* The best, the rest of the beam as far as there is room, and the start, which leads elsewhere. */
static void pass_on_beam(tw_state *s) {
  tw_candidate *old[TW_BEAM_MAX];
  const size_t n_old = s->n_beam, room = (size_t)s->options.beam;
  memcpy(old, s->beam, n_old * sizeof *old);
  s->n_beam = 0;
  s->beam[s->n_beam++] = s->best;
  const size_t end = room - (s->best != s->start && room > 1);
  for (size_t i = 0; i < n_old && s->n_beam < end; i++)
    if (old[i] != s->best && old[i] != s->start) s->beam[s->n_beam++] = old[i];
  if (end < room) s->beam[s->n_beam++] = s->start;
}

/* All of a search ends by this time, the confirmation of the result included. */
static double end_of(const tw_state *s) {
  const double seconds = s->options.seconds;
  return s->started + fmax(1.2 * seconds, seconds + 2);
}

/* The last candidates start so early that they, the rounds against the incumbent and the confirmation end in time. What a
 * candidate takes is known from the best so far. Where that is still a slow baseline, half of the time is for candidates. */
static void set_deadline(tw_state *s) {
  if (s->options.seconds <= 0) return;
  const tw_candidate *like = s->best ? s->best : s->start;
  const double trial = like->seconds - like->build_seconds;
  const double rounds = s->n_known || !tw_is_clearly_faster(like, s->start) ? 4 * s->trial_seconds : 0;
  s->last_measurement = fmax(end_of(s) - s->case_seconds - trial, s->started + s->options.seconds);
  const double last_start = s->last_measurement - like->seconds - rounds;
  const double half = s->started + s->options.seconds / 2;
  s->deadline = fmin(s->started + s->options.seconds * s->share, fmax(last_start, half));
}

/* Watches share only time: the duration of evaluations. */
static void begin_watch(tw_state *s, size_t watch) {
  const tw_watch *w = &s->watch[watch];
  s->n_members = w->n_members;
  s->member = w->member;
  s->options = w->options;
  memset(s->is_retired, 0, sizeof s->is_retired);
  memset(s->plans_given, 0, sizeof s->plans_given);
  s->share = watch + 1 < s->n_watches ? w->share : 1;
  s->is_reuse = w->is_reuse;
  s->first_iteration = s->iteration + 1;
  set_deadline(s);
  if (watch == 0) return;
  s->options.iterations += s->iteration;
  if (!s->watch[watch - 1].is_reuse) s->first_sample = s->samples;
  if (s->options.samples) s->options.samples += s->first_sample;
  s->idle = 0;
  for (size_t i = 0; i < TW_STALL_ITERATIONS; i++) s->best_cost[i] = HUGE_VAL;
  pass_on_beam(s);
}

/* Prepares everything before the first candidate. On failure close_search closes the opened parts. */
static tw_status open_search(tw_state *s, const tw_search_subject *subject, const tw_search_options *options,
                             tw_error *error) {
  const tw_target *target = subject->target;
  *s = (tw_state){
      .target = target, .problem = *subject->problem, .options = *options, .is_patient = subject->is_patient};
  s->recordings = subject->recordings;
  s->memo = tw_exchanges_open(&s->exchanges);
  s->by_runner = options->runner || (options->backend && !options->backend->is_own);
  s->started = tw_now();
  s->deadline = s->last_measurement = s->trial_seconds = HUGE_VAL;
  tw_status status = check_options(&s->options, error);
  if (status == TW_OK) status = check_members(subject->n_members, error);
  if (status == TW_OK && target->available && !options->runner && !options->backend)
    status = target->available(target, error);
  if (status == TW_OK) status = tw_target_supports(target, &s->problem, error);
  if (status == TW_OK) status = tw_target_bound(target, &s->problem, &s->bound, error);
  if (status != TW_OK) return status;
  if (!s->options.inputs) s->options.inputs = tw_random_system();
  divide_watches(s, subject, &s->options, tw_simulation_seconds(target, &s->bound));
  s->options = s->watch[0].options;
  status = open_journal(s, subject->n_members, subject->member, subject->program, error);
  if (status == TW_OK && s->options.backend)
    s->backend = s->options.backend;
  else if (status == TW_OK)
    status = s->options.runner ? tw_backend_command(s->options.runner, (size_t)s->options.jobs, &s->backend, error)
                               : tw_backend_threads(s->options.jobs, &s->backend, error);
  if (status == TW_OK && s->journal) state_facts(s);
  const double before_case = tw_now();
  if (status == TW_OK && !s->backend->is_elsewhere)
    status = tw_target_case(s->target, &s->problem, s->options.inputs, s->options.jobs, &s->data, error);
  s->case_seconds = tw_now() - before_case;
  return status;
}

static void close_search(tw_state *s, bool finished) {
  tw_journal_close(s->journal, finished);
  tw_exchanges_close(&s->exchanges);
  for (size_t i = 0; i < s->n; i++) tw_candidate_free(s->all[i]);
  free(s->all);
  free(s->experience);
  tw_index_free(&s->recipes);
  tw_index_free(&s->sources);
  tw_case_free(&s->data);
  if (s->backend && s->backend != s->options.backend) s->backend->close(s->backend);
  tw_text_free(&s->notes);
}

/* ---- the first candidates ---- */

/* Adds a kernel to the starts; takes the source over. `recipe` may be NULL. */
static tw_status add_start(tw_state *s, const tw_schedule *recipe, char *source, const char *lever, tw_error *error) {
  tw_candidate *c = source ? tw_candidate_new() : NULL;
  if (!c || !tw_candidate_set_kernel(c, recipe, source)) {
    if (!c) free(source);
    tw_candidate_free(c);
    return tw_no_memory(error, "a candidate");
  }
  c->n_levers = 1;
  snprintf(c->lever[0], sizeof c->lever[0], "%s", lever);
  return tw_state_add(s, c, error);
}

/* The same for a schedule. */
static tw_status add_recipe(tw_state *s, const tw_schedule *recipe, const char *lever, tw_error *error) {
  char *source = NULL;
  const tw_status status = tw_target_emit(s->target, &s->problem, recipe, &source, error);
  return status == TW_OK ? add_start(s, recipe, source, lever, error) : status;
}

/* The schedule of another run on this problem: steps that are illegal here are left out. */
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

/* A simulator that was changed without a new version gives other costs: recorded ones must not be mixed with them. The
 * plainest kernel, which is always evaluated anew, tells. */
static tw_status compare_with_journal(tw_state *s, double recorded, tw_error *error) {
  double now = s->start->measured.cost;
  if (recorded == now || !s->target->traits.deterministic) return TW_OK;
  char then_text[32], now_text[32];
  return tw_fail(error, TW_USAGE,
                 "the journal %s is of another build: the baseline took %s %s then and takes %s now; use another "
                 "--out, or discard the journal with --fresh",
                 s->options.journal, tw_print_real(recorded, then_text), s->target->unit, tw_print_real(now, now_text));
}

/* The first rung of the ladder. It must be correct, otherwise the search has no start. */
static tw_status evaluate_start(tw_state *s, const char *program, tw_error *error) {
  tw_schedule baseline;
  tw_status status = program ? add_start(s, NULL, strdup(program), "start", error)
                             : tw_target_baseline(s->target, &s->problem, &baseline, error);
  if (status == TW_OK && !program) status = add_recipe(s, &baseline, "start", error);
  if (status != TW_OK) return status;
  tw_journal *journal = s->journal;
  tw_candidate *c = s->start = s->all[0];
  tw_candidate recorded = {.source = c->source, .source_digest = c->source_digest};
  bool known = journal && tw_journal_recall(journal, &recorded) && recorded.verdict == TW_CORRECT;
  free(recorded.message);
  s->journal = NULL; /* neither recalled nor written before it is compared */
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

/* True if the time is up: then the baseline is the result. */
static bool is_out_of_time(tw_state *s) {
  s->share = 1;
  set_deadline(s);
  if (s->options.seconds <= 0 || tw_now() < s->deadline) return false;
  tw_state_note(s, "measuring %s took %.1f s of the %g s given, so no candidate was tried", tw_state_start_name(s),
                tw_now() - s->started, s->options.seconds);
  return true;
}

/* The first beam: the start, and the best known schedule of other searches. */
static tw_status evaluate_starts(tw_state *s, const char *program, tw_error *error) {
  tw_status status = evaluate_start(s, program, error);
  if (status != TW_OK) return status;
  size_t first = s->n;
  const bool more = !is_out_of_time(s);
  if (more && s->options.start) {
    tw_schedule known = replay(s, s->options.start);
    const bool is_new = known.n > 0 || (s->start->recipe && s->start->recipe->n > 0);
    if (is_new && (status = add_recipe(s, &known, "known schedule", error)) != TW_OK) return status;
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

/* ---- the flow ---- */

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

/* Recorded plans are offered to the last; recorded steps until two iterations have not improved the best kernel. */
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
static tw_status mend_all(tw_state *s, tw_round *round, tw_error *error) {
  for (size_t before = 0; before != s->n;) {
    before = s->n;
    const tw_status status = tw_mend(round, error);
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
  set_deadline(s);
  s->iteration++;
  memmove(&s->best_cost[1], &s->best_cost[0], sizeof s->best_cost - sizeof s->best_cost[0]);
  s->best_cost[0] = s->best->measured.cost;
  tw_status status = tw_propose(s, &round, &why);
  if (status != TW_OK && s->iteration == 1 && !asks_models(&s->watch[0])) { /* the target is at fault, not a server */
    tw_round_free(round);
    return tw_fail(error, status, "%s", why.text);
  }
  tw_state_evaluate(s, first);
  if (status == TW_OK) status = mend_all(s, round, &why);
  tw_round_free(round);
  const bool may_pass = is_answered_by_models(s); /* the next round may fare better: patience decides */
  if (status != TW_OK && !may_pass) {             /* the result so far remains valid */
    tw_state_note(s, "the search ends early: %s", why.text);
    *more = false;
  }
  tw_select_beam(s, first);
  if ((s->n == first && !may_pass) || is_cut_off(s, first)) *more = false;
  return TW_OK;
}

/* The schedule of the result has no dead step, not even of the baseline; its source names the same steps. */
static tw_status prune_recipe(tw_state *s, tw_search_result *r, tw_error *error) {
  r->schedule = *s->best->recipe;
  tw_prune_schedule(s->target, &s->problem, &r->schedule);
  if (r->schedule.n == s->best->recipe->n) return TW_OK;
  free(r->source);
  r->source = NULL;
  return tw_target_emit(s->target, &s->problem, &r->schedule, &r->source, error);
}

static tw_status fill_result(tw_state *s, tw_search_result *out, tw_error *error) {
  tw_search_result r = {
      .size = sizeof r,
      .source = strdup(s->best->source),
      .has_recipe = s->best->recipe,
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
  r.cost_from = (char)s->cost_from;
  tw_status status = s->best->recipe ? prune_recipe(s, &r, error) : TW_OK;
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
    tw_search_result_free(&r);
  return status;
}

/* From the first plan to a result. */
static tw_status keep_watch(tw_state *s, size_t watch, tw_error *error) {
  bool more = true;
  tw_status status = TW_OK;
  begin_watch(s, watch);
  tw_keep_recipes(s);
  while (status == TW_OK && more && goes_on(s)) status = iterate(s, &more, error);
  if (status != TW_OK || s->is_reuse || s->best == s->finished) return status;
  tw_polish(s);
  status = tw_finish(s, error);
  s->finished = s->best;
  return status;
}

tw_status tw_search_by(const tw_search_subject *subject, const tw_search_options *options, tw_search_result *out,
                       tw_error *error) {
  tw_state s;
  *out = (tw_search_result){.size = sizeof *out};
  tw_status status = open_search(&s, subject, options, error);
  if (status == TW_OK) status = evaluate_starts(&s, subject->program, error);
  if (status == TW_OK && s.options.exhaustive) {
    begin_watch(&s, 0);
    status = tw_enumerate(&s, error);
    if (status == TW_OK) status = tw_finish(&s, error);
  } else {
    for (size_t i = 0; status == TW_OK && i < s.n_watches; i++) status = keep_watch(&s, i, error);
  }
  if (status == TW_OK) status = tw_confirm_here(&s, error);
  if (status == TW_OK) status = fill_result(&s, out, error);
  if (status == TW_OK && tw_state_is_interrupted(&s))
    status = tw_fail(error, TW_INTERRUPTED, "stopped after %d candidates; the best so far is kept", s.samples);
  close_search(&s, status == TW_OK);
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

/* Recordings of the user, and the schedule of another shape if some of its steps are illegal here: the menu may have others like
 * them. */
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

/* Is somebody there who can use what was recorded? */
static tw_status check_reuse(const tw_search_options *o, const tw_recordings *r, bool models, tw_error *error) {
  if (o->n_reuse && o->exhaustive)
    return tw_fail(error, TW_USAGE,
                   "an exhaustive search reuses nothing: it evaluates every kernel; leave out one of them");
  if (o->n_reuse && r->n == 0 && !models)
    return tw_fail(error, TW_USAGE,
                   "the recording '%s' has plans for language models, and no agent asks one; add llm:MODEL or "
                   "exec:COMMAND",
                   o->reuse[0]);
  return TW_OK;
}

/* With structs that are the library's own. */
static tw_status search(const tw_target *target, const tw_problem *problem, const tw_search_options *options,
                        tw_search_result *out, tw_error *error) {
  static const char *const alone[] = {"rules"};
  const char *const *names = options->n_agents ? options->agents : alone;
  const size_t wanted = options->n_agents ? options->n_agents : 1;
  tw_member member[TW_MEMBERS_MAX];
  tw_model_options model = {0};
  bool models = false;
  size_t n = 0;
  tw_status status = check_members(wanted, error);
  if (status == TW_OK && options->model)
    status = tw_sized_take("tw_model_options", options->model, &model, sizeof model, error);
  while (status == TW_OK && n < wanted)
    if ((status = tw_agent_open(names[n], target, &model, &member[n], error)) == TW_OK)
      models = member[n++].agent->asks_models || models;
  if (status == TW_OK) status = tw_without_check(options->without, n, member, error);
  const char *unused = model.prompts           ? "prompts"
                       : model.context         ? "a context"
                       : model.effort          ? "a reasoning effort"
                       : model.ancestors       ? "ancestors"
                       : model.combine > 0     ? "combined programs"
                       : model.hide_scores > 0 ? "hidden scores"
                       : model.shuffle_menu    ? "a shuffled menu"
                       : model.one_question    ? "one question"
                       : model.own_menu        ? "a menu for each program"
                                               : NULL;
  if (status == TW_OK && unused && !models)
    status = tw_fail(error, TW_USAGE,
                     "%s: only for agents that ask language models, and no agent does; add llm:MODEL or exec:COMMAND",
                     unused);
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

/* What is malloc'ed in a result has stood there since its first release: a program that is older than a member of this kind would
 * leak it, and tw_search must free it then. */
tw_status tw_search(const tw_target *target, const tw_problem *problem, const tw_search_options *options,
                    tw_search_result *out, tw_error *error) {
  tw_search_options own;
  tw_search_result result = {.size = sizeof result};
  tw_status status = tw_sized_check("tw_search_result", out, error);
  if (status == TW_OK) status = tw_sized_take("tw_search_options", options, &own, sizeof own, error);
  if (status != TW_OK) return status;
  status = search(target, problem, &own, &result, error);
  tw_sized_give(&result, sizeof result, out);
  return status;
}

void tw_search_result_free(tw_search_result *given) {
  tw_search_result r;
  const tw_search_result none = {0};
  if (tw_sized_take("tw_search_result", given, &r, sizeof r, NULL) != TW_OK) return;
  free(r.source);
  free(r.start_source);
  free(r.rung);
  free(r.exchange);
  free(r.notes);
  tw_sized_give(&none, sizeof none, given);
}
