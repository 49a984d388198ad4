/* propose.c - plan and implement: collects the agents' proposals for the parents in the beam.
 *
 * Each parent's plans are divided among the agents by their shares. An agent gets all its requests at once. Then it gets
 * its orders for kernels, for a few parents at a time: their kernels are evaluated while the agent makes kernels for the
 * next parents. An agent that asks models gets all orders at once, since it waits and does not compute.
 *
 * Orders come in rounds: as many alternatives of each plan as are wanted, then more of plans some of whose kernels
 * turned out to be known. A kernel is compared with earlier kernels of its parent and agent, and with the candidates
 * before the iteration. So the result depends neither on threads, nor on the time of an answer, nor on how many parents
 * are taken at a time. Candidates are numbered in the order of the beam, then of the agents, plans and alternatives. */
#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/parallel.h"
#include "base/status.h"
#include "search/state.h"

/* The kernels of one plan: all that were made, in the order of alternatives, and the first of them that were taken. */
typedef struct plan_kernels {
  size_t n_ordered, n_taken, n_new;
  tw_candidate **candidate; /* one for each alternative; NULL: no kernel was tried */
  int *repaired;            /* how often each alternative was ordered again, to be repaired */
} plan_kernels;

/* The requests to one agent for one parent. */
typedef struct agent_request {
  tw_request request;
  tw_proposal proposal;
  size_t member, first_plan; /* the agent, and the position of its plans among the parent's plans */
  plan_kernels *kernels;     /* one a plan */
  size_t next;               /* the first plan with missing kernels */
  size_t n_taken;
  tw_candidate **taken; /* the kernels in order; the search evaluates them */
  tw_status status;
  tw_error error;
} agent_request;

/* Candidates around a parent: its lineage from the start to itself, its children, and other children of the lineage. */
typedef struct relatives {
  const tw_candidate **lineage, **child, **relative;
  size_t n_lineage, n_children, n_relatives;
} relatives;

struct tw_round {
  tw_state *state;
  int known_before; /* the number of the first candidate that agents do not know yet */
  tw_stop stop;
  size_t n, n_parents;
  agent_request *requests;
  relatives *relatives; /* one for each place in the beam */
  /* ---- orders in flight ---- */
  size_t n_orders;
  tw_order *order;
  tw_candidate ***place; /* the candidate of each order */
  agent_request **by;
};

static const char NO_MEMORY[] = "no memory for plans and kernels";

/* ---- services of the search for agents ---- */

static bool is_listed(const tw_round *r, const tw_index *index, const tw_digest *key) {
  const int number = tw_index_find(index, key);
  return number != TW_NONE && number < r->known_before;
}

static bool is_known(const void *context, const tw_schedule *schedule) {
  const tw_round *r = context;
  tw_digest digest = tw_schedule_digest(schedule);
  return is_listed(r, &r->state->schedules, &digest);
}

static bool is_known_source(const void *context, const char *source) {
  const tw_round *r = context;
  const tw_digest digest = tw_target_source_digest(r->state->target, source);
  return is_listed(r, &r->state->sources, &digest);
}

static void look_up_experience(const void *context, const char *lever, int *tried, int *paid) {
  const tw_state *s = ((const tw_round *)context)->state;
  *tried = *paid = 0;
  for (size_t i = 0; i < s->n_levers; i++)
    if (!strcmp(s->experience[i].lever, lever)) {
      *tried = s->experience[i].tried;
      *paid = s->experience[i].paid;
    }
}

static const tw_candidate *candidate_at(const void *context, int number) {
  const tw_state *s = ((const tw_round *)context)->state;
  return number >= 0 && (size_t)number < s->n ? s->all[number] : NULL;
}

/* ---- distribution of plans ---- */

static bool can_propose(const tw_state *s, size_t member, const tw_candidate *parent) {
  return !s->is_retired[member] && (parent->schedule || !s->member[member].agent->needs_schedule);
}

/* The next plan goes to the agent with the largest deficit relative to its share of all plans so far; -1 if none can
 * make it. */
static int next_member(tw_state *s, const tw_candidate *parent) {
  int chosen = -1;
  double most = 0;
  for (size_t i = 0; i < s->n_members; i++) {
    const double behind = (s->plans_given[i] + 1) / s->member[i].share;
    if (!can_propose(s, i, parent) || (chosen >= 0 && behind >= most)) continue;
    chosen = (int)i;
    most = behind;
  }
  if (chosen >= 0) s->plans_given[chosen]++;
  return chosen;
}

static bool is_among(const tw_candidate *const *list, size_t n, int number) {
  for (size_t i = 0; i < n; i++)
    if (list[i]->number == number) return true;
  return false;
}

static bool find_relatives(const tw_state *s, const tw_candidate *parent, relatives *f) {
  f->n_lineage = 1;
  for (int up = parent->parent; up != TW_NONE; up = s->all[up]->parent) f->n_lineage++;
  f->lineage = tw_new(f->n_lineage, sizeof *f->lineage);
  f->child = tw_new(s->n, sizeof *f->child);
  f->relative = tw_new(s->n, sizeof *f->relative);
  if (!f->lineage || !f->child || !f->relative) return false;
  size_t i = f->n_lineage;
  f->lineage[--i] = parent;
  for (int up = parent->parent; up != TW_NONE; up = s->all[up]->parent) f->lineage[--i] = s->all[up];
  for (size_t n = 0; n < s->n; n++)
    if (s->all[n]->parent == parent->number)
      f->child[f->n_children++] = s->all[n];
    else if (s->all[n]->parent != TW_NONE && is_among(f->lineage, f->n_lineage, s->all[n]->parent) &&
             !is_among(f->lineage, f->n_lineage, s->all[n]->number))
      f->relative[f->n_relatives++] = s->all[n];
  return true;
}

/* In each iteration, the team for reuse offers the next recorded plan. */
static size_t recorded_before(const tw_state *s) { return (size_t)(s->iteration - s->first_iteration); }

static size_t recorded_plans(const tw_state *s, size_t member) {
  if (!s->is_reuse || !s->member[member].agent->asks_models) return 0;
  return s->recordings->n_plans - recorded_before(s);
}

static tw_request request_of(const tw_round *r, const relatives *f, size_t place, size_t member, size_t plans) {
  const tw_state *s = r->state;
  const tw_search_options *o = &s->options;
  const uint64_t stream = (uint64_t)member << 32 | ((uint64_t)s->iteration * TW_BEAM_MAX + place);
  tw_request request = {
      .target = s->target,
      .problem = &s->problem,
      .bound = &s->bound,
      .parent = s->beam[place],
      .n_lineage = f->n_lineage,
      .lineage = f->lineage,
      .n_relatives = f->n_relatives,
      .relative = f->relative,
      .n_children = f->n_children,
      .child = f->child,
      .n_beam = s->n_beam,
      .beam = (const tw_candidate *const *)s->beam,
      .iteration = s->iteration,
      .iterations = o->iterations,
      .idle = s->idle,
      .plans = plans,
      .kernels = (size_t)o->kernels,
      .n_recorded = recorded_plans(s, member),
      .recorded = recorded_plans(s, member) ? (const char *const *)s->recordings->plan + recorded_before(s) : NULL,
      .dropout = o->dropout,
      .without = o->without,
      .place = stream << TW_PLACE_BITS,
      .jobs = tw_state_planners(s),
      .stop = &r->stop,
      .memo = &s->memo,
      .translates = tw_translates(s, member) && s->beam[place]->complete < 100,
      .known = is_known,
      .known_source = is_known_source,
      .experience = look_up_experience,
      .candidate = candidate_at,
      .context = r,
  };
  tw_random_seed_stream(&request.random, o->seed, stream);
  return request;
}

/* Each plan of a model is a paid question. So at most as many plans are made as samples are left for their kernels. */
static int most_plans(const tw_state *s) {
  const tw_search_options *o = &s->options;
  if (o->samples == 0 || !s->member[0].agent->asks_models) return INT_MAX;
  return (o->samples - s->samples + o->kernels - 1) / o->kernels;
}

/* If plans cost money, a parent that is far from the best gets only one plan. An example is the start after some
 * iterations. It may lead elsewhere, but its children have more to catch up with. */
static int plans_wanted(const tw_state *s, const tw_candidate *parent) {
  return s->member[0].agent->asks_models && !tw_translates(s, 0) && tw_is_far_from_best(s, parent) ? 1
                                                                                                   : s->options.plans;
}

/* Divides the plans of the beam; false without memory. */
static bool divide_plans(tw_round *r) {
  tw_state *s = r->state;
  int left = most_plans(s);
  r->n_parents = s->n_beam;
  r->relatives = tw_new(s->n_beam, sizeof *r->relatives);
  r->requests = tw_new(s->n_beam * s->n_members, sizeof *r->requests);
  size_t *plans = tw_new(s->n_members, sizeof *plans);
  bool done = r->relatives && r->requests && plans;
  for (size_t place = 0; done && place < s->n_beam; place++) {
    done = find_relatives(s, s->beam[place], &r->relatives[place]);
    memset(plans, 0, s->n_members * sizeof *plans);
    const int wanted = plans_wanted(s, s->beam[place]);
    for (int i = 0, member; i < wanted && left > 0 && (member = next_member(s, s->beam[place])) >= 0; i++, left--)
      plans[member]++;
    size_t first_plan = 0;
    for (size_t m = 0; done && m < s->n_members; m++) {
      if (plans[m] == 0) continue;
      agent_request *a = &r->requests[r->n++];
      a->request = request_of(r, &r->relatives[place], place, m, plans[m]);
      a->member = m;
      a->first_plan = first_plan;
      a->proposal.plan = tw_new(plans[m], sizeof *a->proposal.plan);
      done = a->proposal.plan != NULL;
      first_plan += plans[m];
    }
  }
  free(plans);
  return done;
}

/* ---- plans ---- */

static void plan_with(void *context, size_t member) {
  tw_round *r = context;
  tw_agent *agent = r->state->member[member].agent;
  const tw_request **request = tw_new(r->n + 1, sizeof *request);
  tw_proposal *proposal = tw_new(r->n + 1, sizeof *proposal);
  size_t n = 0;
  for (size_t i = 0; request && proposal && i < r->n; i++) {
    if (r->requests[i].member != member) continue;
    request[n] = &r->requests[i].request;
    proposal[n++] = r->requests[i].proposal;
  }
  if (n) agent->plan(agent, n, request, proposal);
  for (size_t i = 0, taken = 0; i < r->n; i++) {
    if (r->requests[i].member != member) continue;
    agent_request *a = &r->requests[i];
    if (n)
      a->proposal = proposal[taken++];
    else
      a->proposal.status = tw_fail(&a->proposal.error, TW_NO_MEMORY, "%s", NO_MEMORY);
    a->status = a->proposal.status;
    a->error = a->proposal.error;
    a->kernels = tw_new(a->proposal.n + 1, sizeof *a->kernels);
    if (!a->kernels) a->status = tw_fail(&a->error, TW_NO_MEMORY, "%s", NO_MEMORY);
  }
  free(request);
  free(proposal);
}

/* ---- kernels ---- */

/* The orders of one agent, their kernels, and the candidates made from them. */
typedef struct answers {
  const char *agent;
  size_t n;
  tw_order *order;
  agent_request **by;
  tw_kernel *kernel;
  tw_candidate **candidate; /* NULL: no kernel was tried; the kernel's message gives the reason */
} answers;

static bool was_tried(const tw_kernel *kernel) {
  const tw_status why = kernel->message.status;
  return kernel->source || (tw_status_group(why) != TW_MISSING && why != TW_INTERRUPTED);
}

/* Makes the i-th kernel a candidate. Runs on any thread, because digests of long sources take time. */
static void make_candidate(void *context, size_t i) {
  const answers *all = context;
  const agent_request *a = all->by[i];
  const tw_order *order = &all->order[i];
  tw_kernel *kernel = &all->kernel[i];
  if (!was_tried(kernel)) return;
  tw_candidate *c = tw_candidate_new();
  if (!c ||
      !tw_candidate_set_kernel(c, a->request.target, kernel->has_schedule ? &kernel->schedule : NULL, kernel->source)) {
    if (!c) free(kernel->source);
    free(kernel->reply);
    tw_candidate_free(c);
    tw_no_memory(&kernel->message, "another candidate");
    return;
  }
  c->agent = all->agent;
  c->iteration = a->request.iteration;
  c->parent = a->request.parent->number;
  c->limit = a->request.parent->measured.cost * (a->request.translates ? TW_TRANSLATION_SLOWER : 1);
  c->complete = a->request.translates ? kernel->complete : a->request.parent->complete;
  c->plan = (int)(a->first_plan + (size_t)(order->plan - a->proposal.plan));
  c->repairs = order->failed ? order->failed->number : TW_NONE;
  c->exchange = kernel->exchange;
  c->n_levers = kernel->n_levers;
  memcpy(c->lever, kernel->lever, sizeof c->lever);
  memcpy(c->step, kernel->step, sizeof c->step);
  memcpy(c->why, kernel->why, sizeof c->why);
  if (!kernel->source) {
    c->verdict = kernel->has_schedule ? TW_ILLEGAL : TW_NO_KERNEL;
    c->message = strdup(kernel->message.text);
    c->reply = kernel->reply;
  }
  all->candidate[i] = c;
}

static void add_order(tw_round *r, agent_request *a, size_t plan, size_t alternative, const tw_candidate *failed,
                      int repaired, tw_candidate **place) {
  r->order[r->n_orders] = (tw_order){&a->request, &a->proposal.plan[plan], alternative, failed, repaired};
  r->place[r->n_orders] = place;
  r->by[r->n_orders++] = a;
}

static bool make_room(tw_round *r, size_t n) {
  tw_order *order = tw_resize(r->order, n + 1, sizeof *order);
  if (order) r->order = order;
  tw_candidate ***place = tw_resize(r->place, n + 1, sizeof *place);
  if (place) r->place = place;
  agent_request **by = tw_resize(r->by, n + 1, sizeof(agent_request *));
  if (by) r->by = by;
  return order && place && by;
}

/* Executes all orders of one agent. */
static void implement_with(void *context, size_t member) {
  tw_round *r = context;
  tw_agent *agent = r->state->member[member].agent;
  size_t n = 0;
  for (size_t i = 0; i < r->n_orders; i++) n += r->by[i]->member == member;
  if (n == 0) return;
  answers all = {.agent = agent->name,
                 .order = tw_new(n, sizeof *all.order),
                 .by = tw_new(n, sizeof *all.by),
                 .kernel = tw_new(n, sizeof *all.kernel),
                 .candidate = tw_new(n, sizeof *all.candidate)};
  const bool has_room = all.order && all.by && all.kernel && all.candidate;
  for (size_t i = 0; has_room && i < r->n_orders; i++) {
    if (r->by[i]->member != member) continue;
    all.order[all.n] = r->order[i];
    all.by[all.n++] = r->by[i];
  }
  if (has_room) agent->implement(agent, n, all.order, all.kernel);
  if (has_room) tw_parallel_for(tw_state_planners(r->state), n, make_candidate, &all);
  for (size_t i = 0, k = 0; i < r->n_orders; i++) {
    agent_request *a = r->by[i];
    if (a->member != member) continue;
    *r->place[i] = has_room ? all.candidate[k] : NULL;
    if (!has_room)
      a->status = tw_fail(&a->error, TW_NO_MEMORY, "%s", NO_MEMORY);
    else if (!all.candidate[k])
      a->status = (a->error = all.kernel[k].message).status;
    k++;
  }
  free(all.order);
  free(all.by);
  free(all.kernel);
  free(all.candidate);
}

static void implement_all(tw_round *r) {
  const size_t members = r->state->n_members;
  if (r->n_orders) tw_parallel_for((int)members, members, implement_with, r);
}

/* Is the kernel new in the search before this round, and among the kernels for this request? */
static bool is_new(const tw_round *r, const agent_request *a, const tw_candidate *c) {
  if (!c->source || is_listed(r, &r->state->sources, &c->source_digest)) return false;
  for (size_t i = 0; i < a->n_taken; i++)
    if (a->taken[i]->source && !memcmp(&a->taken[i]->source_digest, &c->source_digest, sizeof(tw_digest))) return false;
  return true;
}

/* The number of kernels that the plan lacks, as far as its answers that were not taken yet tell. */
static size_t missing(const tw_round *r, const agent_request *a, const plan_kernels *d) {
  size_t have = d->n_new;
  for (size_t k = d->n_taken; k < d->n_ordered; k++) have += d->candidate[k] && is_new(r, a, d->candidate[k]);
  return have < a->request.kernels ? a->request.kernels - have : 0;
}

static size_t most_alternatives(const tw_round *r, const agent_request *a, const plan_kernels *d,
                                const tw_agent_plan *plan) {
  const size_t wanted = d->n_ordered + missing(r, a, d);
  return wanted < plan->n_alternatives ? wanted : plan->n_alternatives;
}

/* Orders the remaining kernels of the plan; false without memory. */
static bool order_more(tw_round *r, agent_request *a, size_t plan) {
  plan_kernels *d = &a->kernels[plan];
  const size_t first = d->n_ordered, most = most_alternatives(r, a, d, &a->proposal.plan[plan]);
  if (!d->candidate) {
    const size_t room = a->proposal.plan[plan].n_alternatives + 1;
    d->candidate = tw_new(room, sizeof(tw_candidate *));
    d->repaired = tw_new(room, sizeof *d->repaired);
  }
  if (!d->candidate || !d->repaired || !make_room(r, r->n_orders + most - first)) return false;
  for (; d->n_ordered < most; d->n_ordered++) add_order(r, a, plan, d->n_ordered, NULL, 0, &d->candidate[d->n_ordered]);
  return true;
}

/* Takes kernels in their order until a plan lacks some; false without memory. */
static bool take_answers(const tw_round *r, agent_request *a) {
  size_t room = a->n_taken;
  for (size_t i = 0; i < a->proposal.n; i++) room += a->kernels[i].n_ordered - a->kernels[i].n_taken;
  tw_candidate **taken = tw_resize(a->taken, room + 1, sizeof(tw_candidate *));
  if (!taken) return false;
  a->taken = taken;
  for (; a->next < a->proposal.n; a->next++) {
    plan_kernels *d = &a->kernels[a->next];
    while (d->n_new < a->request.kernels && d->n_taken < d->n_ordered) {
      tw_candidate *c = d->candidate[d->n_taken++];
      if (!c) continue;
      d->n_new += is_new(r, a, c);
      a->taken[a->n_taken++] = c;
    }
    if (d->n_new < a->request.kernels && d->n_ordered < a->proposal.plan[a->next].n_alternatives) return true;
  }
  return true;
}

static bool is_open(const agent_request *a) { return a->status == TW_OK && a->next < a->proposal.n; }

/* The kernels for the requests from..to-1. Where answers cost nothing, all plans that seem to lack kernels get
 * orders at once, so that all threads have work; kernels beyond the wanted ones are freed. */
static void make_kernels(tw_round *r, size_t from, size_t to) {
  const bool one_by_one = r->state->member[0].agent->asks_models; /* all agents of a team, or none */
  for (bool first = true;; first = false) {
    r->n_orders = 0;
    for (size_t i = from; i < to; i++) {
      agent_request *a = &r->requests[i];
      bool done = true;
      if (!is_open(a)) continue;
      for (size_t plan = a->next; done && plan < (first || !one_by_one ? a->proposal.n : a->next + 1); plan++)
        done = order_more(r, a, plan);
      if (!done) a->status = tw_fail(&a->error, TW_NO_MEMORY, "%s", NO_MEMORY);
    }
    if (r->n_orders == 0) return;
    implement_all(r);
    for (size_t i = from; i < to; i++) {
      agent_request *a = &r->requests[i];
      if (!take_answers(r, a)) a->status = tw_fail(&a->error, TW_NO_MEMORY, "%s", NO_MEMORY);
    }
  }
}

/* The end of the next slice of requests, whose kernels are made together. A slice is large enough for all threads,
 * and small, so that its first kernels are evaluated soon. */
static size_t end_of_slice(const tw_round *r, size_t from) {
  if (r->state->member[0].agent->asks_models) return r->n; /* all agents of a team, or none */
  const size_t wanted = TW_ORDERS_PER_THREAD * (size_t)tw_state_planners(r->state);
  size_t to = from;
  for (size_t orders = 0; to < r->n && orders < wanted; to++)
    orders += r->requests[to].proposal.n * r->requests[to].request.kernels;
  return to;
}

/* ---- into the search ---- */

/* Evaluates errors of an agent. An agent that has stopped gets no more requests. A failure for one parent becomes a
 * note. */
static void record_failure(tw_state *s, const agent_request *a) {
  const tw_agent *agent = s->member[a->member].agent;
  if (a->status == TW_OK || a->status == TW_INTERRUPTED || s->is_retired[a->member]) return;
  s->is_retired[a->member] = tw_status_group(a->status) == TW_MISSING;
  if (s->is_retired[a->member])
    tw_state_note(s, "%s proposes no more kernels: %s", agent->name, a->error.text);
  else
    tw_state_note(s, "no plans after candidate %d: %s", a->request.parent->number, a->error.text);
}

/* Numbers the kernels for a request and hands them to the evaluator. */
static tw_status gather(tw_round *r, agent_request *a, tw_error *error) {
  tw_state *s = r->state;
  const size_t first = s->n;
  tw_status status = TW_OK;
  size_t kept = 0;
  for (size_t i = 0; i < a->n_taken; i++) {
    if (status != TW_OK)
      tw_candidate_free(a->taken[i]);
    else if ((status = tw_state_add(s, a->taken[i], error)) == TW_OK)
      a->taken[kept++] = a->taken[i];
  }
  a->n_taken = kept;
  record_failure(s, a);
  tw_state_hand_over(s, first);
  return status;
}

/* Leaves the kernels for a request to tw_round_free. */
static void drop(agent_request *a) {
  for (size_t plan = 0; plan < a->proposal.n && a->kernels; plan++) a->kernels[plan].n_taken = 0;
  a->n_taken = 0;
}

static bool is_failure(const agent_request *a) {
  return a->status != TW_OK && tw_status_group(a->status) != TW_MISSING && a->status != TW_INTERRUPTED;
}

/* Number of kernels for the requests from number `from` on. */
static int still_to_make(const tw_round *r, size_t from) {
  size_t n = 0;
  for (size_t i = from; i < r->n; i++) n += r->requests[i].proposal.n * r->requests[i].request.kernels;
  return (int)n;
}

/* Makes the kernels and starts their evaluation, until the samples suffice. Fails only if every request failed. */
static tw_status make_all(tw_round *r, tw_error *error) {
  tw_state *s = r->state;
  tw_status status = TW_OK;
  const agent_request *failed = NULL;
  size_t n_failed = 0, n = 0;
  s->to_propose = still_to_make(r, 0);
  for (size_t from = 0, to; status == TW_OK && from < r->n; from = to) {
    to = end_of_slice(r, from);
    make_kernels(r, from, to);
    tw_journal_together(s->journal, true);
    for (size_t i = from; i < to; i++) {
      agent_request *a = &r->requests[i];
      const bool is_wanted =
          status == TW_OK && (i == 0 || s->member[a->member].agent->asks_models || !tw_state_is_full(s, 0));
      if (!is_wanted) {
        drop(a);
        continue;
      }
      status = gather(r, a, error);
      n++;
      if (is_failure(a)) {
        failed = a;
        n_failed++;
      }
    }
    tw_journal_together(s->journal, false);
    s->to_propose = still_to_make(r, to);
    tw_state_poll(s);
    if (to < r->n && (tw_state_is_stopped(s) || tw_state_is_full(s, 0))) break;
  }
  s->to_propose = 0;
  if (status == TW_OK && n_failed > 0 && n_failed == n) return tw_fail(error, failed->status, "%s", failed->error.text);
  return status;
}

void tw_round_free(tw_round *r) {
  if (!r) return;
  for (size_t i = 0; i < r->n; i++) {
    agent_request *a = &r->requests[i];
    tw_agent *agent = r->state->member[a->member].agent;
    for (size_t plan = 0; a->proposal.plan && plan < a->proposal.n; plan++) {
      plan_kernels *d = a->kernels ? &a->kernels[plan] : NULL;
      for (size_t k = d ? d->n_taken : 0; d && k < d->n_ordered; k++) tw_candidate_free(d->candidate[k]);
      if (d) free(d->candidate);
      if (d) free(d->repaired);
      agent->free_plan(&a->proposal.plan[plan]);
    }
    free(a->proposal.plan);
    free(a->kernels);
    free(a->taken);
  }
  for (size_t i = 0; r->relatives && i < r->n_parents; i++) {
    free(r->relatives[i].lineage);
    free(r->relatives[i].child);
    free(r->relatives[i].relative);
  }
  free(r->relatives);
  free(r->requests);
  free(r->order);
  free(r->place);
  free(r->by);
  free(r);
}

tw_status tw_propose(tw_state *s, tw_round **out, tw_error *error) {
  tw_round *r = *out = tw_new(1, sizeof *r);
  if (!r) return tw_fail(error, TW_NO_MEMORY, "%s", NO_MEMORY);
  r->state = s;
  r->known_before = (int)s->n;
  r->stop = (tw_stop){.deadline = isfinite(s->deadline) ? s->deadline : 0, .interrupt = s->options.interrupt};
  if (!divide_plans(r)) return tw_fail(error, TW_NO_MEMORY, "%s", NO_MEMORY);
  tw_parallel_for((int)s->n_members, s->n_members, plan_with, r);
  return make_all(r, error);
}

/* Can the candidate's author repair it? A request without an answer cannot be repaired. A repair that repeats
 * another failed kernel has failed, too. */
static bool is_repairable(const tw_state *s, const tw_candidate *c) {
  const tw_candidate *tried = c->repairs == TW_NONE ? c : tw_state_evaluated(s, c);
  return (c->source || c->reply) && tw_verdict_is_failure(tried->verdict);
}

/* Orders repairable kernels again, with their errors. */
static bool order_repairs(tw_round *r, agent_request *a) {
  const tw_state *s = r->state;
  const int most = s->member[a->member].agent->max_repairs;
  if (a->status != TW_OK || s->is_retired[a->member]) return true;
  for (size_t plan = 0; plan < a->proposal.n; plan++) {
    plan_kernels *d = &a->kernels[plan];
    for (size_t k = 0; k < d->n_taken; k++) {
      const tw_candidate *c = d->candidate[k];
      if (!c || d->repaired[k] >= most || !is_repairable(s, c)) continue;
      if (!make_room(r, r->n_orders + 1)) return false;
      d->repaired[k]++;
      add_order(r, a, plan, k, c, d->repaired[k], &d->candidate[k]);
    }
  }
  return true;
}

tw_status tw_repair(tw_round *r, tw_error *error) {
  tw_status status = TW_OK;
  r->known_before = (int)r->state->n;
  r->n_orders = 0;
  for (size_t i = 0; i < r->n && !tw_state_is_stopped(r->state); i++)
    if (!order_repairs(r, &r->requests[i])) return tw_fail(error, TW_NO_MEMORY, "%s", NO_MEMORY);
  implement_all(r);
  for (size_t i = 0; i < r->n_orders; i++) {
    tw_candidate **made = r->place[i];
    if (*made && status == TW_OK) {
      if ((status = tw_state_add(r->state, *made, error)) != TW_OK) *made = NULL;
    } else if (*made) {
      tw_candidate_free(*made);
      *made = NULL;
    }
    record_failure(r->state, r->by[i]);
  }
  return status;
}
