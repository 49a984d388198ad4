/* test_gemmini_conv2d.c - whatever schedule of a convolution is legal, the kernel that it makes is right.
 *
 * As in test_gemmini_emit.c: shapes and schedules are random, but always the same; kernels run on the host. */
#include "gemmini_kernels.h"

#include "target/gemmini/schedule/conv/conv.h"

static const char int8[] = "gemmini-16x16-int8";

/* --- random problems and schedules --------------------------------------------------------------------------- */

static void random_step(tw_random *random, int dim, char step[TW_STEP_MAX]) {
  switch (below(random, 18)) {
  case 0:
  case 1:
  case 2:
    snprintf(step, TW_STEP_MAX, "tile p=%d q=%d k=%d c=%d r=%d", 1 + below(random, 8), 1 + below(random, 40),
             dim * (1 + below(random, 4)), dim * (1 + below(random, 4)), 1 + below(random, 5));
    return;
  case 3: snprintf(step, TW_STEP_MAX, "order %s", PICK(random, "pk", "kp")); return;
  case 4:
  case 5:
    snprintf(step, TW_STEP_MAX, "hold %s=%s", PICK(random, "a", "b"), PICK(random, "stream", "panel", "whole"));
    return;
  case 6:
    snprintf(step, TW_STEP_MAX, "buffers a=%d b=%d c=%d", 1 + below(random, 3), 1 + below(random, 3),
             1 + below(random, 2));
    return;
  case 7:
    snprintf(step, TW_STEP_MAX, "banks %s",
             PICK(random, "a=0,2 b=1,3", "a=0 b=1", "a=2 b=1,3 c=0,1", "a=3 b=0,1,2 c=0"));
    return;
  case 8: snprintf(step, TW_STEP_MAX, "width %s=%d", PICK(random, "a", "b", "c"), dim * (1 + below(random, 4))); return;
  case 9: snprintf(step, TW_STEP_MAX, "%s", PICK(random, "overwrite", "fill prefetch")); return;
  case 10: snprintf(step, TW_STEP_MAX, "prefetch %d", below(random, 3)); return;
  case 11: snprintf(step, TW_STEP_MAX, "spread loads=%d stores=%d", below(random, 24), below(random, 24)); return;
  case 12: snprintf(step, TW_STEP_MAX, "loops %s", PICK(random, "rsck", "krsc", "csrk", "ckrs", "skcr")); return;
  case 13: snprintf(step, TW_STEP_MAX, "unroll %s", PICK(random, "rows", "runs")); return;
  case 14: snprintf(step, TW_STEP_MAX, "blocks %s", PICK(random, "even", "full")); return;
  case 15:
  case 16: snprintf(step, TW_STEP_MAX, "pack s=%d", 1 + below(random, 11)); return;
  default:
    snprintf(step, TW_STEP_MAX, "%s",
             PICK(random, "hoist configs", "pipeline", "pipeline loads=9 stores=8", "transpose weights",
                  "transpose weights"));
    return;
  }
}

static tw_schedule random_schedule(tw_random *random, const gm_config *config, const tw_problem *problem) {
  return legal_schedule(random_step, random, config, problem);
}

static int channels(tw_random *random) {
  static const int odd[] = {1, 3, 15, 17, 100};
  switch (below(random, 3)) {
  case 0: return 16 * (1 + below(random, 5));
  case 1: return odd[below(random, sizeof odd / sizeof *odd)];
  default: return 1 + below(random, 80);
  }
}

/* Kernels of 1 x 1 to 11 x 11, mostly small; all strides, paddings and poolings that the machine has. */
static tw_problem random_problem(tw_random *random, const gm_config *config, bool wide) {
  char words[256];
  const int r = below(random, 3) ? 1 + below(random, 3) : 1 + below(random, 11),
            s = below(random, 3) ? r : 1 + below(random, 11);
  const int pad = below(random, 2) ? 0 : below(random, (r > s ? r : s) + 1),
            stride = below(random, 3) ? 1 : 1 + below(random, 4);
  const bool pool = !wide && below(random, 3) == 0;
  const int size = pool ? 1 + below(random, 3) : 0, room = size * stride;
  const int pool_pad = size > 1 && below(random, 2) ? 1 + below(random, size - 1) : 0;
  snprintf(
      words, sizeof words,
      "n=%d h=%d w=%d c=%d k=%d r=%d s=%d stride=%d pad=%d pool=%d pool_stride=%d pool_pad=%d bias=%s relu=%d scale=%s "
      "layout=%s",
      1 + below(random, 3), r + room + below(random, 12), s + room + below(random, 40), channels(random),
      channels(random), r, s, stride, pad, size, size ? 1 + below(random, 3) : 0, pool_pad, PICK(random, "none", "row"),
      !wide && (pool_pad || below(random, 2)), wide ? "1" : "0.25", PICK(random, "rsck", "rsck", "krsc"));
  return problem_of(config, "conv2d", words, wide);
}

static void random_batches(uint64_t seed, int batches,
                           tw_schedule (*schedule)(tw_random *, const gm_config *, const tw_problem *)) {
  const gm_config config = read_config(int8);
  tw_random random;
  tw_random_seed(&random, seed);
  for (int i = 0; i < batches; i++) {
    batch b = {.config = &config, .wide = i % 4 == 3};
    while (b.n < BATCH) {
      const tw_problem problem = random_problem(&random, &config, b.wide);
      const tw_schedule steps = schedule(&random, &config, &problem);
      add(&b, &problem, &steps);
    }
    run(&b);
  }
}

static void any_legal_schedule_is_right(void **state) { random_batches(1, is_thorough() ? 3 : 1, random_schedule); }

static void whatever_the_menu_offers_is_legal_and_right(void **state) {
  random_batches(2, is_thorough() ? 2 : 1, menu_schedule);
}

/* --- every shape ------------------------------------------------------------------------------------------------ */

static const char *const shapes[] = {
    "n=1 h=1 w=1 c=1 k=1 r=1 s=1",
    "n=2 h=5 w=7 c=17 k=33 r=1 s=1",
    "n=1 h=20 w=18 c=16 k=16 r=3 s=3",
    "n=2 h=9 w=60 c=40 k=70 r=3 s=3 pad=1 bias=row relu=1 scale=0.1",
    "n=1 h=30 w=31 c=3 k=20 r=7 s=7 stride=2 pad=3 bias=row relu=1",
    "n=1 h=40 w=40 c=3 k=64 r=7 s=7 stride=2 pad=3 pool=3 pool_stride=2 pool_pad=1 relu=1",
    "n=1 h=15 w=17 c=32 k=16 r=1 s=1 stride=2",
    "n=1 h=14 w=14 c=20 k=20 r=3 s=3 stride=2 pad=1 weight_layout=krsc",
    "n=1 h=13 w=40 c=8 k=24 r=11 s=11 stride=4 pad=2 weight_layout=krsc bias=row",
    "n=1 h=12 w=300 c=5 k=6 r=2 s=5 pool=2",
    "n=1 h=6 w=6 c=16 k=16 r=3 s=3 pad=5 stride=5",
    "n=1 h=3 w=3 c=16 k=16 r=1 s=1 pad=2",
    "n=1 h=17000 w=2 c=1 k=1 r=2 s=2", /* more tiles than the scratchpad has rows */
    "n=1 h=8 w=8 c=16 k=16 r=3 s=1 pad=1 stride=3 pool=1 pool_stride=2",
};

static void all_shapes_after(const char *steps) {
  const gm_config config = read_config(int8);
  batch b = {.config = &config};
  tw_schedule schedule;
  assert_int_equal(tw_schedule_parse(steps, &schedule, NULL), TW_OK);
  for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++) {
    const tw_problem problem = problem_of(&config, "conv2d", shapes[i], false);
    add(&b, &problem, &schedule);
  }
  run(&b);
}

static void the_plain_kernel_runs_every_shape(void **state) { all_shapes_after(""); }

static void the_pipelined_kernel_runs_every_shape(void **state) {
  all_shapes_after("pipeline\nunroll runs\norder kp\n");
}

/* Few channels: columns of the kernel share blocks; all of them, all but some, and where the image is narrow. */
static void the_packed_kernel_runs_shapes_of_few_channels(void **state) {
  static const char *const few[] = {
      "n=1 h=30 w=31 c=3 k=20 r=7 s=7 stride=2 pad=3 bias=row relu=1",
      "n=1 h=40 w=40 c=3 k=64 r=7 s=7 stride=2 pad=3 pool=3 pool_stride=2 pool_pad=1 relu=1",
      "n=2 h=13 w=40 c=1 k=24 r=11 s=11 stride=4 pad=2",
      "n=2 h=9 w=9 c=8 k=17 r=3 s=3",
      "n=1 h=12 w=300 c=5 k=6 r=2 s=5 pool=2",
      "n=1 h=5 w=5 c=1 k=16 r=5 s=5",
  };
  static const char *const packs[] = {"pack s=2", "pack s=3"};
  const gm_config config = read_config(int8);
  for (size_t j = 0; j < 2; j++) {
    batch b = {.config = &config};
    for (size_t i = 0; i < sizeof few / sizeof *few; i++) {
      const tw_problem problem = problem_of(&config, "conv2d", few[i], false);
      char text[64];
      tw_schedule schedule;
      snprintf(text, sizeof text, "pipeline\n%s\n", i == 3 ? "pack s=2" : packs[j]);
      assert_int_equal(tw_schedule_parse(text, &schedule, NULL), TW_OK);
      add(&b, &problem, &schedule);
    }
    run(&b);
  }
}

/* Rows of results that join, of one image and of several: with and without padding, strides, steps of one row of the
 * kernel. */
static void the_unfolded_kernel_runs_small_images(void **state) {
  static const struct {
    const char *shape, *steps;
  } cases[] = {
      {"n=4 h=7 w=7 c=40 k=33 r=3 s=3 pad=1 bias=row relu=1 scale=0.1", "pipeline p=7 q=7 r=3 unfold=columns"},
      {"n=4 h=7 w=7 c=40 k=33 r=3 s=3 pad=1", "pipeline n=2 p=7 q=7 k=48 c=32 r=3 unfold=columns\nunroll runs"},
      {"n=4 h=7 w=7 c=40 k=33 r=3 s=3 pad=1", "pipeline n=4 p=7 q=7 k=16 c=16 r=1 unfold=columns\nblocks even"},
      {"n=2 h=14 w=14 c=20 k=40 r=1 s=1 stride=2", "pipeline n=2 p=7 q=7 k=32 unfold=columns"},
      {"n=3 h=9 w=11 c=20 k=40 r=3 s=2 stride=2 pad=1", "tile n=3 p=5 q=6 k=48 c=32 r=1 unfold=columns\noverwrite"},
      {"n=2 h=8 w=20 c=17 k=20 r=5 s=5 pad=4 weight_layout=krsc", "tile p=4 q=24 r=5 k=16 c=16 unfold=columns"},
      {"n=4 h=6 w=7 c=20 k=30 r=3 s=3 pad=2", "pipeline n=2 p=8 q=9 k=16 c=32 r=3\nunroll rows"},
      {"n=4 h=6 w=7 c=20 k=30 r=3 s=3 pad=1", "pipeline n=4 p=6 q=7 k=16 c=16 r=1\nunroll runs\nkeep_resident b=whole"},
      {"n=4 h=15 w=15 c=3 k=20 r=3 s=3 stride=2 bias=row", "pipeline n=2 p=7 q=7 k=32 r=3\npack s=3"},
  };
  const gm_config config = read_config(int8);
  batch b = {.config = &config};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    const tw_problem problem = problem_of(&config, "conv2d", cases[i].shape, false);
    tw_schedule schedule;
    assert_int_equal(tw_schedule_parse(cases[i].steps, &schedule, NULL), TW_OK);
    add(&b, &problem, &schedule);
  }
  run(&b);
}

/* The source is for people: no terms that add or multiply by nothing. */
static void sources_have_no_neutral_terms(void **state) {
  const gm_config config = read_config(int8);
  tw_random random;
  tw_random_seed(&random, 5);
  for (int i = 0; i < 100; i++) {
    const tw_problem problem = random_problem(&random, &config, false);
    const tw_schedule schedule = random_schedule(&random, &config, &problem);
    char *source = NULL;
    assert_int_equal(gm_emit(&config, &problem, &schedule, &source, NULL), TW_OK);
    static const char *const neutral[] = {" + 0;", " + 0,", " + 0)", " - 0;", " * 1;",
                                          " * 1)", " * 1,", " / 1)", "(1 * "};
    for (size_t j = 0; j < sizeof neutral / sizeof *neutral; j++)
      if (strstr(source, neutral[j])) fail_msg("'%s' in\n%s", neutral[j], source);
    free(source);
  }
}

static void the_published_shapes_fit_the_goal_by_the_model(void **state) {
  static const struct {
    const char *shape, *steps;
  } cases[] = {
      {"n=4 h=58 w=58 c=64 k=64 r=3 s=3", "pipeline p=2 q=56 k=64 c=64 r=3"},
      {"n=4 h=30 w=30 c=128 k=128 r=3 s=3", "pipeline p=4 q=28 k=64 c=32 r=3"},
      {"n=4 h=16 w=16 c=256 k=256 r=3 s=3", "pipeline p=14 q=14 k=32 c=32 r=3"},
      {"n=4 h=16 w=16 c=128 k=128 r=3 s=3", "pipeline p=14 q=14 k=32 c=32 r=3"},
  };
  const gm_config config = read_config(int8);
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    const tw_problem problem = problem_of(&config, "conv2d", cases[i].shape, false);
    tw_schedule schedule;
    double cycles;
    tw_bound bound;
    assert_int_equal(tw_schedule_parse(cases[i].steps, &schedule, NULL), TW_OK);
    assert_int_equal(gm_predict(&config, &problem, &schedule, &cycles, NULL), TW_OK);
    assert_int_equal(gm_bound(&config, &problem, &bound, NULL), TW_OK);
    assert_true(cycles >= bound.cost && 0.97 * cycles <= bound.cost);
  }
}

/* --- what is refused, what is never exceeded ------------------------------------------------------------------- */

static void refused(const char *shape, const char *steps, const char *reason) {
  must_be_refused("conv2d", shape, steps, reason);
}

static void illegal_steps_are_refused_with_the_reason(void **state) {
  static const char shape[] = "n=1 h=30 w=30 c=64 k=64 r=3 s=3";
  refused(shape, "fly", "unknown step");
  refused(shape, "tile p=0", "unsupported value 'p=0'");
  refused(shape, "tile m=16", "unexpected 'm'");
  refused(shape, "loops rsc", "unsupported value 'rsc'; usage: loops rsck");
  refused(shape, "loops rscc", "unsupported value 'rscc'");
  refused(shape, "blocks odd", "unsupported value 'odd'; expected one of full|even");
  refused(shape, "tile p=28 q=28 k=64", "accumulator rows");
  refused(shape, "prefetch 1", "step 1, 'prefetch 1'");
  refused(shape, "spread loads=4", "prefetch 1");
  refused(shape, "keep_resident b=panel", "order kp");
  refused(shape, "banks a=0 b=0", "different banks");
  refused(shape, "fill prefetch", "buffers c=2");
  refused(shape, "pipeline\npack s=2", "2 pixels of 64 channels do not fit a row of 16");
  refused(shape, "pack 2", "unexpected '2'; usage: pack s=5");
  refused(shape, "unfold rows", "unsupported value 'rows'; expected one of nothing|columns");
  refused(shape, "tile p=2 q=14 unfold=columns",
          "unfolded columns join rows of the output; tiles must have several complete rows, as in");
  refused(shape, "tile p=3 q=28 k=16 unfold=columns", "rows p that divide 28");
  refused("n=4 h=16 w=16 c=16 k=64 r=3 s=3 stride=2", "tile p=7 q=7 k=16 r=3 unfold=columns", "'tile r=1'");
  refused("n=4 h=16 w=16 c=16 k=64 r=3 s=3 pool=2", "tile p=3 q=7 k=16 r=3 unfold=columns", "combined with pooling");
  refused("n=4 h=16 w=16 c=16 k=64 r=3 s=3", "tile n=2 p=7 q=14 k=16", "all of their pixels");
  refused("n=4 h=9 w=9 c=16 k=64 r=3 s=3", "tile p=7 q=7 k=16\ntile n=3",
          "rows of the kernel leave a remainder of 1 images,");
  refused("n=4 h=9 w=9 c=16 k=64 r=3 s=3 pool=2", "tile n=2", "without pooling");
  refused("n=1 h=30 w=30 c=3 k=64 r=3 s=3", "pack s=3", "packed pixels require loads before their use and at least");
  refused("n=1 h=30 w=30 c=3 k=64 r=3 s=3", "pipeline loads=4\npack s=3", "8 pairs");
  refused("n=1 h=30 w=30 c=3 k=64 r=3 s=3 weight_layout=krsc", "pipeline\npack s=3", "requires weight_layout=rsck");
  refused("n=1 h=30 w=30 c=64 k=64 r=3 s=3 bias=row", "overwrite", "bias");
  refused("n=1 h=600 w=600 c=1 k=16 r=3 s=3", "keep_resident a=whole", "22724 tiles of pixels do not fit");
  refused("n=1 h=90 w=90 c=256 k=256 r=3 s=3", "keep_resident b=whole", "KiB of scratchpad");
  refused("n=1 h=30 w=30 c=64 k=64 r=3 s=3 pool=4", "", "pool=2 or pool=3");
  refused("n=1 h=30 w=30 c=64 k=64 r=3 s=3 pool=3 pool_pad=1", "", "relu=1");
  refused("n=1 h=114 w=114 c=16 k=16 r=3 s=3 pool=3 pool_stride=2", "tile p=4 q=55", "one bank");
}

static void the_hardware_loop_refuses_what_it_cannot_do(void **state) {
  static const char loop[] = "hardware_loop p=4 q=4 k=16 c=16 r=1";
  refused("n=1 h=9 w=9 c=16 k=16 r=1 s=1", loop, "one row of pixels");
  refused("n=1 h=9 w=8 c=16 k=16 r=3 s=3", loop, "the hardware loop has one size for both sides; h=9 w=8 and r=");
  refused("n=1 h=9 w=9 c=16 k=16 r=3 s=1", loop, "r=3 s=1 must be equal");
  refused("n=1 h=9 w=9 c=16 k=16 r=3 s=3 weight_layout=krsc", loop, "requires weight_layout=rsck");
  refused("n=1 h=9 w=9 c=16 k=16 r=3 s=3 pad=3", loop, "pad=3 below the kernel's r=3");
  refused("n=1 h=65536 w=65536 c=1 k=1 r=3 s=3", loop, "the hardware loop counts up to 65535 in h, w, c and k");
  refused("n=4 h=30 w=30 c=64 k=64 r=3 s=3", "hardware_loop p=28 q=28 k=16", "half of the scratchpad");
  refused("n=4 h=16 w=16 c=64 k=64 r=3 s=3", "hardware_loop n=3 p=14 q=14 k=16", "half of the scratchpad");
  refused("n=1 h=9 w=9 c=16 k=16 r=3 s=3", "hardware_loop fast", "unexpected 'fast'");
  refused("n=1 h=9 w=9 c=16 k=16 r=3 s=3", "transpose weights", "has no effect");
  refused("n=1 h=9 w=9 c=16 k=16 r=3 s=3 weight_layout=krsc", "turn all",
          "unsupported value 'all'; expected one of weights");
}

static void capacity_is_never_exceeded(void **state) {
  const gm_config config = read_config(int8);
  tw_random random;
  tw_random_seed(&random, 3);
  for (int i = 0; i < 200; i++) {
    const tw_problem problem = random_problem(&random, &config, false);
    const tw_schedule schedule = random_schedule(&random, &config, &problem);
    gm_conv v;
    gm_conv_plan plan;
    gm_conv_layout l;
    assert_int_equal(gm_conv_from(&config, &problem, &v, NULL), TW_OK);
    assert_int_equal(gm_conv_replay(&config, &v, &schedule, &plan, &l, NULL), TW_OK);
    assert_true(l.spad_bytes <= (size_t)config.spad_bytes);
    assert_true(l.acc_bytes <= (size_t)config.acc_bytes);
  }
}

static void no_prediction_is_below_the_bound(void **state) {
  const gm_config config = read_config(int8);
  tw_random random;
  tw_random_seed(&random, 4);
  for (int i = 0; i < 200; i++) {
    const tw_problem problem = random_problem(&random, &config, false);
    const tw_schedule schedule = random_schedule(&random, &config, &problem);
    double cycles;
    tw_bound bound;
    assert_int_equal(gm_predict(&config, &problem, &schedule, &cycles, NULL), TW_OK);
    assert_int_equal(gm_bound(&config, &problem, &bound, NULL), TW_OK);
    assert_true(bound.cost >= bound.compute_cost && bound.cost >= bound.memory_cost && *bound.limit);
    if (cycles < bound.cost) {
      char text[512], steps[4096];
      tw_problem_print(&problem, text, sizeof text);
      tw_schedule_print(&schedule, steps, sizeof steps);
      fail_msg("%s: predicted %.0f, bound %.0f (%s)\n%s", text, cycles, bound.cost, bound.limit, steps);
    }
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(the_plain_kernel_runs_every_shape),
      cmocka_unit_test(the_pipelined_kernel_runs_every_shape),
      cmocka_unit_test(the_packed_kernel_runs_shapes_of_few_channels),
      cmocka_unit_test(the_unfolded_kernel_runs_small_images),
      cmocka_unit_test(sources_have_no_neutral_terms),
      cmocka_unit_test(any_legal_schedule_is_right),
      cmocka_unit_test(whatever_the_menu_offers_is_legal_and_right),
      cmocka_unit_test(the_published_shapes_fit_the_goal_by_the_model),
      cmocka_unit_test(illegal_steps_are_refused_with_the_reason),
      cmocka_unit_test(the_hardware_loop_refuses_what_it_cannot_do),
      cmocka_unit_test(capacity_is_never_exceeded),
      cmocka_unit_test(no_prediction_is_below_the_bound),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
