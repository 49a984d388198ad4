/* test_gemmini_schedules.c - kernels from the menu, compiled for RISC-V and run on the simulated machine, are right:
 * what the host cannot check in test_gemmini_emit.c (hazards, the hardware loop, the real macros) is in the loop
 * here. */
#include "test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/random.h"
#include "subject.h"
#include "tilewright/extend/target.h"

/* "m=64 ..." of a gemm, or "conv2d n=1 ...". */
static tw_problem problem_of(const tw_target *target, const char *words) {
  return problem_from(target, "%s%s", strcspn(words, " ") < strcspn(words, "=") ? "" : "gemm ", words);
}

static void must_be_right(const tw_target *target, const char *words, const tw_schedule *schedule) {
  const tw_problem problem = problem_of(target, words);
  tw_error error = {0};
  tw_case data;
  tw_artefact *artefact = NULL;
  char *source = NULL, steps[4096];
  tw_schedule_print(schedule, steps, sizeof steps);
  assert_int_equal(tw_case_make(&problem, 5, 1, &data, &error), TW_OK);
  if (tw_target_emit(target, &problem, schedule, &source, &error) != TW_OK ||
      target->build(target, &problem, source, strlen(source), &(tw_evaluation){0}, &artefact, &error) != TW_OK ||
      target->check(target, artefact, &data, &(tw_evaluation){0}, &error) != TW_OK)
    fail_msg("%s: %s\nschedule:\n%s\n%s", words, error.text, steps, source ? source : "");
  target->release(artefact);
  free(source);
  tw_case_free(&data);
}

static void after(const tw_target *target, const char *words, const char *steps) {
  const tw_schedule schedule = schedule_from(steps);
  must_be_right(target, words, &schedule);
}

static const tw_target *find(const char *name) {
  const tw_target *target = tw_target_find(name);
  tw_error error = {0};
  assert_non_null(target);
  if (target->available(target, &error) != TW_OK) fail_msg("%s", error.text);
  return target;
}

static tw_schedule walk_the_menu(tw_random *random, const tw_target *target, const tw_problem *problem) {
  tw_schedule schedule = {0};
  for (uint64_t steps = 1 + tw_random_below(random, 6); steps > 0; steps--) {
    tw_menu menu;
    tw_error error = {0};
    assert_int_equal(tw_target_steps(target, problem, &schedule, &menu, &error), TW_OK);
    if (menu.n > 0)
      assert_int_equal(tw_schedule_add(&schedule, menu.item[tw_random_below(random, menu.n)].step, &error), TW_OK);
    tw_menu_free(&menu);
  }
  return schedule;
}

static void walks(const char *name, uint64_t seed, const char *const shapes[], size_t n) {
  const tw_target *target = find(name);
  tw_random random;
  tw_random_seed(&random, seed);
  for (size_t i = 0; i < n; i++)
    for (int repeat = 0; repeat < 2; repeat++) {
      const tw_problem problem = problem_of(target, shapes[i]);
      const tw_schedule schedule = walk_the_menu(&random, target, &problem);
      must_be_right(target, shapes[i], &schedule);
    }
}

static void walks_along_the_menu_are_right_on_int8(void **state) {
  static const char *const shapes[] = {
      "m=64 n=80 k=96",
      "m=50 n=37 k=67",
      "m=104 n=64 k=96 bias=full relu=1 scale=0.25",
      "m=48 n=96 k=64 bias=row c=i32",
      "m=80 n=48 k=112 a_transposed=1",
      "m=48 n=80 k=100 b_transposed=1",
      "m=64 n=48 k=256 lda=264 ldb=64 ldc=50",
      "m=1 n=1 k=1",
  };
  walks("gemmini-16x16-int8", 11, shapes, sizeof shapes / sizeof *shapes);
}

static void walks_along_the_menu_are_right_on_fp32(void **state) {
  static const char *const shapes[] = {"m=32 n=32 k=32", "m=21 n=18 k=35 bias=row",
                                       "m=12 n=40 k=4 a_transposed=1 relu=1"};
  walks("gemmini-4x4-fp32", 12, shapes, sizeof shapes / sizeof *shapes);
}

static void the_hardware_loop_is_right(void **state) {
  const tw_target *target = find("gemmini-16x16-int8");
  static const char *const shapes[] = {"m=100 n=70 k=96", "m=100 n=64 k=96 bias=row",
                                       "m=90 n=64 k=96 bias=full relu=1 scale=0.5", "m=96 n=70 k=96 a_transposed=1",
                                       "m=100 n=64 k=90 b_transposed=1"};
  for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++)
    after(target, shapes[i], "tile m=32 n=48 k=32\nhardware_loop");
}

/* The steps that the six shapes of the yardstick end with, in small. */
static void the_pipeline_is_right(void **state) {
  const tw_target *target = find("gemmini-16x16-int8");
  after(target, "m=256 n=64 k=128",
        "pipeline m=128 n=64 k=64 loads=8 stores=8\norder ji\nkeep_resident b=panel\nunroll 2 ikj\ntaper");
  after(target, "m=144 n=128 k=128",
        "pipeline m=64 n=64 k=64 loads=8 stores=8\nkeep_resident a=panel b=whole\nunroll 2 ikj\ntaper");
  after(target, "m=144 n=130 k=64 bias=row",
        "pipeline m=64 n=64 k=64 loads=8 stores=8\nkeep_resident b=whole\nunroll 1 ikj\ntaper");
  after(target, "m=250 n=130 k=200",
        "pipeline m=64 n=64 k=64 loads=8 stores=8\norder ji\nkeep_resident b=panel\nunroll 2 ikj\ntaper");
  after(target, "m=100 n=70 k=100 bias=full relu=1 scale=0.5",
        "pipeline m=64 n=48 k=48 loads=8 stores=4\nunroll 3 ikj");
  after(target, "m=128 n=128 k=128",
        "pipeline m=64 n=128 k=32 loads=8 stores=8\nkeep_resident b=whole\nunroll 1 ikj\ntaper\nquick_start");
  after(target, "m=90 n=130 k=70 a_transposed=1 bias=row",
        "pipeline m=32 n=48 k=32 loads=8 stores=8\norder ji\nkeep_resident b=panel\nloops ikj\nquick_start");
  after(target, "m=128 n=128 k=96", "row_pipeline m=128 n=128 k=32 loads=8 stores=8\nquick_start");
  after(target, "m=120 n=96 k=80", "row_pipeline m=112 n=96 k=32 loads=4 stores=4");
  after(target, "m=100 n=70 k=100 bias=full relu=1 scale=0.5",
        "row_pipeline m=64 n=48 k=48 loads=8 stores=4\nunroll 3");
  after(target, "m=144 n=130 k=64 bias=row a_transposed=1 b_transposed=1",
        "row_pipeline m=80 n=144 k=16 loads=8 stores=8\norder ji\nunroll 2");
  after(target, "m=100 n=64 k=64 c=i32", "row_pipeline m=48 n=64 k=64 loads=8 stores=4\nbuffers c=2\ntaper");
  after(target, "m=96 n=64 k=128 b_transposed=1",
        "pipeline m=64 n=64 k=64 loads=8 stores=8\nreuse weights kji\nunroll 1");
}

static void walks_along_the_menu_of_conv2d_are_right(void **state) {
  static const char *const shapes[] = {
      "conv2d n=2 h=10 w=18 c=32 k=48 r=3 s=3",
      "conv2d n=1 h=14 w=14 c=40 k=70 r=3 s=3 pad=1 bias=row relu=1 scale=0.1",
      "conv2d n=1 h=30 w=30 c=3 k=20 r=7 s=7 stride=2 pad=3 bias=row out=i32",
      "conv2d n=1 h=26 w=40 c=16 k=16 r=3 s=3 pad=1 pool=3 pool_stride=2 pool_pad=1 relu=1 scale=0.5",
      "conv2d n=1 h=12 w=20 c=20 k=33 r=2 s=3 stride=2 weight_layout=krsc",
      "conv2d n=2 h=9 w=11 c=64 k=64 r=1 s=1 bias=row",
      "conv2d n=1 h=15 w=15 c=70 k=30 r=1 s=1 stride=2",
  };
  walks("gemmini-16x16-int8", 13, shapes, sizeof shapes / sizeof *shapes);
}

/* The steps that the published convolutions end with, in small; a pooled tile fills a bank. */
static void the_pipeline_of_conv2d_is_right(void **state) {
  const tw_target *target = find("gemmini-16x16-int8");
  after(target, "conv2d n=2 h=18 w=58 c=32 k=64 r=3 s=3",
        "pipeline p=2 q=56 k=64 c=32 r=3 loads=8 stores=8\nloops krsc");
  after(target, "conv2d n=1 h=16 w=16 c=64 k=64 r=3 s=3 bias=row",
        "pipeline p=14 q=14 k=32 c=32 r=3 loads=8 stores=16\nunroll runs\norder kp");
  after(target, "conv2d n=1 h=56 w=56 c=16 k=32 r=3 s=3 pad=1 pool=3 pool_stride=2 pool_pad=1 relu=1 scale=0.1",
        "pipeline p=4 q=28 k=16 c=16 r=3 loads=8 stores=8");
}

/* Tiles of several images, of parts of an image, of parts of the kernel and of channels; paddings, strides, pooling. */
static void the_hardware_loop_of_conv2d_is_right(void **state) {
  const tw_target *target = find("gemmini-16x16-int8");
  static const struct {
    const char *shape, *steps;
  } cases[] = {
      {"conv2d n=3 h=9 w=9 c=40 k=70 r=3 s=3 pad=1 bias=row relu=1 scale=0.1",
       "hardware_loop n=2 p=9 q=9 k=32 c=32 r=3"},
      {"conv2d n=2 h=20 w=20 c=16 k=48 r=3 s=3", "tile p=5\nhardware_loop q=16 k=48 c=16 r=2"},
      {"conv2d n=1 h=30 w=30 c=3 k=20 r=7 s=7 stride=2 pad=3 relu=1 pool=3 pool_stride=2 pool_pad=1",
       "hardware_loop p=4 q=4 k=16 c=3 r=7"},
      {"conv2d n=1 h=16 w=16 c=32 k=32 r=1 s=1 stride=2", "hardware_loop p=4 q=8 k=32 c=32 r=1"},
      {"conv2d n=2 h=9 w=9 c=20 k=70 r=3 s=3 weight_layout=krsc bias=row",
       "transpose weights\nhardware_loop p=7 q=7 k=32 c=20 r=3"},
      {"conv2d n=1 h=9 w=9 c=3 k=70 r=3 s=3 weight_layout=krsc", "pipeline loads=8\ntranspose weights\npack s=3"},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) after(target, cases[i].shape, cases[i].steps);
}

/* Every op that has schedules is described to an agent in its own words. */
static void prompts_are_of_the_op(void **state) {
  static const struct {
    const char *target, *problem, *topic, *says;
  } cases[] = {
      {"gemmini-16x16-int8", "m=8 n=8 k=8", "kernel", "B[K][N]"},
      {"gemmini-16x16-int8", "m=8 n=8 k=8", "rules", "fence()"},
      {"gemmini-16x16-int8", "conv2d n=1 h=8 w=8 c=8 k=8 r=3 s=3", "kernel", "weights[r][s][c][k]"},
      {"gemmini-16x16-int8", "conv2d n=1 h=8 w=8 c=8 k=8 r=3 s=3", "menu", "columns of the kernel"},
      {"gemmini-4x4-fp32", "mpc_forward horizon=5 states=12 inputs=4", "kernel", "Adyn x[i]"},
      {"gemmini-4x4-fp32", "mpc_backward horizon=5 states=12 inputs=4", "menu", "fence"},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    const tw_target *target = tw_target_find(cases[i].target);
    const tw_problem problem = problem_of(target, cases[i].problem);
    const char *text = tw_target_topic(target, &problem, cases[i].topic);
    if (!text || !strstr(text, cases[i].says))
      fail_msg("%s: %s: no '%s'", cases[i].problem, cases[i].topic, cases[i].says);
    assert_null(tw_target_topic(target, &problem, "weather"));
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(prompts_are_of_the_op),
      cmocka_unit_test(the_pipeline_is_right),
      cmocka_unit_test(the_hardware_loop_is_right),
      cmocka_unit_test(walks_along_the_menu_are_right_on_int8),
      cmocka_unit_test(walks_along_the_menu_are_right_on_fp32),
      cmocka_unit_test(the_pipeline_of_conv2d_is_right),
      cmocka_unit_test(the_hardware_loop_of_conv2d_is_right),
      cmocka_unit_test(walks_along_the_menu_of_conv2d_are_right),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
