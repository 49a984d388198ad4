/* rules.c - the built-in agent: plans from the target's menu, guided by the target's analytic model.
 *
 * Method: the planning phase of Autocomp (C. Hong et al., sections 3.2 and 3.4), with rules in the place of a
 * language model. A plan takes one lever of the menu, each lever being hidden from the plan with the probability
 * `dropout`; its alternatives are the lever's parameterizations, best predicted first.
 *
 * The model is a guide, not a judge: it does not see everything. The first plan of a parent takes the lever that
 * the model likes best among those that are visible; the others draw one with weights that fall with the predicted
 * cost but never to nothing, so that levers which the model thinks neutral, or bad, get their turn.
 *
 * Some levers only pay together (a larger tile, once its loads are hidden behind the computation). So a plan may go
 * on: after its first step it appends, as long as the model predicts a gain, the best visible step of another
 * lever, up to a depth that is drawn for the plan. The menu of each intermediate schedule is the target's own, so
 * every chain is legal step by step. */
#include "search/agent.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/strings.h"

enum {
  SPARE_ALTERNATIVES = 8, /* beyond K, for those that turn out to be the same kernel as an earlier one */
  GREEDY_DEPTH = 8,       /* steps of the first plan of a parent, which follows the model as far as it leads */
};
/* Depths of the other plans, drawn with equal chances: half of them are the single step of the paper. */
static const size_t DEPTHS[] = {1, 1, 2, 4};
/* A lever whose predicted cost is 5% above the best one's is drawn e times less often ... */
static const double TEMPERATURE = 0.05;
/* ... but no weight falls below this (the best one's is 1). */
static const double LEAST_WEIGHT = 0.05;
/* A chain goes on while its next step promises at least this gain. */
static const double LEAST_GAIN = 0.002;

typedef struct option {
  const tw_menu_item *item;
  double cost;  /* as predicted; where the model does not know, that of the parent: neutral */
  uint64_t tie; /* random: equal predictions come in any order */
} option;

/* A lever of the menu: its options, best predicted first. */
typedef struct lever {
  size_t n;
  const option *option;
  bool planned; /* by an earlier plan for this parent */
  size_t used;  /* options that earlier plans took */
} lever;

typedef struct levers {
  size_t n, n_options;
  lever *lever;
  option *option;
  tw_menu menu;
} levers;

typedef struct detail {
  size_t depth;        /* most steps of the chain, the first included */
  uint64_t seed;       /* of what is hidden from the rest of the chain */
  double parent_cost;  /* as predicted */
  double dropout;
  tw_menu_item item[]; /* the alternatives of the first step */
} detail;

static double known_or(double predicted, double fallback)
{
  return isfinite(predicted) && predicted > 0 ? predicted : fallback;
}

static double predict_parent(const tw_request *r)
{
  double cost;
  bool predicted = r->target->predict(r->target, r->problem, &r->parent->schedule, &cost, NULL) == TW_OK;
  return known_or(predicted ? cost : 0, r->parent->measured.cost);
}

/* ---- the menu by levers ---- */

static int compare_options(const void *a, const void *b)
{
  const option *x = a, *y = b;
  int by_lever = strcmp(x->item->lever, y->item->lever);
  if (by_lever)
    return by_lever;
  if (x->cost != y->cost)
    return x->cost < y->cost ? -1 : 1;
  return (x->tie > y->tie) - (x->tie < y->tie);
}

static void free_levers(levers *l)
{
  tw_menu_free(&l->menu);
  free(l->lever);
  free(l->option);
}

static bool is_new(const tw_request *r, const tw_schedule *schedule, const char *step)
{
  tw_schedule next = *schedule;
  if (tw_schedule_add(&next, step, NULL) != TW_OK)
    return false; /* the schedule is full */
  return !r->known || !r->known(r->context, &next);
}

/* The untried steps after the parent's schedule. On failure nothing is left to free. */
static tw_status list_levers(const tw_request *r, double parent_cost, tw_random *random, levers *out, tw_error *error)
{
  levers l = {0};
  tw_status status = r->target->steps(r->target, r->problem, &r->parent->schedule, &l.menu, error);
  if (status != TW_OK)
    return status;
  l.option = tw_new(l.menu.n + 1, sizeof *l.option);
  l.lever = tw_new(l.menu.n + 1, sizeof *l.lever);
  if (!l.option || !l.lever) {
    free_levers(&l);
    return tw_fail(error, TW_MISSING, "no memory for the menu of the next steps");
  }
  for (size_t i = 0; i < l.menu.n; i++) {
    const tw_menu_item *item = &l.menu.item[i];
    if (is_new(r, &r->parent->schedule, item->step))
      l.option[l.n_options++] = (option){item, known_or(item->predicted_cost, parent_cost), tw_random_next(random)};
  }
  qsort(l.option, l.n_options, sizeof *l.option, compare_options);
  for (size_t i = 0; i < l.n_options; i++) {
    if (i == 0 || strcmp(l.option[i].item->lever, l.option[i - 1].item->lever))
      l.lever[l.n++].option = &l.option[i];
    l.lever[l.n - 1].n++;
  }
  *out = l;
  return TW_OK;
}

/* ---- one plan: which lever ---- */

/* Levers with untried options that no earlier plan took, or, when all were taken, those with options left. */
static size_t open_levers(levers *l, lever **open)
{
  size_t n = 0;
  for (size_t i = 0; i < l->n; i++)
    if (!l->lever[i].planned)
      open[n++] = &l->lever[i];
  for (size_t i = 0; n == 0 && i < l->n; i++)
    if (l->lever[i].used < l->lever[i].n)
      open[n++] = &l->lever[i];
  return n;
}

/* Menu dropout: hides each with the given probability, but never all. Returns how many stay, in front. */
static size_t drop_out(lever **open, size_t n, double dropout, tw_random *random)
{
  size_t spared = (size_t)tw_random_below(random, n);
  size_t kept = 0;
  lever *survivor = open[spared];
  for (size_t i = 0; i < n; i++)
    if (tw_random_real(random) >= dropout)
      open[kept++] = open[i];
  if (kept == 0)
    open[kept++] = survivor;
  return kept;
}

static double best_cost(const lever *l)
{
  return l->option[l->used < l->n ? l->used : l->n - 1].cost;
}

static lever *draw(lever **visible, size_t n, bool take_best, tw_random *random)
{
  size_t best = 0;
  for (size_t i = 1; i < n; i++)
    if (best_cost(visible[i]) < best_cost(visible[best]))
      best = i;
  if (take_best)
    return visible[best];
  double total = 0;
  for (int pass = 0;; pass++) {
    double mark = pass ? tw_random_real(random) * total : HUGE_VAL;
    double sum = 0;
    for (size_t i = 0; i < n; i++) {
      sum += fmax(LEAST_WEIGHT, exp(-log(best_cost(visible[i]) / best_cost(visible[best])) / TEMPERATURE));
      if (sum > mark)
        return visible[i];
    }
    if (pass)
      return visible[n - 1]; /* rounding */
    total = sum;
  }
}

/* ---- the agent's two functions ---- */

static tw_status fill_plan(const tw_request *r, lever *chosen, size_t depth, double parent_cost, tw_random *random,
                           tw_plan *out, tw_error *error)
{
  size_t left = chosen->n - chosen->used;
  size_t n = left < r->kernels + SPARE_ALTERNATIVES ? left : r->kernels + SPARE_ALTERNATIVES;
  detail *d = calloc(1, sizeof *d + n * sizeof d->item[0]);
  if (!d)
    return tw_fail(error, TW_MISSING, "no memory for a plan of the search");
  d->depth = depth;
  d->seed = tw_random_next(random);
  d->parent_cost = parent_cost;
  d->dropout = r->dropout;
  for (size_t i = 0; i < n; i++)
    d->item[i] = *chosen->option[chosen->used + i].item;
  *out = (tw_plan){.n_alternatives = n, .detail = d};
  snprintf(out->lever, sizeof out->lever, "%s", d->item[0].lever);
  snprintf(out->why, sizeof out->why, "%s", d->item[0].why);
  chosen->planned = true;
  chosen->used += n < r->kernels ? n : r->kernels;
  return TW_OK;
}

static tw_status plan(const tw_agent *agent, const tw_request *r, tw_random *random, tw_plan *out, size_t *made,
                      tw_error *error)
{
  (void)agent;
  *made = 0;
  levers l;
  double parent_cost = predict_parent(r);
  tw_status status = list_levers(r, parent_cost, random, &l, error);
  if (status != TW_OK)
    return status;
  lever **open = tw_new(l.n + 1, sizeof *open);
  if (!open)
    status = tw_fail(error, TW_MISSING, "no memory for a plan of the search");
  while (status == TW_OK && *made < r->plans) {
    size_t n = open_levers(&l, open);
    if (n == 0)
      break;
    n = drop_out(open, n, r->dropout, random);
    bool first = *made == 0;
    size_t depth = first ? GREEDY_DEPTH : DEPTHS[tw_random_below(random, sizeof DEPTHS / sizeof DEPTHS[0])];
    lever *chosen = draw(open, n, first, random);
    status = fill_plan(r, chosen, depth, parent_cost, random, &out[*made], error);
    *made += status == TW_OK;
  }
  free(open);
  free_levers(&l);
  return status;
}

static bool contains(const tw_menu_item *chain, size_t n, const char *lever_name)
{
  for (size_t i = 0; i < n; i++)
    if (!strcmp(chain[i].lever, lever_name))
      return true;
  return false;
}

/* The best predicted step of a lever that is not in the chain yet and not hidden. Levers come in any order in a
 * menu: whether one is hidden is drawn from its name, so that all its items share the fate. */
static bool best_next(const tw_request *r, const tw_schedule *schedule, const tw_menu_item *chain, size_t n,
                      const detail *d, uint64_t seed, tw_menu_item *best)
{
  tw_menu menu = {0};
  if (r->target->steps(r->target, r->problem, schedule, &menu, NULL) != TW_OK)
    return false;
  bool found = false;
  for (size_t i = 0; i < menu.n; i++) {
    const tw_menu_item *item = &menu.item[i];
    if (contains(chain, n, item->lever) || !(item->predicted_cost > 0) || !isfinite(item->predicted_cost))
      continue;
    if (found && item->predicted_cost >= best->predicted_cost)
      continue;
    uint64_t name = 0;
    for (const char *c = item->lever; *c; c++)
      name = name * 1099511628211u + (unsigned char)*c;
    tw_random hidden;
    tw_random_seed_stream(&hidden, seed, name);
    if (tw_random_real(&hidden) < d->dropout)
      continue;
    *best = *item;
    found = true;
  }
  tw_menu_free(&menu);
  return found;
}

/* "tile + double buffer", "first reason; then second reason" */
static void describe(const tw_menu_item *chain, size_t n, tw_kernel *out)
{
  size_t lever_used = 0, why_used = 0;
  for (size_t i = 0; i < n; i++) {
    if (lever_used < sizeof out->lever)
      lever_used += (size_t)snprintf(out->lever + lever_used, sizeof out->lever - lever_used, "%s%s", i ? " + " : "",
                                     chain[i].lever);
    if (why_used < sizeof out->why)
      why_used += (size_t)snprintf(out->why + why_used, sizeof out->why - why_used, "%s%s", i ? "; then " : "",
                                   chain[i].why);
  }
}

static tw_status implement(const tw_agent *agent, const tw_request *r, const tw_plan *p, size_t i, tw_kernel *out,
                           tw_error *error)
{
  (void)agent;
  (void)error;
  const detail *d = p->detail;
  tw_random random;
  tw_random_seed_stream(&random, d->seed, i);
  tw_menu_item chain[GREEDY_DEPTH];
  size_t n = 0;
  *out = (tw_kernel){.schedule = r->parent->schedule};
  chain[n++] = d->item[i];
  tw_status status = tw_schedule_add(&out->schedule, chain[0].step, &out->message);
  while (status == TW_OK && n < d->depth) {
    double least = known_or(chain[n - 1].predicted_cost, d->parent_cost) * (1 - LEAST_GAIN);
    if (!best_next(r, &out->schedule, chain, n, d, tw_random_next(&random), &chain[n]) ||
        chain[n].predicted_cost > least || tw_schedule_add(&out->schedule, chain[n].step, NULL) != TW_OK)
      break;
    n++;
  }
  /* A chain that was tried already is cut back to its longest part that was not. */
  while (n > 1 && r->known && r->known(r->context, &out->schedule)) {
    n--;
    out->schedule.n--;
  }
  describe(chain, n, out);
  if (status == TW_OK)
    r->target->emit(r->target, r->problem, &out->schedule, &out->source, &out->message);
  return TW_OK;
}

static void free_plan(tw_plan *p)
{
  free(p->detail);
  p->detail = NULL;
}

const tw_agent tw_agent_rules = {.name = "rules", .plan = plan, .implement = implement, .free_plan = free_plan};
