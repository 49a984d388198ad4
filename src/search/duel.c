/* duel.c - decides whether the best candidate is really faster than the user's present kernel. Where measurements vary,
 * a kernel may be the best because it was measured at a good moment.
 *
 * The present kernel is the incumbent: the baseline, or a verified kernel of an earlier search. Challenger and
 * incumbent are measured alternately, and the challenger wins if the medians differ by more than the noise. If it loses,
 * the next best candidates challenge while there is time: the best of many noisy costs is the luckiest, not always the
 * best. Otherwise the incumbent is the result. On deterministic machines costs are compared directly. */
#include <math.h>
#include <stdlib.h>

#include "base/clock.h"
#include "search/state.h"

/* A kernel that is this many times as fast needs only one round. One measurement of a kernel with several threads on
 * a busy computer can be off by more than smaller factors. */
static const double CLEARLY = 4;
/* Other kernels need at least two rounds, because one round shows no noise: a single good moment would decide. */
enum { ROUNDS = 3, ROUNDS_LEAST = 2, CHALLENGERS = 4 };

/* Costs of one kernel. */
typedef struct series {
  size_t n;
  double cost[ROUNDS];
} series;

static int by_cost(const void *a, const void *b) {
  const double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

static double median(series s) {
  qsort(s.cost, s.n, sizeof *s.cost, by_cost);
  return s.n % 2 ? s.cost[s.n / 2] : (s.cost[s.n / 2 - 1] + s.cost[s.n / 2]) / 2;
}

/* Half of the range. */
static double noise(series s) {
  qsort(s.cost, s.n, sizeof *s.cost, by_cost);
  return (s.cost[s.n - 1] - s.cost[0]) / 2;
}

/* What a comparison showed. */
typedef struct duel {
  double gain, within; /* 1 - the ratio of the costs, and its noise; both are 0 if nothing was measured */
  double incumbent;    /* the incumbent's median; 0: it was not measured in two rounds */
  double left;         /* seconds for all rounds, at their beginning */
  tw_error why;        /* the failure of a measurement; no text: there was none */
} duel;

/* The end of the next of `n` measurements. Each later one keeps the time of the quickest trial and half of its share of
 * the rest. Otherwise the first ones use all of the time, and the last one and the comparison are lost. */
static tw_stop end_of_next(const tw_state *s, size_t n, const tw_stop *until) {
  tw_stop next = *until;
  if (!isfinite(until->deadline)) return next;
  const double share = (until->deadline - tw_now()) / (double)n, quickest = fmin(s->trial_seconds, share);
  next.deadline -= (double)(n - 1) * (quickest + share) / 2;
  return next;
}

/* The next of `n` measurements. False if it was impossible, for lack of time or by a failure. */
static bool measure(tw_state *s, const tw_candidate *c, size_t n, const tw_stop *until, series *to, tw_error *why) {
  const tw_stop end = end_of_next(s, n, until);
  tw_outcome o;
  tw_state_measure(s, c, &end, &o);
  if (o.verdict != TW_CORRECT && o.verdict != TW_SKIPPED) *why = o.error;
  if (o.verdict != TW_CORRECT) return false;
  to->cost[to->n++] = o.measured.cost;
  return true;
}

/* Is there time for one more measurement of each of two kernels, in addition to the confirmation of the result? */
static bool has_time(const tw_state *s, const tw_stop *until) {
  return !tw_is_set(until->interrupt) && tw_now() + 2 * s->trial_seconds < until->deadline;
}

bool tw_is_clearly_faster(const tw_candidate *c, const tw_candidate *than) {
  return CLEARLY * c->measured.cost < than->measured.cost;
}

/* Used without time for alternating rounds. A dedicated device, such as a GPU, times many launches of a kernel. Then
 * the middle halves of both must be a tenth apart. */
static bool is_beyond_its_rounds(const tw_state *s, const tw_candidate *c, const tw_candidate *than) {
  const tw_spread *a = &c->measured.spread, *b = &than->measured.spread;
  return s->target->traits.measures_first && a->rounds > 1 && b->rounds > 1 && 1.1 * a->upper < b->lower;
}

/* 1 - the ratio of their recorded costs. */
static double recorded_gain(const tw_candidate *c, const tw_candidate *than) {
  return 1 - c->measured.cost / than->measured.cost;
}

/* Does the challenger beat the incumbent? */
static bool beats(tw_state *s, const tw_candidate *challenger, const tw_candidate *incumbent, const tw_stop *until,
                  duel *out) {
  series a = {0}, b = {0};
  *out = (duel){0};
  const bool clearly = tw_is_clearly_faster(challenger, incumbent);
  if (s->target->traits.deterministic) {
    out->gain = recorded_gain(challenger, incumbent);
    return out->gain > 0;
  }
  out->left = fmax(0, until->deadline - tw_now());
  for (size_t round = 0; round < ROUNDS && has_time(s, until); round++) {
    const bool turned = round % 2;
    const size_t n = round < ROUNDS_LEAST ? 2 * (ROUNDS_LEAST - round) : 2;
    if (!measure(s, turned ? incumbent : challenger, n, until, turned ? &b : &a, &out->why)) break;
    if (!measure(s, turned ? challenger : incumbent, n - 1, until, turned ? &a : &b, &out->why)) break;
    if (!clearly || round > 0 || CLEARLY * a.cost[0] >= b.cost[0]) continue;
    out->gain = 1 - a.cost[0] / b.cost[0];
    return true;
  }
  if (a.n < ROUNDS_LEAST || b.n < ROUNDS_LEAST) {
    const bool is_contradicted = a.n > 0 && b.n > 0;
    if (!(clearly && !is_contradicted) && !is_beyond_its_rounds(s, challenger, incumbent)) return false;
    out->gain = recorded_gain(challenger, incumbent);
    return true;
  }
  const double least = out->incumbent = median(b);
  out->gain = 1 - median(a) / least;
  out->within = fmax(noise(a), noise(b)) / least;
  return out->gain > out->within;
}

static const char *name_of(const tw_state *s, const tw_candidate *incumbent) {
  return incumbent == s->start ? tw_state_start_name(s) : "the kernel of an earlier search";
}

/* True if the known kernel is correct and not slower than the incumbent. Otherwise it is reported once. */
static bool holds(tw_state *s, struct tw_known *known, const tw_candidate *incumbent, const tw_stop *until) {
  const tw_candidate *c = known->candidate;
  duel d;
  if (known->lost || c == incumbent) return false;
  if (c->verdict != TW_CORRECT) {
    known->lost = tw_verdict_is_failure(c->verdict) || c->verdict == TW_SLOWER;
    if (known->lost) tw_state_note(s, "the kernel of an earlier search is removed: %s", tw_verdict_name(c->verdict));
    return false;
  }
  if (beats(s, c, incumbent, until, &d) || d.gain >= 0) return true;
  known->lost = true;
  tw_state_note(s, "the kernel of an earlier search is %.1f%% slower than %s and is removed", -100 * d.gain,
                incumbent == s->start ? tw_state_start_name(s) : "another one");
  return false;
}

static tw_candidate *incumbent_of(tw_state *s, const tw_stop *until) {
  tw_candidate *incumbent = s->start;
  for (size_t i = 0; i < s->n_known; i++)
    if (holds(s, &s->known[i], incumbent, until)) incumbent = s->known[i].candidate;
  return incumbent;
}

static bool has_lost(const tw_state *s, const tw_candidate *c) {
  for (size_t i = 0; i < s->n_known; i++)
    if (s->known[i].candidate == c && s->known[i].lost) return true;
  return false;
}

/* The best candidate that has not challenged, if its recorded cost is below that of the incumbent in the last duel. */
static tw_candidate *next_challenger(const tw_state *s, const tw_candidate *const tried[], size_t n, double below) {
  tw_candidate *best = NULL;
  for (size_t i = 0; i < s->n; i++) {
    tw_candidate *c = s->all[i];
    bool is_new = c->verdict == TW_CORRECT && c->measured.cost < below && !has_lost(s, c);
    for (size_t j = 0; j < n; j++) is_new = is_new && tw_state_evaluated(s, tried[j]) != c;
    if (is_new && (!best || tw_is_better(c, best))) best = c;
  }
  return best;
}

static tw_stop end_of_rounds(const tw_state *s) {
  return (tw_stop){.deadline = s->last_measurement, .interrupt = s->options.interrupt};
}

/* After an interrupt, a short comparison may still run: without the comparison, the search would lose its result. A second
 * signal ends the process. */
static tw_stop end_after_interrupt(const tw_state *s) {
  static const double PATIENCE = 5; /* seconds */
  return (tw_stop){.deadline = fmin(s->last_measurement, tw_now() + PATIENCE)};
}

bool tw_beats_incumbent(tw_state *s, const tw_candidate *challenger) {
  const tw_stop until = end_of_rounds(s);
  duel d;
  const tw_candidate *const incumbent = incumbent_of(s, &until);
  return challenger == incumbent || beats(s, challenger, incumbent, &until, &d);
}

void tw_defend(tw_state *s) {
  const tw_stop until = tw_state_is_interrupted(s) ? end_after_interrupt(s) : end_of_rounds(s);
  tw_candidate *const incumbent = incumbent_of(s, &until), *const best = s->best;
  const tw_candidate *same = tw_state_evaluated(s, best);
  duel d;
  if (same == incumbent || best == incumbent || incumbent->verdict != TW_CORRECT) return;
  if (has_lost(s, same)) {
    s->best = incumbent;
    return;
  }
  if (beats(s, best, incumbent, &until, &d)) return;
  s->best = incumbent;
  if (s->target->traits.deterministic) return;
  const tw_candidate *tried[CHALLENGERS + 1] = {incumbent, best};
  duel next = d;
  for (size_t n = 2; n <= CHALLENGERS && next.incumbent > 0 && has_time(s, &until); n++) {
    tw_candidate *challenger = next_challenger(s, tried, n, next.incumbent);
    if (!challenger) break;
    tried[n] = challenger;
    if (!beats(s, challenger, incumbent, &until, &next)) continue;
    s->best = challenger;
    return;
  }
  const char *what = name_of(s, incumbent);
  const bool compared = d.gain != 0 || d.within != 0;
  if (!compared && !*d.why.text)
    tw_fail(&d.why, TW_MISSING,
            tw_is_set(until.interrupt) ? "interrupted" : "two rounds of both did not end in the %.2g s that were left",
            d.left);
  if (!compared)
    tw_state_note(s, "the best candidate could not be compared with %s: %s; %s is kept", what, d.why.text, what);
  else
    tw_state_note(s,
                  "measured alternately, the best candidate is %.1f%% %s than %s, with a noise of %.1f%%; %s is kept",
                  100 * fabs(d.gain), d.gain < 0 ? "slower" : "faster", what, 100 * d.within, what);
}
