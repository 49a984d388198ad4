/* test_problem.c - `key=value` words: what is taken, what is refused and in which words. */
#include "test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "target/parse.h"
#include "tilewright/extend/op.h"

static tw_status parse(const char *text, tw_problem *problem, tw_error *error) {
  char copy[1024];
  const char *words[64];
  size_t n = 0;
  snprintf(copy, sizeof copy, "%s", text);
  for (char *word = strtok(copy, " "); word && n < 64; word = strtok(NULL, " ")) words[n++] = word;
  return tw_problem_parse_words(NULL, n ? words[0] : "", n ? n - 1 : 0, words + 1, problem, error);
}

static void expect_refused(const char *text, const char *message) {
  tw_problem problem;
  tw_error error = {0};
  assert_int_equal(parse(text, &problem, &error), TW_USAGE);
  if (!strstr(error.text, message)) fail_msg("%s: '%s' does not say '%s'", text, error.text, message);
  assert_null(strchr(error.text, '\n'));
}

static void expect_round_trip(const char *text, const char *printed) {
  tw_problem problem, again;
  tw_error error = {0};
  char buffer[512];
  if (parse(text, &problem, &error) != TW_OK) fail_msg("%s: %s", text, error.text);
  assert_int_equal(tw_problem_print(&problem, buffer, sizeof buffer), strlen(printed));
  assert_string_equal(buffer, printed);
  assert_int_equal(tw_problem_parse(NULL, buffer, &again, &error), TW_OK);
  char twice[512];
  tw_problem_print(&again, twice, sizeof twice);
  assert_string_equal(twice, printed);
}

static void what_is_printed_parses_back(void **state) {
  expect_round_trip("gemm m=1 n=2 k=3", "gemm m=1 n=2 k=3");
  expect_round_trip("gemm k=3 m=1 n=2 relu=0 bias=none scale=1.0", "gemm m=1 n=2 k=3");
  expect_round_trip("gemm m=1048576 n=2 k=3 bias=full relu=1 scale=0.1 a=i8 acc=i32 lda=7",
                    "gemm m=1048576 n=2 k=3 bias=full relu=1 scale=0.1 lda=7 a=i8 acc=i32");
  expect_round_trip("gemm m=1 n=2 k=3 scale=0.30000000000000004", "gemm m=1 n=2 k=3 scale=0.30000000000000004");
}

static void printing_says_how_much_room_it_needs(void **state) {
  tw_problem problem;
  char buffer[8];
  assert_int_equal(parse("gemm m=1 n=2 k=3", &problem, NULL), TW_OK);
  assert_int_equal(tw_problem_print(&problem, NULL, 0), 16);
  assert_int_equal(tw_problem_print(&problem, buffer, sizeof buffer), 16);
  assert_string_equal(buffer, "gemm m=");
}

static void defaults_are_filled_in_and_types_stay_open(void **state) {
  tw_problem problem;
  assert_int_equal(parse("gemm m=1 n=2 k=3 bias=row", &problem, NULL), TW_OK);
  assert_int_equal(tw_problem_int(&problem, "bias"), 1);
  assert_true(tw_problem_real(&problem, "scale") == 1);
  assert_int_equal(tw_problem_type(&problem, "a"), TW_TYPE_NONE);
  assert_false(tw_problem_given(&problem, "a"));
  assert_int_equal(tw_problem_set(&problem, "a", "i8", NULL), TW_OK);
  assert_true(tw_problem_given(&problem, "a"));
  assert_int_equal(tw_problem_type(&problem, "a"), TW_I8);
}

static void bad_words_are_refused_with_a_remedy(void **state) {
  expect_refused("", "unknown op");
  expect_refused("gem m=1 n=1 k=1", "did you mean 'gemm'");
  expect_refused("fft n=8", "tilewright ops");
  expect_refused("gemm m=1 n=1", "requires k=");
  expect_refused("gemm m=1 n=1 k=0", "between 1 and");
  expect_refused("gemm m=-5 n=1 k=1", "between 1 and");
  expect_refused("gemm m=1048577 n=1 k=1", "between 1 and");
  expect_refused("gemm m=99999999999999999999 n=1 k=1", "not a whole number");
  expect_refused("gemm m=12x n=1 k=1", "not a whole number");
  expect_refused("gemm m=1.5 n=1 k=1", "not a whole number");
  expect_refused("gemm m= n=1 k=1", "not a whole number");
  expect_refused("gemm m=0x10 n=1 k=1", "not a whole number");
  expect_refused("gemm m n=1 k=1", "not key=value");
  expect_refused("gemm =5 n=1 k=1", "not key=value");
  expect_refused("gemm m=1 m=2 n=1 k=1", "twice");
  expect_refused("gemm m=1 n=1 k=1 rellu=1", "did you mean 'relu'");
  expect_refused("gemm m=1 n=1 k=1 frobnicate=1", "its keys are m n k");
  expect_refused("gemm m=1 n=1 k=1 relu=yes", "neither 0");
  expect_refused("gemm m=1 n=1 k=1 bias=column", "none|row|full");
  expect_refused("gemm m=1 n=1 k=1 scale=nan", "not a number");
  expect_refused("gemm m=1 n=1 k=1 scale=1e999", "not a number");
  expect_refused("gemm m=1 n=1 k=1 a=int8", "not an element type");
}

static void type_names_go_both_ways(void **state) {
  for (int i = TW_TYPE_NONE + 1; i < TW_TYPE_COUNT; i++) {
    tw_type type;
    assert_true(tw_type_parse(tw_type_name((tw_type)i), &type));
    assert_int_equal(type, i);
    assert_in_range(tw_type_bits((tw_type)i), 2, 32);
  }
  tw_type type;
  assert_false(tw_type_parse("none", &type));
  assert_string_equal(tw_type_name((tw_type)99), "?");
}

/* Old commands, wisdom, journals and sources have old names: they mean the same, and are written with the current
 * ones. */
static void old_names_mean_the_current_ones(void **state) {
  static const char *const pairs[][2] = {
      {"conv2d n=1 h=9 w=9 c=3 k=4 r=3 s=3 layout=kcrs images=nchw",
       "conv2d n=1 h=9 w=9 c=3 k=4 r=3 s=3 weight_layout=kcrs image_layout=nchw"},
      {"conv3d n=1 d=9 h=9 w=9 c=3 k=4 t=3 r=3 s=3 images=ncdhw layout=ktrsc",
       "conv3d n=1 d=9 h=9 w=9 c=3 k=4 t=3 r=3 s=3 image_layout=ncdhw weight_layout=ktrsc"},
      {"gemm m=4 n=8 k=64 quantize=mxfp4 rule=even", "gemm m=4 n=8 k=64 quantize=mxfp4 scale_rule=even"},
      {"gemm m=4 n=8 k=64 arithmetic=fast8 a=e4m3", "gemm m=4 n=8 k=64 arithmetic=fast_accum a=e4m3"},
      {"maxpool n=2 h=9 w=9 pool=3", "pool n=2 h=9 w=9 r=3 s=3"}};
  for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++) {
    tw_problem old, now;
    char text[512];
    assert_int_equal(tw_problem_parse(NULL, pairs[i][0], &old, NULL), TW_OK);
    assert_int_equal(tw_problem_parse(NULL, pairs[i][1], &now, NULL), TW_OK);
    assert_memory_equal(&old.value, &now.value, sizeof old.value);
    tw_problem_print(&old, text, sizeof text);
    assert_string_equal(text, pairs[i][1]);
    for (int j = 0; j < 2; j++) {
      char *renamed = tw_problem_renamed(pairs[i][j]);
      assert_string_equal(renamed, pairs[i][1]);
      free(renamed);
    }
  }
  static const char *const others[] = {"", "gemm", "gemm m= =3  layout=krsc ", "softmax rule=even", "layout=krsc"};
  for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
    char *renamed = tw_problem_renamed(others[i]);
    assert_string_equal(renamed, others[i]);
    free(renamed);
  }
  expect_refused("conv2d n=1 h=9 w=9 c=3 k=4 r=3 s=3 layout=kcrs weight_layout=krsc", "given twice");
  expect_refused("maxpool w=9 s=2 pool=3", "s is given twice");
  expect_refused("gemm m=1 n=1 k=1 layout=krsc", "no key 'layout'");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(what_is_printed_parses_back),
      cmocka_unit_test(printing_says_how_much_room_it_needs),
      cmocka_unit_test(defaults_are_filled_in_and_types_stay_open),
      cmocka_unit_test(bad_words_are_refused_with_a_remedy),
      cmocka_unit_test(type_names_go_both_ways),
      cmocka_unit_test(old_names_mean_the_current_ones),
  };
  return cmocka_run_group_tests_name("problem", tests, NULL, NULL);
}
