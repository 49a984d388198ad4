/* The core's scheduler against published kernels: no number of it comes from the rows below. docs/explain/xdna2-core.md
 * holds what this finds, row by row.
 *
 *   build/tests/test_xdna2_core_accuracy --write    writes the tables of that page anew */
#include "page.h"
#include "xdna2_fit.h"

#include "target/xdna2/core_design.h"

static const page the_page = {"docs/explain/xdna2-core.md",
                              "<!-- tables: made by build/tests/test_xdna2_core_accuracy --write -->\n",
                              "<!-- end of tables -->\n", "test_xdna2_core_accuracy"};

typedef struct data {
  xd_config machine;
  table one, two, kernels;
} data;

static xd_core_result scheduled(xd_core_kernel k, xd_core_way way) {
  xd_core_result r;
  tw_error error = {0};
  k.way = way;
  must(xd_core_schedule(&k, &r, &error), &error);
  return r;
}

/* The kernel of a design, a call of it for T_MC / rho rows. */
static xd_core_kernel call_of(const xd_kernel *kernel, const tw_tile *t) {
  xd_core_kernel k;
  assert_true(xd_core_call(kernel, t->m / t->rho, t->k, t->n, &k));
  return k;
}

static double percent(double predicted, double measured) { return 100 * (predicted / measured - 1); }

/* ---- Table 1 ---- */

typedef struct row1 {
  double published, in_turn, pipelined, core; /* efficiencies */
} row1;

/* The core's efficiency with the overheads of calls and steps of K that the other rows of Table 1 have. */
static row1 predict1(const data *x, size_t row) {
  const xd_kernel *atb = kernel_of(&x->machine, "atb");
  const tw_tile tile = table1_tile(&x->one, row);
  const xd_core_kernel k = call_of(atb, &tile);
  double overhead[2];
  row1 r = {scheduled(k, k.way).efficiency, scheduled(k, XD_CORE_IN_TURN).efficiency,
            scheduled(k, XD_CORE_PIPELINED).efficiency, 0};
  fit_overhead(&x->one, &x->machine, atb, LEAVE_ROW, row, false, true, overhead);
  r.core = tw_core_efficiency(&tile, 2.0 * xd_vmac_macs(atb), r.published, &(tw_overhead){overhead[0], overhead[1]});
  return r;
}

static void write_table_1(FILE *f, const data *x) {
  errors micro = {0}, core = {0}, turn = {0}, but_32 = {0};
  fprintf(
      f,
      "### Table 1 of the ATB paper\n\nEfficiency of the micro-kernel: measured; scheduled as the published source is "
      "written "
      "(four clusters in straight-line code); one cluster after the other; overlapped by modulo scheduling.\n\n"
      "| T_K | rho | measured | as published | error | in turn | error | pipelined | core measured | core predicted | "
      "error |\n| ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |\n");
  for (size_t i = 0; i < x->one.n; i++) {
    const row1 r = predict1(x, i);
    const double measured = number(&x->one, i, "eff_micro"), core_measured = number(&x->one, i, "eff_core");
    note(&micro, r.published / measured - 1);
    note(&turn, r.in_turn / measured - 1);
    note(&core, r.core / core_measured - 1);
    if (number(&x->one, i, "t_k") != 32) note(&but_32, r.published / measured - 1);
    fprintf(f, "| %s | %s | %s | %.3f | %+.1f%% | %.3f | %+.1f%% | %.3f | %s | %.3f | %+.1f%% |\n",
            cell(&x->one, i, "t_k"), cell(&x->one, i, "rho"), cell(&x->one, i, "eff_micro"), r.published,
            percent(r.published, measured), r.in_turn, percent(r.in_turn, measured), r.pipelined,
            cell(&x->one, i, "eff_core"), r.core, percent(r.core, core_measured));
  }
  fprintf(f, "| **mean; worst** | | | | **%.1f%%; %.1f%%** | | **%.1f%%; %.1f%%** | | | | **%.1f%%; %.1f%%** |\n",
          100 * mean(&micro), 100 * micro.worst, 100 * mean(&turn), 100 * turn.worst, 100 * mean(&core),
          100 * core.worst);
  fprintf(f, "| **without T_K = 32** | | | | **%.1f%%; %.1f%%** | | | | | | |\n", 100 * mean(&but_32),
          100 * but_32.worst);
}

/* ---- single-core kernels of Taka et al. ---- */

static bool is_by_hand(const table *t, size_t row) { return !strcmp(cell(t, row, "table"), "hand"); }

static xd_core_kernel kernel_row(const table *t, size_t row) {
  const char *a = cell(t, row, "a"), *c = cell(t, row, "c");
  if (is_by_hand(t, row))
    return xd_core_kernel_of(XD_CORE_BFP16, XD_CORE_C_32, (int)number(t, row, "m"), (int)number(t, row, "k"),
                             (int)number(t, row, "n"));
  const bool bf16 = !strcmp(a, "bf16");
  const xd_core_form form = bf16                ? XD_CORE_C_BF16
                            : !strcmp(c, "i8")  ? XD_CORE_C_I8
                            : !strcmp(c, "i16") ? XD_CORE_C_I16
                                                : XD_CORE_C_32;
  xd_core_kernel k = xd_core_kernel_of(bf16 ? XD_CORE_BF16 : XD_CORE_I8, form, (int)number(t, row, "m"),
                                       (int)number(t, row, "k"), (int)number(t, row, "n"));
  k.shuffle_b = !bf16; /* B is column-major; the bf16 kernel transposes it anyway */
  return k;
}

static double measured_cycles(const table *t, size_t row) {
  return number(t, row, "m") * number(t, row, "k") * number(t, row, "n") / number(t, row, "macs_per_cycle");
}

static void judge_kernels(const data *x, errors *integer, errors *bf16) {
  for (size_t i = 0; i < x->kernels.n; i++) {
    const xd_core_kernel k = kernel_row(&x->kernels, i);
    if (!is_by_hand(&x->kernels, i))
      note(k.mac == XD_CORE_BF16 ? bf16 : integer,
           scheduled(k, XD_CORE_IN_TURN).cycles / measured_cycles(&x->kernels, i) - 1);
  }
}

/* Equations 5 to 10 for the same clusters; 0 where the machine file has no kernel of these types. */
static double by_equations(const data *x, size_t row) {
  const char *c = cell(&x->kernels, row, "c");
  const char *name = !strcmp(cell(&x->kernels, row, "a"), "bf16") ? NULL
                     : !strcmp(c, "i32")                          ? "int8"
                     : !strcmp(c, "i8")                           ? "int8-narrow"
                                                                  : NULL;
  if (!name) return 0;
  const xd_kernel *k = kernel_of(&x->machine, name);
  return xd_cluster_of(&x->machine, k, (int64_t)number(&x->kernels, row, "k")).cycles * number(&x->kernels, row, "m") /
         xd_unit_m(k) * number(&x->kernels, row, "n") / xd_unit_n(k);
}

static void write_kernels(FILE *f, const data *x) {
  errors integer = {0}, bf16 = {0}, equations = {0};
  judge_kernels(x, &integer, &bf16);
  fprintf(
      f, "\n### Single-core kernels of Taka et al.\n\nCycles of a call; clusters one after the other, as a loop "
         "over clusters "
         "compiles. What A's or B's stream of 8 bytes a cycle takes is not in the prediction.\n\n"
         "| types | m x k x n | measured | in turn | error | equations 5 to 10 | stream | unrolled by 4 | pipelined |\n"
         "| --- | --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: |\n");
  for (size_t i = 0; i < x->kernels.n; i++) {
    const table *t = &x->kernels;
    xd_core_kernel k = kernel_row(t, i);
    if (is_by_hand(t, i)) continue;
    k.unroll = 4;
    const double measured = measured_cycles(t, i), bytes = k.mac == XD_CORE_BF16 ? 2 : 1;
    const double cycles = scheduled(k, XD_CORE_IN_TURN).cycles, equation = by_equations(x, i);
    fprintf(f, "| %s, %s | %dx%dx%d | %.0f | %.0f | %+.1f%% | ", cell(t, i, "a"), cell(t, i, "c"), k.m, k.k, k.n,
            measured, cycles, percent(cycles, measured));
    if (equation > 0) fprintf(f, "%.0f, %+.1f%%", equation, percent(equation, measured));
    if (equation > 0) note(&equations, equation / measured - 1);
    fprintf(f, " | %.0f | %.0f | %.0f |\n", bytes * k.k * (k.m > k.n ? k.m : k.n) / x->machine.stream_bytes,
            scheduled(k, XD_CORE_UNROLLED).cycles, scheduled(k, XD_CORE_PIPELINED).cycles);
  }
  fprintf(
      f,
      "| **int8: mean; worst** | | | | **%.1f%%; %.1f%%** | %.1f%%; %.1f%% | | | |\n| **bf16: mean; worst** | | | | "
      "**%.1f%%; %.1f%%** | | | | |\n",
      100 * mean(&integer), 100 * integer.worst, 100 * mean(&equations), 100 * equations.worst, 100 * mean(&bf16),
      100 * bf16.worst);
}

static double by_hand_error(const data *x) {
  for (size_t i = 0; i < x->kernels.n; i++)
    if (is_by_hand(&x->kernels, i))
      return scheduled(kernel_row(&x->kernels, i), XD_CORE_PIPELINED).cycles / measured_cycles(&x->kernels, i) - 1;
  fail_msg("no kernel by hand");
  return 0;
}

static void write_by_hand(FILE *f, const data *x) {
  fprintf(f, "\n### A kernel written by hand\n\nbfp16, C in f32, clusters overlapped, all data in L1.\n\n"
             "| m x k x n | measured | pipelined | error | II |\n| --- | ---: | ---: | ---: | ---: |\n");
  for (size_t i = 0; i < x->kernels.n; i++) {
    if (!is_by_hand(&x->kernels, i)) continue;
    const xd_core_kernel k = kernel_row(&x->kernels, i);
    const xd_core_result r = scheduled(k, XD_CORE_PIPELINED);
    fprintf(f, "| %dx%dx%d | %.0f | %.0f | %+.1f%% | %d |\n", k.m, k.k, k.n, measured_cycles(&x->kernels, i), r.cycles,
            100 * by_hand_error(x), r.ii);
  }
}

/* ---- Table 2 ---- */

static void write_table_2(FILE *f, const data *x) {
  const table *t = &x->two;
  errors e = {0};
  fprintf(f, "\n### Table 2 of the ATB paper: rate of one core\n\nScheduled as published, with the overheads of calls "
             "and steps of K that are "
             "fitted to Table 1 alone.\n\n| config | tile, rho | call, cycles | measured | predicted | error |\n"
             "| --- | --- | ---: | ---: | ---: | ---: |\n");
  for (size_t i = 0; i < t->n; i++) {
    if (!kernel_name(t, i) || strcmp(cell(t, i, "source"), "paper")) continue;
    const xd_design d = table2_design(&x->machine, t, i);
    const xd_core_kernel k = call_of(d.kernel, &d.tile);
    const xd_core_result r = scheduled(k, k.way);
    const double peak = 2.0 * xd_vmac_macs(d.kernel), measured = number(t, i, "perf_core_tflops");
    const tw_overhead overhead = {x->machine.switch_cycles, x->machine.step_cycles};
    const double predicted =
        tw_core_efficiency(&d.tile, peak, r.efficiency, &overhead) * peak * x->machine.clock_mhz * 1e-6;
    note(&e, predicted / measured - 1);
    fprintf(f, "| %s | %sx%sx%s, %s | %.0f | %s | %.2f | %+.1f%% |\n", cell(t, i, "config"), cell(t, i, "t_mc"),
            cell(t, i, "t_k"), cell(t, i, "t_n"), cell(t, i, "rho"), r.cycles, cell(t, i, "perf_core_tflops"),
            predicted, percent(predicted, measured));
  }
  fprintf(f, "| **mean; worst** | | | | | **%.1f%%; %.1f%%** |\n", 100 * mean(&e), 100 * e.worst);
}

/* ---- what the core could do ---- */

static const struct kind {
  const char *name;
  xd_core_mac mac;
  xd_core_form c;
  int rows, columns;
} kinds[] = {
    {"int8, C i32", XD_CORE_I8, XD_CORE_C_32, 2, 2},
    {"int8, C i8", XD_CORE_I8, XD_CORE_C_I8, 2, 2},
    {"int8 x int4, C i32", XD_CORE_I8_I4, XD_CORE_C_32, 2, 2},
    {"int8 x int4, C i8", XD_CORE_I8_I4, XD_CORE_C_I8, 2, 2},
    {"int8 x 2-bit codes, C i32", XD_CORE_I8_I2, XD_CORE_C_32, 4, 1},
    {"int8 x 2-bit codes, C i8", XD_CORE_I8_I2, XD_CORE_C_I8, 4, 1},
    {"bfp16, C f32", XD_CORE_BFP16, XD_CORE_C_32, 2, 2},
    {"bfp16, C bf16", XD_CORE_BFP16, XD_CORE_C_BF16, 2, 2},
    {"bfp16, C bfp16", XD_CORE_BFP16, XD_CORE_C_BFP16, 2, 2},
    {"bf16 by bfp16, C bf16", XD_CORE_BF16, XD_CORE_C_BF16, 2, 2},
    {"bf16 by elements, C f32", XD_CORE_BF16_LANES, XD_CORE_C_32, 2, 2},
    {"int16, C i32", XD_CORE_I16, XD_CORE_C_32, 2, 2},
};

static void write_ways(FILE *f) {
  fprintf(
      f,
      "\n### What the schedules allow\n\nA call of 64x64x64. Cycles, and in brackets multiply-accumulates a cycle.\n\n"
      "| kernel | cluster | in turn | unrolled by 2 | pipelined | II | its bounds | registers: vectors, accumulators "
      "|\n"
      "| --- | --- | ---: | ---: | ---: | ---: | ---: | ---: |\n");
  for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
    enum { SIDE = 64 };
    xd_core_kernel k = xd_core_kernel_of(kinds[i].mac, kinds[i].c, SIDE, SIDE, SIDE);
    const double macs = (double)SIDE * SIDE * SIDE;
    k.cluster[0] = kinds[i].rows;
    k.cluster[1] = kinds[i].columns;
    k.unroll = 2;
    fprintf(f, "| %s | %dx%d |", kinds[i].name, k.cluster[0], k.cluster[1]);
    xd_core_result r = {0};
    for (int way = 0; way < XD_CORE_WAYS; way++) {
      tw_error error = {0};
      k.way = (xd_core_way)way;
      if (xd_core_schedule(&k, &r, &error) == TW_OK)
        fprintf(f, " %.0f (%.0f) |", r.cycles, macs / r.cycles);
      else
        fprintf(f, " too few registers |");
    }
    if (!r.ii) {
      fprintf(f, " - | - | - |\n");
      continue;
    }
    fprintf(f, " %d | %d, %d | %d, %d |\n", r.ii, r.resource_ii, r.recurrence_ii, r.vectors, r.accumulators);
  }
}

/* Multiply-accumulates a cycle once the pipeline runs, by shape of the cluster. */
static void write_shapes(FILE *f) {
  static const int shape[][2] = {{1, 1}, {1, 2}, {2, 1}, {2, 2}, {1, 4}, {4, 1}, {1, 5}, {5, 1}};
  enum { SHAPES = sizeof shape / sizeof *shape, DEPTH = 64 };
  fprintf(f, "\n### Shapes of clusters\n\nMultiply-accumulates a cycle of overlapped clusters of depth 64, without "
             "prologue and epilogue; "
             "\"-\": too few registers.\n\n| kernel |");
  for (int i = 0; i < SHAPES; i++) fprintf(f, " %dx%d |", shape[i][0], shape[i][1]);
  fprintf(f, "\n| --- |");
  for (int i = 0; i < SHAPES; i++) fprintf(f, " ---: |");
  for (size_t kind = 0; kind < sizeof kinds / sizeof *kinds; kind++) {
    const int *unit = xd_core_shape(kinds[kind].mac);
    fprintf(f, "\n| %s |", kinds[kind].name);
    for (int i = 0; i < SHAPES; i++) {
      xd_core_kernel k =
          xd_core_kernel_of(kinds[kind].mac, kinds[kind].c, unit[0] * shape[i][0], DEPTH, unit[2] * shape[i][1]);
      xd_core_result r;
      tw_error error = {0};
      k.cluster[0] = shape[i][0];
      k.cluster[1] = shape[i][1];
      k.way = XD_CORE_PIPELINED;
      if (xd_core_schedule(&k, &r, &error) == TW_OK)
        fprintf(f, " %.0f |", (double)shape[i][0] * shape[i][1] * DEPTH * unit[0] * unit[2] / r.ii);
      else
        fprintf(f, " - |");
    }
  }
  fprintf(f, "\n");
}

/* ---- tests ---- */

static void the_errors_are_as_stated(void **state) {
  const data *x = *state;
  errors integer = {0}, bf16 = {0};
  judge_kernels(x, &integer, &bf16);
  print_message("nine int8 kernels: mean error %.1f%%, worst %.1f%%\n", 100 * mean(&integer), 100 * integer.worst);
  assert_int_equal(integer.n, 9);
  assert_int_equal(bf16.n, 3);
  assert_true(mean(&integer) < 0.10 && integer.worst < 0.20);
}

/* No compiled kernel may be faster than the best schedule by more than the rounding of its number; the one written by
 * hand is as fast. */
static void no_compiled_kernel_is_faster_than_the_pipelined_schedule(void **state) {
  const data *x = *state;
  for (size_t i = 0; i < x->one.n; i++)
    if (number(&x->one, i, "eff_micro") - 0.005 > predict1(x, i).pipelined) fail_msg("Table 1, row %zu", i);
  for (size_t i = 0; i < x->kernels.n; i++)
    if (!is_by_hand(&x->kernels, i) &&
        scheduled(kernel_row(&x->kernels, i), XD_CORE_PIPELINED).cycles > measured_cycles(&x->kernels, i) * 1.001)
      fail_msg("kernel %zu", i);
  assert_true(fabs(by_hand_error(x)) < 0.02);
}

/* Table 1's cores by equation 13 fitted to the rows of other T_K, overheads to all other rows. */
static double by_fit_error(const data *x, size_t row) {
  const xd_kernel *atb = kernel_of(&x->machine, "atb");
  const tw_tile tile = table1_tile(&x->one, row);
  double micro[2], overhead[2];
  fit_micro(&x->one, atb, LEAVE_T_K, row, micro);
  fit_overhead(&x->one, &x->machine, atb, LEAVE_ROW, row, false, true, overhead);
  const double eta = (double)(atb->cluster[0] * atb->cluster[1]) / xd_unit_k(atb);
  const double efficiency = tw_micro_efficiency(eta, micro[0], micro[1], (double)tile.k);
  return tw_core_efficiency(&tile, 2.0 * xd_vmac_macs(atb), efficiency, &(tw_overhead){overhead[0], overhead[1]}) /
             number(&x->one, row, "eff_core") -
         1;
}

/* Of the two sources of cycles the machine file names the one that is nearer to what was measured. */
static void each_kernel_costs_what_is_nearer_to_measurements(void **state) {
  const data *x = *state;
  errors fitted = {0}, scheduled1 = {0}, equations = {0}, scheduled8 = {0};
  for (size_t i = 0; i < x->one.n; i++) {
    note(&fitted, by_fit_error(x, i));
    note(&scheduled1, predict1(x, i).core / number(&x->one, i, "eff_core") - 1);
  }
  for (size_t i = 0; i < x->kernels.n; i++) {
    const double equation = by_equations(x, i), measured = measured_cycles(&x->kernels, i);
    if (equation <= 0) continue;
    note(&equations, equation / measured - 1);
    note(&scheduled8, scheduled(kernel_row(&x->kernels, i), XD_CORE_IN_TURN).cycles / measured - 1);
  }
  print_message("Table 1: fitted %.1f%%, scheduled %.1f%%; int8: equations %.1f%%, scheduled %.1f%%\n",
                100 * mean(&fitted), 100 * mean(&scheduled1), 100 * mean(&equations), 100 * mean(&scheduled8));
  assert_int_equal(kernel_of(&x->machine, "atb")->scheduled, mean(&scheduled1) < mean(&fitted));
  assert_int_equal(kernel_of(&x->machine, "int8")->scheduled, mean(&scheduled8) < mean(&equations));
}

static char *tables(const data *x) {
  char *text = NULL;
  size_t size = 0;
  FILE *f = open_memstream(&text, &size);
  assert_non_null(f);
  write_table_1(f, x);
  write_kernels(f, x);
  write_by_hand(f, x);
  write_table_2(f, x);
  write_ways(f);
  write_shapes(f);
  fclose(f);
  return text;
}

static void the_page_says_what_was_found(void **state) {
  if (example_stride() > 1) skip(); /* the same numbers as in the optimized build */
  page_must_say(&the_page, tables(*state));
}

int main(int argc, char *argv[]) {
  static data x;
  x.machine = machine();
  x.one = read_table("table1.csv");
  x.two = read_table("table2.csv");
  x.kernels = read_table("gemm_kernels.csv");
  if (argc > 1 && !strcmp(argv[1], "--write")) {
    page_write(&the_page, tables(&x));
    return 0;
  }
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_prestate(the_errors_are_as_stated, &x),
      cmocka_unit_test_prestate(no_compiled_kernel_is_faster_than_the_pipelined_schedule, &x),
      cmocka_unit_test_prestate(each_kernel_costs_what_is_nearer_to_measurements, &x),
      cmocka_unit_test_prestate(the_page_says_what_was_found, &x),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
