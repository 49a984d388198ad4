/* test_gemm_large.c - gemm's results of any size: exact elements against the whole reference, samples, and sums with
 * random signs over all of C. */
#include "op_fixture.h"

#include <math.h>

#include "op/gemm_numerics.h"
#include "op/gemm_problem.h"

/* Every element of C is the reference's, as exact gives it. */
static void expect_exact(const char *text) {
  op_run r;
  op_run_make(&r, text, 3);
  op_run_reference(&r);
  const size_t c = r.data.n_operands - 1;
  const tw_gemm g = tw_gemm_of(&r.problem);
  const size_t n = (size_t)(g.m * g.n);
  tw_place *place = malloc(n * sizeof *place);
  double *value = malloc(2 * n * sizeof *value), *bound = value + n;
  for (size_t i = 0; i < n; i++) place[i] = (tw_place){(int64_t)i / g.n, (int64_t)i % g.n};
  tw_error error;
  assert_int_equal(r.problem.op->exact(&r.problem, r.data.buffer, c, n, place, value, bound, 2, &error), TW_OK);
  for (size_t i = 0; i < n; i++) {
    uint64_t stored;
    tw_set_element(r.data.operand[c].type, &stored, 0, value[i]);
    const double got = tw_element(r.data.operand[c].type, &stored, 0),
                 right = op_get(&r, c, place[i].row * g.ldc + place[i].column);
    if (!(fabs(got - right) <= 1e-6 * fabs(right) + 0.01 * bound[i]))
      fail_msg("%s: C[%d][%d] is %.17g, the reference says %.17g", text, (int)place[i].row, (int)place[i].column, got,
               right);
  }
  tw_coverage all;
  if (tw_case_check(&r.data, r.actual, &(tw_effort){.budget = 1e18, .seed = 1, .threads = 2}, &all, &error) != TW_OK)
    fail_msg("%s: %s", text, error.text);
  assert_string_equal(all.text, "every element");
  free(place);
  free(value);
  op_run_free(&r);
}

static void exact_elements_are_those_of_the_reference(void **state) {
  expect_exact("gemm m=33 n=50 k=70 a=f32 b=f32 c=f32 acc=f32");
  expect_exact("gemm m=33 n=50 k=70 a=bf16 b=bf16 c=bf16 acc=f32 a_transposed=1 bias=full scale=-0.5");
  expect_exact("gemm m=33 n=50 k=70 a=f16 b=f16 c=f16 acc=f32 b_transposed=1 bias=row relu=1 lda=80 ldb=90 ldc=64");
  expect_exact("gemm m=33 n=50 k=70 a=i8 b=i8 c=i8 acc=i32 scale=0.05 bias=row");
  expect_exact("gemm m=33 n=50 k=70 a=i8 b=i4 c=i16 acc=i32 relu=1");
  expect_exact("gemm m=33 n=50 k=70 a=u8 b=i8 c=bf16 acc=i32 scale=0.01");
  expect_exact("gemm m=33 n=50 k=70 a=bf16 b=mxfp4 c=f32 acc=f32");
  expect_exact("gemm m=1 n=1 k=1 a=i16 b=i16 c=i32 acc=i32");
  expect_exact("gemm m=33 n=50 k=70 a=i16 b=i16 c=i16 acc=i32 scale=0.0000152587890625 bias=row");
}

/* Sums in binary32, in blocks of 16 as matrix units make them. */
static void multiply(const op_run *r) {
  const tw_gemm g = tw_gemm_of(&r->problem);
  const size_t c = r->data.n_operands - 1;
  float *a = malloc((size_t)g.k * sizeof *a), *sums = malloc((size_t)g.n * 2 * sizeof *sums);
  for (int64_t i = 0; i < g.m; i++) {
    for (int64_t p = 0; p < g.k; p++) a[p] = (float)op_get(r, 0, i * g.lda + p);
    memset(sums, 0, (size_t)g.n * 2 * sizeof *sums);
    for (int64_t p = 0; p < g.k; p++) {
      for (int64_t j = 0; j < g.n; j++) sums[g.n + j] += a[p] * (float)op_get(r, 1, p * g.ldb + j);
      if (p % 16 == 15 || p + 1 == g.k)
        for (int64_t j = 0; j < g.n; j++) {
          sums[j] += sums[g.n + j];
          sums[g.n + j] = 0;
        }
    }
    for (int64_t j = 0; j < g.n; j++) op_put(r, c, i * g.ldc + j, (double)sums[j]);
  }
  free(a);
  free(sums);
}

static bool survey_passes(const op_run *r, double budget, uint64_t seed) {
  const tw_effort some = {.budget = budget, .seed = seed, .threads = 2};
  tw_coverage c = {0};
  tw_error error = {0};
  const tw_status status = r->problem.op->survey(&r->problem, r->actual, &some, &c, &error);
  assert_int_equal(status == TW_OK, *c.survey != 0);
  assert_true(status == TW_OK || strstr(error.text, "random signs"));
  return status == TW_OK;
}

/* What must be found whatever the signs are, and what a row may hide. */
static void expect_found(const char *text, double budget) {
  op_run r;
  op_run_make(&r, text, 3);
  const tw_gemm g = tw_gemm_of(&r.problem);
  const size_t c = r.data.n_operands - 1;
  multiply(&r);
  for (uint64_t seed = 1; seed <= 20; seed++)
    if (!survey_passes(&r, budget, seed)) fail_msg("%s: false alarm with signs of seed %d", text, (int)seed);
  for (uint64_t seed = 1; seed <= 5; seed++) {
    int64_t at = (g.m / 2) * g.ldc + g.n / 3;
    const double before = op_get(&r, c, at);
    op_put(&r, c, at, before + 4 * sqrt((double)g.k)); /* one element, a dozen deviations off */
    if (survey_passes(&r, budget, seed)) fail_msg("%s: one element is not found", text);
    op_put(&r, c, at, before);
    const double moved[2] = {op_get(&r, c, 5 * g.ldc), op_get(&r, c, 6 * g.ldc)};
    for (int64_t j = 0; j < g.n; j++) { /* two rows change places */
      const double x = op_get(&r, c, 5 * g.ldc + j);
      op_put(&r, c, 5 * g.ldc + j, op_get(&r, c, 6 * g.ldc + j));
      op_put(&r, c, 6 * g.ldc + j, x);
    }
    assert_true(op_get(&r, c, 5 * g.ldc) == moved[1] && op_get(&r, c, 6 * g.ldc) == moved[0]);
    if (survey_passes(&r, budget, seed)) fail_msg("%s: exchanged rows are not found", text);
    multiply(&r);
  }
  op_run_free(&r);
}

static void sums_with_random_signs_find_what_is_wrong(void **state) {
  expect_found("gemm m=64 n=512 k=300 a=f32 b=f32 c=f32 acc=f32", 1e9);
  expect_found("gemm m=64 n=512 k=300 a=bf16 b=bf16 c=bf16 acc=f32", 1e9);
  expect_found("gemm m=64 n=512 k=300 a=f16 b=f16 c=f16 acc=f32", 64 * 300); /* one segment */
  expect_found("gemm m=64 n=40 k=3000 a=bf16 b=bf16 c=f32 acc=f32", 1e9);
  expect_found("gemm m=40 n=160 k=64 a=i8 b=i8 c=i32 acc=i32", 1e9);
}

/* An integer is wrong by 1 somewhere: every choice of signs tells. */
static void integers_are_surveyed_exactly(void **state) {
  op_run r;
  op_run_make(&r, "gemm m=100 n=700 k=900 a=i8 b=i8 c=i32 acc=i32", 3);
  op_run_reference(&r);
  assert_true(survey_passes(&r, 1e5, 1));
  ((int32_t *)r.actual[2])[77 * 700 + 123]++;
  for (uint64_t seed = 1; seed < 10; seed++) assert_false(survey_passes(&r, 1e5, seed));
  op_run_free(&r);
}

static void a_result_says_what_was_looked_at(void **state) {
  op_run r;
  tw_coverage c;
  tw_error error;
  const tw_effort some = {.budget = 1e6, .seed = 1, .threads = 2};
  op_run_make(&r, "gemm m=256 n=256 k=64 a=bf16 b=bf16 c=bf16 acc=f32", 3);
  op_run_reference(&r);
  assert_int_equal(tw_case_check(&r.data, r.actual, &some, &c, &error), TW_OK);
  assert_non_null(strstr(c.text, "of 65536 elements"));
  assert_non_null(strstr(c.text, "random signs"));
  op_run_free(&r);
  op_run_make(&r, "gemm m=256 n=256 k=64 relu=1 a=bf16 b=bf16 c=bf16 acc=f32", 3);
  op_run_reference(&r);
  assert_int_equal(tw_case_check(&r.data, r.actual, &some, &c, &error), TW_OK);
  assert_null(strstr(c.text, "random signs"));
  for (int64_t i = 0; i < 32; i++) /* a wrong tile; 1e6 look at one element of 16 x 16 or less */
    for (int64_t j = 0; j < 32; j++) op_put(&r, 2, (64 + i) * 256 + 96 + j, 77);
  op_expect_sampled(&r, 1e6, false);
  op_run_free(&r);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(exact_elements_are_those_of_the_reference),
      cmocka_unit_test(sums_with_random_signs_find_what_is_wrong),
      cmocka_unit_test(integers_are_surveyed_exactly),
      cmocka_unit_test(a_result_says_what_was_looked_at),
  };
  return cmocka_run_group_tests_name("gemm, large", tests, NULL, NULL);
}
