/* ladder.c - the ladder from the start to the best kernel, with one rung for each step that made a new kernel.
 *
 * The ladder follows the lineage of the best candidate up to the last candidate with a schedule. The remaining rungs
 * are the steps of this schedule: finish.c has evaluated its prefixes. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/strings.h"
#include "search/state.h"

/* The target's reason for this step after the schedule `before`; "" if the menu does not offer it. */
static void explain(const tw_state *s, const tw_schedule *before, const char *step, char *why, size_t size) {
  tw_menu menu = {0};
  why[0] = '\0';
  if (tw_target_steps(s->target, &s->problem, before, &menu, NULL) != TW_OK) return;
  for (size_t i = 0; i < menu.n; i++) {
    tw_schedule normal = {0};
    if (tw_schedule_add(&normal, menu.item[i].step, NULL) == TW_OK && !strcmp(normal.step[0], step)) {
      snprintf(why, size, "%s", menu.item[i].why);
      break;
    }
  }
  tw_menu_free(&menu);
}

static void append(char *text, size_t size, const char *more) {
  if (*text) tw_append_cut(text, size, "; ");
  tw_append_cut(text, size, more);
}

static void finish_rung(tw_rung *r, const tw_candidate *c, const char *agent) {
  r->cost = c->measured.cost;
  r->utilization = c->measured.utilization;
  snprintf(r->agent, sizeof r->agent, "%s", agent);
}

/* Adds the steps of the schedule of `last`; returns the number of rungs. */
static size_t climb_schedule(const tw_state *s, const tw_candidate *last, tw_rung *rung) {
  const tw_schedule schedule = tw_state_pruned(s, last);
  size_t n = 0;
  for (size_t i = tw_state_shared_steps(s, &schedule); i < schedule.n; i++) {
    tw_schedule before = tw_beginning(&schedule, i), beginning = tw_beginning(&schedule, i + 1);
    const tw_candidate *c = i + 1 == schedule.n ? last : tw_state_find(s, &beginning);
    const tw_candidate *e = c ? tw_state_evaluated(s, c) : NULL;
    char why[sizeof rung[n].why];
    explain(s, &before, schedule.step[i], why, sizeof why);
    append(rung[n].step, sizeof rung[n].step, schedule.step[i]);
    if (why[0]) append(rung[n].why, sizeof rung[n].why, why);
    if (!e || e->verdict != TW_CORRECT) continue; /* this step has no measured kernel; it shares the next step's rung */
    finish_rung(&rung[n++], e, c->agent);
  }
  return n;
}

/* A source without a schedule has its own description of the change to its parent. */
static void climb_source(const tw_candidate *c, tw_rung *r) {
  for (size_t i = 0; !c->step[0] && i < c->n_levers; i++) append(r->step, sizeof r->step, c->lever[i]);
  if (c->step[0]) append(r->step, sizeof r->step, c->step);
  append(r->why, sizeof r->why, c->why);
  finish_rung(r, c, c->agent);
}

static double error_of(const tw_traits *traits, const tw_spread *p) {
  if (traits->error > 0) return traits->error;
  return p->rounds > 1 && p->median > 0 ? (p->upper - p->lower) / 2 / p->median : 0;
}

/* Compares each rung with the last rung that has a known difference. */
void tw_mark_rungs(tw_search_result *r) {
  double base = r->rung[0].cost;
  for (size_t i = 1; i < r->n_rungs; i++) {
    r->rung[i].within_error = fabs(r->rung[i].cost / base - 1) < r->error;
    if (!r->rung[i].within_error) base = r->rung[i].cost;
  }
}

tw_status tw_climb(const tw_state *s, tw_search_result *out, tw_error *error) {
  const tw_candidate *last = tw_state_with_schedule(s, s->best);
  size_t alone = 0, n = 1;
  for (const tw_candidate *c = s->best; c != last && c != s->start; c = c->parent == TW_NONE ? last : s->all[c->parent])
    alone++;
  tw_rung *rung = tw_new(1 + (last ? last->schedule->n : 0) + alone, sizeof *rung);
  if (!rung) return tw_no_memory(error, "the ladder");
  rung[0] = (tw_rung){.step = "start"};
  snprintf(rung[0].why, sizeof rung[0].why, "%s", s->start->schedule ? "the baseline" : "the given program");
  finish_rung(&rung[0], s->start, s->start->agent);
  if (last) n += climb_schedule(s, last, &rung[n]);
  size_t i = n + alone;
  for (const tw_candidate *c = s->best; i > n; c = c->parent == TW_NONE ? c : s->all[c->parent])
    climb_source(c, &rung[--i]);
  out->rung = rung;
  out->n_rungs = n + alone;
  out->error = error_of(&s->target->traits, &out->best.spread);
  tw_mark_rungs(out);
  return TW_OK;
}
