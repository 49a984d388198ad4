/* rewrites.c - the agent that rewrites a user's program. It applies the rewrites that the target's model expects to
 * gain, the best first. A candidate's lineage lists the rewrites that led to it. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "agent/agent.h"

typedef struct rewriter {
  const tw_target *target;
  const tw_program *program;
  int menu_of; /* the parent that `menu` is for; TW_NONE: none yet */
  tw_menu menu;
} rewriter;

/* The rewrites that are not tried yet, in the menu's order. */
typedef struct detail {
  size_t n;
  tw_menu_item item[];
} detail;

static tw_status done_so_far(const tw_request *r, tw_schedule *out, tw_error *error) {
  tw_status status = TW_OK;
  *out = (tw_schedule){0};
  for (size_t i = 0; status == TW_OK && i < r->n_lineage; i++)
    if (r->lineage[i]->step[0]) status = tw_schedule_add(out, r->lineage[i]->step, error);
  return status;
}

static bool was_tried(const tw_request *r, const char *step) {
  for (size_t i = 0; i < r->n_children; i++)
    if (!strcmp(r->child[i]->step, step)) return true;
  return false;
}

static tw_status plan_one(rewriter *w, const tw_request *r, tw_proposal *out, tw_error *error) {
  tw_schedule done;
  tw_status status = done_so_far(r, &done, error);
  if (status == TW_OK && w->menu_of != r->parent->number) {
    tw_menu_free(&w->menu);
    w->menu_of = TW_NONE;
    status = w->target->rewriter->rewrites(w->program, &done, &w->menu, error);
    if (status == TW_OK) w->menu_of = r->parent->number;
  }
  if (status != TW_OK) return status;
  detail *d = calloc(1, sizeof *d + w->menu.n * sizeof d->item[0]);
  if (!d) return tw_fail(error, TW_NO_MEMORY, "no memory for the rewrites of the program");
  for (size_t i = 0; i < w->menu.n; i++)
    if (!was_tried(r, w->menu.item[i].step)) d->item[d->n++] = w->menu.item[i];
  if (d->n == 0) {
    free(d);
    return TW_OK;
  }
  tw_agent_plan *plan = &out->plan[out->n++];
  *plan = (tw_agent_plan){.n_alternatives = d->n, .detail = d};
  memcpy(plan->lever, d->item[0].lever, sizeof plan->lever);
  snprintf(plan->why, sizeof plan->why, "%s", d->item[0].why);
  return TW_OK;
}

static void plan(tw_agent *agent, size_t n, const tw_request *const request[], tw_proposal proposal[]) {
  for (size_t i = 0; i < n; i++)
    proposal[i].status = plan_one(agent->own, request[i], &proposal[i], &proposal[i].error);
}

static void implement_one(const rewriter *w, const tw_order *order, tw_kernel *out) {
  const tw_menu_item *item = &((const detail *)order->plan->detail)->item[order->alternative];
  tw_schedule longer;
  *out = (tw_kernel){.n_levers = 1};
  memcpy(out->lever[0], item->lever, sizeof out->lever[0]);
  memcpy(out->step, item->step, sizeof out->step);
  snprintf(out->why, sizeof out->why, "%s", item->why);
  if (done_so_far(order->request, &longer, &out->message) == TW_OK &&
      tw_schedule_add(&longer, item->step, &out->message) == TW_OK)
    w->target->rewriter->rewrite(w->program, &longer, &out->source, &out->message);
}

static void implement(tw_agent *agent, size_t n, const tw_order order[], tw_kernel kernel[]) {
  for (size_t i = 0; i < n; i++) implement_one(agent->own, &order[i], &kernel[i]);
}

static void free_plan(tw_agent_plan *p) {
  free(p->detail);
  p->detail = NULL;
}

static void close_rewrites(tw_agent *agent, tw_text *notes) {
  (void)notes;
  tw_menu_free(&((rewriter *)agent->own)->menu);
  free(agent->own);
  free(agent);
}

tw_status tw_rewrites_open(const tw_target *t, const tw_program *program, tw_agent **out, tw_error *error) {
  tw_agent *agent = tw_new(1, sizeof *agent);
  rewriter *w = tw_new(1, sizeof *w);
  if (!agent || !w) {
    free(agent);
    free(w);
    return tw_fail(error, TW_NO_MEMORY, "no memory for an agent");
  }
  *w = (rewriter){.target = t, .program = program, .menu_of = TW_NONE};
  *agent = (tw_agent){.name = "rewrites",
                      .own = w,
                      .plan = plan,
                      .implement = implement,
                      .free_plan = free_plan,
                      .close = close_rewrites};
  *out = agent;
  return TW_OK;
}
