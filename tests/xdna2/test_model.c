/* Equations 1 to 15 of the ATB paper: its own worked examples and figures, limits, and identities between equations. */
#include "test.h"

#include <math.h>

#include "target/xdna2/model/efficiency.h"
#include "target/xdna2/model/pipeline.h"
#include "target/xdna2/model/tiling.h"

static void assert_near(double a, double b) { assert_true(fabs(a - b) <= 1e-9 * fmax(1, fabs(b))); }

static const tw_element_bytes bf16 = {2, 2, 2};

static double intensity(const tw_tile *t, const tw_element_bytes *e, double depth) {
  return tw_intensity_at((tw_level[]){{1, 1, 1}}, 1, t, e, depth);
}

static void intensity_counts_operations_over_accesses(void **state) {
  const tw_tile t = {48, 8, 80, 3};
  const tw_element_bytes e = {2, 1.25, 4};
  const double k = 640, steps = k / 8; /* section 3.1, from the counts themselves */
  const double operations = 2 * 48 * 8 * 80 * steps;
  const double accesses = (2 * 48 * 8 + 1.25 * 8 * 80) * steps + 4 * 48 * 80.0;
  assert_near(intensity(&t, &e, k), operations / accesses);
  tw_tile other = t; /* neither T_K nor rho matters */
  other.k = 64;
  other.rho = 1;
  assert_near(intensity(&other, &e, k), intensity(&t, &e, k));
}

static void an_array_has_the_intensity_of_its_joint_tile(void **state) {
  const tw_level levels[] = {{1, 1, 4}, {4, 8, 1}, {2, 3, 1}};
  const tw_tile t = {128, 64, 128, 1};
  const tw_element_bytes config1 = {2, 1.25, 2};
  const double k = 4096;
  assert_near(tw_intensity_at(levels, 2, &t, &config1, k),
              2 / (2 / (8 * 128.0) + 1.25 / (4 * 128.0) + 2 / k));            /* eq. 2 */
  assert_near(floor(tw_intensity_at(levels, 2, &t, &config1, k) + 0.5), 410); /* Table 2 */
  const tw_tile outer = tw_level_tile(levels, 3, &t);                         /* any number of levels */
  assert_int_equal(outer.m, 128 * 4 * 2);
  assert_int_equal(outer.n, 128 * 8 * 3);
  assert_int_equal(outer.k, 64);
  assert_int_equal(outer.rho, 1);
  assert_int_equal(tw_level_tile(levels, 1, &t).rho, 4);
}

static void traffic_reads_a_and_b_once_for_each_tile(void **state) {
  const tw_tile outer = {512, 64, 1024, 1};
  const tw_traffic t = tw_gemm_traffic(&outer, &bf16, 1024, 4096, 640);
  assert_near(t.a, 2.0 * 1024 * 640 * 4);
  assert_near(t.b, 2.0 * 640 * 4096 * 2);
  assert_near(t.c, 2.0 * 1024 * 4096);
  /* Where everything divides, it is what equation 2 counts. */
  assert_near(2.0 * 1024 * 4096 * 640 / (t.a + t.b + t.c), intensity(&outer, &bf16, 640));
  const tw_traffic odd = tw_gemm_traffic(&outer, &bf16, 1023, 4095, 601); /* padded to the same tiles */
  assert_near(odd.a, t.a);
  assert_near(odd.b, t.b);
  assert_near(odd.c, t.c);
}

static void the_prologue_of_figure_3_takes_4_cycles(void **state) {
  const tw_loads figure3[] = {{3, 2}, {3, 1}, {3, 1}};
  assert_near(tw_prologue(figure3, 3, 2), 4);
  const tw_loads mixed[] = {{4, 8}, {8, 4}}, sorted[] = {{8, 4}, {4, 8}};
  assert_near(tw_prologue(mixed, 2, 2), 9); /* max(8 + 2 - 1, 4 + 6 - 1) */
  assert_near(tw_prologue(sorted, 2, 2), 9);
  assert_near(tw_prologue(mixed, 2, 1), 15); /* 4 + 12 - 1 */
}

static void a_core_issues_a_vmac_a_cycle_at_most(void **state) {
  assert_near(tw_ii_issued(3, 4, 1, 2), 1);
  assert_near(tw_ii_issued(3, 1, 2, 2), 3);
  assert_near(tw_ii_issued(3, 2, 2, 2), 1.5);
  assert_near(tw_ii_issued(3, 8, 4, 2), 2);
}

static void phases_add_up(void **state) {
  assert_near(tw_steady(1, 32, 4), 28);
  assert_near(tw_epilogue(6, 2, 2, 4), 12); /* section 4.3 */
  assert_near(tw_clusters_in_turn(9, 28, 12, 64), 49 * 64);
  assert_near(tw_efficiency(256, 512), 0.5);
}

static void micro_efficiency_saturates_at_the_initiation_interval(void **state) {
  assert_near(tw_micro_efficiency(0.5, 20, 1, 40), 0.5);
  assert_near(tw_micro_efficiency(0.5, 0, 1.25, 8), 0.8);
  assert_true(fabs(tw_micro_efficiency(0.5, 20, 1.25, 1e9) - 0.8) < 1e-6);
  /* Equation 13 is equation 10 with N_accum = eta T_K and epsilon what does not grow with it. */
  const double n = 0.5 * 64, prologue = 9, epilogue = 12;
  assert_near(tw_micro_efficiency(0.5, prologue + epilogue - 4, 1, 64),
              n / tw_clusters_in_turn(prologue, tw_steady(1, n, 4), epilogue, 1));
}

/* Equation 14: the cycles of an output tile. */
static double tile_cycles(const tw_tile *t, double depth, double peak, double micro, const tw_overhead *o) {
  return 2 * (double)t->m * depth * (double)t->n / (peak * micro) +
         (o->per_switch * (double)t->rho + o->per_step) * depth / (double)t->k;
}

static void equation_15_is_equation_14_over_the_peak(void **state) {
  const tw_tile t = {128, 64, 128, 4};
  const tw_overhead none = {0, 0}, paper = {50, 0}, both = {50, 300};
  const double peak = 1024, k = 4096, ideal = 2.0 * 128 * k * 128 / peak;
  assert_near(tw_core_efficiency(&t, peak, 0.6, &none), 0.6);
  assert_near(ideal / tile_cycles(&t, k, peak, 0.6, &paper), tw_core_efficiency(&t, peak, 0.6, &paper));
  assert_near(ideal / tile_cycles(&t, k, peak, 0.6, &both), tw_core_efficiency(&t, peak, 0.6, &both));
  assert_near(tile_cycles(&t, k, peak, 0.6, &both) - tile_cycles(&t, k, peak, 0.6, &none), (50 * 4 + 300) * k / 64);
}

static void the_array_runs_at_the_lesser_bound(void **state) {
  const tw_roofline memory = tw_roofline_of(410, 65e9, 0.5, 1.84e12, 32),
                    cores = tw_roofline_of(410, 65e9, 0.4, 1.84e12, 32);
  assert_near(memory.rate, 410 * 65e9);
  assert_near(memory.compute, 0.5 * 1.84e12 * 32);
  assert_near(cores.rate, cores.compute);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(intensity_counts_operations_over_accesses),
      cmocka_unit_test(an_array_has_the_intensity_of_its_joint_tile),
      cmocka_unit_test(traffic_reads_a_and_b_once_for_each_tile),
      cmocka_unit_test(the_prologue_of_figure_3_takes_4_cycles),
      cmocka_unit_test(a_core_issues_a_vmac_a_cycle_at_most),
      cmocka_unit_test(phases_add_up),
      cmocka_unit_test(micro_efficiency_saturates_at_the_initiation_interval),
      cmocka_unit_test(equation_15_is_equation_14_over_the_peak),
      cmocka_unit_test(the_array_runs_at_the_lesser_bound),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
