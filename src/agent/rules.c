/* rules.c - the built-in agent: plans from the target's menu, guided by the target's analytic model.
 *
 * Method: the planning phase of Autocomp (C. Hong et al., sections 3.2 and 3.4), with rules instead of a language
 * model. A plan uses one lever of the menu. Each lever is hidden from the plan with the probability `dropout`. The
 * alternatives of a plan are the parameters of its lever, best predicted first.
 *
 * The model is a guide, not a judge: it is incomplete. The first plan of a parent uses the visible lever with the
 * largest weight. Further plans draw a lever by weight. The weight of a lever is
 *     1 / its rank by predicted cost       so that levers that the model considers neutral, or bad, are tried, too
 *   x the share of its kernels that beat their parent in this search (Laplace's rule of succession)
 *   / (1 + its options that were tried from this parent)        so that all are tried before one is tried to the end.
 * When nothing has beaten its parent for an iteration, the rank counts less, and more of the menu is hidden.
 *
 * Some levers gain only in combination: a larger tile gains once its loads overlap with the computation. So a plan may
 * have several steps. While the model predicts a gain, the plan appends the best visible step of another lever. Its
 * largest number of steps is drawn at random. The menu of each intermediate schedule is the target's own, so every
 * chain is legal step by step.
 *
 * The agent `random` is the comparison: each plan is one step of the menu, and all untried steps are equally
 * probable. */
#include "agent/agent.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/parallel.h"
#include "base/strings.h"

enum {
  SPARE_ALTERNATIVES = 8,       /* options beyond K, for kernels that repeat an earlier one */
  GREEDY_DEPTH = TW_LEVERS_MAX, /* steps of a parent's first plan, which follows the model's best predictions */
};
/* Depths of the other plans, drawn with equal probability: half of them are the single step of the paper. */
static const size_t DEPTHS[] = {1, 1, 2, 4};
/* Predictions closer than this have the same rank. */
static const double SAME = 0.0005;
/* A chain continues while its next step promises at least this gain. */
static const double LEAST_GAIN = 0.002;

typedef struct option {
  const tw_menu_item *item;
  double cost;  /* predicted cost; if the model has no prediction, the parent's cost, which is neutral */
  uint64_t tie; /* random: the order of equal predictions */
  bool tried;   /* this schedule was proposed before */
} option;

/* A lever of the menu: its untried options, best predicted first. */
typedef struct lever {
  size_t n, tried;
  const option *option;
  bool planned; /* by an earlier plan for this parent */
  size_t used;  /* options that earlier plans used */
  double weight;
} lever;

typedef struct levers {
  size_t n, n_options;
  lever *lever;
  option *option;
  tw_menu menu;
} levers;

typedef struct detail {
  size_t depth;       /* most steps of the chain, the first included */
  uint64_t seed;      /* levers that are hidden from the rest of the chain */
  double parent_cost; /* predicted cost of the parent */
  double dropout;
  tw_menu_item item[]; /* the alternatives of the first step */
} detail;

static double known_or(double predicted, double fallback) {
  return isfinite(predicted) && predicted > 0 ? predicted : fallback;
}

static bool has_model(const tw_request *r) { return !(r->without & TW_WITHOUT_MODEL); }
/* Iterations without a gain are part of the feedback. */
static int idle_of(const tw_request *r) { return r->without & TW_WITHOUT_FEEDBACK ? 0 : r->idle; }

static double predict_parent(const tw_request *r) {
  double cost;
  if (!has_model(r)) return r->parent->measured.cost;
  bool predicted = tw_target_predict(r->target, r->problem, r->parent->schedule, &cost, NULL) == TW_OK;
  return known_or(predicted ? cost : 0, r->parent->measured.cost);
}

/* ---- the menu by levers ---- */

static int compare_options(const void *a, const void *b) {
  const option *x = a, *y = b;
  int by_lever = strcmp(x->item->lever, y->item->lever);
  if (by_lever) return by_lever;
  if (x->tried != y->tried) return x->tried - y->tried;
  if (x->cost != y->cost) return x->cost < y->cost ? -1 : 1;
  return (x->tie > y->tie) - (x->tie < y->tie);
}

static void free_levers(levers *l) {
  tw_menu_free(&l->menu);
  free(l->lever);
  free(l->option);
}

static bool is_new(const tw_request *r, const tw_schedule *schedule, const char *step) {
  tw_schedule next = *schedule;
  if (tw_schedule_add(&next, step, NULL) != TW_OK) return false; /* the schedule is full */
  return !r->known || !r->known(r->context, &next);
}

static void drop_exhausted(levers *l) {
  size_t kept = 0;
  for (size_t i = 0; i < l->n; i++)
    if (l->lever[i].n > 0) l->lever[kept++] = l->lever[i];
  l->n = kept;
}

/* The untried steps after the parent's schedule. On failure nothing is left to free. */
static tw_status list_levers(const tw_request *r, double parent_cost, tw_random *random, levers *out, tw_error *error) {
  levers l = {0};
  tw_status status = tw_target_steps(r->target, r->problem, r->parent->schedule, &l.menu, error);
  if (status != TW_OK) return status;
  l.option = tw_new(l.menu.n + 1, sizeof *l.option);
  l.lever = tw_new(l.menu.n + 1, sizeof *l.lever);
  if (!l.option || !l.lever) {
    free_levers(&l);
    return tw_fail(error, TW_NO_MEMORY, "no memory for the menu of the next steps");
  }
  for (size_t i = 0; i < l.menu.n; i++) {
    const tw_menu_item *item = &l.menu.item[i];
    l.option[l.n_options++] = (option){
        .item = item,
        .cost = known_or(has_model(r) ? item->predicted_cost : 0, parent_cost),
        .tie = tw_random_next(random),
        .tried = !is_new(r, r->parent->schedule, item->step),
    };
  }
  qsort(l.option, l.n_options, sizeof *l.option, compare_options);
  for (size_t i = 0; i < l.n_options; i++) {
    if (i == 0 || strcmp(l.option[i].item->lever, l.option[i - 1].item->lever) != 0)
      l.lever[l.n++].option = &l.option[i];
    l.lever[l.n - 1].n += !l.option[i].tried;
    l.lever[l.n - 1].tried += l.option[i].tried;
  }
  drop_exhausted(&l);
  *out = l;
  return TW_OK;
}

/* ---- one plan: which lever ---- */

/* The probability that a lever is hidden: each idle iteration halves the visible part. */
static double hiding(const tw_request *r) { return 1 - ldexp(1 - r->dropout, -idle_of(r)); }

/* Levers with untried options that no earlier plan used. If all were used, levers with remaining options. */
static size_t open_levers(levers *l, lever **open) {
  size_t n = 0;
  for (size_t i = 0; i < l->n; i++)
    if (!l->lever[i].planned) open[n++] = &l->lever[i];
  for (size_t i = 0; n == 0 && i < l->n; i++)
    if (l->lever[i].used < l->lever[i].n) open[n++] = &l->lever[i];
  return n;
}

/* Menu dropout: hides each with the given probability, but never all. Returns how many stay, in front. */
static size_t drop_out(lever **open, size_t n, double dropout, tw_random *random) {
  size_t spared = (size_t)tw_random_below(random, n);
  size_t kept = 0;
  lever *survivor = open[spared];
  for (size_t i = 0; i < n; i++)
    if (tw_random_real(random) >= dropout) open[kept++] = open[i];
  if (kept == 0) open[kept++] = survivor;
  return kept;
}

static double best_cost(const lever *l) { return l->option[l->used < l->n ? l->used : l->n - 1].cost; }

/* The chance that a kernel of this lever beats its parent, from the results of this search. */
static double chance(const tw_request *r, const char *lever_name) {
  int tried = 0, paid = 0;
  if (r->experience && !(r->without & TW_WITHOUT_FEEDBACK)) r->experience(r->context, lever_name, &tried, &paid);
  return (paid + 1.0) / (tried + 2.0);
}

/* Sets the weights of the levers for drawing. */
static void weigh(const tw_request *r, lever **visible, size_t n) {
  for (size_t i = 0; i < n; i++) {
    double rank = 1;
    for (size_t j = 0; j < n; j++) rank += best_cost(visible[j]) < best_cost(visible[i]) * (1 - SAME);
    visible[i]->weight = pow(rank, -1.0 / (1 + idle_of(r))) * chance(r, visible[i]->option->item->lever) /
                         (1.0 + (double)visible[i]->tried);
  }
}

static lever *heaviest(lever **visible, size_t n) {
  size_t best = 0;
  for (size_t i = 1; i < n; i++)
    if (visible[i]->weight > visible[best]->weight) best = i;
  return visible[best];
}

static lever *draw(lever **visible, size_t n, tw_random *random) {
  double total = 0;
  for (size_t i = 0; i < n; i++) total += visible[i]->weight;
  double mark = tw_random_real(random) * total;
  for (size_t i = 0; i + 1 < n; i++)
    if ((mark -= visible[i]->weight) < 0) return visible[i];
  return visible[n - 1];
}

/* ---- the agent's two functions ---- */

static tw_status fill_plan(const tw_request *r, lever *chosen, size_t depth, double parent_cost, tw_random *random,
                           tw_agent_plan *out, tw_error *error) {
  size_t left = chosen->n - chosen->used;
  size_t n = left < r->kernels + SPARE_ALTERNATIVES ? left : r->kernels + SPARE_ALTERNATIVES;
  detail *d = calloc(1, sizeof *d + n * sizeof d->item[0]);
  if (!d) return tw_fail(error, TW_NO_MEMORY, "no memory for a plan of the search");
  d->depth = depth;
  d->seed = tw_random_next(random);
  d->parent_cost = parent_cost;
  d->dropout = hiding(r);
  for (size_t i = 0; i < n; i++) d->item[i] = *chosen->option[chosen->used + i].item;
  *out = (tw_agent_plan){.n_alternatives = n, .detail = d};
  snprintf(out->lever, sizeof out->lever, "%s", d->item[0].lever);
  snprintf(out->why, sizeof out->why, "%s", d->item[0].why);
  chosen->planned = true;
  chosen->used += n < r->kernels ? n : r->kernels;
  return TW_OK;
}

static void plan_one(const tw_request *r, tw_proposal *out) {
  tw_random random = r->random;
  levers l = {0};
  out->n = 0;
  double parent_cost = predict_parent(r);
  out->status = list_levers(r, parent_cost, &random, &l, &out->error);
  if (out->status != TW_OK) return;
  lever **open = tw_new(l.n + 1, sizeof *open);
  if (!open) out->status = tw_fail(&out->error, TW_NO_MEMORY, "no memory for a plan of the search");
  while (out->status == TW_OK && out->n < r->plans) {
    size_t n = open_levers(&l, open);
    if (n == 0) break;
    n = drop_out(open, n, hiding(r), &random);
    weigh(r, open, n);
    bool first = out->n == 0;
    size_t depth = first ? GREEDY_DEPTH : DEPTHS[tw_random_below(&random, sizeof DEPTHS / sizeof DEPTHS[0])];
    if (!has_model(r)) depth = 1; /* a chain continues while the model predicts a gain */
    lever *chosen = first && has_model(r) ? heaviest(open, n) : draw(open, n, &random);
    out->status = fill_plan(r, chosen, depth, parent_cost, &random, &out->plan[out->n], &out->error);
    out->n += out->status == TW_OK;
  }
  free(open);
  free_levers(&l);
}

/* Any step of the menu, with equal probability. */
static void plan_random(const tw_request *r, tw_proposal *out) {
  tw_random random = r->random;
  levers l = {0};
  out->n = 0;
  out->status = list_levers(r, r->parent->measured.cost, &random, &l, &out->error);
  if (out->status != TW_OK) return;
  size_t left = 0;
  for (size_t i = 0; i < l.n_options; i++)
    if (!l.option[i].tried) l.option[left++] = l.option[i];
  while (out->status == TW_OK && out->n < r->plans && left > 0) {
    /* number of orders in this plan: one for each kernel, and spare ones for kernels that repeat an earlier one */
    size_t n = 0;
    option chosen[SPARE_ALTERNATIVES];
    while (n < SPARE_ALTERNATIVES && left > 0) {
      const size_t i = (size_t)tw_random_below(&random, left);
      chosen[n++] = l.option[i];
      l.option[i] = l.option[--left];
    }
    lever drawn = {.n = n, .option = chosen};
    out->status = fill_plan(r, &drawn, 1, r->parent->measured.cost, &random, &out->plan[out->n], &out->error);
    out->n += out->status == TW_OK;
  }
  free_levers(&l);
}

static bool contains(const tw_menu_item *chain, size_t n, const char *lever_name) {
  for (size_t i = 0; i < n; i++)
    if (!strcmp(chain[i].lever, lever_name)) return true;
  return false;
}

/* The best predicted step of a lever that is not in the chain yet and not hidden; one that has failed before is
 * hidden more often. Levers come in any order in a menu. Whether a lever is hidden is drawn from its name, so that
 * this holds for all its items. */
static bool best_next(const tw_request *r, const tw_schedule *schedule, const tw_menu_item *chain, size_t n,
                      const detail *d, uint64_t seed, tw_menu_item *best) {
  tw_menu menu = {0};
  if (tw_target_steps(r->target, r->problem, schedule, &menu, NULL) != TW_OK) return false;
  bool found = false;
  for (size_t i = 0; i < menu.n; i++) {
    const tw_menu_item *item = &menu.item[i];
    if (contains(chain, n, item->lever) || !(item->predicted_cost > 0) || !isfinite(item->predicted_cost)) continue;
    if (found && item->predicted_cost >= best->predicted_cost) continue;
    uint64_t name = 0;
    for (const char *c = item->lever; *c; c++) name = name * 1099511628211u + (unsigned char)*c;
    tw_random hidden;
    tw_random_seed_stream(&hidden, seed, name);
    if (tw_random_real(&hidden) < fmax(d->dropout, 1 - 2 * chance(r, item->lever))) continue;
    *best = *item;
    found = true;
  }
  tw_menu_free(&menu);
  return found;
}

static void describe(const tw_menu_item *chain, size_t n, tw_kernel *out) {
  out->n_levers = n;
  for (size_t i = 0; i < n; i++) {
    memcpy(out->lever[i], chain[i].lever, sizeof out->lever[i]);
    if (i) tw_append_cut(out->why, sizeof out->why, "; then ");
    tw_append_cut(out->why, sizeof out->why, chain[i].why);
  }
}

/* Emits the chain. False if a shorter part of it is tried instead: the chain was tried before, its last step is illegal,
 * or a step hides the effect of the rest, so that the kernel exists already. */
static bool is_worth_a_try(const tw_request *r, tw_kernel *out, bool has_shorter) {
  if (has_shorter && r->known && r->known(r->context, &out->schedule)) return false;
  if (tw_target_emit(r->target, r->problem, &out->schedule, &out->source, &out->message) != TW_OK) return !has_shorter;
  if (!has_shorter || !r->known_source || !r->known_source(r->context, out->source)) return true;
  free(out->source);
  out->source = NULL;
  return false;
}

static void implement_one(const tw_order *order, tw_kernel *out) {
  const tw_request *r = order->request;
  const detail *d = order->plan->detail;
  tw_random random;
  tw_random_seed_stream(&random, d->seed, order->alternative);
  tw_menu_item chain[GREEDY_DEPTH];
  size_t n = 0;
  *out = (tw_kernel){.has_schedule = true, .schedule = *r->parent->schedule};
  chain[n++] = d->item[order->alternative];
  tw_status status = tw_schedule_add(&out->schedule, chain[0].step, &out->message);
  while (status == TW_OK && n < d->depth) {
    double least = known_or(chain[n - 1].predicted_cost, d->parent_cost) * (1 - LEAST_GAIN);
    if (!best_next(r, &out->schedule, chain, n, d, tw_random_next(&random), &chain[n]) ||
        chain[n].predicted_cost > least || tw_schedule_add(&out->schedule, chain[n].step, NULL) != TW_OK)
      break;
    n++;
  }
  while (status == TW_OK && !is_worth_a_try(r, out, n > 1)) {
    n--;
    out->schedule.n--;
  }
  describe(chain, n, out);
}

/* ---- the agent ---- */

typedef struct work {
  bool is_random;
  const tw_request *const *request;
  tw_proposal *proposal;
  const tw_order *order;
  tw_kernel *kernel;
} work;

static void plan_at(void *context, size_t i) {
  const work *w = context;
  (w->is_random ? plan_random : plan_one)(w->request[i], &w->proposal[i]);
}

static void plan(tw_agent *agent, size_t n, const tw_request *const request[], tw_proposal proposal[]) {
  work w = {.is_random = !strcmp(agent->name, "random"), .request = request, .proposal = proposal};
  tw_parallel_for(n ? request[0]->jobs : 1, n, plan_at, &w);
}

static void implement_at(void *context, size_t i) {
  const work *w = context;
  implement_one(&w->order[i], &w->kernel[i]);
}

static void implement(tw_agent *agent, size_t n, const tw_order order[], tw_kernel kernel[]) {
  (void)agent;
  work w = {.order = order, .kernel = kernel};
  tw_parallel_for(n ? order[0].request->jobs : 1, n, implement_at, &w);
}

static void free_plan(tw_agent_plan *p) {
  free(p->detail);
  p->detail = NULL;
}

static void close_rules(tw_agent *agent, tw_text *notes) {
  (void)notes;
  free(agent);
}

tw_status tw_rules_open(const char *text, const tw_target *t, const tw_model_options *o, tw_agent **out,
                        tw_error *error) {
  (void)t, (void)o;
  *out = tw_new(1, sizeof **out);
  if (!*out) return tw_fail(error, TW_NO_MEMORY, "no memory for an agent");
  **out = (tw_agent){.name = strcmp(text, "random") ? "rules" : "random",
                     .needs_schedule = true,
                     .plan = plan,
                     .implement = implement,
                     .free_plan = free_plan,
                     .close = close_rules};
  return TW_OK;
}
