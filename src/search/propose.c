/* propose.c - plan and implement: what the agent proposes for each parent in the beam.
 *
 * Parents are handled in parallel, each with a random stream of its own, from (seed, iteration, place in the beam);
 * nobody sees another parent's new kernels until all are done, and they are numbered in the order of the beam: the
 * outcome does not depend on the threads. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/parallel.h"
#include "search/state.h"

/* What comes of one parent. */
typedef struct proposal {
  tw_state *state;
  tw_candidate *parent;
  size_t place, n;
  tw_candidate **made;
  tw_status status;
  tw_error error;
} proposal;

static bool is_known(const void *context, const tw_schedule *schedule) {
  const tw_state *s = context;
  tw_digest digest = tw_schedule_digest(schedule);
  return tw_index_find(&s->schedules, &digest) != TW_NONE;
}

static void look_up_experience(const void *context, const char *lever, int *tried, int *paid) {
  const tw_state *s = context;
  *tried = *paid = 0;
  for (size_t i = 0; i < s->n_levers; i++)
    if (!strcmp(s->experience[i].lever, lever)) {
      *tried = s->experience[i].tried;
      *paid = s->experience[i].paid;
    }
}

static tw_status keep(proposal *p, const tw_kernel *kernel, size_t plan) {
  tw_candidate *c = tw_candidate_new();
  tw_candidate **made = c ? tw_resize(p->made, p->n + 1, sizeof(tw_candidate *)) : NULL;
  if (!made) {
    free(c);
    free(kernel->source);
    return tw_fail(&p->error, TW_MISSING, "no memory for another candidate");
  }
  p->made = made;
  p->made[p->n++] = c;
  c->iteration = p->state->iteration;
  c->parent = p->parent->number;
  c->limit = p->parent->measured.cost;
  c->plan = (int)plan;
  c->n_levers = kernel->n_levers;
  memcpy(c->lever, kernel->lever, sizeof c->lever);
  memcpy(c->why, kernel->why, sizeof c->why);
  tw_candidate_set_kernel(c, &kernel->schedule, kernel->source);
  if (!kernel->source) {
    c->verdict = TW_ILLEGAL;
    c->message = strdup(kernel->message.text);
  }
  return TW_OK;
}

/* Nobody made this kernel before: not in the search, not for this parent. */
static bool is_new(const proposal *p, const tw_candidate *c) {
  if (!c->source || tw_index_find(&p->state->sources, &c->source_digest) != TW_NONE) return false;
  for (size_t i = 0; i < p->n; i++)
    if (p->made[i] != c && p->made[i]->source &&
        !memcmp(&p->made[i]->source_digest, &c->source_digest, sizeof(tw_digest)))
      return false;
  return true;
}

/* Kernels of one plan, the most promising alternatives first, until K of them are new. */
static tw_status implement(proposal *p, const tw_request *request, const tw_plan *plan, size_t plan_number) {
  const tw_agent *agent = p->state->agent;
  size_t new = 0;
  for (size_t i = 0; i < plan->n_alternatives && new < request->kernels; i++) {
    tw_kernel kernel;
    tw_status status = agent->implement(agent, request, plan, i, &kernel, &p->error);
    if (status == TW_OK) status = keep(p, &kernel, plan_number);
    if (status != TW_OK) return status;
    new += is_new(p, p->made[p->n - 1]);
  }
  return TW_OK;
}

static void propose_one(void *context, size_t index) {
  proposal *p = (proposal *)context + index;
  tw_state *s = p->state;
  const tw_search_options *o = &s->options;
  const tw_request request = {
      .target = s->target,
      .problem = &s->problem,
      .parent = p->parent,
      .iteration = s->iteration,
      .iterations = o->iterations,
      .idle = s->idle,
      .plans = (size_t)o->plans,
      .kernels = (size_t)o->kernels,
      .dropout = o->dropout,
      .known = is_known,
      .experience = look_up_experience,
      .context = s,
  };
  tw_random random;
  tw_random_seed_stream(&random, o->seed, (uint64_t)s->iteration * TW_BEAM_MAX + p->place);
  tw_plan *plan = tw_new(request.plans, sizeof *plan);
  size_t n = 0;
  p->status = plan ? s->agent->plan(s->agent, &request, &random, plan, &n, &p->error)
                   : tw_fail(&p->error, TW_MISSING, "no memory for plans");
  for (size_t i = 0; i < n; i++) {
    if (p->status == TW_OK) p->status = implement(p, &request, &plan[i], i);
    s->agent->free_plan(&plan[i]);
  }
  free(plan);
}

/* Numbers the kernels of all parents. What one parent failed at is a note, unless all failed. */
static tw_status gather(tw_state *s, proposal *p, size_t n, tw_error *error) {
  tw_status status = TW_OK;
  size_t failed = 0;
  for (size_t i = 0; i < n; i++) {
    failed += p[i].status != TW_OK;
    for (size_t j = 0; j < p[i].n; j++) {
      if (status == TW_OK)
        status = tw_state_add(s, p[i].made[j], error);
      else
        tw_candidate_free(p[i].made[j]);
    }
    if (p[i].status != TW_OK) tw_state_note(s, "no plans after candidate %d: %s", p[i].parent->number, p[i].error.text);
    free(p[i].made);
  }
  if (status == TW_OK && failed == n) return tw_fail(error, p[0].status, "%s", p[0].error.text);
  return status;
}

tw_status tw_propose(tw_state *s, tw_error *error) {
  proposal *p = tw_new(s->n_beam, sizeof *p);
  if (!p) return tw_fail(error, TW_MISSING, "no memory for plans");
  for (size_t i = 0; i < s->n_beam; i++) {
    p[i].state = s;
    p[i].parent = s->beam[i];
    p[i].place = i;
  }
  tw_parallel_for(s->options.jobs, s->n_beam, propose_one, p);
  tw_status status = gather(s, p, s->n_beam, error);
  free(p);
  return status;
}
