/* Schedules of gemm on Trainium: every step that the menu offers becomes a kernel that is read, correct and timed. */
#include "search_fixture.h"
#include "test.h"

#include <stdlib.h>
#include <string.h>

#include "base/status.h"
#include "tilewright/run.h"

static double cost_of(const tw_target *t, const tw_problem *p, const tw_case *k, const tw_schedule *s) {
  tw_artefact *a;
  tw_measurement m;
  tw_error error = {0};
  char *source;
  if (tw_target_emit(t, p, s, &source, &error) != TW_OK) fail_msg("%s", error.text);
  if (t->build(t, p, source, strlen(source), false, &a, &error) != TW_OK) fail_msg("%s\n%s", error.text, source);
  if (t->check(t, a, k, &error) != TW_OK) fail_msg("%s\n%s", error.text, source);
  if (t->measure(t, a, k, NULL, &m, &error) != TW_OK) fail_msg("%s\n%s", error.text, source);
  t->release(a);
  free(source);
  return m.cost;
}

static void every_offered_step_is_correct(void **state) {
  static const char *const problems[] = {"gemm m=256 n=1024 k=256 a=bf16 b=bf16 a_transposed=1",
                                         "gemm m=256 n=256 k=512 a=bf16 b=bf16", "gemm m=128 n=192 k=256"};
  const tw_target *t = tw_target_find("trn2");
  (void)state;
  for (size_t i = 0; i < sizeof problems / sizeof *problems; i++) {
    tw_problem p;
    tw_case k;
    tw_error error = {0};
    tw_menu menu;
    tw_schedule start = {0};
    double best = 1;
    if (tw_target_read(t, problems[i], &p, &error) != TW_OK || tw_target_supports(t, &p, &error) != TW_OK ||
        tw_target_case(t, &p, 3, 1, &k, &error) != TW_OK)
      fail_msg("%s", error.text);
    const double first = cost_of(t, &p, &k, &start);
    if (tw_target_steps(t, &p, &start, &menu, &error) != TW_OK) fail_msg("%s", error.text);
    assert_true(menu.n >= 4);
    for (size_t s = 0; s < menu.n; s++) {
      tw_schedule one = {0};
      double predicted;
      assert_int_equal(tw_schedule_add(&one, menu.item[s].step, &error), TW_OK);
      const double cost = cost_of(t, &p, &k, &one);
      if (cost < best) best = cost;
      assert_int_equal(tw_target_predict(t, &p, &one, &predicted, &error), TW_OK);
      assert_true(predicted > 0);
    }
    assert_true(best < first); /* some step pays */
    tw_menu_free(&menu);
    tw_case_free(&k);
  }
}

static void what_does_not_fit_is_named(void **state) {
  static const struct {
    const char *problem, *step, *expected;
  } cases[] = {
      {"gemm m=100 n=512 k=128", NULL, "unsupported m=100; expected a multiple of 128"},
      {"gemm m=128 n=512 k=100", NULL, "unsupported k=100; expected a multiple of 128"},
      {"gemm m=128 n=100 k=128", NULL, "unsupported n=100; expected a multiple of 64"},
      {"gemm m=1024 n=4096 k=128 a_transposed=1", "block m=8 n=2", "16 banks of PSUM; expected at most 8"},
      {"gemm m=1024 n=4096 k=16384 a_transposed=1", "block m=8 n=1", "bytes of a partition of SBUF"},
      {"gemm m=128 n=512 k=128", "load k=2", "expected a multiple of 256"},
  };
  const tw_target *t = tw_target_find("trn2");
  (void)state;
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    tw_problem p;
    tw_schedule s = {0};
    tw_error error = {0};
    char *source;
    if (tw_target_read(t, cases[i].problem, &p, &error) != TW_OK || tw_target_supports(t, &p, &error) != TW_OK)
      fail_msg("%s", error.text);
    if (cases[i].step) assert_int_equal(tw_schedule_add(&s, cases[i].step, &error), TW_OK);
    assert_int_equal(tw_status_group(tw_target_emit(t, &p, &s, &source, &error)), TW_USAGE);
    if (!strstr(error.text, cases[i].expected)) fail_msg("%s: %s", cases[i].problem, error.text);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(every_offered_step_is_correct),
                                     cmocka_unit_test(what_does_not_fit_is_named)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
