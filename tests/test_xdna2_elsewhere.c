/* Published measurements that are in none of the tables from which numbers of the machine come, each simulated as the
 * design that was measured: tests/data/xdna2/elsewhere.csv, with the class of each point and the reason for it.
 *
 *   build/tests/test_xdna2_elsewhere --points    prints every point
 *   build/tests/test_xdna2_elsewhere --write     writes the tables of docs/xdna2-elsewhere.md anew */
#include "page.h"
#include "target/xdna2/array/cost.h"
#include "target/xdna2/array/gemm.h"
#include "xdna2_fit.h"

typedef struct data {
  xd_config machine;
  table points;
} data;

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
  if (tw_parse_int(cell(&x->points, row, "runs"), &run)) {
    g.b_transposed = true;
    g.depth = (int)(run / tile.k);
  }
  return g;
}

/* Tiles of bfp16 lie in DDR as rows of the whole matrix: runs of `run` bytes, `rows` of them a tile, `pitch` apart. */
static void lay_in_rows(xd_descriptor *d, int64_t run, int64_t rows, int64_t pitch) {
  const int64_t bytes = xd_pattern_bytes(&d->pattern);
  if (bytes < run * rows) rows = bytes / run;
  d->pattern = (xd_pattern){0, 3, {{run, 1, 0, 0}, {rows, pitch, 0, 0}, {bytes / (run * rows), run, 0, 0}}};
  d->iterations = 1;
}

/* As the public design has bfp16: K of A and B contiguous by T_K, N of C by T_N. Only times are asked for. */
static void lay_all_in_rows(const xd_gemm *g, xd_program *p) {
  for (size_t i = 0; i < p->descriptors.n; i++) {
    xd_descriptor *d = &p->descriptors.at[i];
    if (d->buffer == XD_GEMM_A) lay_in_rows(d, g->tile.k * 9 / 8, g->tile.m, g->k * 9 / 8);
    if (d->buffer == XD_GEMM_B) lay_in_rows(d, g->tile.k * 9 / 8, g->tile.n, g->k * 9 / 8);
    if (d->buffer == XD_GEMM_C) lay_in_rows(d, g->tile.n * 9 / 8, g->tile.m * g->rows, g->n * 9 / 8);
  }
}

/* ---- what the simulator says, in the point's unit ---- */

static double simulated_core(const xd_config *c, const xd_gemm *g) {
  return (double)g->tile.m * (double)g->tile.k * (double)g->tile.n /
         xd_micro_cycles(c, g->kernel, g->cover, g->tile.m, g->tile.k, g->tile.n);
}

static double simulated(const data *x, const xd_config *c, size_t row) {
  const xd_gemm g = design_of(x, c, row);
  const xd_run_options options = {.timing_only = true, .cost = xd_cost_of(c)};
  xd_program p;
  xd_run_result r;
  tw_error error;
  if (is_core(x, row)) return simulated_core(c, &g);
  must(xd_gemm_program(c, &g, &p, &error), &error);
  if (says(x, row, "runs", "rows")) lay_all_in_rows(&g, &p);
  must(xd_run(c, &p, &options, &r, &error), &error);
  xd_program_free(&p);
  const double seconds = r.cycles / (c->clock_mhz * 1e6) + (is_traced(x, row) ? 0 : c->array.dispatch_us * 1e-6);
  return is_gemv(x, row) ? 1e-9 * r.read_bytes / seconds : 2e-12 * (double)g.m * (double)g.n * (double)g.k / seconds;
}

static double simulated_of(const data *x, size_t row) {
  xd_config c = x->machine;
  c.l1_bytes = c.l2_bytes = 1 << 20;
  return simulated(x, &c, row);
}

/* ---- the page ---- */

static const page the_page = {"docs/xdna2-elsewhere.md",
                              "<!-- tables: made by build/tests/test_xdna2_elsewhere --write -->\n",
                              "<!-- end of tables -->\n", "test_xdna2_elsewhere"};

static const struct {
  const char *name, *title;
} classes[] = {{"like", "like for like"}, {"short", "short runs"}, {"small", "small products"}, {"other", "not ours"}};
enum { CLASSES = sizeof classes / sizeof *classes, OTHER = CLASSES - 1 };

typedef struct result {
  double measured, simulated;
} result;
static double error_of(const result *r) { return r->simulated / r->measured - 1; }

static void simulate_all(const data *x, result r[ROWS_MAX]) {
  for (size_t i = 0; i < x->points.n; i++) r[i] = (result){number(&x->points, i, "measured"), simulated_of(x, i)};
}

static errors errors_of(const data *x, const result r[ROWS_MAX], int class) {
  errors e = {0};
  for (size_t i = 0; i < x->points.n; i++)
    if (says(x, i, "class", classes[class].name)) note(&e, error_of(&r[i]));
  return e;
}

static void print_points(const data *x, const result r[ROWS_MAX], FILE *f) {
  fprintf(f, "| class | source | machine | what | M x K x N | tile, rho | measured | simulated | error | why |\n"
             "| --- | --- | --- | --- | --- | --- | ---: | ---: | ---: | --- |\n");
  for (int j = 0; j < CLASSES; j++)
    for (size_t i = 0; i < x->points.n; i++) {
      const table *t = &x->points;
      if (!says(x, i, "class", classes[j].name)) continue;
      fprintf(f, "| %s | %s | %s | %s | %s x %s x %s | %sx%sx%s, %s | %.2f %s | %.2f | %+.1f%% | %s |\n",
              classes[j].title, cell(t, i, "source"), cell(t, i, "machine"), cell(t, i, "what"), cell(t, i, "m"),
              cell(t, i, "k"), cell(t, i, "n"), cell(t, i, "t_mc"), cell(t, i, "t_k"), cell(t, i, "t_n"),
              cell(t, i, "rho"), r[i].measured, cell(t, i, "unit"), r[i].simulated, 100 * error_of(&r[i]),
              cell(t, i, "why"));
    }
}

static void print_classes(const data *x, const result r[ROWS_MAX], FILE *f) {
  fprintf(f, "| class | points | mean of the absolute errors | worst |\n| --- | ---: | ---: | ---: |\n");
  for (int j = 0; j < OTHER; j++) {
    const errors e = errors_of(x, r, j);
    fprintf(f, "| %s | %d | %.1f%% | %.1f%% |\n", classes[j].title, e.n, 100 * mean(&e), 100 * e.worst);
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
  result r[ROWS_MAX];
  simulate_all(x, r);
  page_must_say(&the_page, tables(x, r));
}

int main(int argc, char *argv[]) {
  static data x;
  x.machine = machine();
  x.points = read_table("elsewhere.csv");
  if (argc > 1) {
    result r[ROWS_MAX];
    simulate_all(&x, r);
    char *text = tables(&x, r);
    if (!strcmp(argv[1], "--write")) {
      page_write(&the_page, text);
      return 0;
    }
    fputs(text, stdout);
    free(text);
    return 0;
  }
  const struct CMUnitTest tests[] = {cmocka_unit_test_prestate(the_page_says_what_is_simulated, &x)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
