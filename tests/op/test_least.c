/* test_least.c - what every kernel must do, and bounds that follow from it. */
#include "test.h"

#include <math.h>

#include "evaluate/plausible.h"
#include "op/least.h"

static tw_problem problem_on(const tw_target *t, const char *text) {
  tw_problem p;
  tw_error error;
  if (tw_problem_parse(t, text, &p, &error) != TW_OK || tw_target_supports(t, &p, &error) != TW_OK)
    fail_msg("%s: %s", text, error.text);
  return p;
}

static void work_that_no_result_needs_is_left_out(void **state) {
  static const struct {
    const char *problem;
    bool first_only;
    double read, written, operations;
  } of[] = {
      {"elementwise rows=8 cols=16 f=tanh", false, 512, 512, 128},
      {"layernorm rows=8 cols=16 norm=rms affine=0 residual=1", false, 1024, 1024, 320},
      {"layernorm rows=8 cols=16 norm=rms affine=0 residual=1", true, 1024, 512, 320},
      {"pool n=2 w=64 s=2 stride=2", false, 0, 256, 64},
      {"pool n=2 w=64 s=2", false, 512, 504, 126},
      {"depthwise c=2 w=4 taps=3 pad=1", false, 56, 32, 24},
      {"depthwise c=2 w=1 taps=3 pad=2", false, 32, 24, 18},
      {"depthwise c=2 w=1 taps=7 pad=5", false, 0, 40, 70},
      {"conv2d n=1 h=4 w=4 c=2 k=2 r=1 s=1", false, 144, 128, 64},
      {"conv2d n=1 h=4 w=4 c=2 k=2 r=3 s=3 pad=1", false, 272, 128, 400}, /* 100 of 144 products */
      {"conv2d n=1 h=1 w=1 c=2 k=2 r=3 s=3 pad=1", false, 0, 8, 4},       /* one weight of nine */
      {"conv2d n=1 h=4 w=4 c=2 k=2 r=1 s=1 stride=2", false, 0, 32, 16},  /* one element of four */
      {"conv2d n=1 h=4 w=4 c=2 k=2 r=1 s=1 scale=0", false, 0, 128, 0},
      {"conv3d n=1 d=1 h=1 w=2 c=1 k=1 t=3 r=3 s=3 pad=1", false, 0, 8, 4}, /* 2 x 2 of 54 products */
  };
  const tw_target *t = tw_target_find("trn2");
  for (size_t i = 0; i < sizeof of / sizeof *of; i++) {
    const tw_problem p = problem_on(t, of[i].problem);
    const tw_least w = tw_least_work(&p, of[i].first_only);
    if (w.read != of[i].read || w.written != of[i].written || fabs(w.operations - of[i].operations) > 1e-9)
      fail_msg("%s: %g bytes read, %g written, %g operations", of[i].problem, w.read, w.written, w.operations);
  }
}

/* Trainium's DMA engines move 435 GB/s each way. The launch is 8.2 us. */
static void a_copy_is_possible_and_half_of_it_is_not(void **state) {
  const tw_target *t = tw_target_find("trn2");
  const double once = 4.0 * 4096 * 4096 / 435e9, launch = 8.2e-6;
  static const struct {
    const char *problem;
    double bound; /* times of one operand */
  } of[] = {{"elementwise rows=4096 cols=4096 f=scale a=f32", 1},
            {"elementwise rows=4096 cols=4096 f=divide alpha=1 a=f32", 1},
            {"elementwise rows=4096 cols=4096 f=scale alpha=2 a=f32", 2},
            {"transpose rows=4096 cols=4096 a=f32", 1},
            {"softmax rows=4096 cols=4096 a=f32", 2}};
  for (size_t i = 0; i < sizeof of / sizeof *of; i++) {
    const tw_problem p = problem_on(t, of[i].problem);
    tw_bound b;
    tw_error error;
    assert_int_equal(tw_target_bound(t, &p, &b, &error), TW_OK);
    if (fabs(b.cost - launch - of[i].bound * once) > 1e-9) fail_msg("%s: %g", of[i].problem, b.cost);
    assert_int_equal(tw_plausible(t, &b, launch + once, &error), TW_OK);
    assert_int_equal(tw_plausible(t, &b, launch + 0.9 * once, &error), TW_FAILED);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(work_that_no_result_needs_is_left_out),
                                     cmocka_unit_test(a_copy_is_possible_and_half_of_it_is_not)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
