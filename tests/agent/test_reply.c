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
  expect("\n// a kernel\nint x;\n", "\n// a kernel\nint x;\n");
  expect("#include <x.h>\n", "#include <x.h>\n");
  expect("void test() {}", "void test() {}");
}

static void what_is_no_kernel_is_refused_in_a_line(void **state) {
  refuse("", "no code");
  refuse("I cannot do that.", "no code");
  refuse("# Heading\n\nwords", "no code");
  refuse("```c\nint x;", "ends inside");
  refuse("text\n```", "ends inside");
  refuse("```\n \n```", "empty");
  refuse("``` \n```", "empty");
}

static void edits_change_the_parent(void **state) {
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
  refuse("<<<<<<< SEARCH\n  a();\n=======\n  b();\n>>>>>>> REPLACE\n", "edit 1: SEARCH lines match several places");
  refuse("<<<<<<< SEARCH\n  nothing();\n=======\n  b();\n>>>>>>> REPLACE\n", "is not in the kernel");
  refuse("<<<<<<< SEARCH\n  c();\n=======\n  d();\n>>>>>>> REPLACE\n<<<<<<< SEARCH\n  c();\n=======\n>>>>>>> REPLACE\n",
         "edit 2");
  refuse("<<<<<<< SEARCH\n\n=======\n  b();\n>>>>>>> REPLACE\n", "SEARCH is empty");
  refuse("<<<<<<< SEARCH\n=======\n  b();\n>>>>>>> REPLACE\n", "SEARCH is empty");
  refuse("<<<<<<< SEARCH\n  c();\n=======\n  d();\n", "has no end");
  refuse("<<<<<<< SEARCH", "has no end");
  refuse("<<<<<<< SEARCH\n  c();\n}\n\nmore\n=======\n  d();\n>>>>>>> REPLACE\n", "is not in the kernel");
}

/* Models copy a part of a line, or indent otherwise. What stands in one place only is meant. */
static void a_search_may_be_a_part_of_a_line_or_have_other_blanks(void **state) {
  expect("<<<<<<< SEARCH\nb ( ) ;\n=======\n  b2();\n>>>>>>> REPLACE\n",
         "void test() {\n  a();\n  b2();\n  a();\n  c();\n}\n");
  expect("<<<<<<< SEARCH\n\n\tb();\n a();\n\n=======\n  x();\n>>>>>>> REPLACE\n",
         "void test() {\n  a();\n  x();\n  c();\n}\n");
  expect("<<<<<<< SEARCH\n test() \n=======\nother(int x)\n>>>>>>> REPLACE\n",
         "void other(int x) {\n  a();\n  b();  \n  a();\n  c();\n}\n");
  expect("<<<<<<< SEARCH\ntest() {\n  a();\n=======\ntest() {\n>>>>>>> REPLACE\n",
         "void test() {\n  b();  \n  a();\n  c();\n}\n");
  refuse("<<<<<<< SEARCH\na();\n=======\nx();\n>>>>>>> REPLACE\n", "match several places");
  refuse("<<<<<<< SEARCH\n();\n=======\nx();\n>>>>>>> REPLACE\n", "match several places");
  refuse("<<<<<<< SEARCH\n  b();\n  nothing(1);\n=======\n  x();\n>>>>>>> REPLACE\n",
         "edit 1: SEARCH text not found: its line 2, '  nothing(1);', is not in the kernel");
}

static void edits_may_be_json(void **state) {
  static const char *const result = "void test() {\n  a();\n  b2();\n  a();\n  d();\n}\n";
  expect("[{\"search\": \"  b();\", \"replace\": \"  b2();\"}, {\"search\": \"c();\", \"replace\": \"  d();\"}]",
         result);
  expect("Here:\n```json\n{\"edits\": [{\"old_string\": \"  b();\\n\", \"new_string\": \"  b2();\\n\"},\n"
         " {\"old\": \"c()\", \"new\": \"d()\"}]}\n```\n",
         result);
  expect("{\"search\": \"  a();\\n  b();\\n\", \"replace\": \"\"}", "void test() {\n  a();\n  c();\n}\n");
  refuse("{\"tool_calls\":[{\"name\":\"edit_file\",\"arguments\":{\"path\":\"kernel.c\"}}]}", "no code");
  refuse("[{\"search\": \"x\"", "no code");
  refuse("[{\"search\": \"\", \"replace\": \"\"}]", "SEARCH is empty");
  expect("```c\n{ int x[] = {1}; }\n```\n", "{ int x[] = {1}; }\n");
}

static void edits_may_be_a_diff(void **state) {
  expect("The diff:\n```diff\n--- kernel.c\n+++ kernel.c\n@@ -2,3 +2,3 @@\n   a();\n-  b();\n+  b2();\n   a();\n```\n",
         "void test() {\n  a();\n  b2();\n  a();\n  c();\n}\n");
  expect("--- a/k\n+++ b/k\n@@ -1 +1,2 @@\n-void test() {\n+void f() {\n+  z();\n@@ -5,2 +6 @@\n-  c();\n }\n\\ No "
         "newline\n",
         "void f() {\n  z();\n  a();\n  b();  \n  a();\n}\n");
  refuse("@@ -2 +2 @@\n-  a();\n+  x();\n", "edit 1: SEARCH lines match several places");
  refuse("@@ -2 +2 @@\n+  x();\n", "SEARCH is empty");
  refuse("@@", "no code");
}

static void a_byte_order_mark_is_no_part_of_a_reply(void **state) {
  expect("\xef\xbb\xbf```c\nint x;\n```\n", "int x;\n");
  expect("```c\n\xef\xbb\xbfint x;\n```\n", "int x;\n");
  expect("\xef\xbb\xbf<<<<<<< SEARCH\n  b();\n=======\n  b2();\n>>>>>>> REPLACE\n",
         "void test() {\n  a();\n  b2();\n  a();\n  c();\n}\n");
  expect("\xef\xbb\xbf// all of it\nint x;\n", "// all of it\nint x;\n");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(the_kernel_is_the_longest_block),
      cmocka_unit_test(code_without_a_fence_is_taken_as_it_is),
      cmocka_unit_test(what_is_no_kernel_is_refused_in_a_line),
      cmocka_unit_test(edits_change_the_parent),
      cmocka_unit_test(a_search_may_be_a_part_of_a_line_or_have_other_blanks),
      cmocka_unit_test(edits_may_be_json),
      cmocka_unit_test(edits_may_be_a_diff),
      cmocka_unit_test(a_byte_order_mark_is_no_part_of_a_reply),
      cmocka_unit_test(edits_that_do_not_fit_are_refused_with_their_number),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
