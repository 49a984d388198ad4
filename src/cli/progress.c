/* progress.c - the progress of a search: for people at a terminal, for logs, for programs. */
#define _GNU_SOURCE
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/strings.h"
#include "cli/cli.h"

enum { BAR = 24 };

/* Candidates per second that were evaluated here and not recalled. */
static double rate_of(const tw_search_status *s) {
  const int evaluated = s->progress.done - s->recalled;
  return s->progress.elapsed > 0 && evaluated > 0 ? evaluated / s->progress.elapsed : 0;
}

/* "3.2 s", "12 min", "2.5 h" */
static const char *print_time(double seconds, char text[24]) {
  if (seconds < 90)
    snprintf(text, 24, "%.0f s", seconds);
  else if (seconds < 5400)
    snprintf(text, 24, "%.0f min", seconds / 60);
  else
    snprintf(text, 24, "%.1f h", seconds / 3600);
  return text;
}

static void describe(const tw_target *target, const tw_search_status *s, tw_text *out) {
  const tw_progress *p = &s->progress;
  char cost[CLI_NUMBER], time[24];
  tw_text_add(out, "%d/%d candidates", p->done, p->planned);
  if (s->best_cost > 0) tw_text_add(out, ", best %s", cli_print_cost(target, s->best_cost, cost));
  if (s->best_cost > 0 && s->start_cost > 0) tw_text_add(out, " (%.2fx)", s->start_cost / s->best_cost);
  if (rate_of(s) > 0) tw_text_add(out, ", %.3g/s", rate_of(s));
  if (p->left >= 0) tw_text_add(out, ", %s left", print_time(p->left, time));
  tw_text_add(out, ", %d correct", p->correct);
}

/* "[###---] " in the columns that the line leaves free; "" if too few are free. */
static void print_bar(const tw_progress *p, size_t room, char bar[BAR + 4]) {
  static const size_t LEAST = 8;
  const size_t columns = room < BAR + 3 ? (room < LEAST + 3 ? 0 : LEAST) : BAR;
  const double share = p->planned > 0 ? fmin(1, (double)p->done / p->planned) : 0;
  bar[0] = '\0';
  if (!columns) return;
  memset(bar + 1, '-', columns);
  memset(bar + 1, '#', (size_t)(share * (double)columns));
  bar[0] = '[';
  memcpy(bar + 1 + columns, "] ", 3);
}

/* A terminal has one line of its width; a pipe gets a line a minute. */
void cli_show_progress(void *context, const tw_search_status *s) {
  enum { SECONDS = 60 };
  static double last;
  const tw_progress *p = &s->progress;
  const bool terminal = isatty(STDERR_FILENO);
  if (!terminal && p->elapsed - last < SECONDS) return;
  tw_text text = {0};
  describe(context, s, &text);
  char *line = tw_text_take(&text);
  if (!line) return;
  if (!terminal) {
    last = p->elapsed;
    fprintf(stderr, "tilewright: %s\n", line);
  } else {
    char bar[BAR + 4];
    const size_t width = cli_width() - 1, length = strlen(line);
    print_bar(p, width > length ? width - length : 0, bar);
    fprintf(stderr, "\r\033[K%s%.*s", bar, (int)width, line);
  }
  free(line);
  fflush(stderr);
}

void cli_print_progress(void *context, const tw_progress *p) {
  (void)context;
  fprintf(stderr,
          "{\"done\": %d, \"planned\": %d, \"correct\": %d, \"iteration\": %d, \"iterations\": %d, \"best\": %.6g, "
          "\"elapsed\": %.3f}\n",
          p->done, p->planned, p->correct, p->iteration, p->iterations, p->best_utilization, p->elapsed);
}

/* Programs that read stderr get a line from time to time, so that they see progress. */
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
