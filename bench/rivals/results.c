/* results.c - the CSV file: a line of names, then one line for each library and case. */
#include "bench/rivals/results.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char HEADER[] = "kind,m,n,k,threads,library,how,seconds,median,paired,gflops,weight_bytes,weight_gb_s,"
                             "peak_gflops,memory_gb_s,error\n";

double bench_operations(const bench_case *c) { return 2.0 * (double)c->m * (double)c->n * (double)c->k; }

bool bench_results_add(bench_results *r, const bench_result *item) {
  for (size_t i = 0; i < r->n; i++) {
    bench_result *known = &r->item[i];
    if (!bench_same(&known->c, &item->c) || strcmp(known->library, item->library) != 0) continue;
    const double peak = fmax(known->peak, item->peak), bandwidth = fmax(known->bandwidth, item->bandwidth);
    if (item->seconds < known->seconds) *known = *item;
    known->peak = peak;
    known->bandwidth = bandwidth;
    return true;
  }
  if (r->n == r->room) {
    const size_t room = r->room ? 2 * r->room : 256;
    bench_result *larger = realloc(r->item, room * sizeof *larger);
    if (!larger) return false;
    r->item = larger;
    r->room = room;
  }
  r->item[r->n++] = *item;
  return true;
}

static bool parse(char *line, bench_result *out) {
  char *field[16], *rest = line;
  for (int i = 0; i < 16; i++)
    if (!(field[i] = strsep(&rest, ",\n"))) return false;
  *out = (bench_result){0};
  out->c.kind = bench_kind_named(field[0]);
  out->c.m = strtoll(field[1], NULL, 10);
  out->c.n = strtoll(field[2], NULL, 10);
  out->c.k = strtoll(field[3], NULL, 10);
  out->c.threads = atoi(field[4]);
  snprintf(out->library, sizeof out->library, "%.40s", field[5]);
  snprintf(out->how, sizeof out->how, "%.60s", field[6]);
  out->seconds = strtod(field[7], NULL);
  out->median = strtod(field[8], NULL);
  out->paired = strtod(field[9], NULL);
  out->weight_bytes = strtod(field[11], NULL);
  out->peak = strtod(field[13], NULL) * 1e9;
  out->bandwidth = strtod(field[14], NULL) * 1e9;
  out->error = strtod(field[15], NULL);
  return out->c.kind && out->seconds > 0;
}

bool bench_results_read(const char *path, bench_results *out) {
  char line[1024];
  bench_result item;
  FILE *file = fopen(path, "r");
  *out = (bench_results){0};
  if (!file) return true;
  bool done = true;
  while (done && fgets(line, sizeof line, file))
    if (parse(line, &item)) done = bench_results_add(out, &item);
  fclose(file);
  return done;
}

bool bench_results_append(const char *path, const bench_result *r, size_t n) {
  FILE *file = fopen(path, "a");
  if (!file) return false;
  if (fseek(file, 0, SEEK_END) == 0 && ftell(file) == 0) fputs(HEADER, file);
  for (size_t i = 0; i < n; i++, r++)
    fprintf(file, "%s,%" PRId64 ",%" PRId64 ",%" PRId64 ",%d,%s,%s,%.9g,%.9g,%.4f,%.2f,%.0f,%.2f,%.2f,%.2f,%.3g\n",
            r->c.kind->name, r->c.m, r->c.n, r->c.k, r->c.threads, r->library, r->how, r->seconds, r->median, r->paired,
            bench_operations(&r->c) / r->seconds * 1e-9, r->weight_bytes, r->weight_bytes / r->seconds * 1e-9,
            r->peak * 1e-9, r->bandwidth * 1e-9, r->error);
  return fclose(file) == 0;
}

bool bench_results_have(const bench_results *r, const bench_case *c) {
  for (size_t i = 0; i < r->n; i++)
    if (bench_same(&r->item[i].c, c)) return true;
  return false;
}

void bench_results_free(bench_results *r) {
  free(r->item);
  *r = (bench_results){0};
}
