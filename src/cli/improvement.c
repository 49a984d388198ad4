/* improvement.c - the result of a search that started from a user's program: the diagnosis, and the faster of the
 * rewritten program and a new schedule. */

#include "base/utilization.h"
#include "cli/cli.h"

static const char *winner(const tw_improvement *i) {
  return !i->rewritten ? "search" : i->rewrites.n ? "rewrites" : "start";
}

static json_t *json_way(const cli_subject *s, const tw_search_result *r, const tw_measurement *m) {
  json_t *object = json_object();
  json_object_set_new(object, s->target->unit, cli_json_number(m->cost));
  json_object_set_new(object, "utilization", json_real(m->utilization));
  json_object_set_new(object, "speedup", json_real(m->cost > 0 ? r->start.cost / m->cost : 0));
  return object;
}

json_t *cli_json_improvement(const cli_subject *s, const tw_search_result *r, const tw_improvement *i) {
  json_t *object = json_object(), *diagnosis = json_array(), *rewrites = json_way(s, r, &i->after);
  for (size_t k = 0; k < i->diagnosis.n; k++) {
    const tw_finding *f = &i->diagnosis.finding[k];
    json_t *finding = json_object();
    json_object_set_new(finding, "what", tw_json_text(f->what));
    json_object_set_new(finding, s->target->unit, cli_json_number(f->cost));
    json_object_set_new(finding, "count", cli_json_number(f->count));
    json_object_set_new(finding, "example", tw_json_text(f->example));
    json_array_append_new(diagnosis, finding);
  }
  json_object_set_new(object, "diagnosis", diagnosis);
  if (i->diagnosis.fixed[0]) json_object_set_new(object, "not_rewritten", tw_json_text(i->diagnosis.fixed));
  json_object_set_new(rewrites, "schedule", cli_json_schedule(&i->rewrites));
  json_object_set_new(object, "rewrites", rewrites);
  if (i->searched) json_object_set_new(object, "search", json_way(s, r, &i->fresh));
  json_object_set_new(object, "winner", tw_json_text(winner(i)));
  return object;
}

void cli_print_improvement(const cli_subject *s, const char *name, const tw_search_result *r, const tw_improvement *i) {
  char cost[CLI_NUMBER];
  double start = r->start.cost;
  printf("%s: %s, %.1f%% of %s\n\n", name, cli_print_cost(s->target, start, cost), 100 * r->start.utilization,
         tw_utilization_of(&r->bound));
  printf("where its time goes (causes overlap, so shares can add up to more than 100%%)\n\n");
  for (size_t k = 0; k < i->diagnosis.n; k++) {
    const tw_finding *f = &i->diagnosis.finding[k];
    printf("  %18s  %5.1f%%  %s\n", cli_print_cost(s->target, f->cost, cost), 100 * f->cost / start, f->what);
    if (f->example[0]) printf("  %18s  %6s  for instance %s\n", "", "", f->example);
  }
  if (i->diagnosis.fixed[0])
    printf("\nnot rewritten: %s\n", i->diagnosis.fixed);
  else
    printf("\nrewrites of the program: %s, %.2fx\n", cli_print_cost(s->target, i->after.cost, cost),
           start / i->after.cost);
  if (i->searched)
    printf("a fresh schedule:        %s, %.2fx\n", cli_print_cost(s->target, i->fresh.cost, cost),
           start / i->fresh.cost);
  printf("the best is %s\n\n", !i->rewritten   ? "the fresh schedule"
                               : i->rewrites.n ? "the rewritten program"
                                               : "the original program");
}
