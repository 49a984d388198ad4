/* Published times of NKI kernels beside the model's: bench_trainium_measured CASES CHECKOUTS [WORD...]
 *
 * CASES is a list of measurements (bench/trainium_measured.txt); CHECKOUTS a folder that holds the repositories named there.
 * Only cases with one of the WORDs in their line run. Prints a line for each case, then for each family the median error and the rank correlation
 * (Spearman). A line of CASES:
 *   family | machine | descriptors | measured us | path[#N] | kernel | operands and parameters
 * path#N is the N-th text code='''...''' of a published search trace. Descriptors: dge, or static where the kernel was compiled with
 * --disable-dge. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/files.h"
#include "target/trainium/timing/races.h"
#include "target/trainium/timing/timing.h"
#include "trainium_operands.h"

enum { CASES_MAX = 512, FIELDS = 7, PLACES = 8 };

typedef struct measurement {
  char *field[FIELDS];
  double measured, simulated; /* us */
  int cores;                  /* among which the published kernel was divided: simulated is that of one, divided */
  bool runs;
} measurement;

static measurement cases[CASES_MAX];
static int n_cases;

static char *trim(char *s) {
  s += strspn(s, " ");
  for (size_t n = strlen(s); n && (s[n - 1] == ' ' || s[n - 1] == '\r'); n--) s[n - 1] = '\0';
  return s;
}

static void read_cases(char *text) {
  for (char *line = strtok(text, "\n"); line && n_cases < CASES_MAX; line = strtok(NULL, "\n")) {
    measurement *m = &cases[n_cases];
    int n = 0;
    if (*line == '#') continue;
    for (char *at = line; at && n < FIELDS; n++) {
      char *next = strchr(at, '|');
      if (next) *next++ = '\0';
      m->field[n] = trim(at);
      at = next;
    }
    if (n < FIELDS) continue;
    m->measured = atof(m->field[3]);
    n_cases++;
  }
}

/* The N-th code='''...''' of a trace, or the file. */
static char *source_of(const char *folder, const char *path, tw_error *error) {
  char name[1024], *text;
  const char *number = strchr(path, '#');
  snprintf(name, sizeof name, "%s/%.*s", folder, (int)strcspn(path, "#"), path);
  if (tw_file_read(name, 1 << 24, &text, NULL, error) != TW_OK) return NULL;
  if (!number) return text;
  const char *mark = "code='''", *at = text;
  for (int k = atoi(number + 1); at; k--) {
    at = strstr(at, mark);
    if (!at) break;
    at += strlen(mark);
    if (k > 0) continue;
    const char *end = strstr(at, "'''");
    char *out = end ? strndup(at, (size_t)(end - at)) : NULL, *to = out;
    for (const char *c = out; c && *c; c++) /* the text is a Python literal */
      *to++ = c[0] == '\\' && (c[1] == '\'' || c[1] == '\\' || c[1] == 'n') ? *++c == 'n' ? '\n' : *c : *c;
    if (to) *to = '\0';
    free(text);
    return out;
  }
  tw_fail(error, TW_FAILED, "%s: no such step", path);
  free(text);
  return NULL;
}

/* Parameters become directives in front of the source. */
static char *with_directives(const measurement *m, const char *source) {
  const size_t size = strlen(source) + strlen(m->field[6]) + 4096;
  char *out = malloc(size), copy[1024];
  int n = snprintf(out, size, "#: kernel = %s\n", m->field[5]);
  snprintf(copy, sizeof copy, "%s", m->field[6]);
  for (char *p = strtok(copy, " "); p; p = strtok(NULL, " ")) {
    char *is = strchr(p, '=');
    if (!is) continue;
    *is = '\0';
    n += snprintf(out + n, size - (size_t)n, "#: %s = %s\n", p, is + 1);
  }
  snprintf(out + n, size - (size_t)n, "%s", source);
  return out;
}

static tw_status time_case(measurement *m, const char *folder, trn_timing *t, tw_error *error) {
  static tw_operand operand[OPERANDS_MAX];
  nki_request request = {.operand = operand};
  trn_config config;
  nki_module module;
  trn_program program;
  char copy[1024];
  char *plain = source_of(folder, m->field[4], error);
  if (!plain) return TW_FAILED;
  char *source = with_directives(m, plain);
  free(plain);
  snprintf(copy, sizeof copy, "%s", m->field[6]);
  for (char *p = strtok(copy, " "); p; p = strtok(NULL, " "))
    if (!strchr(p, '=') && request.n_operands < OPERANDS_MAX && !read_operand(p, &operand[request.n_operands++]))
      return tw_fail(error, TW_FAILED, "%s: not an operand", p);
  tw_status status = trn_config_load(m->field[1], &config, error);
  if (status == TW_OK) status = nki_parse(source, strlen(source), &module, error);
  if (status == TW_OK) {
    status = nki_execute(&config, &module, source, &request, &program, error);
    nki_module_free(&module);
  }
  if (status == TW_OK) status = trn_check_races(&program, error);
  if (status == TW_OK) {
    trn_compiler compiler = trn_compiler_usual;
    compiler.static_dma = strncmp(m->field[2], "static", 6) == 0;
    const char *cores = strstr(m->field[2], "cores=");
    double total = 0;
    int n = 0;
    do { /* the windows after which the PE clock is decided run freely: the mean over places, where that matters */
      if (n) trn_timing_free(t);
      config.tensor.window_phase_ns = (n + 0.5) / PLACES * config.tensor.window_ns;
      status = trn_time(&config, &program, &compiler, t, error);
      total += t->device;
      n++;
    } while (status == TW_OK && n < PLACES && t->device < 400e3);
    m->cores = cores ? atoi(cores + 6) : 1;
    m->simulated = (total / n + config.launch_ns) / 1000 / m->cores;
    trn_program_free(&program);
  }
  free(source);
  return status;
}

static int compare(const void *x, const void *y) {
  const double a = *(const double *)x, b = *(const double *)y;
  return (a > b) - (a < b);
}

static double median(double *x, int n) {
  qsort(x, (size_t)n, sizeof *x, compare);
  return n ? n % 2 ? x[n / 2] : 0.5 * (x[n / 2 - 1] + x[n / 2]) : NAN;
}

/* Places in the order of x, from 1; equal values share the mean of theirs. */
static void find_ranks(const double *x, int n, double *rank) {
  for (int i = 0; i < n; i++) {
    int less = 0, equal = 0;
    for (int k = 0; k < n; k++) {
      less += x[k] < x[i];
      equal += x[k] == x[i];
    }
    rank[i] = less + 0.5 * (equal + 1);
  }
}

static double rank_correlation(const double *x, const double *y, int n) {
  double *a = calloc((size_t)n + 1, sizeof *a), *b = calloc((size_t)n + 1, sizeof *b), xy = 0, xx = 0, yy = 0;
  const double mean = 0.5 * (n + 1);
  find_ranks(x, n, a);
  find_ranks(y, n, b);
  for (int i = 0; i < n; i++) {
    xy += (a[i] - mean) * (b[i] - mean);
    xx += (a[i] - mean) * (a[i] - mean);
    yy += (b[i] - mean) * (b[i] - mean);
  }
  free(a);
  free(b);
  return xx > 0 && yy > 0 ? xy / sqrt(xx * yy) : NAN;
}

/* Pairs whose measured times differ by a tenth or more: how many there are, and in how many the model has the same order. */
static int pairs_in_order(const double *x, const double *y, int n, int *pairs) {
  int kept = 0;
  *pairs = 0;
  for (int i = 0; i < n; i++)
    for (int k = 0; k < n; k++) {
      if (x[k] < 1.1 * x[i]) continue;
      ++*pairs;
      kept += y[k] > y[i];
    }
  return kept;
}

static void print_family(const char *family, const char *machine) {
  static double x[CASES_MAX], y[CASES_MAX], error[CASES_MAX];
  int n = 0;
  for (int i = 0; i < n_cases; i++) {
    const measurement *m = &cases[i];
    if (!m->runs || (family && strcmp(m->field[0], family)) || strcmp(m->field[1], machine)) continue;
    x[n] = m->measured;
    y[n] = m->simulated;
    error[n++] = fabs(m->simulated / m->measured - 1);
  }
  if (!n) return;
  printf("%-24s %s %4d rows, median error %5.1f%%", family ? family : "all", machine, n, 100 * median(error, n));
  if (family) {
    int pairs;
    const int kept = pairs_in_order(x, y, n, &pairs);
    printf(", rank correlation %5.2f, %d of %d pairs that differ by 10%% in order", rank_correlation(x, y, n), kept,
           pairs);
  }
  printf("\n");
}

/* Rows of several cores: their error against one core's time, and with the factor that the other families' rows have. */
static void print_cores(void) {
  static double alone[CASES_MAX], left_out[CASES_MAX], factor[CASES_MAX];
  int rows = 0;
  for (int i = 0; i < n_cases; i++) {
    const measurement *m = &cases[i];
    int n = 0;
    if (!m->runs || m->cores < 2) continue;
    for (int k = 0; k < n_cases; k++)
      if (cases[k].runs && cases[k].cores > 1 && strcmp(cases[k].field[0], m->field[0]) != 0)
        factor[n++] = cases[k].measured / (cases[k].simulated * cases[k].cores);
    if (!n) return; /* one family alone */
    const double one = m->simulated * m->cores;
    alone[rows] = fabs(one / m->measured - 1);
    left_out[rows++] = fabs(one * median(factor, n) / m->measured - 1);
  }
  if (rows)
    printf("cores=N %d rows, median error with one core's time %.1f%%, with the factor of the other families %.1f%%\n",
           rows, 100 * median(alone, rows), 100 * median(left_out, rows));
}

int main(int argc, char **argv) {
  char *text;
  tw_error error;
  if (argc < 3) {
    fprintf(stderr, "usage: bench_trainium_measured CASES CHECKOUTS [WORD...]\n");
    return 2;
  }
  if (tw_file_read(argv[1], 1 << 24, &text, NULL, &error) != TW_OK) {
    fprintf(stderr, "%s\n", error.text);
    return 2;
  }
  read_cases(text);
  setvbuf(stdout, NULL, _IOLBF, 0);
  for (int i = 0; i < n_cases; i++) {
    measurement *m = &cases[i];
    trn_timing t = {0};
    bool wanted = argc == 3;
    for (int k = 3; k < argc; k++)
      for (int f = 0; f < FIELDS; f++) wanted = wanted || strstr(m->field[f], argv[k]);
    if (!wanted) continue;
    const char *name = strrchr(m->field[4], '/') ? strrchr(m->field[4], '/') + 1 : m->field[4];
    const clock_t begin = clock();
    if (time_case(m, argv[2], &t, &error) != TW_OK) {
      printf("%-22.22s %-36.36s %s\n", m->field[0], name, error.text);
      continue;
    }
    m->runs = true;
    printf("%-22.22s %-32.32s %-18.18s %9.1f %9.1f us %+6.1f%%  busy", m->field[0], name, m->field[6], m->measured,
           m->simulated, 100 * (m->simulated / m->measured - 1));
    for (int e = 0; e < TRN_ENGINES; e++)
      printf(" %c %3.0f%%", trn_engine_name((trn_engine)e)[0], 100 * t.busy[e] / t.device);
    printf(" dma %3.0f%% read %.0f MB write %.0f MB, loads -%zu copies -%zu %.1f s\n", 100 * t.dma_busy / t.device,
           1e-6 * (double)t.hbm_read, 1e-6 * (double)t.hbm_written, t.loads_removed, t.copies_removed,
           (double)(clock() - begin) / CLOCKS_PER_SEC);
    trn_timing_free(&t);
  }
  static const char *const machines[] = {"trn2", "trn1"};
  for (size_t k = 0; k < 2; k++) {
    for (int i = 0; i < n_cases; i++) {
      bool seen = false;
      for (int j = 0; j < i; j++)
        seen = seen || (!strcmp(cases[j].field[0], cases[i].field[0]) && !strcmp(cases[j].field[1], cases[i].field[1]));
      if (!seen && !strcmp(cases[i].field[1], machines[k])) print_family(cases[i].field[0], machines[k]);
    }
    print_family(NULL, machines[k]);
  }
  print_cores();
  free(text);
  return 0;
}
