/* test_export.c - programs around exported kernels: a kernel that is right is called right, one that is not wrong.
 * host.cpp runs here, with a runtime of the host (data/export/hip); CUDA's test.cu has the same main(). */
#include "test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/files.h"
#include "export/export.h"
#include "tilewright/extend/extend.h"

static tw_problem problem_of(const char *text) {
  tw_problem p;
  tw_error error = {0};
  if (tw_problem_parse(NULL, text, &p, &error) != TW_OK) fail_msg("%s", error.text);
  return p;
}

/* The files of the plainest kernel in a new folder. */
static char *exported(const char *target, const char *text) {
  const tw_target *t = tw_target_find(target);
  tw_problem p = problem_of(text);
  const tw_schedule none = {0};
  tw_files files = {0};
  tw_error error = {0};
  char *source, *folder, path[600];
  assert_int_equal(tw_target_settle(t, &p, &error), TW_OK);
  if (tw_target_emit(t, &p, &none, &source, &error) != TW_OK) fail_msg("%s", error.text);
  if (t->exporter->sources(t, &p, &none, source, &files, &error) != TW_OK) fail_msg("%s", error.text);
  assert_int_equal(tw_directory_temporary(&folder, &error), TW_OK);
  for (size_t i = 0; i < files.n; i++) {
    const size_t size = files.file[i].size ? files.file[i].size : strlen(files.file[i].text);
    snprintf(path, sizeof path, "%s/%s", folder, files.file[i].name);
    assert_int_equal(tw_file_write(path, files.file[i].text, size, &error), TW_OK);
    if (!files.file[i].size) assert_null(strstr(files.file[i].text, "@P")); /* all is filled in */
  }
  tw_files_free(&files);
  free(source);
  return folder;
}

/* Builds and runs host.cpp with a kernel as `words` say; what it prints. */
static void run(const char *folder, const char *words, int wrong, const char *says) {
  char command[2048], *text;
  size_t length;
  tw_error error = {0};
  snprintf(command, sizeof command,
           "cd %s && { g++ -std=c++17 -O1 -w -I %s/export %s -DWRONG=%d host.cpp -o host && ./host; } >output 2>&1",
           folder, TW_TEST_DATA, words, wrong);
  const int status = system(command);
  snprintf(command, sizeof command, "%s/output", folder);
  assert_int_equal(tw_file_read(command, 1 << 20, &text, &length, &error), TW_OK);
  if (!strstr(text, says) || (status == 0) != !wrong) fail_msg("'%s' is not in:\n%s", says, text);
  free(text);
}

static void a_program_tells_right_from_wrong(void **state) {
  char *real =
           exported("cdna4", "gemm m=130 n=132 k=40 a=bf16 b=bf16 c=bf16"), /* 17,160 elements: not each is compared */
      *whole = exported("cdna4", "gemm m=17 n=24 k=40 a=i8 b=i8 c=i32");
  static const char real_words[] = "-DM=130 -DN=132 -DK=40 -DA_TYPE=bf16 -DC_TYPE=bf16 -DSUM=float",
                    whole_words[] = "-DM=17 -DN=24 -DK=40 -DA_TYPE=int8_t -DC_TYPE=int32_t -DSUM=int";
  run(real, real_words, 0, "right: 1");
  run(real, real_words, 1, "WRONG: element 17159 of C, counted in memory, was not written");
  run(whole, whole_words, 0, "right: every element\n1000 us each, one behind the other\n");
  run(whole, whole_words, 2, "WRONG: element 200 of C");
  run(whole, whole_words, 3, "WRONG: A was written, and is an input");
  tw_directory_remove(real);
  tw_directory_remove(whole);
  free(real);
  free(whole);
}

/* Files stay small, and what is compared follows from what is in them. */
static void large_inputs_repeat(void **state) {
#ifdef __SANITIZE_ADDRESS__
  skip(); /* drawing is slow there */
#endif
  const tw_problem p = problem_of("softmax rows=9000 cols=4096 a=bf16");
  tw_export e;
  tw_error error = {0};
  if (tw_export_make(&p, false, &e, &error) != TW_OK) fail_msg("%s", error.text);
  const size_t given = e.in_file[0].given_bytes, bytes = e.data.operand[0].bytes;
  const char *data = e.data.buffer[0];
  assert_true(bytes > (size_t)64 << 20 && given < (size_t)9 << 20 && e.file.length < (size_t)10 << 20);
  assert_memory_equal(e.file.data + e.in_file[0].given_at, data, given);
  assert_memory_equal(data + given, data, given);
  assert_memory_equal(data + bytes - 100, data + (bytes - 100) % given, 100);
  assert_true(e.in_file[1].places >= 64);
  double sum = 0; /* of values that are compared: probabilities */
  for (size_t i = 0; i < e.in_file[1].places; i++) {
    const double *triple = (const double *)(const void *)(e.file.data + e.in_file[1].expected_at) + 3 * i;
    assert_true(triple[0] < 9000.0 * 4096 && triple[1] >= 0 && triple[1] <= 1 && triple[2] > 0 && triple[2] < 0.01);
    sum += triple[1];
  }
  assert_true(sum > 0);
  tw_export_free(&e);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_program_tells_right_from_wrong),
      cmocka_unit_test(large_inputs_repeat),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
