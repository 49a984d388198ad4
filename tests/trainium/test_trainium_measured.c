/* Published times of NKI kernels beside the model's, as docs/reference/accuracy-trainium.md has them.
 *
 * TRAINIUM_SOURCES names a folder with the repositories that tests/data/trainium/measured.txt lists; `./dev accuracy` fetches them and
 * rewrites the page. Without the folder the test skips. Other uses:
 *   test_trainium_measured WORD...    prints the cases that have one of the words, their families, and what wrong orders
 *                                     have in common
 *   test_trainium_measured --write    runs every case and rewrites the page
 * A line of the list:
 *   family | machine | descriptors | measured us | path[#N] | kernel | operands and parameters
 * path#N is the N-th text code='''...''' of a published search trace. Descriptors: dge, or static where the kernel was compiled with
 * --disable-dge. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../bench/trainium_operands.h"
#include "base/files.h"
#include "base/parallel.h"
#include "base/random.h"
#include "page.h"
#include "target/trainium/timing/hazards.h"
#include "target/trainium/timing/timing.h"

enum { CASES_MAX = 512, FIELDS = 7, PLACES = 8 };

/* Times that differ by less share a rank: p1 and p99 of published series are closer than this. */
static const double noise = 0.005;
/* The median error of a model whose orders are compared with this one's, and the correlation that is wanted. */
static const double usual_error = 0.04, wanted = 0.8;

typedef struct measurement {
  char *field[FIELDS];
  double measured, simulated; /* us */
  int cores;                  /* among which the published kernel was divided: simulated is that of one, divided */
  bool runs;
  int64_t read, spilled; /* bytes of HBM, and in both directions */
  char why[200];         /* it has no modelled time */
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

/* The first line `name = ...` of the source, so indented, gets a value. */
static void set_constant(char *source, size_t size, const char *name, const char *value) {
  char line[64], *at, rest[1 << 16];
  snprintf(line, sizeof line, " %s = ", name);
  if (!(at = strstr(source, line))) return;
  at += strlen(line);
  snprintf(rest, sizeof rest, "%s", at + strcspn(at, "\n"));
  snprintf(at, size - (size_t)(at - source), "%s%s", value, rest);
}

/* Parameters become directives in front of the source. */
static char *with_directives(const measurement *m, const char *source) {
  const size_t size = strlen(source) + strlen(m->field[6]) + 4096;
  char *out = malloc(size), copy[1024], *rest = NULL;
  char *text = malloc(size);
  snprintf(text, size, "%s", source);
  int n = snprintf(out, size, "#: kernel = %s\n", m->field[5]);
  snprintf(copy, sizeof copy, "%s", m->field[6]);
  for (char *p = strtok_r(copy, " ", &rest); p; p = strtok_r(NULL, " ", &rest)) {
    char *is = strchr(p, '=');
    if (!is) continue;
    *is = '\0';
    if (*p >= 'A' && *p <= 'Z')
      set_constant(text, size, p, is + 1);
    else
      n += snprintf(out + n, size - (size_t)n, "#: %s = %s\n", p, is + 1);
  }
  snprintf(out + n, size - (size_t)n, "%s", text);
  free(text);
  return out;
}

/* Adds the instructions to `out` that lead to a sum in an activation; the number of them is 0 if there is no such sum. */
static tw_status leads_to_sums(const trn_program *p, trn_program *out, tw_error *error) {
  trn_hazards h = {0};
  *out = (trn_program){.is_older = p->is_older, .keeps_loops = p->keeps_loops};
  bool *leads = calloc(p->n_instructions + 1, sizeof *leads);
  if (!leads) return tw_no_memory(error, NULL);
  tw_status status = trn_find_program_hazards(p, &h, error);
  for (size_t i = p->n_instructions; i-- > 0 && status == TW_OK;) {
    const trn_instruction *in = &p->instruction[i];
    leads[i] |= in->opcode == TRN_ACCUMULATOR_READ && in->engine == TRN_SCALAR;
    for (size_t k = h.first[i]; k < h.end[i]; k++) {
      const int from = h.edge[k].instruction;
      leads[from] |=
          leads[i] && (!h.edge[k].is_order || p->instruction[from].operand[0].tensor == in->operand[0].tensor);
    }
  }
  for (size_t t = 0; t < p->n_tensors && status == TW_OK; t++)
    if (trn_program_add_tensor(out, &p->tensor[t]) < 0) status = tw_no_memory(error, NULL);
  for (size_t k = 1; k < p->n_scopes && status == TW_OK; k++)
    if (trn_program_add_scope(out, &p->scope[k]) < 0) status = tw_no_memory(error, NULL);
  for (size_t i = 0; i < p->n_instructions && status == TW_OK; i++)
    if (leads[i] && trn_program_add(out, &p->instruction[i]) < 0) status = tw_no_memory(error, NULL);
  trn_hazards_free(&h);
  free(leads);
  return status;
}

/* Both cores compute what leads to a sum in an activation, and divide the rest: in two kernels counters of products, of copies
 * and of bytes read are those of the whole, and once more of this part. */
static tw_status add_repeated(const trn_config *config, const trn_program *p, const trn_compiler *compiler,
                              measurement *m, tw_error *error) {
  trn_program part;
  trn_timing t = {0};
  tw_status status = leads_to_sums(p, &part, error);
  if (status == TW_OK && part.n_instructions) status = trn_time(config, &part, compiler, &t, error);
  m->simulated += t.device / 1000 / m->cores;
  m->read += t.hbm_read;
  trn_timing_free(&t);
  trn_program_free(&part);
  return status;
}

static tw_status time_case(measurement *m, const char *folder, trn_timing *t, tw_error *error) {
  tw_operand operand[OPERANDS_MAX];
  nki_request request = {.operand = operand};
  trn_config config;
  nki_module module;
  trn_program program;
  char copy[1024], *rest = NULL;
  char *plain = source_of(folder, m->field[4], error);
  if (!plain) return TW_FAILED;
  char *source = with_directives(m, plain);
  free(plain);
  snprintf(copy, sizeof copy, "%s", m->field[6]);
  for (char *p = strtok_r(copy, " ", &rest); p; p = strtok_r(NULL, " ", &rest))
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
    m->read = t->hbm_read;
    m->spilled = t->spilled_bytes;
    if (status == TW_OK && m->cores > 1) status = add_repeated(&config, &program, &compiler, m, error);
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

/* Places in the order of x, from 1; values that differ by less than `apart` from the least of theirs share the mean place. */
static void find_ranks(const double *x, int n, double apart, double *rank) {
  double sorted[CASES_MAX];
  memcpy(sorted, x, (size_t)n * sizeof *x);
  qsort(sorted, (size_t)n, sizeof *sorted, compare);
  for (int from = 0, to; from < n; from = to) {
    for (to = from; to < n && sorted[to] <= sorted[from] * (1 + apart);) to++;
    for (int i = 0; i < n; i++)
      if (x[i] >= sorted[from] && x[i] <= sorted[to - 1]) rank[i] = 0.5 * (from + 1 + to);
  }
}

static double rank_correlation(const double *x, const double *y, int n, double apart) {
  double a[CASES_MAX], b[CASES_MAX], xy = 0, xx = 0, yy = 0;
  const double mean = 0.5 * (n + 1);
  find_ranks(x, n, apart, a);
  find_ranks(y, n, apart, b);
  for (int i = 0; i < n; i++) {
    xy += (a[i] - mean) * (b[i] - mean);
    xx += (a[i] - mean) * (a[i] - mean);
    yy += (b[i] - mean) * (b[i] - mean);
  }
  return xx > 0 && yy > 0 ? xy / sqrt(xx * yy) : NAN;
}

/* Pairs whose measured times differ by a share or more: how many there are, and in how many the model has the same order. */
static int pairs_in_order(const double *x, const double *y, int n, double apart, int *pairs) {
  int kept = 0;
  *pairs = 0;
  for (int i = 0; i < n; i++)
    for (int k = 0; k < n; k++) {
      if (x[k] < (1 + apart) * x[i]) continue;
      ++*pairs;
      kept += y[k] > y[i];
    }
  return kept;
}

static double error_of(const measurement *m) { return m->simulated / m->measured - 1; }

/* The file, and the kernel where a file has several. */
static const char *name_of(const measurement *m) {
  static char name[160];
  const char *slash = strrchr(m->field[4], '/'), *file = slash ? slash + 1 : m->field[4];
  const bool is_alone = !strcmp(m->field[5], "kernel") || !strcmp(m->field[5], "test");
  snprintf(name, sizeof name, "%s%s%s", file, is_alone ? "" : " ", is_alone ? "" : m->field[5]);
  return name;
}

static void add_family(tw_text *text, const char *family, const char *machine) {
  double x[CASES_MAX], y[CASES_MAX], error[CASES_MAX], sum = 0;
  int n = 0, pairs, near_pairs;
  for (int i = 0; i < n_cases; i++) {
    const measurement *m = &cases[i];
    if (!m->runs || (family && strcmp(m->field[0], family)) || strcmp(m->field[1], machine)) continue;
    x[n] = m->measured;
    y[n] = m->simulated;
    sum += error[n++] = fabs(error_of(m));
  }
  if (!n) return;
  const double middle = 100 * median(error, n);
  const int kept = pairs_in_order(x, y, n, 0.1, &pairs), near = pairs_in_order(x, y, n, 0.05, &near_pairs);
  if (family)
    tw_text_add(text, "| %s | %s | %d | %.1f%% | %.2f | %.2f | %.2f | %d of %d |\n", family, machine, n, middle,
                rank_correlation(x, y, n, 0), rank_correlation(x, y, n, noise), 2.0 * near / near_pairs - 1, kept,
                pairs);
  else
    tw_text_add(text, "- %s: %d rows, median error %.1f%%, mean %.1f%%\n", machine, n, middle, 100 * sum / n);
}

/* A factor of a time: with errors of the usual median, or evenly within a share of the time in both directions. */
static double error_factor(tw_random *r, double share) {
  if (share > 0) return pow(1 + share, 2 * tw_random_real(r) - 1);
  const double deviation = usual_error / 0.6745; /* the median of |normal| */
  const double u = 1 - tw_random_real(r), angle = 6.283185307179586 * tw_random_real(r);
  return exp(deviation * sqrt(-2 * log(u)) * cos(angle));
}

/* Rank correlations with x of times that are right but for errors. */
typedef struct drawn {
  double mean, low, reach; /* low: one draw of twenty is lower; reach: the share of draws that reach the wanted one */
} drawn;

/* `share`: as error_factor has it; 0 for the usual errors. */
static drawn draw_correlations(const double *x, int n, double share) {
  enum { DRAWS = 2000 };
  static _Thread_local double c[DRAWS];
  double y[CASES_MAX];
  drawn d = {0};
  tw_random r;
  tw_random_seed(&r, 1);
  for (int k = 0; k < DRAWS; k++) {
    for (int i = 0; i < n; i++) y[i] = x[i] * error_factor(&r, share);
    c[k] = rank_correlation(x, y, n, 0);
    d.mean += c[k] / DRAWS;
    d.reach += (c[k] >= wanted) / (double)DRAWS;
  }
  qsort(c, DRAWS, sizeof *c, compare);
  d.low = c[DRAWS / 20];
  return d;
}

/* How far the published times of one kernel of a family are apart: the widest of its kernels; 0: none was measured twice. */
static double published_spread(const char *family, const char *machine) {
  double widest = 0, low, high;
  for (int i = 0; i < n_cases; i++) {
    const char *range = strstr(cases[i].field[2], "range=");
    if (strcmp(cases[i].field[0], family) || strcmp(cases[i].field[1], machine)) continue;
    if (range && sscanf(range, "range=%lf-%lf", &low, &high) == 2) widest = fmax(widest, high / low - 1);
  }
  return widest;
}

/* What the rank correlation of a model without errors would be, if all rows were measured again. */
static void add_noise(tw_text *text, const char *family, const char *machine) {
  const double spread = published_spread(family, machine);
  double x[CASES_MAX], y[CASES_MAX];
  int n = 0, near = 0;
  for (int i = 0; i < n_cases; i++) {
    if (!cases[i].runs || strcmp(cases[i].field[0], family) || strcmp(cases[i].field[1], machine)) continue;
    x[n] = cases[i].measured;
    y[n++] = cases[i].simulated;
  }
  if (n < 4 || !spread) return;
  for (int i = 0; i < n; i++)
    for (int k = 0; k < n; k++) near += x[k] > x[i] && x[k] < (1 + spread) * x[i];
  const drawn right = draw_correlations(x, n, spread);
  tw_text_add(text, "| %s | %d | %.2f%% | %d of %d | %.2f | %.2f | %.0f%% | %.2f |\n", family, n, 100 * spread, near,
              n * (n - 1) / 2, right.mean, right.low, 100 * right.reach, rank_correlation(x, y, n, 0));
}

/* What a family's wrong orders have in common: small differences, or one row. */
static void add_orders(tw_text *text, const char *family, const char *machine) {
  double x[CASES_MAX], y[CASES_MAX], best = -1;
  const measurement *row[CASES_MAX], *worst = NULL;
  int n = 0, wrong = 0, within_5 = 0, within_10 = 0;
  for (int i = 0; i < n_cases; i++) {
    if (!cases[i].runs || strcmp(cases[i].field[0], family) || strcmp(cases[i].field[1], machine)) continue;
    x[n] = cases[i].measured;
    y[n] = cases[i].simulated;
    row[n++] = &cases[i];
  }
  if (n < 4) return;
  for (int i = 0; i < n; i++)
    for (int k = 0; k < n; k++) {
      if (x[k] <= x[i] || y[k] > y[i]) continue;
      wrong++;
      within_5 += x[k] < 1.05 * x[i];
      within_10 += x[k] < 1.1 * x[i];
    }
  for (int i = 0; i < n; i++) { /* the last row takes the place of the one that is left out */
    double a[CASES_MAX], b[CASES_MAX];
    memcpy(a, x, sizeof a);
    memcpy(b, y, sizeof b);
    a[i] = x[n - 1];
    b[i] = y[n - 1];
    const double c = rank_correlation(a, b, n - 1, 0);
    if (c <= best) continue;
    best = c;
    worst = row[i];
  }
  const drawn expected = draw_correlations(x, n, 0);
  tw_text_add(text, "| %s | %s | %.2f | %d of %d | %d | %d | %.2f, %.0f%% | %.2f without `%s` |\n", family, machine,
              rank_correlation(x, y, n, 0), wrong, n * (n - 1) / 2, within_5, within_10, expected.mean,
              100 * expected.reach, best, worst ? name_of(worst) : "-");
}

static void each_family(tw_text *text, void (*add)(tw_text *, const char *family, const char *machine)) {
  static const char *const machines[] = {"trn2", "trn1"};
  for (size_t k = 0; k < 2; k++)
    for (int i = 0; i < n_cases; i++) {
      bool seen = strcmp(cases[i].field[1], machines[k]) != 0;
      for (int j = 0; j < i && !seen; j++)
        seen = !strcmp(cases[j].field[0], cases[i].field[0]) && !strcmp(cases[j].field[1], cases[i].field[1]);
      if (!seen) add(text, cases[i].field[0], machines[k]);
    }
}

/* Rows of several cores: their error against one core's time, and with the factor that the other families' rows have. */
static void add_cores(tw_text *text) {
  double alone[CASES_MAX], left_out[CASES_MAX], factor[CASES_MAX];
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
    tw_text_add(text,
                "- %d rows of two cores: median error %.1f%% with one core's time, %.1f%% with the factor of the other "
                "families\n",
                rows, 100 * median(alone, rows), 100 * median(left_out, rows));
}

static bool is_from_source(const measurement *m) { /* kernels of the repository with the traces */
  return !strcmp(m->field[0], "attention") || !strcmp(m->field[0], "mlp");
}

/* The bytes that kernels read from HBM: they show which loads the compiler removed or added. */
static void add_reads(tw_text *text) {
  int n = 0, near = 0;
  for (int pass = 0; pass < 2; pass++) {
    for (int i = 0; i < n_cases; i++) {
      const measurement *m = &cases[i];
      const char *given = strstr(m->field[2], "read=");
      if (!m->runs || !given) continue;
      const double published = atof(given + 5), model = 1e-6 * (double)m->read;
      const bool is_near = fabs(model / published - 1) <= 0.1;
      if (pass && !is_near) tw_text_add(text, "| `%s` | %.0f MB | %.0f MB |\n", name_of(m), published, model);
      n += !pass;
      near += !pass && is_near;
    }
    if (!pass)
      tw_text_add(text,
                  "\nThe bytes read from HBM are published for %d rows. The model is within 10%% in %d of them. The "
                  "other rows:\n\n"
                  "| kernel | published | model |\n| --- | --- | --- |\n",
                  n, near);
  }
}

static char *tables(void) {
  tw_text text = {0};
  double sum = 0, error[CASES_MAX];
  int n = 0;
  tw_text_add_string(&text,
                     "\n| kernel | operands | measured, p50 | model | error |\n| --- | --- | --- | --- | --- |\n");
  for (int i = 0; i < n_cases; i++) {
    const measurement *m = &cases[i];
    if (!m->runs || !is_from_source(m)) continue;
    sum += error[n++] = fabs(error_of(m));
    tw_text_add(&text, "| `%s` | `%s` | %.0f us | %.0f us | %+.0f%% |\n", m->field[5], m->field[6], m->measured,
                m->simulated, 100 * error_of(m));
  }
  tw_text_add(&text, "\nThe mean of the absolute errors is %.1f%%, the median %.1f%%.\n", 100 * sum / n,
              100 * median(error, n));
  tw_text_add_string(
      &text, "\n| kernels | machine | rows | median error | rank correlation | if times 0.5% apart share a rank | "
             "right less wrong orders of pairs 5% apart | pairs 10% apart in order |\n"
             "| --- | --- | --- | --- | --- | --- | --- | --- |\n");
  each_family(&text, add_family);
  tw_text_add_string(&text, "\n");
  add_family(&text, NULL, "trn2");
  add_family(&text, NULL, "trn1");
  add_cores(&text);
  tw_text_add_string(&text,
                     "\n| kernels on trn2 | rows | times of one kernel differ by | pairs within it | right model, rank "
                     "correlation | 19 of 20 draws above | reach 0.8 | this model |\n"
                     "| --- | --- | --- | --- | --- | --- | --- | --- |\n");
  each_family(&text, add_noise);
  tw_text_add_string(
      &text,
      "\n| rows with errors above 25% | machine | measured | model | error |\n| --- | --- | --- | --- | --- |\n");
  for (int i = 0; i < n_cases; i++)
    if (cases[i].runs && fabs(error_of(&cases[i])) > 0.25)
      tw_text_add(&text, "| `%s` %s | %s | %.0f us | %.0f us | %+.0f%% |\n", name_of(&cases[i]),
                  is_from_source(&cases[i]) ? cases[i].field[6] : "", cases[i].field[1], cases[i].measured,
                  cases[i].simulated, 100 * error_of(&cases[i]));
  tw_text_add_string(
      &text, "\n| rows that spill | machine | published, stored and loaded | model |\n| --- | --- | --- | --- |\n");
  for (int i = 0; i < n_cases; i++) {
    const measurement *m = &cases[i];
    const char *given = strstr(m->field[2], "spilled=");
    if (!m->runs || (!given && !m->spilled)) continue;
    tw_text_add(&text, "| `%s` | %s | %.*s%s | %.0f MB |\n", name_of(m), m->field[1],
                given ? (int)strcspn(given + 8, " ") : 0, given ? given + 8 : "", given ? " MB" : "",
                1e-6 * (double)m->spilled);
  }
  add_reads(&text);
  tw_text_add_string(&text, "\n| rows without a modelled time | machine | reason |\n| --- | --- | --- |\n");
  for (int i = 0; i < n_cases; i++)
    if (*cases[i].why) tw_text_add(&text, "| `%s` | %s | %s |\n", name_of(&cases[i]), cases[i].field[1], cases[i].why);
  tw_text_add_string(&text, "\n");
  return text.data;
}

static const page the_page = {"docs/reference/accuracy-trainium.md",
                              "<!-- measured: made by build/tests/test_trainium_measured --write -->\n",
                              "<!-- end of measured -->\n", "test_trainium_measured"};

static bool is_wanted(const measurement *m, int words, char *const word[]) {
  for (int k = 0; k < words; k++)
    for (int f = 0; f < FIELDS; f++)
      if (strstr(m->field[f], word[k])) return true;
  return !words;
}

typedef struct request {
  const char *folder;
  int words;
  char *const *word;
} request;

static void run_case(void *context, size_t i) {
  const request *r = context;
  measurement *m = &cases[i];
  trn_timing t = {0};
  tw_error error;
  tw_text text = {0};
  if (!is_wanted(m, r->words, r->word)) return;
  m->runs = time_case(m, r->folder, &t, &error) == TW_OK;
  if (!m->runs) snprintf(m->why, sizeof m->why, "%.190s", error.text);
  tw_text_add(&text, "%-22.22s %-32.32s ", m->field[0], name_of(m));
  if (m->runs) {
    size_t issued[TRN_ENGINES] = {0};
    for (size_t k = 0; k < t.n_spans; k++)
      if (t.span[k].lane < TRN_ENGINES) issued[t.span[k].lane]++;
    tw_text_add(&text, "%-18.18s %9.1f %9.1f us %+6.1f%%  busy", m->field[6], m->measured, m->simulated,
                100 * error_of(m));
    for (int e = 0; e < TRN_ENGINES; e++)
      tw_text_add(&text, " %c %3.0f%%", trn_engine_name((trn_engine)e)[0], 100 * t.busy[e] / t.device);
    tw_text_add(&text, " dma %3.0f%% read %.0f MB write %.0f MB spilled %.0f MB, loads -%zu copies -%zu,",
                100 * t.dma_busy / t.device, 1e-6 * (double)t.hbm_read, 1e-6 * (double)t.hbm_written,
                1e-6 * (double)t.spilled_bytes, t.loads_removed, t.copies_removed);
    tw_text_add(&text, " instructions v %zu s %zu", issued[TRN_VECTOR], issued[TRN_SCALAR]);
  } else {
    tw_text_add_string(&text, m->why);
  }
  if (r->words) puts(text.data);
  tw_text_free(&text);
  trn_timing_free(&t);
}

/* Runs the cases that have one of the words, on all cores; prints them if there are words. */
static void run_cases(const char *folder, int words, char *const word[]) {
  tw_error error;
  char *text; /* stays: the cases point into it */
  if (tw_file_read(TW_TEST_DATA "/trainium/measured.txt", 1 << 24, &text, NULL, &error) != TW_OK)
    fail_msg("%s", error.text);
  read_cases(text);
  tw_parallel_for(0, (size_t)n_cases, run_case, &(request){folder, words, word});
}

static void the_page_says_it(void **state) {
  const char *folder = getenv("TRAINIUM_SOURCES");
  if (!folder) {
    print_message("TRAINIUM_SOURCES names no folder with the public kernels (./dev accuracy fetches them)\n");
    skip();
  }
  run_cases(folder, 0, NULL);
  page_must_say(&the_page, tables());
}

int main(int argc, char **argv) {
  const char *folder = getenv("TRAINIUM_SOURCES");
  const bool writes = argc == 2 && !strcmp(argv[1], "--write");
  const struct CMUnitTest tests[] = {cmocka_unit_test(the_page_says_it)};
  if (argc == 1) return cmocka_run_group_tests(tests, NULL, NULL);
  if (!folder) {
    fprintf(stderr, "TRAINIUM_SOURCES: expected a folder with the public kernels\n");
    return 2;
  }
  setvbuf(stdout, NULL, _IOLBF, 0);
  run_cases(folder, writes ? 0 : argc - 1, argv + 1);
  if (writes) {
    page_write(&the_page, tables());
    return 0;
  }
  tw_text text = {0};
  each_family(&text, add_family);
  tw_text_add(
      &text,
      "| kernels | machine | rank correlation | wrong pairs | less than 5%% apart | less than 10%% apart | with "
      "errors of %.0f%% alone | without one row |\n| --- | --- | --- | --- | --- | --- | --- | --- |\n",
      100 * usual_error);
  each_family(&text, add_orders);
  add_family(&text, NULL, "trn2");
  add_family(&text, NULL, "trn1");
  add_cores(&text);
  printf("%s", text.data);
  tw_text_free(&text);
  return 0;
}
