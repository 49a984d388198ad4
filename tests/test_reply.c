/* test_reply.c - kernels out of replies. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "agent/reply.h"

static const char PARENT[] = "void test() {\n  a();\n  b();  \n  a();\n  c();\n}\n";

static void expect(const char *reply, const char *source) {
  char *out = NULL;
  tw_error error = {0};
  tw_status status = tw_reply_source(reply, PARENT, &out, &error);
  if (status != TW_OK) fail_msg("%s", error.text);
  assert_string_equal(out, source);
  free(out);
}

static void refuse(const char *reply, const char *says) {
  char *out = NULL;
  tw_error error = {0};
  assert_int_equal(tw_reply_source(reply, PARENT, &out, &error), TW_FAILED);
  assert_null(out);
  if (!strstr(error.text, says)) fail_msg("%s", error.text);
  assert_null(strchr(error.text, '\n'));
}

static void the_kernel_is_the_longest_block(void **state) {
  (void)state;
  expect("Sure:\n```c\nint x;\n```\n", "int x;\n");
  expect("```\nint x;\n```", "int x;\n");
  expect("~~~~ c\n```\nint y;\n~~~\n~~~~\nbye", "```\nint y;\n~~~\n");
  expect("First\n```c\nint a;\n```\nthen all of it\n```c\nint a;\nint b;\n```\nand run\n```sh\nmake\n```\n",
         "int a;\nint b;\n");
  expect("```c\nint a;\n```\nor better\n```c\nint b;\n```\n", "int b;\n");
  expect("  ```c\r\nint a;\r\n  ```\r\n", "int a;\r\n");
  expect("````\n```c\nint a;\n````", "```c\nint a;\n");
}

static void code_without_a_fence_is_taken_as_it_is(void **state) {
  (void)state;
  expect("\n// a kernel\nint x;\n", "\n// a kernel\nint x;\n");
  expect("#include <x.h>\n", "#include <x.h>\n");
  expect("void test() {}", "void test() {}");
}

static void what_is_no_kernel_is_refused_in_a_line(void **state) {
  (void)state;
  refuse("", "no code");
  refuse("I cannot do that.", "no code");
  refuse("# Heading\n\nwords", "no code");
  refuse("```c\nint x;", "ends inside");
  refuse("text\n```", "ends inside");
  refuse("```\n \n```", "empty");
  refuse("``` \n```", "empty");
}

static void edits_change_the_parent(void **state) {
  (void)state;
  expect("<<<<<<< SEARCH\n  b();\n=======\n  b2();\n  b3();\n>>>>>>> REPLACE\n",
         "void test() {\n  a();\n  b2();\n  b3();\n  a();\n  c();\n}\n");
  expect("Remove it:\n```\n<<<<<<< SEARCH\n  b();\n=======\n>>>>>>> REPLACE\n```\n",
         "void test() {\n  a();\n  a();\n  c();\n}\n");
  expect("<<<<<<< SEARCH\n  b();\n  a();\n=======\n  x();\n>>>>>>> REPLACE\nand\n<<<<<<< SEARCH\n  x();\n  "
         "c();\n=======\n  y();\n"
         ">>>>>>> REPLACE",
         "void test() {\n  a();\n  y();\n}\n");
  expect("<<<<<<< SEARCH\n}\n=======\n  d();\n}\n>>>>>>> REPLACE\n",
         "void test() {\n  a();\n  b();  \n  a();\n  c();\n  d();\n}\n");
}

static void edits_that_do_not_fit_are_refused_with_their_number(void **state) {
  (void)state;
  refuse("<<<<<<< SEARCH\n  a();\n=======\n  b();\n>>>>>>> REPLACE\n",
         "edit 1: its SEARCH lines stand in several places");
  refuse("<<<<<<< SEARCH\n  nothing();\n=======\n  b();\n>>>>>>> REPLACE\n", "in no place");
  refuse("<<<<<<< SEARCH\n  c();\n=======\n  d();\n>>>>>>> REPLACE\n<<<<<<< SEARCH\n  c();\n=======\n>>>>>>> REPLACE\n",
         "edit 2");
  refuse("<<<<<<< SEARCH\n\n=======\n  b();\n>>>>>>> REPLACE\n", "searches for nothing");
  refuse("<<<<<<< SEARCH\n=======\n  b();\n>>>>>>> REPLACE\n", "searches for nothing");
  refuse("<<<<<<< SEARCH\n  c();\n=======\n  d();\n", "has no end");
  refuse("<<<<<<< SEARCH", "has no end");
  refuse("<<<<<<< SEARCH\n  c();\n}\n\nmore\n=======\n  d();\n>>>>>>> REPLACE\n", "in no place");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(the_kernel_is_the_longest_block),
      cmocka_unit_test(code_without_a_fence_is_taken_as_it_is),
      cmocka_unit_test(what_is_no_kernel_is_refused_in_a_line),
      cmocka_unit_test(edits_change_the_parent),
      cmocka_unit_test(edits_that_do_not_fit_are_refused_with_their_number),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
