/* report.c - the table of cases, and a summary of what it says about the goals (docs/lab/2026-11-x86-libraries.md). */
#include "bench/rivals/report.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

static bool is_own(const bench_result *r) { return strcmp(r->library, "tilewright") == 0; }

const bench_result *bench_own(const bench_results *all, size_t index) {
  for (size_t i = 0; i < all->n; i++)
    if (is_own(&all->item[i]) && index-- == 0) return &all->item[i];
  return NULL;
}

const bench_result *bench_best_rival(const bench_results *all, const bench_case *c) {
  const bench_result *best = NULL;
  for (size_t i = 0; i < all->n; i++) {
    const bench_result *r = &all->item[i];
    if (bench_same(&r->c, c) && !is_own(r) && (!best || r->seconds < best->seconds)) best = r;
  }
  return best;
}

double bench_bound(const bench_result *own) {
  const double compute = bench_operations(&own->c) / own->peak;
  return own->bandwidth > 0 ? fmax(compute, own->weight_bytes / own->bandwidth) : compute;
}

static double giga(double x) { return x * 1e-9; }

/* ---- the table ---- */

static void print_row(FILE *to, const bench_results *all, const bench_result *own) {
  const bench_case *c = &own->c;
  const bench_result *rival = bench_best_rival(all, c);
  char shape[48];
  snprintf(shape, sizeof shape, "%" PRId64 "x%" PRId64 "x%" PRId64, c->m, c->n, c->k);
  fprintf(to, "%-13s %-16s %d %8.1f %5.1f%%", c->kind->name, shape, c->threads,
          giga(bench_operations(c) / own->seconds), 100 * bench_operations(c) / own->seconds / own->peak);
  if (own->bandwidth > 0)
    fprintf(to, " %6.1f %5.1f%%", giga(own->weight_bytes / own->seconds),
            100 * own->weight_bytes / own->seconds / own->bandwidth);
  else
    fprintf(to, " %6s %6s", "", "");
  if (rival)
    fprintf(to, " %6.2f %6.2f  %s %.1f", rival->seconds / own->seconds, rival->paired, rival->library,
            giga(bench_operations(c) / rival->seconds));
  else
    fprintf(to, " %6s %6s  -", "", "");
  for (size_t i = 0; i < all->n; i++) {
    const bench_result *r = &all->item[i];
    if (bench_same(&r->c, c) && !is_own(r) && r != rival)
      fprintf(to, ", %s %.1f", r->library, giga(bench_operations(c) / r->seconds));
  }
  fprintf(to, "\n");
}

static void print_table(FILE *to, const bench_results *all) {
  const bench_result *own;
  fprintf(to, "gflops: tilewright's GFLOP/s (integers: GOP/s), and of the measured peak of its kind; weights: GB/s "
              "from memory, "
              "and of the\nmeasured read bandwidth; ratio: best rival's best time / tilewright's; paired: the same, "
              "median over "
              "rounds.\n\n");
  fprintf(to, "%-13s %-16s %s %8s %6s %6s %6s %6s %6s  %s\n", "kind", "shape", "t", "gflops", "peak", "weights", "read",
          "ratio", "paired", "rivals' GFLOP/s, the best first");
  for (size_t i = 0; (own = bench_own(all, i)); i++) print_row(to, all, own);
}

/* ---- the goals ---- */

typedef struct tally {
  int n, met;
  double least, log_sum, log_sum_at_limits; /* if we took no longer than bench_bound; 0: that says nothing */
} tally;

static void count(tally *t, double value, double goal) {
  t->least = t->n ? fmin(t->least, value) : value;
  t->n++;
  t->met += value >= goal;
  t->log_sum += log(value);
}

static void count_ratio(tally *t, const bench_result *own, const bench_result *rival, double goal) {
  if (!rival) return;
  count(t, rival->seconds / own->seconds, goal);
  t->log_sum_at_limits += log(rival->seconds / bench_bound(own));
}

static void print_tally(FILE *to, const char *kind, const char *what, double goal, const tally *t) {
  if (!t->n) return;
  fprintf(to, "%-13s %-58s goal %.2f  met on %d of %d, least %.2f, mean %.2f", kind, what, goal, t->met, t->n, t->least,
          exp(t->log_sum / t->n));
  if (t->log_sum_at_limits != 0) fprintf(to, " (of %.2f at the machine's limits)", exp(t->log_sum_at_limits / t->n));
  fprintf(to, "\n");
}

static void print_goals_of(FILE *to, const bench_results *all, const bench_kind *kind) {
  const bool scaled = strchr(kind->name, '*') != NULL;
  tally every = {0}, hard = {0}, prefill = {0}, decode = {0}, few = {0};
  const bench_result *own;
  for (size_t i = 0; (own = bench_own(all, i)); i++) {
    const bench_case *c = &own->c;
    if (c->kind != kind) continue;
    const bench_result *rival = bench_best_rival(all, c);
    count_ratio(&every, own, rival, 1);
    if (bench_is_small(c) || bench_is_decode(c) || c->threads > 1) count_ratio(&hard, own, rival, 1.1);
    if (c->m >= 4 && c->m <= DECODE_ROWS) count_ratio(&few, own, rival, 2);
    if (!bench_is_decode(c) && !bench_is_small(c))
      count(&prefill, bench_operations(c) / own->seconds / own->peak, kind->goal);
    if (bench_is_decode(c) && own->bandwidth > 0) count(&decode, bench_bound(own) / own->seconds, 0.9);
  }
  print_tally(to, kind->name, "time of the best rival / ours, every shape", 1, &every);
  if (!scaled) print_tally(to, kind->name, "the same, small, two-thread and decode shapes (mean)", 1.1, &hard);
  if (scaled) print_tally(to, kind->name, "the same, m = 4 and 16", 2, &few);
  if (scaled)
    print_tally(to, kind->name, kind->rounds_a ? "of the int8 peak, prefill" : "of the bf16 peak, prefill", kind->goal,
                &prefill);
  print_tally(to, kind->name, "of what bandwidth (and peak) allow, decode", 0.9, &decode);
}

static void print_all(FILE *to, const bench_results *all) {
  print_table(to, all);
  fprintf(to, "\n");
  for (size_t i = 0; bench_kind_at(i); i++) print_goals_of(to, all, bench_kind_at(i));
}

bool bench_report(const bench_results *all, const char *directory) {
  char path[4200];
  print_all(stdout, all);
  snprintf(path, sizeof path, "%s/table.txt", directory);
  FILE *file = fopen(path, "w");
  if (!file) return false;
  print_all(file, all);
  if (fclose(file) != 0) return false;
  snprintf(path, sizeof path, "%s/chart.svg", directory);
  return bench_chart(all, path);
}
