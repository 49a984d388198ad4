/* Published measurements that are in none of the tables from which numbers of the machine come, each simulated as the
 * design that was measured: tests/data/xdna2/elsewhere.csv, with the class of each point and the reason for it.
 *
 *   build/tests/test_xdna2_elsewhere --points       prints every point
 *   build/tests/test_xdna2_elsewhere --constants    prints what each source says of the constants, and the files' values
 *   build/tests/test_xdna2_elsewhere --sweep        compares a whole published sweep, of which the points have 15 rows
 *   build/tests/test_xdna2_elsewhere --write        writes the tables of docs/reference/accuracy-xdna2.md anew */
#include "page.h"
#include "target/xdna2/array/cost.h"
#include "target/xdna2/array/ddr.h"
#include "target/xdna2/array/gemm_array.h"
#include "xdna2_fit.h"

/* What the simulator says with the machine's file, and with constants to which the point's own source gave nothing. */
typedef struct result {
  double measured, as_it_is, held_out;
} result;

/* Machine files, and how points call the machines. */
static const struct {
  const char *file, *machine;
} files[] = {{"xdna2", "strix"}, {"xdna2-halo", "halo"}, {"xdna2-krackan", "krackan"}};
enum { FILES = sizeof files / sizeof *files };

typedef struct data {
  xd_config machine, file[FILES];
  table points, three;
  result result[ROWS_MAX]; /* of the points */
} data;

static const xd_config *file_of(const data *x, const char *machine) {
  for (int i = 0; i < FILES; i++)
    if (!strcmp(files[i].machine, machine)) return &x->file[i];
  fail_msg("no machine %s", machine);
  return NULL;
}

/* ---- a point's design ---- */

static bool says(const data *x, size_t row, const char *column, const char *word) {
  return !strcmp(cell(&x->points, row, column), word);
}

static bool is_gemv(const data *x, size_t row) { return says(x, row, "unit", "GB/s"); }
static bool is_core(const data *x, size_t row) { return says(x, row, "unit", "MAC/cycle"); }
/* Traced on the array: without what comes before it. */
static bool is_traced(const data *x, size_t row) { return says(x, row, "source", "hipfire-feed"); }

static int64_t whole(const data *x, size_t row, const char *column) { return (int64_t)number(&x->points, row, column); }

static xd_gemm design_of(const data *x, const xd_config *c, size_t row) {
  const xd_kernel *k = kernel_of(c, cell(&x->points, row, "kernel"));
  const tw_tile tile = {whole(x, row, "t_mc"), whole(x, row, "t_k"), whole(x, row, "t_n"), whole(x, row, "rho")};
  xd_gemm g = xd_gemm_default(c, k, &tile, whole(x, row, "m"), whole(x, row, "n"), whole(x, row, "k"));
  int64_t run = 0;
  g.columns = (int)number(&x->points, row, "columns");
  g.copies[2] = (int)number(&x->points, row, "copies_c");
  if (is_gemv(x, row)) { /* bf16 there: four times as many int4 are as many bytes */
    g.k *= 4;
    g.rows = 1;
  }
  if (says(x, row, "runs", "linear"))
    g.depth = k->a == TW_BF16 ? 8 : 1; /* config1/n32_core_placed.py: 512 of K in L2 */
  const char *runs = cell(&x->points, row, "runs");
  g.b_transposed = strncmp(runs, "row", 3) != 0;
  g.in_rows = g.await_groups = !strcmp(runs, "rows"); /* both as in the design's whole_array.py */
  if (tw_parse_int(runs + (g.b_transposed ? 0 : 3), &run)) g.depth = (int)(run / tile.k);
  g.b_transposed &= run > 0;
  return g;
}

/* ---- what the simulator says, in the point's unit ---- */

static double simulated_core(const xd_config *c, const xd_gemm *g) {
  return (double)g->tile.m * (double)g->tile.k * (double)g->tile.n /
         xd_micro_cycles(c, g->kernel, g->cover, g->tile.m, g->tile.k, g->tile.n);
}

/* The program of the design; its time is that of the published one, its data are not. */
static xd_program program_of(const data *x, const xd_config *c, size_t row) {
  const xd_gemm g = design_of(x, c, row);
  xd_program p;
  tw_error error;
  must(xd_gemm_program(c, &g, &p, &error), &error);
  return p;
}

static double simulated(const data *x, const xd_config *c, size_t row) {
  const xd_gemm g = design_of(x, c, row);
  const xd_run_options options = {.timing_only = true, .cost = xd_cost_of(c)};
  xd_run_result r;
  tw_error error;
  if (is_core(x, row)) return simulated_core(c, &g);
  xd_program p = program_of(x, c, row);
  must(xd_run(c, &p, &options, &r, &error), &error);
  xd_program_free(&p);
  const double seconds = r.cycles / (c->clock_mhz * 1e6) + (is_traced(x, row) ? 0 : c->array.dispatch_us * 1e-6);
  return is_gemv(x, row) ? 1e-9 * r.read_bytes / seconds : 2e-12 * (double)g.m * (double)g.n * (double)g.k / seconds;
}

/* Tiles that our buffers do not allow are simulated all the same. */
static xd_config roomy(const xd_config *c) {
  xd_config out = *c;
  out.l1_bytes = out.l2_bytes = 1 << 20;
  return out;
}

/* ---- what each source says of the constants ---- */

/* Measured seconds of the whole, dispatch and all. */
static double seconds_of(const data *x, size_t row) {
  const double measured = number(&x->points, row, "measured");
  const double m = number(&x->points, row, "m"), n = number(&x->points, row, "n"), k = number(&x->points, row, "k");
  return is_gemv(x, row) ? 2 * n * k / measured * 1e-9 : 2 * m * n * k / measured * 1e-12;
}

/* Bytes that a program reads, and nanoseconds of all its runs if nothing else took any. */
typedef struct moved {
  double read, ns;
} moved;

static moved moved_of(const xd_array *a, const xd_program *p) {
  moved out = {0};
  for (size_t i = 0; i < p->sequence.n; i++) {
    const xd_command *k = &p->sequence.at[i];
    if (k->kind != XD_START) continue;
    const xd_descriptor *d = &p->descriptors.at[k->descriptor];
    const double bytes = (double)xd_pattern_bytes(&d->pattern) * k->repeat;
    if (p->channels.at[d->channel].direction == XD_MM2S) out.read += bytes;
    out.ns += bytes * xd_ddr_descriptor_ns(a, p, k->descriptor);
  }
  return out;
}

/* The time of a block with which the program's runs take so long. */
static double block_of(const xd_config *c, const xd_program *p, double seconds) {
  double low = 0, high = 20;
  xd_array a = c->array;
  for (int i = 0; i < 25; i++) {
    a.ddr_block_ns = (low + high) / 2;
    if (moved_of(&a, p).ns < seconds * 1e9)
      low = a.ddr_block_ns;
    else
      high = a.ddr_block_ns;
  }
  return low;
}

/* What streams that could move `alone` together get of `limit`, and the limit of which they get so much. */
static double limit_of(double alone, double got, double p) { return alone / pow(pow(alone / got, p) - 1, 1 / p); }

/* The mean over the estimates of a source. */
typedef struct mean_of {
  double sum;
  int n;
} mean_of;
static void take(mean_of *m, double value) { *m = (mean_of){m->sum + value, m->n + 1}; }

enum { DISPATCH, STREAM, CONTENTION, LIMIT, BLOCK, CONSTANTS };
enum { SOURCES_MAX = 16, STREAMS = 12 /* of A and B on all columns */ };

typedef struct estimates {
  size_t n;
  struct {
    const char *source, *machine;
    mean_of of[CONSTANTS];
  } at[SOURCES_MAX];
} estimates;

static size_t source_of(estimates *e, const data *x, size_t row) {
  for (size_t i = 0; i < e->n; i++)
    if (says(x, row, "source", e->at[i].source)) return i;
  assert_true(e->n < SOURCES_MAX);
  e->at[e->n].source = cell(&x->points, row, "source");
  e->at[e->n].machine = cell(&x->points, row, "machine");
  return e->n++;
}

static size_t point_of(const data *x, size_t like, const char *column, double value) {
  static const char *const same[] = {"source", "unit", "m", "t_mc", "t_k", "gives"};
  for (size_t i = 0; i < x->points.n; i++) {
    bool good = number(&x->points, i, column) == value;
    for (size_t j = 0; j < sizeof same / sizeof *same; j++)
      good &= says(x, i, same[j], cell(&x->points, like, same[j]));
    if (good) return i;
  }
  fail_msg("no point like %zu with %s = %g", like, column, value);
  return 0;
}

/* Bytes a second of one, four and eight columns: of one stream alone, the limit of many, and how they meet it. */
static void read_columns(const data *x, size_t row, double dispatch, estimates *e) {
  double got[3], low = 1, high = 100;
  if (number(&x->points, row, "columns") != 1) return;
  for (int i = 0; i < 3; i++) {
    const size_t point = point_of(x, row, "columns", (const double[]){1, 4, 8}[i]);
    const double measured = number(&x->points, point, "measured");
    const double bytes = 2 * number(&x->points, point, "n") * number(&x->points, point, "k") * 1e-9;
    got[i] = is_traced(x, row) ? measured : bytes / (bytes / measured - dispatch);
  }
  for (int i = 0; i < 60; i++) { /* the same limit from four and from eight columns */
    const double p = (low + high) / 2;
    if (limit_of(4 * got[0], got[1], p) > limit_of(8 * got[0], got[2], p))
      low = p;
    else
      high = p;
  }
  const size_t source = source_of(e, x, row);
  take(&e->at[source].of[STREAM], got[0] * 1e3);
  take(&e->at[source].of[CONTENTION], low);
  if (is_traced(x, row)) /* the other's power mode is the default one, not turbo */
    take(&e->at[source].of[LIMIT], limit_of(8 * got[0], got[2], low) * 1e3);
}

/* Twice the columns of C take twice the time but for what comes before. */
static void read_dispatch(const data *x, size_t row, estimates *e) {
  const double n = number(&x->points, row, "n");
  if (n != 512) return;
  const size_t twice = point_of(x, row, "n", 2 * n);
  take(&e->at[source_of(e, x, row)].of[DISPATCH], (2 * seconds_of(x, row) - seconds_of(x, twice)) * 1e6);
}

static double mean_value(const mean_of *m) { return m->sum / m->n; }

/* The mean over sources but `without`: of those of this machine where there are any, else of those whose memory is as
 * wide (Strix Halo's bus has 256 bits, the others' 128), else of all. */
static double settle(const estimates *e, int constant, const char *machine, const char *without) {
  mean_of same = {0}, wide = {0}, all = {0};
  for (size_t i = 0; i < e->n; i++) {
    const mean_of *m = &e->at[i].of[constant];
    if (!m->n || (without && !strcmp(e->at[i].source, without))) continue;
    take(&all, mean_value(m));
    if (!strcmp(e->at[i].machine, "halo") == !strcmp(machine, "halo")) take(&wide, mean_value(m));
    if (!strcmp(e->at[i].machine, machine)) take(&same, mean_value(m));
  }
  if (constant == LIMIT || constant == BLOCK) {
    if (same.n) return mean_value(&same);
    if (wide.n && constant == BLOCK) return mean_value(&wide);
  }
  assert_true(all.n);
  return mean_value(&all);
}

/* The ATB paper's Table 3 stands in where only the source itself says something. */
static double table3_dispatch(const data *x) {
  double p[2];
  fit_memory(&x->three, &x->machine, LEAVE_NONE, 0, false, p);
  return p[0] * 1e6;
}

static double dispatch_without(const data *x, const estimates *e, const char *without) {
  for (size_t i = 0; i < e->n; i++)
    if (e->at[i].of[DISPATCH].n && (!without || strcmp(e->at[i].source, without) != 0))
      return settle(e, DISPATCH, "", without);
  return table3_dispatch(x);
}

static estimates estimate(const data *x) {
  estimates e = {0};
  for (size_t i = 0; i < x->points.n; i++)
    if (says(x, i, "gives", "dispatch")) read_dispatch(x, i, &e);
  for (size_t i = 0; i < x->points.n; i++)
    if (says(x, i, "gives", "columns"))
      read_columns(x, i, dispatch_without(x, &e, cell(&x->points, i, "source")) * 1e-6, &e);
  for (size_t i = 0; i < x->points.n; i++) {
    const bool limit = says(x, i, "gives", "limit");
    if (!limit && !says(x, i, "gives", "requests")) continue;
    const char *source = cell(&x->points, i, "source");
    const double seconds = seconds_of(x, i) - dispatch_without(x, &e, source) * 1e-6;
    const xd_config c = roomy(file_of(x, cell(&x->points, i, "machine")));
    xd_program p = program_of(x, &c, i);
    const double alone = STREAMS * settle(&e, STREAM, "", source);
    if (limit)
      take(&e.at[source_of(&e, x, i)].of[LIMIT],
           limit_of(alone, moved_of(&c.array, &p).read / seconds * 1e-6, settle(&e, CONTENTION, "", source)));
    else
      take(&e.at[source_of(&e, x, i)].of[BLOCK], block_of(&c, &p, seconds));
    xd_program_free(&p);
  }
  return e;
}

/* The machine with constants of all sources but one (NULL: of all). */
static xd_config machine_without(const data *x, const estimates *e, const char *machine, const char *without) {
  xd_config c = roomy(file_of(x, machine));
  c.array.dispatch_us = dispatch_without(x, e, without);
  c.array.ddr_stream_mbs = (int)(settle(e, STREAM, machine, without) + 0.5);
  c.array.ddr_contention = settle(e, CONTENTION, machine, without);
  c.array.ddr_read_mbs = c.array.ddr_write_mbs = (int)(settle(e, LIMIT, machine, without) + 0.5);
  c.array.ddr_block_ns = settle(e, BLOCK, machine, without);
  return c;
}

/* ---- the page ---- */

static const page the_page = {"docs/reference/accuracy-xdna2.md",
                              "<!-- tables: made by build/tests/test_xdna2_elsewhere --write -->\n",
                              "<!-- end of tables -->\n", "test_xdna2_elsewhere"};

static const struct {
  const char *name, *title;
} classes[] = {{"like", "like for like"}, {"short", "short runs"}, {"small", "small products"}, {"other", "not ours"}};
enum { CLASSES = sizeof classes / sizeof *classes, OTHER = CLASSES - 1 };

static double error_of(const result *r) { return r->held_out / r->measured - 1; }

static void simulate_all(const data *x, result r[ROWS_MAX]) {
  const estimates e = estimate(x);
  for (size_t i = 0; i < x->points.n; i++) {
    const xd_config c = machine_without(x, &e, cell(&x->points, i, "machine"), cell(&x->points, i, "source"));
    const xd_config file = machine_without(x, &e, cell(&x->points, i, "machine"), NULL);
    r[i] = (result){number(&x->points, i, "measured"), simulated(x, &file, i), simulated(x, &c, i)};
  }
}

static errors errors_of(const data *x, const result r[ROWS_MAX], int class, bool held_out) {
  errors e = {0};
  for (size_t i = 0; i < x->points.n; i++)
    if (says(x, i, "class", classes[class].name))
      note(&e, held_out ? error_of(&r[i]) : r[i].as_it_is / r[i].measured - 1);
  return e;
}

static void print_points(const data *x, const result r[ROWS_MAX], FILE *f) {
  fprintf(f, "| class | source | machine | what | M x K x N | tile, rho | measured | held out | error | "
             "as it is | error | why |\n"
             "| --- | --- | --- | --- | --- | --- | ---: | ---: | ---: | ---: | ---: | --- |\n");
  for (int j = 0; j < CLASSES; j++)
    for (size_t i = 0; i < x->points.n; i++) {
      const table *t = &x->points;
      if (!says(x, i, "class", classes[j].name)) continue;
      fprintf(f,
              "| %s | %s | %s | %s | %s x %s x %s | %sx%sx%s, %s | %.2f %s | %.2f | %+.1f%% | %.2f | %+.1f%% | %s |\n",
              classes[j].title, cell(t, i, "source"), cell(t, i, "machine"), cell(t, i, "what"), cell(t, i, "m"),
              cell(t, i, "k"), cell(t, i, "n"), cell(t, i, "t_mc"), cell(t, i, "t_k"), cell(t, i, "t_n"),
              cell(t, i, "rho"), r[i].measured, cell(t, i, "unit"), r[i].held_out, 100 * error_of(&r[i]), r[i].as_it_is,
              100 * (r[i].as_it_is / r[i].measured - 1), cell(t, i, "why"));
    }
}

static void print_classes(const data *x, const result r[ROWS_MAX], FILE *f) {
  fprintf(f, "| class | points | held out: mean, worst | as it is: mean, worst |\n| --- | ---: | ---: | ---: |\n");
  for (int j = 0; j < OTHER; j++) {
    const errors e = errors_of(x, r, j, true), now = errors_of(x, r, j, false);
    fprintf(f, "| %s | %d | %.1f%%, %.1f%% | %.1f%%, %.1f%% |\n", classes[j].title, e.n, 100 * mean(&e), 100 * e.worst,
            100 * mean(&now), 100 * now.worst);
  }
}

static char *tables(const data *x, const result r[ROWS_MAX]) {
  char *text = NULL;
  size_t size = 0;
  FILE *f = open_memstream(&text, &size);
  print_classes(x, r, f);
  fprintf(f, "\n");
  print_points(x, r, f);
  fclose(f);
  return text;
}

static void the_page_says_what_is_simulated(void **state) {
  const data *x = *state;
  page_must_say(&the_page, tables(x, x->result));
}

/* ---- a sweep ---- */

enum { SWEEP_GFLOP = 70 /* larger products take long, and have neighbours of the same kind */ };

/* The design of the sweep, bfp16 in rows, with constants to which its source gave nothing. */
static double swept_us(const xd_config *c, const table *t, size_t i) {
  const tw_tile tile = {(int64_t)number(t, i, "t_mc"), (int64_t)number(t, i, "t_k"), (int64_t)number(t, i, "t_n"), 1};
  xd_gemm g = xd_gemm_default(c, kernel_of(c, "mlir-aie-bfp16"), &tile, (int64_t)number(t, i, "m"),
                              (int64_t)number(t, i, "n"), (int64_t)number(t, i, "k"));
  const xd_run_options options = {.timing_only = true, .cost = xd_cost_of(c)};
  xd_program p;
  xd_run_result r;
  tw_error error;
  g.in_rows = g.await_groups = true;
  must(xd_gemm_program(c, &g, &p, &error), &error);
  must(xd_run(c, &p, &options, &r, &error), &error);
  xd_program_free(&p);
  return r.cycles / c->clock_mhz + c->array.dispatch_us;
}

/* Errors of rates for each tile, against the mean and the least of 40 measured times. */
static void print_sweep(const data *x) {
  const table t = read_table("sweep.csv");
  const estimates e = estimate(x);
  const xd_config c = machine_without(x, &e, "strix", "l-roro");
  static const char *const tiles[][3] = {{"64", "64", "64"}, {"64", "128", "64"}, {"96", "128", "64"}};
  for (int j = 0; j < 3; j++) {
    errors means = {0}, bests = {0};
    for (size_t i = 0; i < t.n; i++) {
      const double gflop = 2e-9 * number(&t, i, "m") * number(&t, i, "n") * number(&t, i, "k");
      if (strcmp(cell(&t, i, "t_mc"), tiles[j][0]) || strcmp(cell(&t, i, "t_k"), tiles[j][1]) || gflop > SWEEP_GFLOP)
        continue;
      const double us = swept_us(&c, &t, i), mean_us = number(&t, i, "mean_us"), best_us = number(&t, i, "best_us");
      note(&means, mean_us / us - 1);
      note(&bests, best_us / us - 1);
      printf("%s x %s x %s, %sx%sx%s: %.0f us, least %.0f; simulated %.0f, %+.1f%%, %+.1f%%\n", cell(&t, i, "m"),
             cell(&t, i, "k"), cell(&t, i, "n"), tiles[j][0], tiles[j][1], tiles[j][2], mean_us, best_us, us,
             100 * (mean_us / us - 1), 100 * (best_us / us - 1));
    }
    printf("%sx%sx%s: %d rows; means: %.1f%%, worst %.1f%%; least: %.1f%%, worst %.1f%%\n", tiles[j][0], tiles[j][1],
           tiles[j][2], means.n, 100 * mean(&means), 100 * means.worst, 100 * mean(&bests), 100 * bests.worst);
  }
}

/* ---- the files ---- */

static void files_say_what_the_sources_give(void **state) {
  const data *x = *state;
  const estimates e = estimate(x);
  for (int i = 0; i < FILES; i++) {
    const xd_config made = machine_without(x, &e, files[i].machine, NULL);
    const xd_config said = x->file[i];
    assert_true(fabs(said.array.dispatch_us - made.array.dispatch_us) <= 0.05);
    assert_int_equal(said.array.ddr_stream_mbs, made.array.ddr_stream_mbs);
    assert_true(fabs(said.array.ddr_contention - made.array.ddr_contention) <= 0.005);
    assert_int_equal(said.array.ddr_read_mbs, made.array.ddr_read_mbs);
    assert_int_equal(said.array.ddr_write_mbs, made.array.ddr_write_mbs);
    assert_true(fabs(said.array.ddr_block_ns - made.array.ddr_block_ns) <= 0.005);
  }
}

static void print_constants(const data *x) {
  static const char *const name[] = {"dispatch_us", "ddr_stream_mbs", "ddr_contention", "ddr_read_mbs", "ddr_block_ns"};
  const estimates e = estimate(x);
  for (size_t i = 0; i < e.n; i++)
    for (int j = 0; j < CONSTANTS; j++)
      if (e.at[i].of[j].n)
        printf("%-18s %-8s %-14s = %.2f\n", e.at[i].source, e.at[i].machine, name[j], mean_value(&e.at[i].of[j]));
  for (int i = 0; i < FILES; i++) {
    const xd_array a = machine_without(x, &e, files[i].machine, NULL).array;
    printf(
        "%s: dispatch_us = %.1f, ddr_stream_mbs = %d, ddr_contention = %.2f, ddr_read_mbs = %d, ddr_block_ns = %.2f\n",
        files[i].file, a.dispatch_us, a.ddr_stream_mbs, a.ddr_contention, a.ddr_read_mbs, a.ddr_block_ns);
  }
}

static void held_out_points_are_near(void **state) {
  const data *x = *state;
  const double most[] = {0.08, 0.15, 0.20}; /* like for like, short runs, small products */
  for (int j = 0; j < OTHER; j++) {
    const errors e = errors_of(x, x->result, j, true);
    assert_true(e.n >= 9 && mean(&e) < most[j]);
    static const char *const machines[] = {"xdna2", "xdna2-halo", "xdna2-krackan"};
    for (int i = 0; i < 3 && j == 0; i++) /* the machine files say it */
      assert_true(fabs(mean(&e) - tw_target_find(machines[i])->traits.error) < 0.0005);
  }
}

int main(int argc, char *argv[]) {
  static data x;
  x.machine = machine();
  for (int i = 0; i < FILES; i++) x.file[i] = machine_of(files[i].file);
  x.points = read_table("elsewhere.csv");
  x.three = read_table("table3.csv");
  if (argc > 1 && !strcmp(argv[1], "--constants")) {
    print_constants(&x);
    return 0;
  }
  if (argc > 1 && !strcmp(argv[1], "--sweep")) {
    print_sweep(&x);
    return 0;
  }
#ifdef __SANITIZE_ADDRESS__ /* half a minute of the same code that other tests run */
  if (argc == 1) {
    const struct CMUnitTest few[] = {cmocka_unit_test_prestate(files_say_what_the_sources_give, &x)};
    return cmocka_run_group_tests(few, NULL, NULL);
  }
#endif
  simulate_all(&x, x.result);
  if (argc > 1) {
    char *text = tables(&x, x.result);
    if (!strcmp(argv[1], "--write")) {
      page_write(&the_page, text);
      return 0;
    }
    fputs(text, stdout);
    free(text);
    return 0;
  }
  const struct CMUnitTest tests[] = {cmocka_unit_test_prestate(files_say_what_the_sources_give, &x),
                                     cmocka_unit_test_prestate(held_out_points_are_near, &x),
                                     cmocka_unit_test_prestate(the_page_says_what_is_simulated, &x)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
