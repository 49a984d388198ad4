/* test_conv2d.c - the conv2d op: its reference against plain loops, its inputs, its comparison, its keys. */
#include "test.h"

#include "base/status.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "op/conv2d.h"
#include "subject.h"

static tw_status try_parse(const char *keys, tw_problem *problem, tw_error *error) {
  char text[512];
  snprintf(text, sizeof text, "conv2d %s", keys);
  return tw_problem_parse(NULL, text, problem, error);
}

static tw_problem parse(const char *keys) { return problem_from(NULL, "conv2d %s", keys); }

static tw_case make_case(const tw_problem *problem, uint64_t seed, int threads) {
  tw_case c;
  tw_error error;
  if (tw_case_make(problem, seed, threads, &c, &error) != TW_OK) fail_msg("%s", error.text);
  return c;
}

static void *output_of(const tw_case *c) { return c->buffer[c->n_operands - 1]; }

#define I8 " a=i8 b=i8 out=i8 acc=i32"
#define I32 " a=i8 b=i8 out=i32 acc=i32"

/* ---- what docs and conv2d.c say, in the plainest way ---- */

static double plain_result(const tw_conv2d *v, void *const buffer[], int64_t n, int64_t p, int64_t q, int64_t k) {
  const int8_t *input = buffer[0], *weights = buffer[1];
  int64_t sum = v->bias ? ((const int32_t *)buffer[2])[k] : 0;
  for (int64_t r = 0; r < v->r; r++)
    for (int64_t s = 0; s < v->s; s++)
      for (int64_t c = 0; c < v->c; c++) {
        int64_t y = p * v->stride + r - v->pad, x = q * v->stride + s - v->pad;
        if (y < 0 || x < 0 || y >= v->h || x >= v->w) continue;
        int64_t at = v->layout == TW_CONV2D_RSCK ? ((r * v->s + s) * v->c + c) * v->k + k
                                                 : ((k * v->r + r) * v->s + s) * v->c + c;
        sum += input[((n * v->h + y) * v->w + x) * v->c + c] * weights[at];
      }
  double result = (double)sum;
  if (v->output == TW_I8) {
    float scaled = (float)sum * v->scale, rounded = floorf(scaled), rest = scaled - rounded;
    if (rest > 0.5f || (rest == 0.5f && fmodf(rounded, 2) != 0)) rounded += 1;
    result = rounded > 127 ? 127 : rounded < -128 ? -128 : (double)rounded;
  }
  return v->relu && result < 0 ? 0 : result;
}

static double plain_element(const tw_conv2d *v, void *const buffer[], int64_t n, int64_t y, int64_t x, int64_t k) {
  if (!v->pool) return plain_result(v, buffer, n, y, x, k);
  double best = -INFINITY;
  for (int64_t i = 0; i < v->pool; i++)
    for (int64_t j = 0; j < v->pool; j++) {
      int64_t p = y * v->pool_stride + i - v->pool_pad, q = x * v->pool_stride + j - v->pool_pad;
      if (p >= 0 && q >= 0 && p < v->p && q < v->q) best = fmax(best, plain_result(v, buffer, n, p, q, k));
    }
  return best;
}

static void expect_plain_result(const char *text) {
  tw_problem problem = parse(text);
  tw_conv2d v = tw_conv2d_of(&problem);
  tw_case c = make_case(&problem, 7, 2);
  int64_t at = 0;
  for (int64_t n = 0; n < v.n; n++)
    for (int64_t y = 0; y < v.out_h; y++)
      for (int64_t x = 0; x < v.out_w; x++)
        for (int64_t k = 0; k < v.k; k++, at++) {
          double plain = plain_element(&v, c.buffer, n, y, x, k);
          double got = v.output == TW_I8 ? ((int8_t *)output_of(&c))[at] : ((int32_t *)output_of(&c))[at];
          if (got != plain)
            fail_msg("%s: output[%d][%d][%d][%d] is %g, plain loops say %g", text, (int)n, (int)y, (int)x, (int)k, got,
                     plain);
        }
  tw_case_free(&c);
}

static void reference_is_what_plain_loops_say(void **state) {
  static const char *const shapes[] = {"n=1 h=1 w=1 c=1 k=1 r=1 s=1",
                                       "n=2 h=9 w=7 c=5 k=3 r=3 s=3 pad=1",
                                       "n=1 h=12 w=40 c=17 k=66 r=1 s=1",
                                       "n=1 h=23 w=23 c=3 k=9 r=7 s=7 stride=2 pad=3",
                                       "n=1 h=11 w=13 c=4 k=6 r=2 s=5 pad=2",
                                       "n=1 h=11 w=12 c=2 k=5 r=11 s=11 pad=5",
                                       "n=3 h=8 w=8 c=16 k=16 r=1 s=1 stride=3",
                                       "n=1 h=4 w=4 c=3 k=2 r=1 s=1 pad=3"};
  static const char *const variants[] = {"", " bias=row relu=1", " weight_layout=krsc",
                                         " weight_layout=krsc bias=row scale=0.031"};
  for (size_t s = 0; s < 8; s++)
    for (size_t v = 0; v < 4; v++) {
      char text[256];
      snprintf(text, sizeof text, "%s%s" I8, shapes[s], variants[v]);
      expect_plain_result(text);
      if (v == 3) continue; /* an int32 output has no scale */
      snprintf(text, sizeof text, "%s%s" I32, shapes[s], variants[v]);
      expect_plain_result(text);
    }
}

static void pooling_takes_the_largest_of_each_window(void **state) {
  expect_plain_result("n=2 h=8 w=8 c=5 k=7 r=3 s=3 pad=1 pool=2" I8);
  expect_plain_result(
      "n=1 h=16 w=15 c=3 k=20 r=7 s=7 stride=2 pad=3 pool=3 pool_stride=2 pool_pad=1 relu=1 bias=row" I8);
  expect_plain_result("n=1 h=9 w=9 c=3 k=4 r=1 s=1 pool=3 pool_stride=1 pool_pad=2" I8);
  expect_plain_result("n=1 h=9 w=10 c=3 k=4 r=2 s=2 pool=4 pool_stride=5" I32);
}

/* All results are negative: padding that won as 0 would show. */
static void what_pools_outside_the_image_never_wins(void **state) {
  tw_problem problem = parse("n=1 h=4 w=4 c=1 k=1 r=1 s=1 pool=3 pool_stride=2 pool_pad=1" I8);
  tw_conv2d v = tw_conv2d_of(&problem);
  int8_t input[16], weights[1] = {-1}, output[4];
  for (int i = 0; i < 16; i++) input[i] = (int8_t)(i + 1);
  tw_conv2d_reference(&v, (void *[]){input, weights, output}, 1);
  const int8_t expected[4] = {-1, -2, -5, -6};
  assert_memory_equal(output, expected, 4);
}

static void sizes_of_the_output_follow_from_those_of_the_input(void **state) {
  tw_problem problem = parse("n=4 h=58 w=58 c=64 k=64 r=3 s=3" I8);
  tw_conv2d v = tw_conv2d_of(&problem);
  assert_int_equal(v.p, 56);
  assert_int_equal(v.out_w, 56);
  problem = parse("n=1 h=224 w=224 c=3 k=64 r=7 s=7 stride=2 pad=3 pool=3 pool_stride=2 pool_pad=1" I8);
  v = tw_conv2d_of(&problem);
  assert_int_equal(v.p, 112);
  assert_int_equal(v.out_h, 56);
  problem = parse("n=1 h=10 w=9 c=3 k=64 r=3 s=2 stride=2 pool=2" I8);
  v = tw_conv2d_of(&problem);
  assert_int_equal(v.p, 4);
  assert_int_equal(v.q, 4);
  assert_int_equal(v.pool_stride, 2);
  assert_int_equal(v.out_h, 2);
}

static void result_does_not_depend_on_threads_and_only_on_the_seed(void **state) {
  tw_problem problem = parse("n=2 h=20 w=20 c=20 k=70 r=3 s=3 pad=1 bias=row" I8);
  tw_case one = make_case(&problem, 5, 1), four = make_case(&problem, 5, 4), other = make_case(&problem, 6, 1);
  for (size_t i = 0; i < one.n_operands; i++) {
    assert_memory_equal(one.buffer[i], four.buffer[i], one.operand[i].bytes);
    assert_memory_not_equal(one.buffer[i], other.buffer[i], one.operand[i].bytes);
  }
  tw_case_free(&one);
  tw_case_free(&four);
  tw_case_free(&other);
}

/* Of the results, some saturate, most do not, and few values are equal: an error somewhere shows. */
static void expect_informative(const char *text) {
  tw_problem problem = parse(text);
  tw_case c = make_case(&problem, 1, 2);
  int64_t count[256] = {0}, total = (int64_t)c.operand[c.n_operands - 1].bytes, most = 0;
  for (int64_t i = 0; i < total; i++) count[((uint8_t *)output_of(&c))[i]]++;
  for (int v = 0; v < 256; v++) {
    if (v != 127 && v != 128 && count[v] > most) most = count[v];
  }
  double saturated = (double)(count[127] + count[128]) / (double)total, commonest = (double)most / (double)total;
  if (!(saturated > 0.001 && saturated < 0.2)) fail_msg("%s: %.3f of the results are saturated", text, saturated);
  if (!(commonest < 0.15)) fail_msg("%s: one value makes %.3f of the results", text, commonest);
  tw_case_free(&c);
}

static void inputs_make_results_that_tell_much(void **state) {
  expect_informative("n=1 h=30 w=30 c=64 k=64 r=3 s=3" I8);
  expect_informative("n=1 h=14 w=14 c=256 k=64 r=3 s=3 pad=1 bias=row" I8);
  expect_informative("n=1 h=32 w=32 c=3 k=64 r=7 s=7 stride=2 pad=3" I8);
  expect_informative("n=1 h=16 w=16 c=64 k=64 r=1 s=1" I8);
  expect_informative("n=4 h=16 w=16 c=64 k=64 r=1 s=1 scale=0.01 weight_layout=krsc" I8);
  expect_informative("n=1 h=30 w=30 c=16 k=64 r=3 s=3 pool=2" I8);
}

static void comparison_finds_one_wrong_element(void **state) {
  tw_problem problem = parse("n=2 h=6 w=5 c=3 k=7 r=3 s=3" I8);
  tw_case c = make_case(&problem, 3, 1);
  tw_error error = {0};
  void *actual[TW_OPERANDS_MAX] = {c.buffer[0], c.buffer[1], malloc(c.operand[2].bytes)};
  int8_t *output = memcpy(actual[2], c.buffer[2], c.operand[2].bytes);
  assert_int_equal(problem.op->compare(&problem, c.buffer, actual, &error), TW_OK);
  output[((1 * 4 + 3) * 3 + 2) * 7 + 5] ^= 1;
  assert_int_equal(problem.op->compare(&problem, c.buffer, actual, &error), TW_FAILED);
  if (!strstr(error.text, "output[1][3][2][5]") || !strstr(error.text, "1 of 168 elements")) fail_msg("%s", error.text);
  memset(output, TW_POISON, c.operand[2].bytes);
  assert_int_equal(problem.op->compare(&problem, c.buffer, actual, &error), TW_FAILED);
  if (!strstr(error.text, "never written")) fail_msg("%s", error.text);
  free(output);
  int8_t changed[27 * 7];
  memcpy(changed, c.buffer[1], sizeof changed);
  changed[5] ^= 4;
  actual[1] = changed, actual[2] = c.buffer[2];
  assert_int_equal(problem.op->compare(&problem, c.buffer, actual, &error), TW_FAILED);
  if (!strstr(error.text, "changed its input weights")) fail_msg("%s", error.text);
  tw_case_free(&c);
}

static void expect_refused(const char *text, const char *message) {
  tw_problem problem;
  tw_error error = {0};
  tw_case c;
  tw_status status = try_parse(text, &problem, &error);
  if (status == TW_OK) status = tw_case_make(&problem, 1, 1, &c, &error);
  assert_int_equal(tw_status_group(status), TW_USAGE);
  if (!strstr(error.text, message)) fail_msg("%s: '%s' does not say '%s'", text, error.text, message);
}

#define SHAPE "n=1 h=8 w=8 c=4 k=4 r=3 s=3"

static void bad_values_of_every_key_are_refused(void **state) {
  static const char *const sizes[] = {"n", "h", "w", "c", "k", "r", "s"};
  for (size_t i = 0; i < 7; i++) {
    char text[256] = "", range[64];
    for (size_t j = 0; j < 7; j++) snprintf(text + strlen(text), 32, "%s=%d ", sizes[j], i == j ? 0 : 4);
    snprintf(range, sizeof range, "%s=0 is out of range", sizes[i]);
    expect_refused(text, range);
    *text = '\0';
    for (size_t j = 0; j < 7; j++)
      if (i != j) snprintf(text + strlen(text), 32, "%s=4 ", sizes[j]);
    snprintf(range, sizeof range, "requires %s=", sizes[i]);
    expect_refused(text, range);
    snprintf(text + strlen(text), 64, "%s=99999999", sizes[i]);
    expect_refused(text, "out of range");
  }
  expect_refused(SHAPE " stride=0", "stride=0 is out of range");
  expect_refused(SHAPE " stride=2.5", "not a whole number");
  expect_refused(SHAPE " pad=-1", "pad=-1 is out of range");
  expect_refused(SHAPE " pad=65", "out of range");
  expect_refused(SHAPE " pool=-2", "out of range");
  expect_refused(SHAPE " pool=two", "not a whole number");
  expect_refused(SHAPE " pool_stride=100", "out of range");
  expect_refused(SHAPE " pool_pad=-1", "out of range");
  expect_refused(SHAPE " bias=full", "none|row");
  expect_refused(SHAPE " relu=2", "neither 0");
  expect_refused(SHAPE " scale=inf", "not a number");
  expect_refused(SHAPE " layout=ckrs", "rsck|krsc|kcrs");
  expect_refused(SHAPE " out=int8", "not an element type");
  expect_refused(SHAPE " dilation=2", "no key 'dilation'");
  expect_refused("n=1", "requires h=...; write for instance `conv2d n=1 h=56 w=56 c=64 k=64 r=3 s=3`");
}

static void impossible_problems_are_refused(void **state) {
  expect_refused(SHAPE, "conv2d does not support a=none");
  expect_refused(SHAPE " a=f32 b=f32 out=i8 acc=f32", "conv2d does not support a=f32 b=f32 out=i8");
  expect_refused("n=1 h=8 w=8 c=4 k=4 r=9 s=3" I8, "larger than the input");
  expect_refused("n=1 h=8 w=8 c=4 k=4 r=3 s=11 pad=1" I8, "larger than the input");
  expect_refused(SHAPE " pool=7" I8, "pool=7 is larger");
  expect_refused(SHAPE " pool=2 pool_pad=2" I8, "pool_pad=2");
  expect_refused(SHAPE " pool_stride=2" I8, "require a window");
  expect_refused(SHAPE " pool_pad=1" I8, "require a window");
  expect_refused(SHAPE " scale=1e60" I8, "scale");
  expect_refused(SHAPE " scale=0.5" I32, "scale");
  expect_refused("n=1 h=64 w=64 c=65536 k=1 r=64 s=64" I8, "products");
  expect_refused("n=65536 h=65536 w=65536 c=65536 k=1 r=1 s=1" I8, "choose smaller n");
  expect_refused("n=1 h=65536 w=65536 c=64 k=64 r=1 s=1" I8, "too large");
}

static void cost_counts_multiply_accumulates_and_every_operand_once(void **state) {
  tw_problem problem = parse("n=2 h=10 w=9 c=3 k=5 r=3 s=3 bias=row" I8);
  assert_true(problem.op->operations(&problem) == 2 * 8 * 7 * 5 * 27);
  assert_true(problem.op->bytes(&problem) == 2 * 10 * 9 * 3 + 27 * 5 + 20 + 2 * 8 * 7 * 5);
  problem = parse("n=1 h=8 w=8 c=3 k=5 r=3 s=3 pad=1 pool=2" I8);
  assert_true(problem.op->operations(&problem) == 64 * 5 * 27);
  const tw_problem uncovered = parse("n=1 h=8 w=9 c=3 k=5 r=3 s=3 pad=1 pool=2 pool_stride=3" I8);
  assert_true(problem.op->operations(&uncovered) == 6 * 6 * 5 * 27); /* rows 2 and 5, columns 2, 5 and 8 in no window */
  assert_true(problem.op->bytes(&problem) == 8 * 8 * 3 + 27 * 5 + 16 * 5);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(reference_is_what_plain_loops_say),
      cmocka_unit_test(pooling_takes_the_largest_of_each_window),
      cmocka_unit_test(what_pools_outside_the_image_never_wins),
      cmocka_unit_test(sizes_of_the_output_follow_from_those_of_the_input),
      cmocka_unit_test(result_does_not_depend_on_threads_and_only_on_the_seed),
      cmocka_unit_test(inputs_make_results_that_tell_much),
      cmocka_unit_test(comparison_finds_one_wrong_element),
      cmocka_unit_test(bad_values_of_every_key_are_refused),
      cmocka_unit_test(impossible_problems_are_refused),
      cmocka_unit_test(cost_counts_multiply_accumulates_and_every_operand_once),
  };
  return cmocka_run_group_tests_name("conv2d", tests, NULL, NULL);
}
