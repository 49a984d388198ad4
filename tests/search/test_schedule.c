/* test_schedule.c - schedules as text. */
#include "test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tilewright/schedule.h"

static void a_step_has_one_form_whatever_its_blanks(void **state) {
  tw_schedule s = {0};
  assert_int_equal(tw_schedule_add(&s, "  tile \t m=128  n=64 ", NULL), TW_OK);
  assert_int_equal(s.n, 1);
  assert_string_equal(s.step[0], "tile m=128 n=64");
}

static void what_is_printed_parses_back(void **state) {
  const char *text = "tile m=128\n\n  # a comment\ndouble_buffer a # another\r\n unroll 4";
  tw_schedule s, t;
  char printed[1024], again[1024];
  assert_int_equal(tw_schedule_parse(text, &s, NULL), TW_OK);
  assert_int_equal(s.n, 3);
  size_t length = tw_schedule_print(&s, printed, sizeof printed);
  assert_int_equal(length, strlen(printed));
  assert_string_equal(printed, "tile m=128\ndouble_buffer a\nunroll 4\n");
  assert_int_equal(tw_schedule_parse(printed, &t, NULL), TW_OK);
  tw_schedule_print(&t, again, sizeof again);
  assert_string_equal(printed, again);
}

static void the_empty_schedule_is_a_schedule(void **state) {
  tw_schedule s = {.n = 7};
  char text[4] = "x";
  assert_int_equal(tw_schedule_parse(" \n# nothing\n", &s, NULL), TW_OK);
  assert_int_equal(s.n, 0);
  assert_int_equal(tw_schedule_print(&s, text, sizeof text), 0);
  assert_string_equal(text, "");
}

static void files_of_other_kinds_are_refused(void **state) {
  char many[70 * 6 + 1] = "";
  for (int i = 0; i < 70; i++) strcat(many, "tile\n");
  const char *const bad[] = {"{\"steps\": 1}",
                             "[1]",
                             "/* c */",
                             "// c\ntile",
                             "#include <x>\n\nvoid f() {\n}",
                             "<svg/>",
                             "a,b\n1,2\n",
                             "\x7f"
                             "ELF\2",
                             "\xef\xbb\xbftile",
                             "m=1",
                             "name: x",
                             "tile 1\n- x",
                             "2 tile",
                             "%PDF-1.4",
                             many};
  for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
    tw_schedule s = {.n = 3};
    tw_error error = {0};
    if (tw_schedule_parse(bad[i], &s, &error) != TW_USAGE) fail_msg("taken: %s", bad[i]);
    assert_int_equal(s.n, 0);
    assert_non_null(strstr(error.text, "of the schedule"));
    assert_null(strstr(error.text, "no room"));
  }
}

static void printing_says_how_much_room_it_needs_and_never_exceeds_what_it_has(void **state) {
  tw_schedule s = {0};
  tw_schedule_add(&s, "tile 1", NULL);
  tw_schedule_add(&s, "unroll 2", NULL);
  for (size_t size = 0; size <= 20; size++) {
    char *text = malloc(size + 1); /* the sanitizer guards what is behind it */
    text[size] = 'x';
    assert_int_equal(tw_schedule_print(&s, text, size), 16);
    assert_int_equal(text[size], 'x');
    if (size > 0) {
      assert_true(strlen(text) < size);
      assert_memory_equal(text, "tile 1\nunroll 2\n", strlen(text));
    }
    free(text);
  }
}

static void bad_steps_are_refused_in_a_line(void **state) {
  char longest[TW_STEP_MAX + 1];
  memset(longest, 'x', sizeof longest);
  longest[TW_STEP_MAX] = '\0';
  const char *bad[] = {"", "   ", longest, "two\nlines", "a # comment", "bell \a"};
  for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
    tw_schedule s = {0};
    tw_error error = {0};
    assert_int_equal(tw_schedule_add(&s, bad[i], &error), TW_USAGE);
    assert_int_equal(s.n, 0);
    assert_true(strlen(error.text) > 10 && !strchr(error.text, '\n'));
  }
  longest[TW_STEP_MAX - 1] = '\0';
  tw_schedule s = {0};
  assert_int_equal(tw_schedule_add(&s, longest, NULL), TW_OK);
  assert_string_equal(s.step[0], longest);
}

static void a_parse_error_names_the_line_and_leaves_nothing(void **state) {
  tw_schedule s;
  tw_error error;
  assert_int_equal(tw_schedule_parse("tile 1\n\nbell \a\n", &s, &error), TW_USAGE);
  assert_non_null(strstr(error.text, "line 3"));
  assert_int_equal(s.n, 0);
}

static void a_full_schedule_takes_no_more(void **state) {
  tw_schedule s = {0};
  tw_error error;
  for (int i = 0; i < TW_STEPS_MAX; i++) assert_int_equal(tw_schedule_add(&s, "tile", NULL), TW_OK);
  assert_int_equal(tw_schedule_add(&s, "tile", &error), TW_USAGE);
  assert_int_equal(s.n, TW_STEPS_MAX);
  assert_non_null(strstr(error.text, "64"));
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_step_has_one_form_whatever_its_blanks),
      cmocka_unit_test(what_is_printed_parses_back),
      cmocka_unit_test(the_empty_schedule_is_a_schedule),
      cmocka_unit_test(files_of_other_kinds_are_refused),
      cmocka_unit_test(printing_says_how_much_room_it_needs_and_never_exceeds_what_it_has),
      cmocka_unit_test(bad_steps_are_refused_in_a_line),
      cmocka_unit_test(a_parse_error_names_the_line_and_leaves_nothing),
      cmocka_unit_test(a_full_schedule_takes_no_more),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
