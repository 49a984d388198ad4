/* tune.c - a search from C, with a progress line of one's own; then the kernel, run once more.
 *
 *   cc tune.c $(pkg-config --cflags --libs tilewright) -o tune && ./tune */
#include <stdio.h>
#include <string.h>
#include <tilewright/tilewright.h>

static void progress(void *context, const tw_progress *p) {
  int *calls = context;
  if ((*calls)++ % 20 == 0)
    fprintf(stderr, "%d of %d, %.0f%% of peak\n", p->done, p->planned, 100 * p->best_utilization);
}

int main(void) {
  const tw_target *machine = tw_target_find("gemmini-16x16-int8");
  const char *const words[] = {"m=64", "n=64", "k=64"};
  tw_problem problem;
  tw_error error;
  int calls = 0;
  tw_search_result found = {.size = sizeof found};
  tw_run_result again = {.size = sizeof again};
  const tw_search_options options = {
      .size = sizeof options, .dropout = -1, .iterations = 2, .seed = 1, .progress = progress, .context = &calls};

  tw_status status = tw_target_parse(machine, "gemm", 3, words, &problem, &error);
  if (status == TW_OK) status = tw_target_supports(machine, &problem, &error);
  if (status == TW_OK) status = machine->available(machine, &error);
  if (status == TW_NO_COMPILER) return fprintf(stderr, "%s\n", error.text), 0; /* no compiler for the machine here */
  if (status == TW_OK) status = tw_search(machine, &problem, &options, &found, &error);
  if (status != TW_OK) return fprintf(stderr, "%s\n", error.text), 1;

  for (size_t i = 0; i < found.n_rungs; i++)
    printf(" %c%10.0f %s  %s\n", found.rung[i].within_error ? '~' : ' ', found.rung[i].cost, machine->unit,
           found.rung[i].step);
  status = tw_run(machine, &problem, found.source, strlen(found.source), NULL, &again, &error);
  if (status != TW_OK) return fprintf(stderr, "%s\n", error.text), 1;
  printf("checked: %s; the bound is %.0f %s (%s)\n", again.coverage, again.bound.cost, machine->unit,
         again.bound.limit);
  const bool same = again.measured.cost == found.best.cost; /* a simulated machine is deterministic */
  tw_search_result_free(&found);
  return same ? 0 : 1;
}
