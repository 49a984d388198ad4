/* Kernels as files that stand alone: the launch is in them, and nvcc alone compiles them. */
#include "test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/files.h"
#include "base/process.h"
#include "target/parse.h"
#include "tilewright/extend/extend.h"

/* What CUDA's files are: the kernel, and a program around it. */
static char *exported(const char *const words[], size_t n, const char *op, const char *steps, char **test) {
  const tw_target *t = tw_target_find("cuda-h200");
  tw_problem p;
  tw_schedule s = {0};
  tw_files files = {0};
  tw_error error = {0};
  char *source;
  if (tw_problem_parse_words(NULL, op, n, words, &p, &error) != TW_OK) fail_msg("%s", error.text);
  assert_int_equal(tw_target_settle(t, &p, &error), TW_OK);
  assert_int_equal(tw_schedule_parse(steps, &s, &error), TW_OK);
  if (tw_target_emit(t, &p, &s, &source, &error) != TW_OK) fail_msg("%s", error.text);
  if (t->exporter->sources(t, &p, &s, source, &files, &error) != TW_OK) fail_msg("%s", error.text);
  assert_int_equal(files.n, 4);
  assert_string_equal(files.file[0].name, "launch.cu");
  assert_string_equal(files.file[1].name, "test.cu");
  char *text = strdup(files.file[0].text);
  if (test) *test = strdup(files.file[1].text);
  tw_files_free(&files);
  free(source);
  return text;
}

static char *exported_backward(char **test) {
  static const char *const words[] = {"b=2", "hq=4", "hkv=2", "sq=700", "sk=900", "d=128", "pass=backward", "a=bf16"};
  return exported(words, 8, "attention", "tile queries=64 consumers=2\n", test);
}

static void the_launch_is_in_the_file(void **state) {
  char *text = exported_backward(NULL);
  static const char *const parts[] = {
      "struct tilewright_operands {\n  const void *Q;",
      "tilewright_workspace = 2928640ull", /* 2 x 4 x 704 rows of 128 sums, a log-sum-exp and D: 4 bytes each */
      "// kernel prepare",
      "// kernel attention",
      "// kernel finish",
      "c.gridDim = dim3(32, 1, 1)", /* 8 tiles of keys, 2 heads, 2 sequences */
  };
  for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
    if (!strstr(text, parts[i])) fail_msg("'%s' is not in the file", parts[i]);
  assert_null(strstr(text, "#include \"")); /* nothing that it would need beside itself */
  free(text);
}

static void nvcc_alone_compiles_it(void **state) {
  if (!tw_process_find("nvcc")) {
    print_message("no nvcc\n");
    skip();
  }
  char *test, *text = exported_backward(&test), *directory, path[600], command[1400];
  tw_error error = {0};
  assert_int_equal(tw_directory_temporary(&directory, &error), TW_OK);
  snprintf(path, sizeof path, "%s/launch.cu", directory);
  assert_int_equal(tw_file_write(path, text, strlen(text), &error), TW_OK);
  snprintf(path, sizeof path, "%s/test.cu", directory);
  assert_int_equal(tw_file_write(path, test, strlen(test), &error), TW_OK);
  snprintf(command, sizeof command,
           "cd %s && nvcc -std=c++17 -gencode=arch=compute_90a,code=sm_90a test.cu -o test >log 2>&1", directory);
  if (system(command) != 0) fail_msg("%s", command);
  snprintf(path, sizeof path, "%s/test", directory);
  assert_int_equal(access(path, X_OK), 0);
  tw_directory_remove(directory);
  free(directory);
  free(test);
  free(text);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(the_launch_is_in_the_file),
      cmocka_unit_test(nvcc_alone_compiles_it),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
