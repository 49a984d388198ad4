/* The XDNA2 model against the published tables: Table 2's buffers, intensities and bounds as printed, Tables 1 and 3
 * predicted with the judged row left out of every fit; the machine file holds what the fits give, and
 * docs/explain/xdna2-model.md what this finds.
 *
 *   build/tests/test_xdna2_model --write    writes the tables of that page anew
 *   build/tests/test_xdna2_model --fit      prints the machine file's fitted numbers */
#include "page.h"
#include "xdna2_fit.h"

#include "target/xdna2/model/pipeline.h"

static const page the_page = {"docs/explain/xdna2-model.md",
                              "<!-- tables: made by build/tests/test_xdna2_model --write -->\n",
                              "<!-- end of tables -->\n", "test_xdna2_model"};

typedef struct data {
  xd_config machine;
  table one, two, three;
} data;

/* ---- Table 2 ---- */

static double kib(xd_design d, int64_t rho) {
  d.tile.rho = rho;
  return xd_l1_bytes(&d) / 1024;
}

typedef struct cells2 {
  double buffer, buffer_rho1, intensity, memory, compute_low, compute_high;
} cells2;

static cells2 cells_of(const data *x, size_t row) {
  const xd_design d = table2_design(&x->machine, &x->two, row);
  const xd_rate r =
      xd_rate_of(&x->machine, &d, number(&x->two, row, "m"), number(&x->two, row, "n"), number(&x->two, row, "k"));
  const double cores = x->machine.rows * x->machine.columns, printed = number(&x->two, row, "perf_core_tflops");
  return (cells2){kib(d, d.tile.rho),        kib(d, 1), r.intensity, r.roofline.memory * 1e-12,
                  cores * (printed - 0.005), /* Perf_core is printed to two digits */
                  cores * (printed + 0.005)};
}

/* Rows of the table (from 0) whose memory bound is not their own intensity times 65 GB/s: 216 x 0.065 is 14.04, not
 * 14.1; 273.07 x 0.065 is 17.749, not 17.8. */
static bool memory_bound_contradicts(const table *t, size_t row) {
  return !strcmp(cell(t, row, "memory_bound_tflops"), "17.8") ||
         (!strcmp(cell(t, row, "source"), "mlir-aie") && !strcmp(cell(t, row, "config"), "1"));
}

static void table_2_is_reproduced(void **state) {
  const data *x = *state;
  const table *t = &x->two;
  int rows = 0;
  for (size_t i = 0; i < t->n; i++) {
    if (!kernel_name(t, i)) continue;
    const cells2 c = cells_of(x, i);
    const double bound = number(t, i, "compute_bound_tflops");
    rows++;
    if (!reads_as(c.buffer, cell(t, i, "buffer_kib"))) fail_msg("row %zu: buffers %g KiB", i, c.buffer);
    if (!reads_as(c.buffer_rho1, cell(t, i, "buffer_rho1_kib"))) fail_msg("row %zu: rho 1 %g KiB", i, c.buffer_rho1);
    if (!reads_as(c.intensity, cell(t, i, "ai_array"))) fail_msg("row %zu: intensity %g", i, c.intensity);
    if (reads_as(c.memory, cell(t, i, "memory_bound_tflops")) == memory_bound_contradicts(t, i))
      fail_msg("row %zu: memory bound %g", i, c.memory);
    if (bound < c.compute_low - 0.05 || bound > c.compute_high + 0.05) fail_msg("row %zu: compute bound", i);
  }
  assert_int_equal(rows, 10);
}

/* ---- Table 1 ---- */

/* What a prediction of Table 1 is made of. */
typedef struct variant {
  const char *what;
  leave how;
  bool equations; /* equations 5 to 10 for the micro-kernel, instead of equation 13 */
  bool fitted;    /* overheads; else the paper's delta */
  bool with_step;
} variant;

static const variant variants[] = {
    {"equation 13 fitted, equation 15 with the paper's delta", LEAVE_ROW, false, false, false},
    {"equation 13 fitted, delta fitted", LEAVE_ROW, false, true, false},
    {"**equation 13 fitted, delta and a step fitted: the model**", LEAVE_ROW, false, true, true},
    {"the model, all rows of the same T_K left out", LEAVE_T_K, false, true, true},
    {"equations 5 to 10, nothing fitted, the paper's delta", LEAVE_NONE, true, false, false},
    {"equations 5 to 10, delta and a step fitted", LEAVE_ROW, true, true, true},
};
enum { VARIANTS = sizeof variants / sizeof *variants, THE_MODEL = 2 };

typedef struct predicted1 {
  double micro, core;
} predicted1;

static predicted1 predict1(const data *x, const variant *v, size_t row) {
  const xd_kernel *k = kernel_of(&x->machine, "atb");
  const tw_tile tile = table1_tile(&x->one, row);
  double p[2], overhead[2] = {x->machine.paper_switch_cycles, 0};
  predicted1 out;
  fit_micro(&x->one, k, v->how, row, p);
  const double vmacs = cluster_vmacs(k, &tile);
  const double cycles = v->equations ? xd_cluster_of(&x->machine, k, tile.k).cycles : p[0] + p[1] * vmacs;
  if (v->fitted) fit_overhead(&x->one, &x->machine, k, v->how, row, v->equations, v->with_step, overhead);
  out.micro = tw_efficiency(vmacs / cycles, 1);
  out.core = tw_core_efficiency(&tile, 2.0 * xd_vmac_macs(k), out.micro, &(tw_overhead){overhead[0], overhead[1]});
  return out;
}

static errors judge1(const data *x, const variant *v, const char *column) {
  errors e = {0};
  for (size_t i = 0; i < x->one.n; i++) {
    const predicted1 p = predict1(x, v, i);
    note(&e, (column[4] == 'm' ? p.micro : p.core) / number(&x->one, i, column) - 1);
  }
  return e;
}

static void table_1_is_predicted_with_the_judged_row_left_out(void **state) {
  const data *x = *state;
  const errors model = judge1(x, &variants[THE_MODEL], "eff_core"), paper = judge1(x, &variants[0], "eff_core");
  print_message("Table 1: mean error %.1f%%, worst %.1f%%\n", 100 * mean(&model), 100 * model.worst);
  assert_int_equal(model.n, 13);
  assert_true(mean(&model) <= 0.10);
  assert_true(mean(&paper) > 2 * mean(&model)); /* what was added is worth something */
}

/* ---- Table 3 ---- */

static double predict3(const data *x, size_t row, bool with_writes) {
  double p[2];
  fit_memory(&x->three, &x->machine, LEAVE_ROW, row, with_writes, p);
  const xd_rate r = table3_rate(&x->machine, &x->three, row);
  return 2e-12 * number(&x->three, row, "m") * number(&x->three, row, "n") * number(&x->three, row, "k") /
         (p[0] + p[1] * table3_bytes(&r, with_writes));
}

/* Equation 12 with the paper's bandwidth and the measured rate of a core. */
static double paper3(const data *x, size_t row) {
  const xd_design d = table3_design(&x->machine);
  const double n = number(&x->three, row, "n");
  const xd_rate r = xd_rate_of(&x->machine, &d, number(&x->three, row, "m"), n, number(&x->three, row, "k"));
  return fmin(r.roofline.memory * 1e-12, 32 * 0.95); /* Perf_core of Table 2 */
}

static void table_3_is_predicted_with_the_judged_row_left_out(void **state) {
  const data *x = *state;
  errors e = {0}, paper = {0};
  for (size_t i = 0; i < x->three.n; i++) {
    const xd_rate r = table3_rate(&x->machine, &x->three, i);
    assert_true(r.read_seconds > r.compute_seconds && r.read_seconds > r.write_seconds); /* as the fit takes it */
    note(&e, predict3(x, i, false) / number(&x->three, i, "perf_tflops") - 1);
    note(&paper, paper3(x, i) / number(&x->three, i, "perf_tflops") - 1);
  }
  print_message("Table 3: mean error %.2f%%, worst %.2f%%\n", 100 * mean(&e), 100 * e.worst);
  assert_int_equal(e.n, 9);
  assert_true(mean(&e) <= 0.05);
  assert_true(mean(&paper) > 2 * mean(&e));
}

/* ---- the machine file ---- */

typedef struct fitted {
  const char *kernel, *key;
  int digits;
  double fit, file;
} fitted;
enum { FITTED = 10 };

static size_t fit_all(const data *x, fitted out[FITTED]) {
  const xd_config *c = &x->machine;
  const xd_kernel *atb = kernel_of(c, "atb"), *two = kernel_of(c, "atb-bfp16"), *three = kernel_of(c, "atb-bf16acc"),
                  *base = kernel_of(c, "mlir-aie"), *base2 = kernel_of(c, "mlir-aie-bfp16");
  double p[2];
  size_t n = 0;
  fit_overhead(&x->one, c, atb, LEAVE_NONE, 0, false, true, p);
  out[n++] = (fitted){"", "switch_cycles", 1, p[0], c->switch_cycles};
  out[n++] = (fitted){"", "step_cycles", 1, p[1], c->step_cycles};
  fit_memory(&x->three, c, LEAVE_NONE, 0, false, p);
  out[n++] = (fitted){"", "read_mbs", 0, 1e-6 / p[1], c->read_mbs};
  out[n++] = (fitted){"", "launch_us", 1, p[0] * 1e6, c->launch_us};
  fit_micro(&x->one, atb, LEAVE_NONE, 0, p);
  out[n++] = (fitted){"atb", "cluster_cycles", 2, p[0], atb->cluster_cycles};
  out[n++] = (fitted){"atb", "vmac_cycles", 3, p[1], atb->vmac_cycles};
  out[n++] = (fitted){"atb-bfp16", "cluster_cycles", 2, fit_kernel(&x->two, c, "atb-bfp16", 1), two->cluster_cycles};
  out[n++] =
      (fitted){"atb-bf16acc", "cluster_cycles", 2, fit_kernel(&x->two, c, "atb-bf16acc", 1), three->cluster_cycles};
  out[n++] = (fitted){"mlir-aie", "vmac_cycles", 3, fit_kernel(&x->two, c, "mlir-aie", 0), base->vmac_cycles};
  out[n++] =
      (fitted){"mlir-aie-bfp16", "vmac_cycles", 3, fit_kernel(&x->two, c, "mlir-aie-bfp16", 0), base2->vmac_cycles};
  return n;
}

static void the_machine_file_holds_what_the_fits_give(void **state) {
  fitted f[FITTED];
  const size_t n = fit_all(*state, f);
  for (size_t i = 0; i < n; i++)
    if (fabs(f[i].fit - f[i].file) > 0.51 * pow(10, -f[i].digits))
      fail_msg("%s %s is %g in configs/xdna2.txt, the fit gives %.*f", f[i].kernel, f[i].key, f[i].file, f[i].digits,
               f[i].fit);
}

static void print_fits(const data *x) {
  fitted f[FITTED];
  const size_t n = fit_all(x, f);
  for (size_t i = 0; i < n; i++) printf("%-16s %s = %.*f\n", f[i].kernel, f[i].key, f[i].digits, f[i].fit);
}

/* ---- the page ---- */

static void write_table_2(FILE *f, const data *x) {
  const table *t = &x->two;
  fprintf(f, "### Table 2: buffers, intensities, bounds\n\n"
             "Model, and as printed where that is another number than the model rounds to.\n\n"
             "| config | tile, rho | KiB | KiB at rho 1 | op/B | memory bound | compute bound |\n"
             "| --- | --- | ---: | ---: | ---: | ---: | ---: |\n");
  for (size_t i = 0; i < t->n; i++) {
    if (!kernel_name(t, i)) continue;
    const cells2 c = cells_of(x, i);
    fprintf(f, "| %s %s | %sx%sx%s, %s | %.2f | %.2f | %.1f | %.2f", cell(t, i, "config"), cell(t, i, "source"),
            cell(t, i, "t_mc"), cell(t, i, "t_k"), cell(t, i, "t_n"), cell(t, i, "rho"), c.buffer, c.buffer_rho1,
            c.intensity, c.memory);
    if (memory_bound_contradicts(t, i)) fprintf(f, " (printed %s)", cell(t, i, "memory_bound_tflops"));
    const double compute = (c.compute_low + c.compute_high) / 2;
    fprintf(f, " | %.2f", compute);
    if (!reads_as(compute, cell(t, i, "compute_bound_tflops")))
      fprintf(f, " (printed %s)", cell(t, i, "compute_bound_tflops"));
    fprintf(f, " |\n");
  }
}

static void write_table_1(FILE *f, const data *x) {
  const table *t = &x->one;
  fprintf(f, "\n### Table 1: efficiency of the micro-kernel and of a core\n\n"
             "Each row predicted with that row left out of both fits.\n\n"
             "| T_K | rho | micro | predicted | error | core | predicted | error |\n"
             "| ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |\n");
  for (size_t i = 0; i < t->n; i++) {
    const predicted1 p = predict1(x, &variants[THE_MODEL], i);
    fprintf(f, "| %s | %s | %s | %.3f | %+.1f%% | %s | %.3f | %+.1f%% |\n", cell(t, i, "t_k"), cell(t, i, "rho"),
            cell(t, i, "eff_micro"), p.micro, 100 * (p.micro / number(t, i, "eff_micro") - 1), cell(t, i, "eff_core"),
            p.core, 100 * (p.core / number(t, i, "eff_core") - 1));
  }
  fprintf(f, "\n| model | micro: mean, worst | core: mean, worst |\n| --- | ---: | ---: |\n");
  for (size_t i = 0; i < VARIANTS; i++) {
    const errors micro = judge1(x, &variants[i], "eff_micro"), core = judge1(x, &variants[i], "eff_core");
    fprintf(f, "| %s | %.1f%%, %.1f%% | %.1f%%, %.1f%% |\n", variants[i].what, 100 * mean(&micro), 100 * micro.worst,
            100 * mean(&core), 100 * core.worst);
  }
}

static void write_table_3(FILE *f, const data *x) {
  const table *t = &x->three;
  errors model = {0}, paper = {0}, writes = {0};
  fprintf(f, "\n### Table 3: rate of the array over problem sizes\n\n"
             "Each row predicted with that row left out of the fit.\n\n"
             "| M x K x N | measured | predicted | error | equation 12 | error |\n"
             "| --- | ---: | ---: | ---: | ---: | ---: |\n");
  for (size_t i = 0; i < t->n; i++) {
    const double measured = number(t, i, "perf_tflops"), p = predict3(x, i, false), q = paper3(x, i);
    note(&model, p / measured - 1);
    note(&paper, q / measured - 1);
    note(&writes, predict3(x, i, true) / measured - 1);
    fprintf(f, "| %s x %s x %s | %s | %.2f | %+.2f%% | %.2f | %+.1f%% |\n", cell(t, i, "m"), cell(t, i, "k"),
            cell(t, i, "n"), cell(t, i, "perf_tflops"), p, 100 * (p / measured - 1), q, 100 * (q / measured - 1));
  }
  fprintf(f, "| **mean of the absolute errors; worst** | | | **%.2f%%; %.2f%%** | | **%.1f%%; %.1f%%** |\n",
          100 * mean(&model), 100 * model.worst, 100 * mean(&paper), 100 * paper.worst);
  fprintf(f, "\nThe same fit to all bytes that move, C with them: mean %.2f%%, worst %.2f%%.\n", 100 * mean(&writes),
          100 * writes.worst);
}

/* A row that no constant of the array comes from: the paper's designs, but for the one that Table 3 has, too. */
static bool is_fresh(const table *t, size_t row) {
  return !strcmp(cell(t, row, "source"), "paper") && !(number(t, row, "t_mc") == 128 && *cell(t, row, "config") == '1');
}

static void write_check(FILE *f, const data *x) {
  const table *t = &x->two;
  errors given = {0}, all = {0};
  fprintf(f,
          "\n### Table 2: rate of the array\n\n"
          "Launch and bandwidth come from Table 3, for one tile of Config 1. Here they are applied to other tiles and "
          "types, first with the measured rate of a core (`core_tflops=`), then with the model's own (which, but for "
          "`atb`, is fitted to these rows' cores).\n\n"
          "| config | tile, rho | measured | predicted | error | core modelled | error |\n"
          "| --- | --- | ---: | ---: | ---: | ---: | ---: |\n");
  for (size_t i = 0; i < t->n; i++) {
    if (!kernel_name(t, i)) continue;
    const double m = number(t, i, "m"), n = number(t, i, "n"), k = number(t, i, "k");
    xd_design d = table2_design(&x->machine, t, i);
    const double measured = number(t, i, "perf_array_tflops"),
                 model = xd_rate_of(&x->machine, &d, m, n, k).rate * 1e-12;
    d.core_tflops = number(t, i, "perf_core_tflops");
    const double predicted = xd_rate_of(&x->machine, &d, m, n, k).rate * 1e-12;
    if (is_fresh(t, i)) {
      note(&given, predicted / measured - 1);
      note(&all, model / measured - 1);
    }
    fprintf(f, "| %s %s | %sx%sx%s, %s | %.1f | %.1f | %+.1f%% | %.1f | %+.1f%% |\n", cell(t, i, "config"),
            cell(t, i, "source"), cell(t, i, "t_mc"), cell(t, i, "t_k"), cell(t, i, "t_n"), cell(t, i, "rho"), measured,
            predicted, 100 * (predicted / measured - 1), model, 100 * (model / measured - 1));
  }
  fprintf(
      f,
      "| **mean and worst of the paper's rows but 128x64x128, 4 of Config 1, which is in Table 3** | | | | **%.1f%%; "
      "%.1f%%** | | **%.1f%%; %.1f%%** |\n",
      100 * mean(&given), 100 * given.worst, 100 * mean(&all), 100 * all.worst);
}

static char *tables(const data *x) {
  char *text = NULL;
  size_t size = 0;
  FILE *f = open_memstream(&text, &size);
  assert_non_null(f);
  write_table_2(f, x);
  write_table_1(f, x);
  write_table_3(f, x);
  write_check(f, x);
  fclose(f);
  return text;
}

static void the_page_says_what_was_found(void **state) { page_must_say(&the_page, tables(*state)); }

int main(int argc, char *argv[]) {
  static data x;
  x.machine = machine();
  x.one = read_table("table1.csv");
  x.two = read_table("table2.csv");
  x.three = read_table("table3.csv");
  if (argc > 1 && !strcmp(argv[1], "--fit")) {
    print_fits(&x);
    return 0;
  }
  if (argc > 1 && !strcmp(argv[1], "--write")) {
    page_write(&the_page, tables(&x));
    return 0;
  }
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_prestate(table_2_is_reproduced, &x),
      cmocka_unit_test_prestate(table_1_is_predicted_with_the_judged_row_left_out, &x),
      cmocka_unit_test_prestate(table_3_is_predicted_with_the_judged_row_left_out, &x),
      cmocka_unit_test_prestate(the_machine_file_holds_what_the_fits_give, &x),
      cmocka_unit_test_prestate(the_page_says_what_was_found, &x),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
