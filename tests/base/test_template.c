/* test_template.c - templates with slots: prompts and kernels. */
#include "test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/template.h"

static const tw_slot SLOTS[] = {{"name", "Gemmini"}, {"empty", ""}, {"none", NULL}, {"more", "{{name}}"}};

static void fills(const char *template, const char *text) {
  char *out;
  tw_error error = {0};
  if (tw_template_fill(template, 4, SLOTS, &out, &error) != TW_OK) fail_msg("%s", error.text);
  assert_string_equal(out, text);
  free(out);
}

static void slots_and_sections_are_filled(void **state) {
  fills("for {{name}}{{empty}}.", "for Gemmini.");
  fills("a {{#name}}is {{name}}{{/name}}{{#none}}not{{/none}}{{^none}} there{{/none}}", "a is Gemmini there");
  fills("one\n{{#name}}\ntwo\n  {{#empty}}\nthree {{name}}\n  {{/empty}}\n{{/name}}\nfour\n", "one\ntwo\nfour\n");
  fills("{{#empty}}{{#name}}x{{/name}}{{^name}}y{{/name}}{{/empty}}z", "z");
  fills("{{more}}", "{{name}}"); /* what fills a slot is no template */
  fills("vec16{{0, 1}} {{name}}", "vec16{{0, 1}} Gemmini");
}

static void comments_are_left_out(void **state) {
  fills("a{{! b }}c {{!{{name}} }}", "ac  }}");
  fills("{{! one\n two: {name}\n}}\nthree\n", "three\n");
}

static void else_is_the_other_case(void **state) {
  fills("{{#name}}a{{else}}b{{/name}} {{#none}}a{{else}}b{{/none}} {{^none}}a{{else}}b{{/none}}", "a b a");
  fills("  {{#none}}\na\n  {{else}}\n  b\n  {{/none}}\nc\n", "  b\nc\n");
  /* In a section that is left out, both cases are. */
  fills("{{#none}}{{#name}}a{{else}}b{{/name}}{{else}}{{#none}}c{{else}}d{{/none}}{{/none}}", "d");
}

static void bad_templates_are_refused_with_their_line(void **state) {
  const struct {
    const char *template, *says;
  } bad[] = {{"\n{{nothing}}", "line 2: unknown slot 'nothing'"},
             {"{{#name}}", "{{#name}} does not close"},
             {"{{/name}}", "closes a section that is not open"},
             {"{{#name}}{{/empty}}", "closes a section that is not open"},
             {"{{#name}}\n{{#none}}{{/none}}\n", "{{#name}} does not close"},
             {"{{#none}}{{nothing}}{{/none}}", "line 1: unknown slot 'nothing'"},
             {"\n{{else}}", "line 2: {{else}} is outside of a section, or is the section's second"},
             {"{{#name}}{{else}}{{else}}{{/name}}", "{{else}} is outside of a section, or is the section's second"},
             {"{{#name}}{{#name}}{{#name}}{{#name}}{{#name}}{{#name}}{{#name}}{{#name}}{{#name}}", "deeper than 8"},
             {"\n{{> other.in}}", "line 2: unknown template 'other.in' to include"},
             {"{{> ../up}}", "line 1"},
             {"\n{{! no end", "line 2"},
             {"\n\n{{ name }}", "line 3"},
             {"{{name", "line 1"},
             {"{{", "line 1"}};
  for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
    char *out;
    tw_error error = {0};
    assert_int_equal(tw_template_fill(bad[i].template, 4, SLOTS, &out, &error), TW_USAGE);
    assert_null(out);
    assert_non_null(strstr(error.text, bad[i].says));
  }
}

/* ---- templates that are part of the library ---- */

static void refuses(const char *file, tw_slots *s, const char *says) {
  tw_text t = {0};
  tw_error error = {0};
  assert_int_not_equal(tw_template_add(&t, file, s, &error), TW_OK);
  if (!strstr(error.text, says)) fail_msg("%s", error.text);
  tw_text_free(&t);
  tw_slots_free(s);
}

static void set_rotary(tw_slots *s) {
  static const char *const text[] = {"header", "type", "threads", "pair", "interleaved", "once", "pitch"};
  for (size_t i = 0; i < sizeof text / sizeof *text; i++) tw_slots_text(s, text[i], NULL);
  tw_slots_number(s, "heads", -3);
}

static void slots_of_their_own_fill_embedded_templates(void **state) {
  tw_slots s = {0};
  tw_text t = {0};
  tw_error error = {0};
  set_rotary(&s);
  if (tw_template_add(&t, "gpu/common/kernels/rotary.cuh.in", &s, &error) != TW_OK) fail_msg("%s", error.text);
  assert_non_null(strstr(t.data, "HEADS = -3, THREADS = \n"));
  assert_null(strstr(t.data, "{{"));
  tw_text_free(&t);
  tw_slots_free(&s);
}

static void every_kind_of_slot_has_its_text(void **state) {
  tw_slots s = {0};
  tw_text moved = {0};
  tw_text_add_string(&moved, "moved\n");
  tw_slots_text(&s, "a", "x");
  tw_slots_text(&s, "b", NULL);
  tw_slots_format(&s, "c", "%d-%s", 1, "y");
  tw_slots_number_or_empty(&s, "d", 0);
  tw_slots_number_or_empty(&s, "e", INT64_MIN);
  tw_slots_flag(&s, "f", false);
  tw_slots_flag(&s, "g", true);
  tw_slots_take(&s, "h", &moved);
  static const char *const texts[] = {"x", "", "1-y", "", "-9223372036854775808", "", "1", "moved"};
  assert_int_equal(s.n, 8);
  assert_false(s.failed);
  for (size_t i = 0; i < s.n; i++) assert_string_equal(s.texts.data + s.slot[i].at, texts[i]);
  assert_int_equal(moved.length, 0);
  tw_slots_free(&s);
}

static void errors_name_the_file_and_the_line(void **state) {
  tw_slots s = {0};
  char expected[40];
  refuses("gpu/common/kernels/none.in", &s, "template gpu/common/kernels/none.in: it is not part of this build");
  refuses("gpu/common/kernels/rotary.cuh.in", &s,
          "template gpu/common/kernels/rotary.cuh.in: line 2: unknown slot 'heads'");
  refuses("gpu/common/kernels/softmax.cuh.in", &s, "softmax.cuh.in: row_launch.cuh.in: line 1: unknown slot 'op'");
  set_rotary(&s);
  tw_slots_text(&s, "heads", "again");
  refuses("gpu/common/kernels/rotary.cuh.in", &s, "slot 'heads' is set twice");
  static char names[TW_SLOTS_MAX + 1][8];
  s = (tw_slots){0};
  for (int i = 0; i <= TW_SLOTS_MAX; i++) {
    snprintf(names[i], sizeof names[i], "s%d", i);
    tw_slots_number(&s, names[i], i);
  }
  snprintf(expected, sizeof expected, "more than %d are set", TW_SLOTS_MAX);
  refuses("gpu/common/kernels/rotary.cuh.in", &s, expected);
}

static void more_slots_than_there_is_room_for_are_refused(void **state) {
  static tw_slot many[TW_SLOTS_MAX + 1];
  static char names[TW_SLOTS_MAX + 1][8];
  char *out, expected[40];
  tw_error error = {0};
  snprintf(expected, sizeof expected, "%d slots exceed %d", TW_SLOTS_MAX + 1, TW_SLOTS_MAX);
  for (int i = 0; i <= TW_SLOTS_MAX; i++) {
    snprintf(names[i], sizeof names[i], "s%d", i);
    many[i] = (tw_slot){names[i], names[i]};
  }
  assert_int_equal(tw_template_fill("{{s0}} {{s41}} {{s119}}", TW_SLOTS_MAX, many, &out, &error), TW_OK);
  assert_string_equal(out, "s0 s41 s119");
  free(out);
  assert_int_equal(tw_template_fill("{{s0}}", TW_SLOTS_MAX + 1, many, &out, &error), TW_USAGE);
  assert_null(out);
  assert_non_null(strstr(error.text, expected));
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(slots_and_sections_are_filled),
      cmocka_unit_test(comments_are_left_out),
      cmocka_unit_test(else_is_the_other_case),
      cmocka_unit_test(bad_templates_are_refused_with_their_line),
      cmocka_unit_test(more_slots_than_there_is_room_for_are_refused),
      cmocka_unit_test(slots_of_their_own_fill_embedded_templates),
      cmocka_unit_test(every_kind_of_slot_has_its_text),
      cmocka_unit_test(errors_name_the_file_and_the_line),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
