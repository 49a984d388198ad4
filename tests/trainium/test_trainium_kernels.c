/* Schedules of ops on Trainium: every step that a menu offers becomes a kernel that is read, correct and timed; what
 * does not fit is named. */
#include "search_fixture.h"
#include "test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/status.h"
#include "tilewright/extend/target.h"
#include "tilewright/run.h"

static double cost_of(const tw_target *t, const tw_problem *p, const tw_case *k, const tw_schedule *s,
                      const char *step) {
  tw_artefact *a;
  tw_measurement m;
  tw_error error = {0};
  char *source;
  if (tw_target_emit(t, p, s, &source, &error) != TW_OK) fail_msg("%s: %s", step, error.text);
  const bool older = tw_problem_int(p, "dialect");
  if (older != (strstr(source, "import neuronxcc.nki.isa as nisa") != NULL) ||
      older != (strstr(source, "nl.par_dim(") != NULL) || older != (strstr(source, "= nisa.") != NULL))
    fail_msg("%s: not the dialect\n%s", step, source);
  if (t->build(t, p, source, strlen(source), &(tw_evaluation){0}, &a, &error) != TW_OK)
    fail_msg("%s: %s\n%s", step, error.text, source);
  if (t->check(t, a, k, &(tw_evaluation){0}, &error) != TW_OK) fail_msg("%s: %s\n%s", step, error.text, source);
  if (t->measure(t, a, k, &(tw_evaluation){0}, &m, &error) != TW_OK) fail_msg("%s: %s\n%s", step, error.text, source);
  t->release(a);
  free(source);
  return m.cost;
}

static tw_problem problem_of(const tw_target *t, const char *text) {
  tw_problem p;
  tw_error error = {0};
  if (tw_problem_parse(t, text, &p, &error) != TW_OK || tw_target_supports(t, &p, &error) != TW_OK)
    fail_msg("%s: %s", text, error.text);
  return p;
}

/* Sizes that no tile divides where the kernel allows it. */
static const char *const problems[] = {
    "layernorm rows=200 cols=768",
    "layernorm rows=130 cols=256 norm=rms a=bf16",
    "softmax rows=150 cols=256",
    "cumsum rows=130 cols=192",
    "cumsum rows=128 cols=128 a=bf16",
    "transpose b=2 rows=256 cols=512",
    "pool n=2 h=37 w=50 r=3 s=3",
    "pool h=20 w=16 r=2 s=2 a=bf16",
    "depthwise n=2 c=130 w=300 taps=3 pad=1",
    "depthwise c=128 w=700 taps=4 a=bf16",
    "rotary b=1 h=2 s=300 d=64 transposed=1",
    "rotary b=2 h=1 s=256 d=32 transposed=1 interleaved=1 a=bf16",
    "mamba b=2 c=140 s=200 n=3",
    "attention b=1 hq=2 hkv=1 sq=128 sk=640 d=64 a=bf16",
    "attention b=1 hq=1 hkv=1 sq=256 sk=384 d=128 causal=1 a=bf16",
    "attention b=1 hq=1 hkv=1 sq=128 sk=256 d=32 a=f32 arithmetic=bf16",
    "conv2d n=1 h=10 w=20 c=130 k=140 r=3 s=2 image_layout=nchw weight_layout=kcrs",
    "conv2d n=1 h=9 w=12 c=64 k=32 r=3 s=3 a=f32 b=f32 arithmetic=bf16 image_layout=nchw weight_layout=kcrs",
};

static void every_offered_step_is_correct(void **state) {
  enum { N = sizeof problems / sizeof *problems };
  for (size_t i = 0; i < 2 * N; i++) { /* the second half in the older dialect */
    const tw_target *t = tw_target_find(i % 2 ? "trn1" : "trn2");
    char text[160];
    snprintf(text, sizeof text, "%s dialect=nki%d", problems[i % N], i < N ? 2 : 1);
    const tw_problem p = problem_of(t, text);
    tw_case k;
    tw_error error = {0};
    tw_menu menu;
    tw_schedule start = {0};
    if (tw_target_case(t, &p, 3, 1, &k, &error) != TW_OK) fail_msg("%s", error.text);
    cost_of(t, &p, &k, &start, text);
    if (tw_target_steps(t, &p, &start, &menu, &error) != TW_OK) fail_msg("%s", error.text);
    if (menu.n < 2) fail_msg("%s: %zu steps", text, menu.n);
    for (size_t s = 0; s < menu.n; s += (size_t)example_stride()) {
      tw_schedule one = {0};
      double predicted;
      assert_int_equal(tw_schedule_add(&one, menu.item[s].step, &error), TW_OK);
      cost_of(t, &p, &k, &one, menu.item[s].step);
      assert_int_equal(tw_target_predict(t, &p, &one, &predicted, &error), TW_OK);
      assert_true(predicted > 0);
    }
    tw_menu_free(&menu);
    tw_case_free(&k);
  }
}

static void what_does_not_fit_is_named(void **state) {
  static const struct {
    const char *problem, *step, *expected;
  } cases[] = {
      {"layernorm rows=128 cols=100 residual=1", NULL, "unsupported residual or quantize"},
      {"layernorm rows=128 cols=100 affine=0", NULL, "unsupported affine=0"},
      {"layernorm rows=128 cols=100 inner=2", NULL, "span or inner"},
      {"softmax rows=128 cols=100 log=1", NULL, "unsupported log=1"},
      {"cumsum rows=128 cols=100 reverse=1", NULL, "unsupported reverse=1"},
      {"cumsum rows=128 cols=100 masked=1", NULL, "masked=1: schedules on"},
      {"layernorm rows=128 cols=100 dropout=0.5", NULL, "unsupported dropout"},
      {"layernorm rows=128 cols=100", "split 3", "it must divide cols=100"},
      {"layernorm rows=128 cols=100", "add scalar", "unsupported engine scalar"},
      {"softmax rows=128 cols=100000", NULL, "bytes of a partition of SBUF"},
      {"cumsum rows=128 cols=100000", NULL, "bytes of a partition of SBUF"},
      {"transpose rows=100 cols=128", NULL, "unsupported rows=100; expected a multiple of 128"},
      {"transpose rows=128 cols=128", "near rows=1 columns=4", "expected a multiple of 512"},
      {"pool h=100 w=20000 r=3 s=3", NULL, "bytes of a partition of SBUF"},
      {"pool h=100 w=100 r=3 s=2", NULL, "unsupported s=2"},
      {"pool h=100 w=100 r=3 s=3 f=mean", NULL, "need f=max"},
      {"pool d=8 h=100 w=100 r=3 s=3 stride=2", NULL, "need d=1"},
      {"rotary b=1 h=1 s=128 d=64", NULL, "add transposed=1"},
      {"rotary b=1 h=1 s=128 d=512 transposed=1", NULL, "unsupported d=512"},
      {"mamba c=128 s=2048 n=4", "width 1024", "a bank of PSUM holds 512"},
      {"mamba c=128 s=2048 n=4", "b_engine gpsimd", "it cannot read PSUM"},
      {"attention b=1 hq=1 hkv=1 sq=128 sk=128 d=256 a=bf16", NULL, "unsupported d=256"},
      {"attention b=1 hq=1 hkv=1 sq=100 sk=128 d=64 a=bf16", NULL, "unsupported sq=100"},
      {"attention b=1 hq=1 hkv=1 sq=128 sk=128 d=64 a=bf16 pass=backward", NULL, "unsupported pass=backward"},
      {"conv2d n=1 h=9 w=9 c=8 k=8 r=3 s=3", NULL, "image_layout=nchw"},
      {"conv2d n=1 h=9 w=9 c=8 k=8 r=3 s=3 pad=1 image_layout=nchw weight_layout=kcrs", NULL, "unsupported pad"},
  };
  const tw_target *t = tw_target_find("trn2");
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    const tw_problem p = problem_of(t, cases[i].problem);
    tw_schedule s = {0};
    tw_error error = {0};
    char *source;
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
