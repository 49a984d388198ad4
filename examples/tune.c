/* tune.c - the best kernel for a problem, from C: from wisdom if an earlier call found it, else from a search with a progress line
 * of one's own. The kernel is then run once more.
 *
 *   cc tune.c $(pkg-config --cflags --libs tilewright) -o tune && ./tune [WISDOM-FILE] */
#include <stdio.h>
#include <string.h>
#include <tilewright/tilewright.h>

static void progress(void *context, const tw_progress *p) {
  int *calls = context;
  if ((*calls)++ % 20 == 0)
    fprintf(stderr, "%d of %d, %.0f%% of peak\n", p->done, p->planned, 100 * p->best_utilization);
}

int main(int argc, char **argv) {
  const tw_target *machine = tw_target_find("gemmini-16x16-int8");
  tw_problem problem;
  tw_error error;
  int calls = 0;
  tw_search_result *found = NULL;
  tw_run_result *again = NULL;
  const tw_search_options search = {
      .size = sizeof search, .dropout = -1, .iterations = 2, .seed = 1, .progress = progress, .context = &calls};
  const tw_tune_options options = {
      .size = sizeof options, .search = &search, .wisdom = argc > 1 ? argv[1] : NULL, .no_wisdom = argc < 2};

  tw_status status = tw_problem_parse(machine, "gemm m=64 n=64", &problem, &error); /* k is missing */
  if (status != TW_USAGE) return fprintf(stderr, "a problem without k is valid\n"), 1;
  status = tw_problem_parse(machine, "gemm m=64 n=64 k=32", &problem, &error);
  if (status == TW_OK) status = tw_problem_set(&problem, "k", "64", &error);
  if (status == TW_OK) status = tw_target_supports(machine, &problem, &error);
  if (status == TW_OK) status = tw_target_available(machine, &error);
  if (status == TW_NO_COMPILER) return fprintf(stderr, "%s\n", error.text), 0; /* no compiler for the machine here */
  if (status == TW_OK) status = tw_tune(machine, &problem, &options, &found, &error);
  if (status != TW_OK) return fprintf(stderr, "%s\n", error.text), 1;

  const double cost = tw_search_result_best(found)->cost;
  const char *unit = tw_target_unit(machine);
  const tw_rung *rung;
  for (size_t i = 0; (rung = tw_search_result_rung(found, i)); i++)
    printf(" %c%10.0f %s  %s\n", rung->within_error ? '~' : ' ', rung->cost, unit, rung->step);
  if (tw_search_result_cost_from(found) == TW_COST_WISDOM) printf("from wisdom: %.0f %s\n", cost, unit);
  const char *source = tw_search_result_source(found);
  status = tw_run(machine, &problem, source, strlen(source), NULL, &again, &error);
  if (status != TW_OK) return fprintf(stderr, "%s\n", error.text), 1;
  const tw_bound *bound = tw_run_result_bound(again);
  printf("checked: %s; the bound is %.0f %s (%s)\n", tw_run_result_coverage(again), bound->cost, unit, bound->limit);
  const bool same = tw_run_result_measurement(again)->cost == cost; /* a simulated machine is deterministic */
  tw_run_result_free(again);
  tw_search_result_free(found);
  return same ? 0 : 1;
}
