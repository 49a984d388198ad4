/* teams.c - the teams of a search: which agents propose together, with how many iterations, and until when.
 *
 * An ensemble must never end worse than its agents without models alone. So these are the first team, with the
 * budget and the behaviour that they have alone. Then agents that ask models continue from there, with a separate
 * budget. Results are kept. */
#include <math.h>
#include <string.h>

#include "base/clock.h"
#include "base/parallel.h"
#include "search/state.h"

static const double DROPOUT = 0.3;

/* Measurements of the best kernel and the start, in turns, that get time: two of each. */
enum { MEASUREMENTS = 4 };

/* Default sizes of a search. A candidate on a simulated target takes time in proportion to its cost, so problems
 * whose bound takes longer to simulate get fewer samples. */
static const struct effort {
  double seconds; /* upper limit of the time for the bound */
  int iterations, plans, kernels, beam;
} EFFORT[] = {
    {0.16, 10, 4, 2, 4},
    {0.64, 6, 3, 2, 3},
    {2.56, 4, 3, 1, 2},
    {HUGE_VAL, 3, 2, 1, 1},
};

/* With agents that ask language models: Autocomp's own numbers (section 4, 4.3 and 4.4), a beam of 6, 6 plans, 2
 * kernels, 10 iterations, 70% of the menu hidden. */
static const struct effort MODELS_EFFORT = {HUGE_VAL, 10, 6, 2, 6};
static const double MODELS_DROPOUT = 0.7;

/* To offer recorded steps and plans: Autocomp's numbers (section 5). */
enum { REUSE_BEAM = 2, REUSE_PLANS = 2, REUSE_KERNELS = 2 };

bool tw_team_asks_models(const tw_team *t) { return t->n_members && t->member[0].agent->asks_models; }

static void set_default(int *option, int fallback) {
  if (*option == 0) *option = fallback;
}

static void fill_options(tw_team *t, double simulation_seconds) {
  tw_search_options *o = &t->options;
  const struct effort *effort = EFFORT;
  while (simulation_seconds > effort->seconds) effort++;
  const bool models = tw_team_asks_models(t);
  if (models) effort = &MODELS_EFFORT;
  set_default(&o->iterations, effort->iterations);
  set_default(&o->plans, effort->plans);
  set_default(&o->kernels, effort->kernels);
  set_default(&o->beam, effort->beam);
  set_default(&o->jobs, tw_cores());
  if (o->dropout < 0) o->dropout = models ? MODELS_DROPOUT : DROPOUT;
}

static int at_most(int value, int most) { return value < most ? value : most; }

/* Adds a team before `next`, with at most `rounds` iterations. */
static void add_reuse(tw_state *s, const tw_team *next, const tw_member *alone, size_t rounds) {
  tw_team *t = &s->team[s->n_teams++];
  *t = *next;
  t->is_reuse = true;
  t->share = next->share / 4; /* of its time */
  if (alone) t->n_members = 1, t->member[0] = *alone;
  tw_search_options *o = &t->options;
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

void tw_teams_divide(tw_state *s, const tw_search_subject *subject, const tw_search_options *options,
                     double simulation_seconds) {
  double all = 0;
  bool is_offered = !subject->reuse;
  for (int models = 0; models < 2; models++) {
    tw_team next, *t = &next;
    *t = (tw_team){.options = *options};
    for (size_t i = 0; i < subject->n_members; i++) {
      if (subject->member[i].agent->asks_models != models) continue;
      t->member[t->n_members++] = subject->member[i];
      t->share += subject->member[i].share;
    }
    if (t->n_members == 0) continue;
    fill_options(t, simulation_seconds);
    all += t->share;
    const tw_member reuse = {.agent = subject->reuse, .share = 1};
    if (!is_offered) add_reuse(s, t, &reuse, most_steps(s->recordings));
    is_offered = true;
    if (models && s->recordings && s->recordings->n_plans) add_reuse(s, t, NULL, s->recordings->n_plans);
    s->team[s->n_teams++] = next;
  }
  double before = 0; /* sum of the shares of full searches that end before this one */
  for (size_t i = 0; i < s->n_teams; i++) {
    const double share = s->team[i].share / all;
    s->team[i].share = before + share;
    if (!s->team[i].is_reuse) before += share;
  }
}

/* Passes on the best kernel, other kernels of the beam while there is room, and the start, which leads to other
 * kernels. */
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

/* The time to stop compilers, close devices, and print and store the result. */
static const double ENDING_SECONDS = .4;

double tw_state_end(const tw_state *s) {
  const double seconds = s->options.seconds;
  if (seconds <= 0) return HUGE_VAL;
  return s->began + tw_seconds_allowed(seconds) - ENDING_SECONDS -
         s->case_seconds; /* files of the result need such a case, too */
}

/* The last candidates start so early that they, the rounds against the incumbent and the confirmation end in time.
 * The time of a candidate is estimated from the best kernel so far. If that is still a slow baseline, candidates may
 * use half of the time, and an eighth of it after the baseline is known. */
void tw_team_set_deadline(tw_state *s) {
  if (s->options.seconds <= 0) return;
  const tw_candidate *like = s->best ? s->best : s->start;
  const double trial = like->seconds - like->build_seconds;
  /* The start was measured in full; candidates may be measured with less. */
  const double full = fmax(trial, s->start->seconds - s->start->build_seconds);
  const double each = s->target->traits.deterministic ? trial : full;
  const double rounds = s->n_known || !tw_is_clearly_faster(like, s->start) ? MEASUREMENTS * each : 0;
  s->last_measurement = fmax(tw_state_end(s) - s->case_seconds - trial, s->began + s->options.seconds);
  const double last_start = s->last_measurement - like->seconds - rounds;
  const double half = s->began + s->options.seconds / 2,
               eighth = s->began + s->case_seconds + s->start->seconds + s->options.seconds / 8;
  s->deadline = fmin(s->began + s->options.seconds * s->share, fmax(last_start, fmax(half, eighth)));
  /* Trials may wait for one another: late trials give way to the rounds. */
  s->last_trial = fmin(fmax(s->last_measurement - rounds, s->deadline + like->seconds), s->last_measurement);
}

/* Teams share only time: the duration of evaluations. */
void tw_team_begin(tw_state *s, size_t team) {
  const tw_team *t = &s->team[team];
  s->n_members = t->n_members;
  s->member = t->member;
  s->options = t->options;
  memset(s->is_retired, 0, sizeof s->is_retired);
  memset(s->plans_given, 0, sizeof s->plans_given);
  s->share = team + 1 < s->n_teams ? t->share : 1;
  s->is_reuse = t->is_reuse;
  s->first_iteration = s->iteration + 1;
  tw_team_set_deadline(s);
  if (team == 0) return;
  s->options.iterations += s->iteration;
  if (!s->team[team - 1].is_reuse) s->first_sample = s->samples;
  if (s->options.samples) s->options.samples += s->first_sample;
  s->idle = 0;
  for (size_t i = 0; i < TW_STALL_ITERATIONS; i++) s->best_cost[i] = HUGE_VAL;
  pass_on_beam(s);
}
