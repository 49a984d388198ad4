/* The order of a grid, what it finds in the caches, and occupancy: HipKittens' table 4 with every error, counts by
 * hand, limits of the model, and the registers that LLVM gives. */
#include "test.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/files.h"
#include "base/watch.h"
#include "target/cdna/machine.h"

static const cdna_machine *mi355;

static cdna_grid paper_grid(int64_t size) { return (cdna_grid){size, size, size, 192, 256, 64, 16}; }

static cdna_hits hits_of(const cdna_cache_machine *m, const cdna_grid *g, cdna_order order) {
  cdna_hits h;
  tw_error error;
  if (cdna_grid_hits(m, g, &order, 0, 1, &h, &error) != TW_OK) fail_msg("%s", error.text);
  return h;
}

/* ---- orders ---- */

static void every_order_is_a_bijection(void **state) {
  static const cdna_order orders[] = {{0, 0}, {7, 216}, {5, 25}, {8, 542}, {8, 64}, {3, 1}, {16, 7}, {1, 100000}};
  static const int shapes[][2] = {{48, 36}, {76, 57}, {1, 1}, {5, 3}, {3, 100}};
  for (size_t o = 0; o < sizeof orders / sizeof *orders; o++)
    for (size_t s = 0; s < sizeof shapes / sizeof *shapes; s++) {
      const int rows = shapes[s][0], columns = shapes[s][1];
      char *seen = calloc((size_t)(rows * columns), 1);
      for (int id = 0; id < rows * columns; id++) {
        const cdna_cell c = cdna_order_cell(&orders[o], rows, columns, 8, id);
        assert_in_range(c.row, 0, rows - 1);
        assert_in_range(c.column, 0, columns - 1);
        assert_int_equal(seen[c.row * columns + c.column]++, 0);
      }
      free(seen);
    }
}

/* Algorithm 1: with whole sets, an XCD's workgroups 0 to C-1 are C neighbours in the order of windows. */
static void chunks_lie_on_one_xcd(void **state) {
  const cdna_order order = {5, 25};
  for (int xcd = 0; xcd < 8; xcd++)
    for (int local = 0; local < 25; local++) {
      const cdna_cell c = cdna_order_cell(&order, 48, 36, 8, local * 8 + xcd);
      const int number = xcd * 25 + local; /* in the walk: down 5 rows, then the next column */
      assert_int_equal(c.row, number / 180 * 5 + number % 180 % 5);
      assert_int_equal(c.column, number % 180 / 5);
    }
  const cdna_order ranges = {8, 542}; /* of 4332: no whole set, one range for each XCD */
  int number = 0;
  for (int xcd = 0; xcd < 8; xcd++)
    for (int local = 0; local * 8 + xcd < 4332; local++, number++) {
      const cdna_cell c = cdna_order_cell(&ranges, 76, 57, 8, local * 8 + xcd);
      const int first = number / (8 * 57) * 8, height = 76 - first < 8 ? 76 - first : 8;
      assert_int_equal(c.row, first + number % (8 * 57) % height);
      assert_int_equal(c.column, number % (8 * 57) / height);
    }
}

/* ---- caches ---- */

/* Half a minute of caches, ten times that under sanitizers, which learn nothing from more of the same: there, the other
 * tests do. */
#ifdef __SANITIZE_ADDRESS__
enum { IS_SLOW = 1 };
#else
enum { IS_SLOW = 0 };
#endif

/* tests/data/cdna/table4-grid-order.csv. Twelve hit rates within 6 points, by one model without fitted constants. */
static void table_4_is_reproduced(void **state) {
  if (IS_SLOW) skip();
  char *text, *rest = NULL;
  assert_int_equal(tw_file_read(TW_TEST_DATA "/cdna/table4-grid-order.csv", 1 << 16, &text, NULL, NULL), TW_OK);
  double worst = 0, sum = 0, best_bandwidth[2] = {0}, best_tflops[2] = {0};
  char fastest[2][32] = {"", ""}, most[2][32] = {"", ""};
  int rows = 0;
  for (char *line = strtok_r(text, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest)) {
    int size, window = 0, chunk = 0;
    double l2, llc, bandwidth, tflops;
    if (sscanf(line, "%d,192x256x64,row-major,,,%lf,%lf,%lf,%lf", &size, &l2, &llc, &bandwidth, &tflops) != 5 &&
        sscanf(line, "%d,192x256x64,xcd,%d,%d,%lf,%lf,%lf,%lf", &size, &window, &chunk, &l2, &llc, &bandwidth,
               &tflops) != 7)
      continue;
    const cdna_grid grid = paper_grid(size);
    const cdna_hits h = hits_of(&mi355->caches, &grid, (cdna_order){window, chunk});
    const double errors[] = {100 * h.l2 - l2, 100 * h.llc - llc};
    print_message("%5d window %d chunk %3d: L2 %4.1f%% (%+.1f), LLC %4.1f%% (%+.1f), %4.1f TB/s (%+.1f)\n", size,
                  window, chunk, 100 * h.l2, errors[0], 100 * h.llc, errors[1], h.bandwidth_tbs,
                  h.bandwidth_tbs - bandwidth);
    for (int i = 0; i < 2; i++) {
      worst = fmax(worst, fabs(errors[i]));
      sum += fabs(errors[i]);
    }
    /* equation 1 from the paper's own rates: where our two bandwidths come from, machine.c */
    const cdna_cache_machine *m = &mi355->caches;
    assert_true(fabs(l2 / 100 * m->l2_tbs + llc / 100 * m->llc_tbs - bandwidth) < 0.02 * bandwidth);
    assert_true(fabs(h.bandwidth_tbs - bandwidth) < 0.05 * bandwidth);
    const int which = size == 14592;
    if (tflops > best_tflops[which]) snprintf(fastest[which], 32, "%d/%d", window, chunk);
    if (h.bandwidth_tbs > best_bandwidth[which]) snprintf(most[which], 32, "%d/%d", window, chunk);
    best_tflops[which] = fmax(best_tflops[which], tflops);
    best_bandwidth[which] = fmax(best_bandwidth[which], h.bandwidth_tbs);
    rows++;
  }
  free(text);
  print_message("worst %.1f points, mean %.1f\n", worst, sum / (2 * rows));
  assert_int_equal(rows, 6);
  assert_true(worst <= 6);
  assert_true(sum / (2 * rows) <= 2.5);
  for (int i = 0; i < 2; i++) assert_string_equal(most[i], fastest[i]); /* the best order is the best of the paper */
}

/* Row by row, 14592: an XCD's 32 workgroups are in 5 rows and 32 columns; what none of them shared would be 32 of each.
 * */
static void hits_of_a_step_can_be_counted_by_hand(void **state) {
  const cdna_grid grid = paper_grid(14592);
  const double by_hand = 1 - (5 * 24 + 32 * 32) / (32.0 * (24 + 32));
  const cdna_hits h = hits_of(&mi355->caches, &grid, (cdna_order){0, 0});
  assert_true(fabs(h.l2 - by_hand) < 0.01);
}

static void caches_that_hold_everything_always_hit(void **state) {
  const cdna_grid grid = {2048, 2048, 2048, 256, 256, 64, 16};
  cdna_cache_machine m = mi355->caches;
  m.l2_bytes = 256 << 20;
  assert_true(hits_of(&m, &grid, (cdna_order){0, 0}).l2 == 1); /* the second launch */
  m.l2_bytes = 4 << 20;
  const cdna_hits h = hits_of(&m, &grid, (cdna_order){0, 0});
  assert_true(h.llc == 1 && h.memory_bytes == 0); /* 16 MB of A and B */
  m.llc_bytes = 1 << 20;
  const cdna_hits none = hits_of(&m, &grid, (cdna_order){0, 0});
  assert_true(none.memory_bytes >= 2 * 2048 * 2048 * 2); /* each operand at least once */
  assert_true(none.l2 == h.l2);
}

/* Few K-steps stand for all. */
static void a_part_of_k_gives_the_rates_of_all(void **state) {
  if (IS_SLOW) skip();
  const cdna_grid grid = {3072, 4608, 6144, 192, 256, 64, 16};
  cdna_hits some, all;
  assert_int_equal(cdna_grid_hits(&mi355->caches, &grid, &(cdna_order){5, 25}, 0, 1, &some, NULL), TW_OK);
  assert_int_equal(cdna_grid_hits(&mi355->caches, &grid, &(cdna_order){5, 25}, -1, 1, &all, NULL), TW_OK);
  assert_true(fabs(some.l2 - all.l2) < 0.01);
  assert_true(fabs(some.llc - all.llc) < 0.01);
  assert_true(fabs(some.llc_bytes - all.llc_bytes) < 0.02 * all.llc_bytes);
}

/* Rows of 72, 145 and 64.0625 lines. */
static void one_set_of_sixteen_gives_the_rates_of_all(void **state) {
  if (IS_SLOW) skip();
  static const cdna_grid grids[] = {
      {3072, 4608, 4608, 192, 256, 64, 16}, {2048, 2048, 9280, 256, 256, 64, 16}, {2048, 3072, 4100, 192, 256, 64, 16}};
  for (size_t i = 0; i < sizeof grids / sizeof *grids; i++) {
    cdna_hits all = hits_of(&mi355->caches, &grids[i], (cdna_order){5, 25}), some;
    assert_int_equal(cdna_grid_hits(&mi355->caches, &grids[i], &(cdna_order){5, 25}, 0, 16, &some, NULL), TW_OK);
    assert_true(fabs(some.l2 - all.l2) < 0.002);
    assert_true(fabs(some.llc - all.llc) < 0.002);
    assert_true(fabs(some.llc_bytes - all.llc_bytes) < 0.01 * all.llc_bytes);
  }
}

static void the_search_finds_at_least_what_hipkittens_would_take(void **state) {
  const cdna_grid grid = {3072, 4096, 512, 192, 256, 64, 16};
  cdna_grid_choice best[CDNA_GRID_CHOICES];
  int n, tried, again;
  assert_int_equal(cdna_grid_search(&mi355->caches, &grid, 2, best, &n, &tried, NULL), TW_OK);
  assert_int_equal(n, CDNA_GRID_CHOICES);
  for (int i = 1; i < n; i++) assert_true(best[i].hits.bandwidth_tbs <= best[i - 1].hits.bandwidth_tbs);
  assert_true(best[0].hits.bandwidth_tbs >= hits_of(&mi355->caches, &grid, (cdna_order){8, 64}).bandwidth_tbs);
  assert_true(best[0].hits.bandwidth_tbs >= hits_of(&mi355->caches, &grid, (cdna_order){0, 0}).bandwidth_tbs);
  cdna_grid_choice one[CDNA_GRID_CHOICES];
  assert_int_equal(cdna_grid_search(&mi355->caches, &grid, 1, one, &n, &again, NULL), TW_OK);
  assert_memory_equal(best, one, sizeof best); /* however many threads */
  assert_int_equal(tried, again);
}

static size_t seen_done, seen_all;
static void see(const char *what, size_t done, size_t all) {
  assert_string_equal(what, "orders");
  assert_int_equal(done, ++seen_done); /* each once, in order, whichever thread did it */
  seen_all = all;
}

static void the_search_says_how_far_it_is(void **state) {
  const cdna_grid grid = {1536, 2048, 256, 192, 256, 64, 16};
  cdna_grid_choice best[CDNA_GRID_CHOICES];
  int n, tried;
  tw_watch(see);
  assert_int_equal(cdna_grid_search(&mi355->caches, &grid, 4, best, &n, &tried, NULL), TW_OK);
  tw_watch(NULL);
  assert_int_equal(seen_done, tried);
  assert_int_equal(seen_all, tried);
}

static void grids_that_cannot_be_are_refused(void **state) {
  static const struct {
    cdna_grid grid;
    cdna_order order;
    const char *why;
  } rows[] = {{{0, 1, 1, 1, 1, 1, 16}, {0, 0}, "expected sizes from 1 to"},
              {{64, 64, 64, 0, 1, 1, 16}, {0, 0}, "tiles of at least 1"},
              {{1 << 20, 1 << 20, 64, 64, 64, 64, 16}, {0, 0}, "2^18 workgroups"},
              {{64, 64, 64, 64, 64, 64, 16}, {8, 0}, "window and chunk must both"},
              {{64, 64, 63, 64, 64, 64, 4}, {0, 0}, "whole bytes"},
              {{1 << 20, 1 << 20, 1 << 20, 8192, 8192, 64, 16}, {0, 0}, "limited to"}};
  for (size_t r = 0; r < sizeof rows / sizeof *rows; r++) {
    cdna_hits h;
    tw_error error = {0};
    assert_int_equal(cdna_grid_hits(&mi355->caches, &rows[r].grid, &rows[r].order, 0, 1, &h, &error), TW_USAGE);
    if (!strstr(error.text, rows[r].why)) fail_msg("%s", error.text);
  }
}

/* ---- occupancy ---- */

static cdna_occupancy occupancy(cdna_arch arch, cdna_resources r) {
  cdna_occupancy o;
  tw_error error;
  if (cdna_occupancy_of(cdna_machine_of_arch(arch), &r, &o, &error) != TW_OK) fail_msg("%s", error.text);
  return o;
}

static void occupancy_follows_registers_lds_and_waves(void **state) {
  static const int registers[][2] = {{24, 8}, {64, 8},  {65, 7},  {72, 7}, {80, 6},
                                     {96, 5}, {128, 4}, {168, 3}, {256, 2}};
  for (size_t i = 0; i < sizeof registers / sizeof *registers; i++) /* LLVM's table for 512 registers, in eights */
    assert_int_equal(occupancy(CDNA3, (cdna_resources){.vgprs = registers[i][0], .work_items = 64}).waves_of_simd,
                     registers[i][1]);
  assert_int_equal(occupancy(CDNA4, (cdna_resources){.vgprs = 256, .agprs = 256, .work_items = 64}).waves_of_simd, 1);
  const cdna_occupancy split = occupancy(CDNA4, (cdna_resources){.vgprs = 61, .agprs = 64, .work_items = 64});
  assert_int_equal(split.registers, 128); /* 61 is 64 before AGPRs begin */
  assert_string_equal(split.limit, "registers");
  const cdna_occupancy lds = occupancy(CDNA4, (cdna_resources){.vgprs = 64, .lds_bytes = 81920, .work_items = 256});
  assert_int_equal(lds.workgroups, 2);
  assert_string_equal(lds.limit, "LDS");
  assert_int_equal(occupancy(CDNA4, (cdna_resources){.vgprs = 64, .lds_bytes = 81921, .work_items = 256}).workgroups,
                   1);
  assert_int_equal(occupancy(CDNA4, (cdna_resources){.vgprs = 8, .lds_bytes = 1, .work_items = 64}).lds_bytes, 1280);
  assert_int_equal(occupancy(CDNA3, (cdna_resources){.vgprs = 8, .lds_bytes = 1, .work_items = 64}).lds_bytes, 512);
  assert_int_equal(occupancy(CDNA3, (cdna_resources){.vgprs = 8, .work_items = 64}).workgroups, 32);
  assert_int_equal(occupancy(CDNA3, (cdna_resources){.vgprs = 8, .work_items = 128}).workgroups, 16);
  /* HipKittens' 8 waves of 236 registers and 128 KiB: one workgroup, 2 waves a SIMD */
  const cdna_occupancy hk = occupancy(CDNA4, (cdna_resources){.vgprs = 236, .lds_bytes = 131072, .work_items = 512});
  assert_int_equal(hk.workgroups, 1);
  assert_int_equal(hk.waves_of_simd, 2);
}

static void resources_that_do_not_fit_are_refused(void **state) {
  static const cdna_resources rows[] = {{.vgprs = 257, .work_items = 64},
                                        {.vgprs = 8, .agprs = 257, .work_items = 64},
                                        {.vgprs = 8, .lds_bytes = 163841, .work_items = 64},
                                        {.vgprs = 8, .work_items = 0},
                                        {.vgprs = 8, .work_items = 1025},
                                        {.vgprs = 256, .work_items = 1024}};
  for (size_t r = 0; r < sizeof rows / sizeof *rows; r++) {
    cdna_occupancy o;
    tw_error error;
    assert_int_equal(cdna_occupancy_of(mi355, &rows[r], &o, &error), TW_USAGE);
  }
}

int main(void) {
  mi355 = cdna_machine_of_arch(CDNA4);
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(every_order_is_a_bijection),
      cmocka_unit_test(chunks_lie_on_one_xcd),
      cmocka_unit_test(table_4_is_reproduced),
      cmocka_unit_test(hits_of_a_step_can_be_counted_by_hand),
      cmocka_unit_test(caches_that_hold_everything_always_hit),
      cmocka_unit_test(a_part_of_k_gives_the_rates_of_all),
      cmocka_unit_test(one_set_of_sixteen_gives_the_rates_of_all),
      cmocka_unit_test(the_search_finds_at_least_what_hipkittens_would_take),
      cmocka_unit_test(the_search_says_how_far_it_is),
      cmocka_unit_test(grids_that_cannot_be_are_refused),
      cmocka_unit_test(occupancy_follows_registers_lds_and_waves),
      cmocka_unit_test(resources_that_do_not_fit_are_refused),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
