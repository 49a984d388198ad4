/* model.c - `tilewright model OP key=value... -t TARGET [--schedule FILE]`: the analytic model without running
 * anything: the bound, the predicted cost of a schedule, and of each legal next step; or, where words choose tiles of a
 * target that explains them, what explain.c prints. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <math.h>

#include "cli/cli.h"

typedef struct prediction {
  tw_bound bound;
  double cost;
  tw_menu menu;
} prediction;

static tw_status predict(const cli_subject *s, const tw_schedule *schedule, prediction *out, tw_error *error) {
  const tw_target *t = s->target;
  tw_status status = tw_target_bound(t, &s->problem, &out->bound, error);
  if (status == TW_OK) status = tw_target_predict(t, &s->problem, schedule, &out->cost, error);
  if (status == TW_MISSING) status = TW_OK, out->cost = 0; /* no prediction */
  if (status == TW_OK) status = tw_target_steps(t, &s->problem, schedule, &out->menu, error);
  return status;
}

/* The cost model of a kernel may omit a limit of the problem; a GEMM's model may have no bandwidth for C. A
 * predicted cost below the bound is not a prediction. */
static bool is_possible(const prediction *p, double cost) { return cost > 0 && cost >= p->bound.cost * (1 - 1e-9); }

static json_t *json_cost(const prediction *p, double cost) {
  return cli_json_number(is_possible(p, cost) ? cost : NAN);
}

/* All steps that a schedule of the problem may have, legal now or not. */
static json_t *json_step_list(const cli_subject *s, const tw_schedule *schedule) {
  const tw_family *family = tw_family_of(s->target, s->problem.op);
  const tw_language *l = family && family->language ? family->language(s->target, &s->problem, schedule) : NULL;
  json_t *list = json_array();
  for (size_t i = 0; l && i < l->n; i++)
    json_array_append_new(list, json_pack("{s:o, s:o}", "usage", tw_json_text(l->verb[i].usage), "help",
                                          tw_json_text(l->verb[i].help ? l->verb[i].help : "")));
  return list;
}

static tw_status print_json(const cli *c, const cli_subject *s, const tw_schedule *schedule, const prediction *p,
                            tw_error *error) {
  json_t *steps = json_array(), *object = json_object();
  for (size_t i = 0; i < p->menu.n; i++) {
    const tw_menu_item *item = &p->menu.item[i];
    json_t *step = json_object();
    json_object_set_new(step, "step", tw_json_text(item->step));
    json_object_set_new(step, "lever", tw_json_text(item->lever));
    json_object_set_new(step, "why", tw_json_text(item->why));
    json_object_set_new(step, s->target->unit, json_cost(p, item->predicted_cost));
    json_array_append_new(steps, step);
  }
  json_object_set_new(object, "bound", cli_json_bound(s->target, &p->bound));
  if (cli_unjudged(s)) cli_json_accuracy(object, s->target, s);
  json_object_set_new(object, "schedule", cli_json_schedule(schedule));
  json_object_set_new(object, s->target->unit, json_cost(p, p->cost));
  json_object_set_new(object, "steps", steps);
  json_object_set_new(object, "step_list", json_step_list(s, schedule));
  return cli_print_json(c, object, error);
}

/* Steps of one kind share a lever; the menu has the best of each first. */
static bool is_first(const tw_menu *menu, size_t i) {
  for (size_t before = 0; before < i; before++)
    if (strcmp(menu->item[before].lever, menu->item[i].lever) == 0) return false;
  return true;
}

/* Prints once why each kind of step may help. A step's own `why` adds the model's prediction after a semicolon. */
static void print_reasons(const tw_menu *menu) {
  if (menu->n) printf("\nreasons for the steps\n");
  for (size_t i = 0; i < menu->n; i++) {
    const tw_menu_item *item = &menu->item[i];
    const char *model = strstr(item->why, "; model:");
    if (!is_first(menu, i)) continue;
    char why[sizeof item->why];
    snprintf(why, sizeof why, "%.*s", (int)(model ? model - item->why : (long)strlen(item->why)), item->why);
    printf("  %-13s  %s\n", item->lever, why);
  }
}

static void print_text(const cli *c, const cli_subject *s, const prediction *p) {
  char problem[512], cost[CLI_NUMBER];
  tw_problem_print(&s->problem, problem, sizeof problem);
  printf("%s on %s\n", problem, s->target->name);
  printf("  bound      %s (%s)\n", cli_print_cost(s->target, p->bound.cost, cost), p->bound.limit);
  const char *what = c->options.schedule ? "this schedule" : "the baseline";
  if (is_possible(p, p->cost))
    printf("  predicted  %s for %s: %.1f%% of the bound\n", cli_print_cost(s->target, p->cost, cost), what,
           100 * p->bound.cost / p->cost);
  else if (p->cost > 0)
    printf("  predicted  no prediction for %s: its cost model leaves out the limit of the bound\n", what);
  else
    printf("  predicted  no prediction for %s: it has no cost model\n", what);
  if (p->cost > 0 && cli_unjudged(s)) cli_print_accuracy(s);
  size_t shown = 0;
  for (size_t i = 0; i < p->menu.n; i++) shown += c->options.verbose || is_first(&p->menu, i);
  if (shown)
    printf("\nnext steps%s\n%20s  of bound  step\n", shown < p->menu.n ? ", the best of each kind" : "", "predicted");
  for (size_t i = 0; i < p->menu.n; i++) {
    const tw_menu_item *item = &p->menu.item[i];
    if (!c->options.verbose && !is_first(&p->menu, i)) continue;
    if (is_possible(p, item->predicted_cost))
      printf("%20s  %7.1f%%  %s\n", cli_print_cost(s->target, item->predicted_cost, cost),
             100 * p->bound.cost / item->predicted_cost, item->step);
    else
      printf("%20s  %8s  %s\n", "no prediction", "", item->step);
  }
  if (shown < p->menu.n) printf("%20s  %zu more with --verbose\n", "", p->menu.n - shown);
  print_reasons(&p->menu);
}

tw_status cli_model(const cli *c, tw_error *error) {
  cli_subject subject;
  tw_schedule schedule;
  prediction p = {0};
  const tw_target *target = NULL;
  if (c->options.target && cli_find_target(c->options.target, &target, error) != TW_OK) return error->status;
  if (target && cli_chooses_tiles(c, target)) return cli_explain(c, target, error);
  if (cli_kernel(c))
    return tw_fail(error, TW_UNSUPPORTED, "%s does not draw kernels; leave out --kernel",
                   target ? target->name : "the target");
  tw_status status = cli_subject_of(c, 0, &subject, error);
  if (status == TW_OK) status = cli_read_schedule(c, &subject, &schedule, error);
  if (status == TW_OK && !c->options.schedule)
    status = tw_target_baseline(subject.target, &subject.problem, &schedule, error);
  if (status == TW_OK) subject.schedule = &schedule;
  if (status == TW_OK) status = predict(&subject, &schedule, &p, error);
  if (status == TW_OK && c->options.json)
    status = print_json(c, &subject, &schedule, &p, error);
  else if (status == TW_OK)
    print_text(c, &subject, &p);
  tw_menu_free(&p.menu);
  return status;
}
