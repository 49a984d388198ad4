/* progress.c - the line that is rewritten while a search runs, if somebody sees it. */
#define _GNU_SOURCE
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "cli/cli.h"

enum { BAR = 24 };

void cli_show_progress(void *context, const tw_progress *p) {
  (void)context;
  if (!isatty(STDERR_FILENO)) return;
  char bar[BAR + 1], left[32] = "";
  int full = p->planned > 0 ? BAR * p->done / p->planned : 0;
  memset(bar, '-', BAR);
  memset(bar, '#', (size_t)(full < 0 ? 0 : full > BAR ? BAR : full));
  bar[BAR] = '\0';
  if (p->left >= 0) snprintf(left, sizeof left, ", %.0f s left", p->left);
  fprintf(stderr, "\r\033[K[%s] %d/%d candidates, %d correct, best %.1f%%%s", bar, p->done, p->planned, p->correct,
          100 * p->best_utilization, left);
  fflush(stderr);
}

void cli_print_progress(void *context, const tw_progress *p) {
  (void)context;
  fprintf(stderr,
          "{\"done\": %d, \"planned\": %d, \"correct\": %d, \"iteration\": %d, \"iterations\": %d, \"best\": %.6g, "
          "\"elapsed\": %.3f}\n",
          p->done, p->planned, p->correct, p->iteration, p->iterations, p->best_utilization, p->elapsed);
}

/* Programs that read stderr get a line now and then, so that they see that something happens. */
void cli_show_parts(const char *what, size_t done, size_t all) {
  enum { SECONDS = 10 };
  static double last;
  const double now = tw_now();
  if (isatty(STDERR_FILENO)) {
    fprintf(stderr, "\r\033[K%zu of %zu %s", done, all, what);
    if (done == all) cli_clear_progress();
    fflush(stderr);
    return;
  }
  if (last == 0) last = now;
  if (now - last < SECONDS) return;
  last = now;
  fprintf(stderr, "tilewright: %zu of %zu %s\n", done, all, what);
}

void cli_clear_progress(void) {
  if (isatty(STDERR_FILENO)) fprintf(stderr, "\r\033[K");
}
