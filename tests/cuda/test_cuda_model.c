/* test_cuda_model.c - the model of a GEMM of tiles against what kernels took on a device: it was fitted at 1024 and
 * 8192, and is judged at 2048 and 4096, and on what a search could try on another device; that of slices at shapes that
 * it was not fitted to. Prints the rank correlation (Spearman) and the mean error of each size. */
#include "test.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/files.h"
#include "target/cuda/gemm_model.h"
#include "tilewright/extend/extend.h"

enum { ROWS_MAX = 600, FIRST = 8 /* that a search would try */ };

typedef struct row {
  int size;
  double took, predicted;
} row;

static size_t read_rows(row out[ROWS_MAX]) {
  const cuda_config *c = cuda_config_find("h100-sxm");
  char *text, *rest = NULL;
  size_t n = 0;
  tw_error error;
  if (tw_file_read(TW_TEST_DATA "/cuda/gemm_tiles_h100.csv", 1 << 20, &text, NULL, &error) != TW_OK)
    fail_msg("%s", error.text);
  for (char *line = strtok_r(text, "\n", &rest); line && n < ROWS_MAX; line = strtok_r(NULL, "\n", &rest)) {
    tw_tile_gemm_plan p = {.split = 1, .copies_a = true, .copies_b = true};
    tw_gemm g = {.b_transposed = true, .a = TW_BF16, .b = TW_BF16, .c = TW_BF16, .acc = TW_F32};
    int size, turns, band;
    double us;
    if (sscanf(line, "%d,%d,%d,%d,%d,%d,%d,%d,%d,%d,%lf", &size, &p.m, &p.n, &p.k, &p.groups, &turns, &p.stages,
               &p.cluster_m, &p.cluster_n, &band, &us) != 11)
      continue;
    p.pingpong = turns;
    p.band = abs(band);
    p.band_columns = band < 0;
    g.m = g.n = g.k = size;
    out[n++] = (row){size, us * 1e-6, cuda_gemm_seconds(c, &g, &p)};
  }
  free(text);
  return n;
}

/* How many of the n values are less than x, and half of those that are equal to it. */
static double rank(const row *r, size_t n, bool predicted, double x) {
  double below = 0;
  for (size_t i = 0; i < n; i++) {
    const double y = predicted ? r[i].predicted : r[i].took;
    below += y < x ? 1 : y == x ? 0.5 : 0;
  }
  return below;
}

static double rank_correlation(const row *r, size_t n) {
  double ab = 0, aa = 0, bb = 0;
  for (size_t i = 0; i < n; i++) {
    const double a = rank(r, n, false, r[i].took) - (double)n / 2, b = rank(r, n, true, r[i].predicted) - (double)n / 2;
    ab += a * b, aa += a * a, bb += b * b;
  }
  return ab / sqrt(aa * bb);
}

static int by_prediction(const void *a, const void *b) {
  const double x = ((const row *)a)->predicted, y = ((const row *)b)->predicted;
  return (x > y) - (x < y);
}

/* What part of the best speed the best of those that the model names first has. */
static double best_of_first(row *r, size_t n) {
  double best = HUGE_VAL, first = HUGE_VAL;
  qsort(r, n, sizeof *r, by_prediction);
  for (size_t i = 0; i < n; i++) {
    best = fmin(best, r[i].took);
    if (i < FIRST) first = fmin(first, r[i].took);
  }
  return best / first;
}

static void the_model_ranks_kernels_at_sizes_it_was_not_fitted_to(void **state) {
  const struct {
    int size;
    double correlation, error, of_best; /* of the best of the 8 that it would try first */
  } sizes[] = {{1024, 0.95, 0.06, 0.99}, {2048, 0.85, 0.10, 0.97}, {4096, 0.70, 0.08, 0.97}, {8192, 0.55, 0.09, 0.93}};
  static row all[ROWS_MAX], some[ROWS_MAX];
  const size_t n_all = read_rows(all);
  assert_true(n_all > 200);
  for (size_t s = 0; s < 4; s++) {
    size_t n = 0;
    double error = 0;
    for (size_t i = 0; i < n_all; i++)
      if (all[i].size == sizes[s].size) some[n++] = all[i];
    for (size_t i = 0; i < n; i++) error += fabs(log(some[i].predicted / some[i].took)) / (double)n;
    const double correlation = rank_correlation(some, n), reached = best_of_first(some, n);
    print_message("%d: %zu kernels, rank correlation %.3f, mean error %.1f%%, best of its first 8 reaches %.1f%%\n",
                  sizes[s].size, n, correlation, 100 * error, 100 * reached);
    assert_true(correlation >= sizes[s].correlation);
    assert_true(error <= sizes[s].error);
    assert_true(reached >= sizes[s].of_best);
  }
}

/* Kernels of a problem of that file and what they took. */
static size_t read_search(const char *path, size_t which, row out[ROWS_MAX]) {
  const tw_target *t = tw_target_find("cuda-h200");
  tw_problem p;
  tw_error error = {0};
  size_t n = 0, problems = 0;
  char *text, *rest = NULL;
  if (tw_file_read(path, 1 << 20, &text, NULL, &error) != TW_OK) fail_msg("%s", error.text);
  for (char *line = strtok_r(text, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest)) {
    if (strncmp(line, "gemm ", 5) == 0 && ++problems == which + 1)
      assert_int_equal(tw_problem_parse(NULL, line, &p, &error), TW_OK);
    double us;
    int at = 0;
    if (problems != which + 1 || sscanf(line, "%lf %n", &us, &at) != 1 || n == ROWS_MAX) continue;
    tw_schedule s = {0};
    for (char *c = line + at; (c = strchr(c, ';'));) *c = '\n';
    if (tw_schedule_parse(line + at, &s, &error) != TW_OK ||
        tw_target_predict(t, &p, &s, &out[n].predicted, &error) != TW_OK)
      fail_msg("%s: %s", line, error.text);
    out[n++].took = us * 1e-6;
  }
  free(text);
  return n;
}

static void the_model_finds_the_best_of_thousands_on_another_device(void **state) {
  static const double correlations[] = {0.85, 0.88};
  static row all[ROWS_MAX];
  for (size_t i = 0; i < 2; i++) {
    const size_t n = read_search(TW_TEST_DATA "/cuda/gemm_search_h200.txt", i, all);
    assert_true(n > 150);
    const double correlation = rank_correlation(all, n), reached = best_of_first(all, n);
    print_message("%zu kernels of a search, rank correlation %.3f, best of its first %d reaches %.1f%%\n", n,
                  correlation, FIRST, 100 * reached);
    assert_true(correlation >= correlations[i]);
    assert_true(reached >= 0.97);
  }
}

static void the_model_of_slices_ranks_shapes_it_was_not_fitted_to(void **state) {
  enum { PROBLEMS = 9 };
  static row all[ROWS_MAX];
  double error = 0, correlations = 0, worst = 1;
  for (size_t i = 0; i < PROBLEMS; i++) {
    const size_t n = read_search(TW_TEST_DATA "/cuda/slices_search_h200.txt", i, all);
    assert_true(n > 40);
    for (size_t j = 0; j < n; j++) error += fabs(all[j].predicted / all[j].took - 1) / (double)(n * PROBLEMS);
    const double correlation = rank_correlation(all, n), reached = best_of_first(all, n);
    print_message("%zu kernels of slices, rank correlation %.3f, best of its first %d reaches %.1f%%\n", n, correlation,
                  FIRST, 100 * reached);
    correlations += correlation / PROBLEMS;
    worst = fmin(worst, reached);
  }
  print_message("mean rank correlation %.3f, mean error %.1f%%\n", correlations, 100 * error);
  assert_true(correlations >= 0.68 && error <= 0.18 && worst >= 0.96);
}

/* The bound is no prediction: the baseline took 44 times as long as its bound on an H200. */
static void the_baseline_has_no_prediction(void **state) {
  const tw_target *t = tw_target_find("cuda-h200");
  tw_problem p;
  tw_error error = {0};
  double cost = 0;
  assert_int_equal(tw_problem_parse(t, "gemm m=4096 n=4096 k=4096", &p, &error), TW_OK);
  assert_int_equal(tw_target_supports(t, &p, &error), TW_OK);
  assert_int_equal(tw_target_predict(t, &p, &(tw_schedule){0}, &cost, &error), TW_MISSING);
  assert_non_null(strstr(error.text, "no prediction"));
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(the_baseline_has_no_prediction),
                                     cmocka_unit_test(the_model_ranks_kernels_at_sizes_it_was_not_fitted_to),
                                     cmocka_unit_test(the_model_finds_the_best_of_thousands_on_another_device),
                                     cmocka_unit_test(the_model_of_slices_ranks_shapes_it_was_not_fitted_to)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
