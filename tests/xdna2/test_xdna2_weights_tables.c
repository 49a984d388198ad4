/* Ternary weights three ways, int4 and int8, over shapes from decoding (few rows: memory bounds) to prefill (cores do).
 * For each the best design that a sweep finds: those that the model of the search puts first are simulated.
 *
 *   build/tests/test_xdna2_weights_tables --write    writes the tables of docs/reference/xdna2-weights.md anew */
#include "page.h"
#include "target/xdna2/array/cost.h"
#include "target/xdna2/array/plan.h"
#include "target/xdna2/core/core.h"
#include "xdna2_gemm.h"
#include "xdna2_look_up.h"

static const page the_page = {"docs/reference/xdna2-weights.md",
                              "<!-- tables: made by build/tests/test_xdna2_weights_tables --write -->\n",
                              "<!-- end of tables -->\n", "test_xdna2_weights_tables"};

static const char *const kernels[] = {"int8", "int8-int4", "ternary-int8", "ternary-int4", "ternary-registers"};
enum { KERNELS = sizeof kernels / sizeof *kernels };

/* Of BitNet b1.58 2B4T (hidden 2560, feed-forward 6912), and a square. */
static const struct {
  int64_t m, k, n;
} shapes[] = {{1, 2560, 2560},   {1, 2560, 6912},    {16, 2560, 6912},  {64, 2560, 6912},
              {256, 2560, 6912}, {1024, 2560, 6912}, {4096, 4096, 4096}};
enum { SHAPES = sizeof shapes / sizeof *shapes };

/* ---- the sweep ---- */

enum { KEPT = 6 };
typedef struct design {
  xd_gemm gemm;
  double predicted, seconds;
  xd_run_result run;
} design;

/* The designs that the model puts first, in order. */
static void keep(design *best, const xd_gemm *g) {
  if (xd_gemm_l1_bytes(g) + machine.stack_bytes > machine.l1_bytes || xd_gemm_l2_bytes(g) > machine.l2_bytes ||
      xd_gemm_check(&machine, g, NULL) != TW_OK)
    return;
  design d = {.gemm = *g, .predicted = xd_plan_predict(&machine, g)};
  for (int i = 0; i < KEPT; i++) {
    if (best[i].gemm.kernel && best[i].predicted <= d.predicted) continue;
    const design pushed = best[i];
    best[i] = d;
    d = pushed;
    if (!d.gemm.kernel) return;
  }
}

static void sweep_tile(design *best, xd_gemm g) {
  for (int rho = 1; rho <= 4; rho *= 2)
    for (g.depth = 1; g.depth <= 8; g.depth *= 2)
      for (g.copies[2] = 1; g.copies[2] <= 2; g.copies[2]++)
        for (g.copies[1] = 1; g.copies[1] <= 2; g.copies[1]++) {
          g.tile.rho = rho;
          keep(best, &g);
        }
}

static void sweep(design *best, const char *name, int64_t m, int64_t n, int64_t k) {
  xd_gemm g = gemm_of(name, (tw_tile){.rho = 1}, m, n, k);
  const int um = xd_gemm_unit_m(&g), un = xd_gemm_unit_n(&g) > 16 ? xd_gemm_unit_n(&g) : 16;
  for (g.rows = 1; g.rows <= machine.rows; g.rows++)
    for (int64_t tm = um; tm <= 192 && (tm * g.rows <= m || (g.rows == 1 && tm - um < m)); tm += um)
      for (int64_t tn = un; tn <= 256; tn += un)
        for (int64_t tk = 32; tk <= 256; tk += 32) {
          g.tile = (tw_tile){tm, tk, tn, 1};
          sweep_tile(best, g);
        }
}

static design best_of(const char *name, int64_t m, int64_t n, int64_t k) {
  const xd_run_options options = {.timing_only = true, .cost = xd_cost_of(&machine)};
  design best[KEPT] = {0};
  int first = 0;
  sweep(best, name, m, n, k);
  for (int i = 0; i < KEPT && best[i].gemm.kernel; i++) {
    xd_program p;
    tw_error error;
    if (xd_gemm_program(&machine, &best[i].gemm, &p, &error) || xd_run(&machine, &p, &options, &best[i].run, &error))
      fail_msg("%s", error.text);
    xd_program_free(&p);
    best[i].seconds = best[i].run.cycles / (machine.clock_mhz * 1e6) + machine.array.dispatch_us * 1e-6;
    if (best[i].seconds < best[first].seconds) first = i;
  }
  return best[first];
}

/* ---- the page ---- */

static void print_row(FILE *f, const char *name, const design *d, double int8) {
  const xd_gemm *g = &d->gemm;
  const double cores = d->run.call_cycles / (g->rows * g->columns) / d->run.cycles,
               ddr = d->run.ddr_busy_cycles / d->run.cycles;
  fprintf(f, "| %d x %d x %d | %s | %dx%dx%d, %d; %d rows, depth %d | %.0f | %.2f | %.2f | %.0f%% | %.0f%% | %s |\n",
          (int)g->m, (int)g->k, (int)g->n, name, (int)g->tile.m, (int)g->tile.k, (int)g->tile.n, (int)g->tile.rho,
          g->rows, g->depth, d->seconds * 1e6, int8 / d->seconds, (d->run.read_bytes + d->run.written_bytes) * 1e-6,
          100 * cores, 100 * ddr, cores > ddr ? "cores" : "DDR");
}

static void print_unpacking(FILE *f) {
  double eight, four, eights, fours;
  xd_core_pass_cycles(XD_PASS_UNPACK_I8, 64 * 64, &eights, NULL);
  xd_core_pass_cycles(XD_PASS_UNPACK_I4, 64 * 64, &fours, NULL);
  xd_core_pass_cycles(XD_PASS_UNPACK_I8, 2 * 64 * 64, &eight, NULL);
  xd_core_pass_cycles(XD_PASS_UNPACK_I4, 2 * 64 * 64, &four, NULL);
  fprintf(f, "| to | a tile of 64x64 | for each 256 codes more |\n| --- | ---: | ---: |\n");
  fprintf(f, "| int8 | %.0f | %.1f |\n| int4 | %.0f | %.1f |\n", eights, (eight - eights) / 16, fours,
          (four - fours) / 16);
}

/* ---- the ways, by schedule ---- */

enum { SIDE = 64, MACS = SIDE * SIDE * SIDE };

static xd_core_kernel call(xd_core_mac mac, xd_core_form c, xd_core_way way) {
  xd_core_kernel k = xd_core_kernel_of(mac, c, SIDE, SIDE, SIDE);
  k.way = way;
  if (mac == XD_CORE_I8_I2) k.cluster[0] = 4, k.cluster[1] = 1; /* for 2x2 there are too few registers */
  return k;
}

static double separate_cycles(xd_core_mac mac, xd_core_form c, xd_core_way way) {
  const xd_core_kernel k = call(mac, c, way);
  double products = 0, unpacking = 0;
  assert_int_equal(xd_core_cycles(&k, &products, NULL), TW_OK);
  if (mac != XD_CORE_I8_I2)
    xd_core_pass_cycles(mac == XD_CORE_I8 ? XD_PASS_UNPACK_I8 : XD_PASS_UNPACK_I4, SIDE * SIDE, &unpacking, NULL);
  return products + unpacking;
}

static double hidden_cycles(xd_core_mac mac, xd_core_form c, xd_core_way way) {
  const xd_core_kernel k = call(mac, c, way);
  double cycles = 0;
  assert_int_equal(xd_core_hidden_cycles(&k, &cycles, NULL), TW_OK);
  return cycles;
}

static void print_way(FILE *f, const char *name, double cycles(xd_core_mac, xd_core_form, xd_core_way), xd_core_mac mac,
                      int buffer) {
  static const xd_core_form forms[] = {XD_CORE_C_32, XD_CORE_C_I8};
  static const xd_core_way ways[] = {XD_CORE_IN_TURN, XD_CORE_PIPELINED};
  fprintf(f, "| %s |", name);
  for (int i = 0; i < 2; i++)
    for (int j = 0; j < 2; j++) {
      const double taken = cycles(mac, forms[i], ways[j]);
      fprintf(f, " %.0f (%.0f) |", taken, MACS / taken);
    }
  fprintf(f, " %d |\n", buffer);
}

static void print_ways(FILE *f) {
  fprintf(f,
          "\n### Ways to multiply\n\nCycles of a call of %dx%dx%d with its share of unpacking, as scheduled; in "
          "brackets multiply-accumulates a cycle. Clusters in turn, and overlapped. Bytes: buffers beside A, B and "
          "C.\n\n| way | C i32, in turn | C i32, overlapped | C i8, in turn | C i8, overlapped | bytes |\n"
          "| --- | ---: | ---: | ---: | ---: | ---: |\n",
          SIDE, SIDE, SIDE);
  print_way(f, "`ternary-int8`", separate_cycles, XD_CORE_I8, SIDE * SIDE);
  print_way(f, "to int8, the next tile beside products", hidden_cycles, XD_CORE_I8, 2 * SIDE * SIDE);
  print_way(f, "`ternary-int4`", separate_cycles, XD_CORE_I8_I4, SIDE * SIDE / 2);
  print_way(f, "to int4, the next tile beside products", hidden_cycles, XD_CORE_I8_I4, SIDE * SIDE);
  print_way(f, "`ternary-registers`", separate_cycles, XD_CORE_I8_I2, 0);
  fprintf(f, "\nBy table look-up (LUT-mpGeMM), C i32:\n\n| weights of an index | n | cycles | addresses | tables | "
             "look-up | multiply-accumulates a cycle | bytes of tables |\n"
             "| ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |\n");
  for (int group = 2; group <= 4; group++)
    for (int n = SIDE; n <= 4 * SIDE; n *= 4) {
      look_up_cycles l;
      assert_int_equal(look_up_cycles_of(group, SIDE, SIDE, n, &l, NULL), TW_OK);
      fprintf(f, "| %d | %d | %.0f | %.0f | %.0f | %.0f | %.1f | %d%s |\n", group, n, l.cycles, l.addresses, l.tables,
              l.look_up, (double)SIDE * SIDE * n / l.cycles, (int)l.table_bytes,
              l.table_bytes > machine.l1_bytes ? ", more than L1" : "");
    }
}

static char *tables(void) {
  char *text = NULL;
  size_t size = 0;
  FILE *f = open_memstream(&text, &size);
  fprintf(f, "### Unpacking\n\nCycles of a core, as scheduled.\n\n");
  print_unpacking(f);
  print_ways(f);
  fprintf(f,
          "\n### Over shapes\n\nThe best design of each kernel, simulated. Time in microseconds, of which %.0f are the "
          "dispatch; faster than int8 by; megabytes from and\nto DDR; how long cores compute and DDR moves data, of "
          "the run.\n\n",
          machine.array.dispatch_us);
  fprintf(f, "| m x k x n | kernel | tile, rho; cores, L2 | us | times | MB | cores | DDR | limit |\n"
             "| --- | --- | --- | ---: | ---: | ---: | ---: | ---: | --- |\n");
  for (int i = 0; i < SHAPES; i++) {
    double int8 = 0;
    for (int j = 0; j < KERNELS; j++) {
      const design d = best_of(kernels[j], shapes[i].m, shapes[i].n, shapes[i].k);
      if (!j) int8 = d.seconds;
      print_row(f, kernels[j], &d, int8);
    }
  }
  fclose(f);
  return text;
}

static void the_page_says_what_is_simulated(void **state) {
  if (example_stride() > 1) skip(); /* the same numbers as in the optimized build */
  page_must_say(&the_page, tables());
}

int main(int argc, char *argv[]) {
  machine = machine_config();
  if (argc > 1 && !strcmp(argv[1], "--write")) {
    page_write(&the_page, tables());
    return 0;
  }
  const struct CMUnitTest tests[] = {cmocka_unit_test(the_page_says_what_is_simulated)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
