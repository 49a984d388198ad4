/* test_gemmini_emit.c - whatever schedule is legal, the kernel that it makes is right.
 *
 * Kernels are compiled for the host against data/gemmini_commands.h, where every command does what it does on
 * Gemmini but takes no time, and compared with the reference. Shapes and schedules are random, but always the same. */
#include "gemmini_kernels.h"

#include "target/gemmini/schedule/plan.h"

static void random_step(tw_random *random, int dim, char step[TW_STEP_MAX]) {
  switch (below(random, 16)) {
  case 0:
  case 1:
    snprintf(step, TW_STEP_MAX, "tile m=%d n=%d k=%d", dim * (1 + below(random, 8)), dim * (1 + below(random, 8)),
             dim * (1 + below(random, 6)));
    return;
  case 2: snprintf(step, TW_STEP_MAX, "order %s", PICK(random, "ij", "ji")); return;
  case 3:
  case 4:
    snprintf(step, TW_STEP_MAX, "hold %s=%s", PICK(random, "a", "b"), PICK(random, "stream", "panel", "whole"));
    return;
  case 5:
    snprintf(step, TW_STEP_MAX, "buffers a=%d b=%d c=%d", 1 + below(random, 3), 1 + below(random, 3),
             1 + below(random, 2));
    return;
  case 6:
    snprintf(step, TW_STEP_MAX, "banks %s",
             PICK(random, "a=0,2 b=1,3", "a=0 b=1", "a=2 b=1,3 c=0,1", "a=0,1,2 b=3", "a=3 b=0,1,2 c=0"));
    return;
  case 7: snprintf(step, TW_STEP_MAX, "width %s=%d", PICK(random, "a", "b", "c"), dim * (1 + below(random, 4))); return;
  case 8: snprintf(step, TW_STEP_MAX, "overwrite"); return;
  case 9: snprintf(step, TW_STEP_MAX, "prefetch %d", below(random, 3)); return;
  case 10: snprintf(step, TW_STEP_MAX, "spread loads=%d stores=%d", below(random, 24), below(random, 24)); return;
  case 11: snprintf(step, TW_STEP_MAX, "loops %s", PICK(random, "ijk", "ikj", "jik", "jki", "kij", "kji")); return;
  case 12: snprintf(step, TW_STEP_MAX, "unroll %d", below(random, 4)); return;
  case 13:
    snprintf(step, TW_STEP_MAX, "%s", PICK(random, "reuse weights", "reuse weights kji", "fill prefetch"));
    return;
  case 14: snprintf(step, TW_STEP_MAX, "hoist %s", PICK(random, "configs", "addresses", "all")); return;
  default:
    snprintf(step, TW_STEP_MAX, "%s",
             PICK(random, "taper", "pipeline", "pipeline loads=4 stores=8", "row_pipeline",
                  "row_pipeline loads=4 stores=2", "quick_start"));
    return;
  }
}

static tw_schedule random_schedule(tw_random *random, const gm_config *config, const tw_problem *problem) {
  return legal_schedule(random_step, random, config, problem);
}

static void random_batches(const char *name, uint64_t seed, int batches) {
  const gm_config config = read_config(name);
  tw_random random;
  tw_random_seed(&random, seed);
  for (int i = 0; i < batches; i++) {
    batch b = {.config = &config, .wide = i % 3 == 2 && config.input_type == TW_I8};
    while (b.n < BATCH) {
      char words[256];
      const bool even = below(&random, 3) == 0;
      const int d = config.dim, transposed = below(&random, 4), bias = below(&random, 4);
      int size[3];
      for (int x = 0; x < 3; x++) size[x] = even ? d * (1 + below(&random, 12)) : 1 + below(&random, 12 * d);
      snprintf(words, sizeof words,
               "m=%d n=%d k=%d a_transposed=%d b_transposed=%d bias=%s relu=%d scale=%s lda=%d ldc=%d", size[0],
               size[1], size[2], transposed & 1, transposed >> 1,
               bias == 1   ? "row"
               : bias == 2 ? "full"
                           : "none",
               !b.wide && below(&random, 2), b.wide || below(&random, 2) ? "1" : "0.25",
               below(&random, 4) ? 0 : 12 * d + 3, below(&random, 4) ? 0 : 12 * d + 5);
      const tw_problem problem = problem_of(&config, "gemm", words, b.wide);
      const tw_schedule schedule = (b.n & 1 ? menu_schedule : random_schedule)(&random, &config, &problem);
      add(&b, &problem, &schedule);
    }
    run(&b);
  }
}

static void any_legal_schedule_is_right_on_int8(void **state) { random_batches("gemmini-16x16-int8", 1, 8); }

static void any_legal_schedule_is_right_on_fp32(void **state) { random_batches("gemmini-4x4-fp32", 2, 4); }

static void the_plain_kernel_runs_every_shape(void **state) {
  const gm_config config = read_config("gemmini-16x16-int8");
  batch b = {.config = &config};
  static const char *const shapes[] = {"m=1 n=1 k=1",
                                       "m=16 n=16 k=16",
                                       "m=100 n=37 k=129",
                                       "m=1 n=200 k=3",
                                       "m=200 n=1 k=17",
                                       "m=64 n=64 k=64 a_transposed=1 bias=row",
                                       "m=65 n=66 k=167 a_transposed=1 b_transposed=1 bias=row ldb=200",
                                       "m=65 n=66 k=67 b_transposed=1 bias=full relu=1 scale=0.5"};
  for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++) {
    const tw_problem problem = problem_of(&config, "gemm", shapes[i], false);
    add(&b, &problem, &(tw_schedule){0});
  }
  run(&b);
}

static void the_pipelined_kernel_runs_every_shape(void **state) {
  const gm_config config = read_config("gemmini-16x16-int8");
  tw_schedule schedule;
  assert_int_equal(
      tw_schedule_parse("tile m=128 n=64 k=64\npipeline\nkeep_resident b=whole\nloops ikj\nunroll 2\ntaper\n",
                        &schedule, NULL),
      TW_OK);
  batch b = {.config = &config};
  static const char *const shapes[] = {"m=1 n=1 k=1",
                                       "m=512 n=64 k=256",
                                       "m=100 n=37 k=129",
                                       "m=300 n=200 k=3",
                                       "m=200 n=1 k=17",
                                       "m=400 n=128 k=64 a_transposed=1",
                                       "m=265 n=266 k=167 a_transposed=1 b_transposed=1 bias=full relu=1 scale=0.5",
                                       "m=265 n=266 k=167 b_transposed=1 bias=full relu=1 scale=0.5"};
  for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++) {
    const tw_problem problem = problem_of(&config, "gemm", shapes[i], false);
    add(&b, &problem, &schedule);
  }
  run(&b);
}

/* --- what is refused ------------------------------------------------------------------------------------------ */

static void refused(const char *shape, const char *steps, const char *reason) {
  must_be_refused("gemm", shape, steps, reason);
}

static void illegal_steps_are_refused_with_the_reason(void **state) {
  refused("m=64 n=64 k=64", "fly", "unknown step");
  refused("m=64 n=64 k=64", "tile m=0", "unsupported value 'm=0'; usage: tile m=128 n=64 k=64");
  refused("m=64 n=64 k=64", "tile m=16 q=4", "unexpected 'q'");
  refused("m=64 n=64 k=64", "tile m=32 m=64", "'m' is given twice");
  refused("m=64 n=64 k=64", "banks a=0,2",
          "banks are given for one of A and B; give banks for both, as in 'banks a=0,2 b=1,3'");
  refused("m=64 n=64 k=64", "buffers a=9", "unsupported value 'a=9'; expected a number from 1 to 3");
  refused("m=4096 n=4096 k=4096", "tile m=512 n=512 k=64", "accumulator rows");
  refused("m=4096 n=4096 k=4096", "tile m=16 n=16 k=64\nkeep_resident a=whole", "KiB of scratchpad");
  refused("m=64 n=64 k=64", "prefetch 1", "step 1, 'prefetch 1'");
  refused("m=64 n=64 k=64", "spread loads=4", "prefetch 1");
  refused("m=64 n=64 k=64", "keep_resident b=panel", "order ji");
  refused("m=64 n=64 k=64", "banks a=0 b=0", "different banks");
  refused("m=64 n=64 k=64 bias=row", "overwrite", "bias");
  refused("m=64 n=64 k=64", "reuse weights", "innermost");
  refused("m=64 n=64 k=60", "hardware_loop", "multiple of 16");
}

static void capacity_is_never_exceeded(void **state) {
  const gm_config config = read_config("gemmini-16x16-int8");
  tw_random random;
  tw_random_seed(&random, 3);
  for (int i = 0; i < 200; i++) {
    const tw_problem problem = problem_of(&config, "gemm", "m=2000 n=1000 k=3000", false);
    const tw_schedule schedule = random_schedule(&random, &config, &problem);
    gm_gemm gemm;
    gm_plan plan;
    gm_layout l;
    assert_int_equal(gm_gemm_from(&config, &problem, &gemm, NULL), TW_OK);
    assert_int_equal(gm_plan_from(&config, &gemm, &schedule, &plan, &l, NULL), TW_OK);
    assert_true(l.spad_bytes <= (size_t)config.spad_bytes);
    assert_true(l.acc_bytes <= (size_t)config.acc_bytes);
  }
}

static void the_hardware_loop_is_one_alternative(void **state) {
  const gm_config config = read_config("gemmini-16x16-int8");
  const tw_problem problem = problem_of(&config, "gemm", "m=100 n=64 k=304 bias=row", false);
  tw_schedule schedule;
  tw_error error = {0};
  char *source = NULL;
  assert_int_equal(tw_schedule_parse("hardware_loop m=64 n=64 k=128", &schedule, NULL), TW_OK);
  assert_int_equal(gm_emit(&config, &problem, &schedule, &source, &error), TW_OK);
  assert_non_null(strstr(source, "gemmini_loop_ws("));
  assert_null(strstr(source, "preload("));
  free(source);
}

static void no_prediction_is_below_the_bound(void **state) {
  const gm_config config = read_config("gemmini-16x16-int8");
  tw_random random;
  tw_random_seed(&random, 4);
  for (int i = 0; i < 200; i++) {
    const tw_problem problem = problem_of(&config, "gemm", i & 1 ? "m=512 n=512 k=512" : "m=300 n=40 k=700", false);
    const tw_schedule schedule = random_schedule(&random, &config, &problem);
    double cycles;
    tw_bound bound;
    assert_int_equal(gm_predict(&config, &problem, &schedule, &cycles, NULL), TW_OK);
    assert_int_equal(gm_bound(&config, &problem, &bound, NULL), TW_OK);
    assert_true(bound.cost >= bound.compute_cost && bound.cost >= bound.memory_cost && *bound.limit);
    assert_true(cycles >= bound.cost);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(the_plain_kernel_runs_every_shape),
      cmocka_unit_test(the_pipelined_kernel_runs_every_shape),
      cmocka_unit_test(any_legal_schedule_is_right_on_int8),
      cmocka_unit_test(any_legal_schedule_is_right_on_fp32),
      cmocka_unit_test(illegal_steps_are_refused_with_the_reason),
      cmocka_unit_test(capacity_is_never_exceeded),
      cmocka_unit_test(the_hardware_loop_is_one_alternative),
      cmocka_unit_test(no_prediction_is_below_the_bound),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
