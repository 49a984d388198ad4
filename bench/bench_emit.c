/* bench_emit.c - time of tw_target_emit for the schedules of the corpus, in microseconds of processor time for each text.
 *
 *   bench_emit tests/data/corpus [rounds=20]
 *
 * A search emits a source for each candidate. The time of a target is the fastest round's, divided by its texts. */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "tilewright/extend/extend.h"

enum { ENTRIES = 1000, LINE = 4096 };

typedef struct entry {
  tw_problem problem;
  tw_schedule schedule;
} entry;

static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static bool read_steps(char *text, tw_schedule *s) {
  tw_error error;
  *s = (tw_schedule){0};
  for (char *step = strtok(text, ";"); step; step = strtok(NULL, ";"))
    if (strspn(step, " ") < strlen(step) && tw_schedule_add(s, step, &error) != TW_OK) return false;
  return true;
}

/* The entries of a corpus that the target can emit here: tests/search/test_corpus.c has the format. */
static int read_entries(const tw_target *target, const char *path, entry *entries) {
  char line[LINE];
  tw_problem problem;
  tw_error error;
  bool has_problem = false;
  int n = 0;
  FILE *f = fopen(path, "r");
  while (f && n < ENTRIES && fgets(line, sizeof line, f)) {
    int steps = 0;
    line[strcspn(line, "\n")] = '\0';
    if (!*line || *line == '#' || !strncmp(line, "environment ", strlen("environment "))) continue;
    if (*line != ' ') {
      has_problem = tw_problem_parse(target, line, &problem, &error) == TW_OK &&
                    tw_target_supports(target, &problem, &error) == TW_OK;
      continue;
    }
    if (!has_problem || sscanf(line, " %*s %*s%n", &steps) < 0 || !steps) continue;
    entries[n].problem = problem;
    n += read_steps(line + steps, &entries[n].schedule);
  }
  if (f) fclose(f);
  return n;
}

/* Seconds for all entries; 0 if one has no text. */
static double emit_all(const tw_target *target, const entry *entries, int n) {
  const double begin = now();
  for (int i = 0; i < n; i++) {
    char *source;
    tw_error error;
    if (tw_target_emit(target, &entries[i].problem, &entries[i].schedule, &source, &error) != TW_OK) return 0;
    free(source);
  }
  return now() - begin;
}

int main(int argc, char **argv) {
  static const char *const targets[] = {"cuda-h200", "cuda-a100-sxm", "cuda-l40s", "cdna3", "cdna4", "xdna2"};
  static entry entries[ENTRIES];
  const int rounds = argc > 2 ? atoi(argv[2]) : 20;
  if (argc < 2) return fprintf(stderr, "usage: bench_emit tests/data/corpus [rounds=20]\n"), 2;
  for (size_t t = 0; t < sizeof targets / sizeof *targets; t++) {
    char path[1000];
    double best = 0;
    const tw_target *target = tw_target_find(targets[t]);
    snprintf(path, sizeof path, "%s/%s.txt", argv[1], targets[t]);
    const int n = target ? read_entries(target, path, entries) : 0;
    for (int i = 0; i < rounds && n; i++) {
      const double seconds = emit_all(target, entries, n);
      if (seconds <= 0) return fprintf(stderr, "%s: an entry of %s has no text\n", argv[0], path), 1;
      if (i == 0 || seconds < best) best = seconds;
    }
    if (n) printf("%-14s %4d texts %8.1f us each\n", targets[t], n, best / n * 1e6);
  }
  return 0;
}
