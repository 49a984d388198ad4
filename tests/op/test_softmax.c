/* test_softmax.c - the softmax op against known answers and plain loops; its tolerance; samples of large outputs. */
#include "op_fixture.h"

#include <math.h>

enum { X, Y };

static void known_logarithms(void **state) {
  op_run r;
  op_run_make(&r, "softmax rows=2 cols=4 log=1 a=f32", 1);
  const float x[8] = {1000, 0, 0, 0, logf(1), logf(2), logf(3), logf(4)};
  memcpy(r.data.buffer[X], x, sizeof x);
  op_run_reference(&r);
  const double y[8] = {0, -1000, -1000, -1000, log(.1), log(.2), log(.3), log(.4)};
  for (int i = 0; i < 8; i++) assert_true(fabs(op_get(&r, Y, i) - y[i]) < 1e-6);
  op_expect(&r, NULL);
  op_put(&r, Y, 5, y[5] * (1 + 0x1p-17));
  op_expect(&r, "y[1][1]");
  op_run_free(&r);
}

static void known_answers(void **state) {
  op_run r;
  op_run_make(&r, "softmax rows=3 cols=4 a=f32", 1);
  const float x[12] = {0, 0, 0, 0, 1000, 0, 0, 0, logf(1), logf(2), logf(3), logf(4)};
  memcpy(r.data.buffer[X], x, sizeof x);
  op_run_reference(&r);
  const double y[12] = {.25, .25, .25, .25, 1, 0, 0, 0, .1, .2, .3, .4};
  for (int i = 0; i < 12; i++) assert_true(fabs(op_get(&r, Y, i) - y[i]) < 1e-7);
  op_expect(&r, NULL);
  op_run_free(&r);
}

/* As kernels do it: binary32, a block of 32 at a time, the sum made smaller when a larger element is met. `subtract`:
 * the largest; `last`: elements that are summed. */
static void online(const op_run *r, bool subtract, int64_t last) {
  const int64_t rows = r->data.operand[X].dims[0], n = r->data.operand[X].dims[1];
  for (int64_t i = 0; i < rows; i++) {
    float largest = subtract ? -INFINITY : 0, sum = 0;
    for (int64_t b = 0; b < last; b += 32) {
      float now = largest;
      for (int64_t j = b; subtract && j < b + 32 && j < last; j++) now = fmaxf(now, (float)op_get(r, X, i * n + j));
      sum *= expf(largest - now);
      largest = now;
      for (int64_t j = b; j < b + 32 && j < last; j++) sum += expf((float)op_get(r, X, i * n + j) - largest);
    }
    for (int64_t j = 0; j < n; j++)
      op_put(r, Y, i * n + j, (double)(expf((float)op_get(r, X, i * n + j) - largest) / sum));
  }
}

static void an_honest_kernel_passes_and_wrong_ones_do_not(void **state) {
  static const char *const texts[] = {"softmax rows=40 cols=1 a=f32", "softmax rows=40 cols=1000 a=f32",
                                      "softmax rows=9 cols=5000 a=bf16", "softmax rows=9 cols=777 a=f16"};
  for (size_t t = 0; t < 4; t++) {
    op_run r;
    op_run_make(&r, texts[t], 5);
    const int64_t n = r.data.operand[X].dims[1];
    online(&r, true, n);
    op_expect(&r, NULL);
    online(&r, false, n);
    op_expect(&r, "wrong result");
    if (n > 1 && n <= 1000) { /* one of 5000 is lost in the rounding of bf16 */
      online(&r, true, n - 1);
      op_expect(&r, "wrong result");
    }
    online(&r, true, n);
    op_put(&r, Y, 3 * n, op_get(&r, Y, 3 * n) * 1.02);
    op_expect(&r, "y[3][0]");
    op_put(&r, Y, 3 * n, (double)NAN);
    op_expect(&r, "1 of");
    op_run_free(&r);
  }
}

static void what_was_not_written_is_found(void **state) {
  op_run r;
  op_run_make(&r, "softmax rows=50 cols=100 a=f32", 5);
  op_run_reference(&r);
  memset((char *)r.actual[Y] + 4 * 100 * 7, TW_POISON, 400);
  op_expect(&r, "100 look as if they were never written");
  op_run_free(&r);
}

static void a_sample_finds_wrong_blocks_and_everything_unwritten(void **state) {
  op_run r;
  op_run_make(&r, "softmax rows=4096 cols=64 a=bf16", 5);
  op_run_reference(&r);
  const double budget = 16 * 64 * 256; /* a row of 16 */
  op_expect_sampled(&r, budget, true);
  for (int64_t i = 0; i < 32 * 64; i++) op_put(&r, Y, 1008 * 64 + i, op_get(&r, Y, 1008 * 64 + i) * 1.1);
  op_expect_sampled(&r, budget, false);
  op_run_reference(&r);
  memset((char *)r.actual[Y] + 2 * (777 * 64 + 5), TW_POISON, 2); /* a single element */
  op_expect_sampled(&r, budget, false);
  op_run_reference(&r);
  op_put(&r, Y, 1234 * 64 + 5, (double)INFINITY);
  op_expect_sampled(&r, budget, false);
  op_run_free(&r);
}

static void inputs_reach_beyond_what_exp_can_take(void **state) {
  op_run r;
  op_run_make(&r, "softmax rows=64 cols=8 a=bf16", 9);
  int high = 0, low = 0;
  for (int64_t i = 0; i < 64; i++) high += op_get(&r, X, 8 * i) > 100, low += op_get(&r, X, 8 * i) < -100;
  assert_in_range(high, 2, 20);
  assert_in_range(low, 2, 20);
  op_run_free(&r);
}

static void types_are_checked(void **state) {
  op_expect_refused("softmax rows=4 cols=4", "expected f32, f16 or bf16");
  op_expect_refused("softmax rows=4 cols=4 a=i8", "a=i8");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(known_answers),
      cmocka_unit_test(known_logarithms),
      cmocka_unit_test(an_honest_kernel_passes_and_wrong_ones_do_not),
      cmocka_unit_test(what_was_not_written_is_found),
      cmocka_unit_test(a_sample_finds_wrong_blocks_and_everything_unwritten),
      cmocka_unit_test(inputs_reach_beyond_what_exp_can_take),
      cmocka_unit_test(types_are_checked),
  };
  return cmocka_run_group_tests_name("softmax", tests, NULL, NULL);
}
