/* test_cli.c - the command from outside: output, exit statuses, bad input. Each bad input gives one clear line. */
#include "test.h"

#include <jansson.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/files.h"
#include "base/process.h"
#include "base/strings.h"

static char *folder; /* of this test's own files; wisdom lies there too */

typedef struct outcome {
  int status;
  char *out, *err;
} outcome;

/* `words` as a shell would take them, with $T for the command and $F for the folder. */
static outcome run(const char *words) {
  tw_text script = {0};
  tw_text_add(&script, "T='%s'; F='%s'; cd \"$F\"; { %s; } 2>\"$F/stderr\"", TW_COMMAND, folder, words);
  char *text = tw_text_take(&script), *path = tw_path_join(folder, "stderr");
  tw_process_options options = {
      .argv = (const char *const[]){"sh", "-c", text, NULL}, .output_limit = 1 << 24, .seconds = 120};
  tw_process_result result;
  tw_error error;
  if (tw_process_run(&options, &result, &error) != TW_OK) fail_msg("%s", error.text);
  if (result.timed_out) fail_msg("%s: does not end", words);
  outcome o = {.status = result.exit_status, .out = result.output};
  assert_int_equal(tw_file_read(path, 1 << 20, &o.err, NULL, NULL), TW_OK);
  free(path);
  free(text);
  return o;
}

static void release(outcome *o) {
  free(o->out);
  free(o->err);
}

static void expect_output(const char *words, const char *part) {
  outcome o = run(words);
  if (o.status != 0) fail_msg("%s: status %d, %s", words, o.status, o.err);
  if (!strstr(o.out, part)) fail_msg("%s: '%s' does not hold '%s'", words, o.out, part);
  release(&o);
}

/* One line on standard error that begins with the command's name and holds `part`; nothing on standard output. */
static void expect_failure(const char *words, int status, const char *part) {
  outcome o = run(words);
  if (o.status != status) fail_msg("%s: status %d instead of %d, %s", words, o.status, status, o.err);
  if (strncmp(o.err, "tilewright: ", 12) != 0 || !strstr(o.err, part))
    fail_msg("%s: '%s' does not say '%s'", words, o.err, part);
  if (strchr(o.err, '\n') != o.err + strlen(o.err) - 1) fail_msg("%s: more than one line: %s", words, o.err);
  if (*o.out) fail_msg("%s: prints '%s'", words, o.out);
  release(&o);
}

/* Exactly one JSON object on standard output, whatever the status. The caller releases it. */
static json_t *expect_json(const char *words, int status) {
  outcome o = run(words);
  json_error_t why;
  json_t *object = json_loads(o.out, 0, &why); /* refuses anything behind the object */
  if (o.status != status) fail_msg("%s: status %d, %s", words, o.status, o.err);
  if (!json_is_object(object)) fail_msg("%s: no JSON object: %s: %s", words, why.text, o.out);
  release(&o);
  return object;
}

static void help_and_version_are_printed(void **state) {
  (void)state;
  expect_output("$T --help", "tune");
  expect_output("$T --version", "tilewright 0.");
  expect_output("$T tune --help", "--beam N");
  expect_output("$T run -h", "--trace FILE");
  expect_output("$T ops", "gemm");
  expect_output("$T ops gemm", "a_transposed");
}

static void wrong_usage_is_said_in_one_line(void **state) {
  (void)state;
  expect_failure("$T", 2, "--help");
  expect_failure("$T tun", 2, "did you mean 'tune'");
  expect_failure("$T frobnicate", 2, "no command");
  expect_failure("$T tune", 2, "say what to compute");
  expect_failure("$T tune gem m=1 n=1 k=1 -t x", 2, "did you mean 'gemm'");
  expect_failure("$T tune gemm m=1 n=1 k=1", 2, "-t TARGET");
  expect_failure("$T tune gemm m=1 n=1 k=1 -t nonsense", 2, "no target 'nonsense'");
  expect_failure("$T tune gemm m=1 n=1 k=1 -t", 2, "needs a value");
  expect_failure("$T tune gemm m=1 n=1 k=1 --itrations 3 -t x", 2, "did you mean '--iterations'");
  expect_failure("$T tune gemm m=1 n=1 k=1 --beam 0 -t x", 2, "between 1 and");
  expect_failure("$T tune gemm m=1 n=1 k=1 --seconds soon -t x", 2, "--seconds soon");
  expect_failure("$T run", 2, "which file");
  expect_failure("$T report", 2, "--out");
  expect_failure("$T wisdom", 2, "list");
  expect_failure("$T wisdom list extra", 2, "too many");
  expect_failure("$T ops fft", 2, "no op 'fft'");
}

static void bad_sizes_are_refused(void **state) {
  (void)state;
  expect_failure("$T tune gemm m=0 n=1 k=1 -t x", 2, "m=0 is out of range");
  expect_failure("$T tune gemm m=-4 n=1 k=1 -t x", 2, "m=-4 is out of range");
  expect_failure("$T tune gemm m=four n=1 k=1 -t x", 2, "m='four' is not a whole number");
  expect_failure("$T tune gemm m=1e3 n=1 k=1 -t x", 2, "not a whole number");
  expect_failure("$T tune gemm m=9999999 n=1 k=1 -t x", 2, "out of range");
  expect_failure("$T tune gemm m=1 n=1 -t x", 2, "needs k=");
  expect_failure("$T tune gemm m=1 n=1 k=1 q=3 -t x", 2, "no key 'q'");
  expect_failure("$T tune gemm m=1 n=1 k=1 rellu=1 -t x", 2, "did you mean 'relu'");
}

static void failures_are_json_too(void **state) {
  (void)state;
  json_t *object = expect_json("$T tune gemm m=0 n=1 k=1 -t x --json", 2);
  assert_int_equal(json_integer_value(json_object_get(object, "status")), 2);
  assert_non_null(strstr(json_string_value(json_object_get(object, "error")), "m=0"));
  json_decref(object);
  json_decref(expect_json("$T --json", 2));
  json_decref(expect_json("$T report /nowhere --json", 2));
}

static void lists_are_json(void **state) {
  (void)state;
  json_t *object = expect_json("$T ops --json", 0), *ops = json_object_get(object, "ops");
  assert_string_equal(json_string_value(json_object_get(json_array_get(ops, 0), "name")), "gemm");
  json_decref(object);
  object = expect_json("$T targets --json", 0);
  assert_true(json_is_array(json_object_get(object, "targets")));
  json_decref(object);
  object = expect_json("$T wisdom list --json", 0);
  assert_int_equal(json_array_size(json_object_get(object, "wisdom")), 0);
  json_decref(object);
}

static void files_that_cannot_be_read_are_named(void **state) {
  (void)state;
  expect_failure("$T report /nowhere", 2, "/nowhere/summary.json");
  expect_failure("mkdir -p bad; echo '{' >bad/summary.json; $T report bad", 2, "bad/summary.json");
  expect_failure("mkdir -p bad; echo '{}' >bad/summary.json; $T report bad", 2, "no best kernel");
  expect_failure("$T wisdom import /nowhere", 2, "/nowhere");
}

static void full_disk_under_standard_output_is_said(void **state) {
  (void)state;
  expect_failure("$T ops >/dev/full", 3, "standard output");
  expect_failure("$T ops --json >/dev/full", 3, "standard output");
}

static int make_folder(void **state) {
  (void)state;
  if (tw_directory_temporary(&folder, NULL) != TW_OK) return -1;
  char *wisdom = tw_path_join(folder, "wisdom.json");
  setenv("TILEWRIGHT_WISDOM", wisdom, 1);
  free(wisdom);
  return 0;
}

static int remove_folder(void **state) {
  (void)state;
  tw_directory_remove(folder);
  free(folder);
  return 0;
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(help_and_version_are_printed),
      cmocka_unit_test(wrong_usage_is_said_in_one_line),
      cmocka_unit_test(bad_sizes_are_refused),
      cmocka_unit_test(failures_are_json_too),
      cmocka_unit_test(lists_are_json),
      cmocka_unit_test(files_that_cannot_be_read_are_named),
      cmocka_unit_test(full_disk_under_standard_output_is_said),
  };
  return cmocka_run_group_tests_name("cli", tests, make_folder, remove_folder);
}
