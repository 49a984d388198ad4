/* test_template.c - templates with slots: prompts and kernels. */
#include "test.h"

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
  (void)state;
  fills("for {{name}}{{empty}}.", "for Gemmini.");
  fills("a {{#name}}is {{name}}{{/name}}{{#none}}not{{/none}}{{^none}} there{{/none}}", "a is Gemmini there");
  fills("one\n{{#name}}\ntwo\n  {{#empty}}\nthree {{name}}\n  {{/empty}}\n{{/name}}\nfour\n", "one\ntwo\nfour\n");
  fills("{{#empty}}{{#name}}x{{/name}}{{^name}}y{{/name}}{{/empty}}z", "z");
  fills("{{more}}", "{{name}}"); /* what fills a slot is no template */
}

static void bad_templates_are_refused_with_their_line(void **state) {
  (void)state;
  const struct {
    const char *template, *says;
  } bad[] = {{"\n{{nothing}}", "line 2: unknown slot 'nothing'"},
             {"{{#name}}", "{{#name}} does not close"},
             {"{{/name}}", "closes what is not open"},
             {"{{#name}}{{/empty}}", "closes what is not open"},
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

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(slots_and_sections_are_filled),
      cmocka_unit_test(bad_templates_are_refused_with_their_line),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
