/* recorded.c - an agent that offers the steps of earlier searches, one at a time, on a new shape.
 *
 * Method: schedule reuse of Autocomp (C. Hong et al., section 3.5). Each plan for a parent takes the first recorded
 * steps that the parent lacks. The alternatives of a step are the recorded step, then the menu's steps of this verb,
 * best predicted first. The menu matters because sizes of one shape may be illegal or slow for another. The first plan
 * of all takes every missing step at once: as recorded, and with the sizes that the menu predicts to be best.
 *
 * A parent already has a recorded step if its schedule has the step, or as many steps of this verb as the recording up
 * to it. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "agent/agent.h"
#include "base/parallel.h"

typedef struct recorded {
  tw_agent agent;
  size_t n;
  const tw_schedule *recording;
} recorded;

enum { ALTERNATIVES = 4 };

/* A plan's kernels: whole schedules. */
typedef struct detail {
  size_t n_levers[ALTERNATIVES];
  tw_schedule schedule[ALTERNATIVES];
} detail;

static size_t verb_length(const char *step) { return strcspn(step, " "); }

static bool has_same_verb(const char *a, const char *b) {
  const size_t n = verb_length(a);
  return n == verb_length(b) && !strncmp(a, b, n);
}

static size_t count_verb(const tw_schedule *s, size_t n, const char *step) {
  size_t count = 0;
  for (size_t i = 0; i < n; i++) count += has_same_verb(s->step[i], step);
  return count;
}

static bool has_step(const tw_schedule *s, const char *step) {
  for (size_t i = 0; i < s->n; i++)
    if (!strcmp(s->step[i], step)) return true;
  return false;
}

/* Steps of the baseline do not count: each shape has its own. */
static bool is_missing(const tw_schedule *now, size_t baseline, const tw_schedule *recording, size_t step) {
  const char *text = recording->step[step];
  tw_schedule added = {0};
  for (size_t i = baseline; i < now->n; i++) memcpy(added.step[added.n++], now->step[i], sizeof now->step[i]);
  return !has_step(now, text) && count_verb(&added, added.n, text) < count_verb(recording, step + 1, text);
}

static size_t steps_of_baseline(const tw_request *r) {
  const tw_schedule *start = r->lineage[0]->schedule, *now = r->parent->schedule;
  if (!start || now->n < start->n) return 0;
  for (size_t i = 0; i < start->n; i++)
    if (strcmp(start->step[i], now->step[i]) != 0) return 0;
  return start->n;
}

/* Appends the step if the target can emit the longer schedule. */
static bool append(const tw_request *r, tw_schedule *schedule, const char *step) {
  tw_schedule longer = *schedule;
  char *source = NULL;
  const bool legal = tw_schedule_add(&longer, step, NULL) == TW_OK &&
                     tw_target_emit(r->target, r->problem, &longer, &source, NULL) == TW_OK;
  free(source);
  if (legal) *schedule = longer;
  return legal;
}

static bool is_new(const tw_request *r, const tw_schedule *s) { return !r->known || !r->known(r->context, s); }

/* ---- one plan ---- */

static void add_recorded(detail *d, tw_agent_plan *plan, const tw_schedule *schedule, size_t levers) {
  const tw_digest digest = tw_schedule_digest(schedule);
  for (size_t i = 0; i < plan->n_alternatives; i++) {
    const tw_digest have = tw_schedule_digest(&d->schedule[i]);
    if (!memcmp(&have, &digest, sizeof digest)) return;
  }
  d->n_levers[plan->n_alternatives] = levers < TW_LEVERS_MAX ? levers : TW_LEVERS_MAX;
  d->schedule[plan->n_alternatives++] = *schedule;
}

/* The recorded step, then the menu's steps of its verb; the menu is sorted by prediction. */
static void plan_step(const tw_request *r, const char *step, detail *d, tw_agent_plan *plan) {
  tw_schedule next = *r->parent->schedule;
  if (append(r, &next, step) && is_new(r, &next)) add_recorded(d, plan, &next, 1);
  const size_t most = r->kernels < ALTERNATIVES ? r->kernels : ALTERNATIVES;
  tw_menu menu = {0};
  if (tw_target_steps(r->target, r->problem, r->parent->schedule, &menu, NULL) != TW_OK) return;
  for (size_t i = 0; i < menu.n && plan->n_alternatives < most; i++) {
    next = *r->parent->schedule;
    if (has_same_verb(menu.item[i].step, step) && append(r, &next, menu.item[i].step) && is_new(r, &next))
      add_recorded(d, plan, &next, 1);
  }
  tw_menu_free(&menu);
}

/* The menu's step of this verb with the least predicted cost; false if it has none. */
static bool append_like(const tw_request *r, tw_schedule *schedule, const char *step) {
  tw_menu menu = {0};
  bool found = false;
  if (tw_target_steps(r->target, r->problem, schedule, &menu, NULL) != TW_OK) return false;
  for (size_t i = 0; i < menu.n && !found; i++)
    found = has_same_verb(menu.item[i].step, step) && append(r, schedule, menu.item[i].step);
  tw_menu_free(&menu);
  return found;
}

/* All missing steps, as recorded; or, because a size that is legal here may be slow, with the menu's sizes. */
static void plan_rest(const tw_request *r, size_t baseline, const tw_schedule *recording, bool from_menu, detail *d,
                      tw_agent_plan *plan) {
  tw_schedule next = *r->parent->schedule;
  size_t added = 0;
  for (size_t i = 0; i < recording->n; i++) {
    const char *step = recording->step[i];
    if (is_missing(&next, baseline, recording, i))
      added += (from_menu && append_like(r, &next, step)) || append(r, &next, step) || append_like(r, &next, step);
  }
  if (added > 1 && is_new(r, &next)) add_recorded(d, plan, &next, added);
}

static tw_status open_plan(const char *what, const char *step, tw_agent_plan *plan, detail **out, tw_error *error) {
  *plan = (tw_agent_plan){.detail = *out = calloc(1, sizeof **out)};
  snprintf(plan->lever, sizeof plan->lever, "%.*s", (int)verb_length(step), step);
  snprintf(plan->why, sizeof plan->why, "%s", what);
  return *out ? TW_OK : tw_no_memory(error, "a plan of the search");
}

static void close_plan(tw_agent_plan *plan) {
  free(plan->detail);
  plan->detail = NULL;
}

/* Keeps the plan if it has kernels. */
static void add_plan(tw_proposal *out, tw_agent_plan *plan) {
  if (plan->n_alternatives)
    out->n++;
  else
    close_plan(plan);
}

static void plan_one(const recorded *own, const tw_request *r, tw_proposal *out) {
  const size_t baseline = steps_of_baseline(r);
  detail *d;
  *out = (tw_proposal){.plan = out->plan};
  for (size_t k = 0; k < own->n && out->n < r->plans && out->status == TW_OK; k++) {
    tw_agent_plan *plan = &out->plan[out->n];
    out->status = open_plan("the recorded steps together", "recorded steps", plan, &d, &out->error);
    if (out->status != TW_OK) return;
    for (int from_menu = 0; from_menu < 2; from_menu++) plan_rest(r, baseline, &own->recording[k], from_menu, d, plan);
    add_plan(out, plan);
  }
  for (size_t k = 0; k < own->n; k++)
    for (size_t i = 0; i < own->recording[k].n && out->n < r->plans; i++) {
      const char *step = own->recording[k].step[i];
      if (!is_missing(r->parent->schedule, baseline, &own->recording[k], i)) continue;
      tw_agent_plan *plan = &out->plan[out->n];
      out->status = open_plan("a recorded step of an earlier search", step, plan, &d, &out->error);
      if (out->status != TW_OK) return;
      plan_step(r, step, d, plan);
      add_plan(out, plan);
    }
}

/* ---- the agent ---- */

typedef struct work {
  const recorded *own;
  const tw_request *const *request;
  tw_proposal *proposal;
} work;

static void plan_at(void *context, size_t i) {
  const work *w = context;
  plan_one(w->own, w->request[i], &w->proposal[i]);
}

static void plan(tw_agent *agent, size_t n, const tw_request *const request[], tw_proposal proposal[]) {
  work w = {.own = agent->own, .request = request, .proposal = proposal};
  tw_parallel_for(n ? request[0]->jobs : 1, n, plan_at, &w);
}

static void implement(tw_agent *agent, size_t n, const tw_order order[], tw_kernel kernel[]) {
  (void)agent;
  for (size_t i = 0; i < n; i++) {
    const detail *d = order[i].plan->detail;
    const tw_schedule *schedule = &d->schedule[order[i].alternative];
    tw_kernel *k = &kernel[i];
    *k = (tw_kernel){.has_schedule = true, .schedule = *schedule, .n_levers = d->n_levers[order[i].alternative]};
    for (size_t l = 0; l < k->n_levers; l++) {
      const char *step = schedule->step[schedule->n - k->n_levers + l];
      snprintf(k->lever[l], sizeof k->lever[l], "%.*s", (int)verb_length(step), step);
    }
    snprintf(k->why, sizeof k->why, "%s", order[i].plan->why);
    tw_target_emit(order[i].request->target, order[i].request->problem, schedule, &k->source, &k->message);
  }
}

static void close_recorded(tw_agent *agent, tw_text *notes) {
  (void)notes;
  free(agent->own);
}

tw_status tw_recorded_open(size_t n, const tw_schedule recording[], tw_agent **out, tw_error *error) {
  recorded *own = calloc(1, sizeof *own);
  *out = NULL;
  if (!own) return tw_no_memory(error, "an agent");
  own->n = n;
  own->recording = recording;
  own->agent = (tw_agent){.name = "reuse",
                          .needs_schedule = true,
                          .own = own,
                          .plan = plan,
                          .implement = implement,
                          .free_plan = close_plan,
                          .close = close_recorded};
  *out = &own->agent;
  return TW_OK;
}
