/* test_cdna_run.c - kernels in C for gfx942 and gfx950, from source to a checked result: vector instructions, LDS, barriers,
 * matrix instructions. Skipped without clang-22. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "test.h"

#include "base/files.h"
#include "target/cdna/toolchain.h"
#include "tilewright/target.h"

static const char *const machines[] = {"cdna3", "cdna4"};

static tw_status run(const char *machine, const char *file, size_t n, const char *const words[], tw_error *error) {
  const tw_target *t = tw_target_find(machine);
  tw_problem p;
  tw_case inputs = {0};
  tw_artefact *artefact = NULL;
  tw_measurement measured = {0};
  char path[300], *source = NULL;
  size_t length = 0;
  snprintf(path, sizeof path, "%s/cdna/%s", TW_TEST_DATA, file);
  assert_non_null(t);
  assert_int_equal(tw_file_read(path, 1 << 20, &source, &length, error), TW_OK);
  tw_status status = tw_problem_parse("gemm", n, words, &p, error);
  if (status == TW_OK) status = tw_target_supports(t, &p, error);
  if (status == TW_OK) status = t->build(t, &p, source, length, true, &artefact, error);
  if (status == TW_OK) status = tw_target_case(t, &p, 7, 2, &inputs, error);
  if (status == TW_OK) status = t->check(t, artefact, &inputs, error);
  if (status == TW_OK) status = t->measure(t, artefact, &inputs, NULL, &measured, error);
  if (status == TW_OK) assert_true(measured.cost > 0);
  tw_case_free(&inputs);
  if (artefact) t->release(artefact);
  free(source);
  return status;
}

static void expect_ok(const char *machine, const char *file, size_t n, const char *const words[]) {
  tw_error error = {0};
  if (run(machine, file, n, words, &error) != TW_OK) fail_msg("%s, %s: %s", machine, file, error.text);
}

/* With each set of lane functions: what the CPU lacks falls back to the best it has. */
static void test_f32_through_lds(void **state) {
  static const char *const words[] = {"m=128", "n=64", "k=80", "a=f32", "b=f32", "c=f32"};
  static const char *const isa[] = {"avx512", "avx2", "portable"};
  (void)state;
  for (int m = 0; m < 2; m++)
    for (int i = 0; i < 3; i++) {
      setenv("TILEWRIGHT_CDNA_ISA", isa[i], 1);
      expect_ok(machines[m], "gemm_f32_lds.c", 6, words);
    }
  unsetenv("TILEWRIGHT_CDNA_ISA");
}

static void test_bf16_with_the_matrix_unit(void **state) {
  static const char *const words[] = {"m=128", "n=256", "k=96", "a=bf16", "b=bf16", "c=f32"};
  (void)state;
  for (int m = 0; m < 2; m++) expect_ok(machines[m], "gemm_bf16_mfma.c", 6, words);
}

static void test_a_kernel_that_reads_too_far_is_stopped(void **state) {
  static const char *const words[] = {"m=64", "n=64", "k=24", "a=f32", "b=f32", "c=f32"};
  tw_error error = {0};
  (void)state;
  /* the last step of k goes past A: the header's `require` is what would have refused it */
  assert_int_equal(run("cdna3", "gemm_f32_reads_too_far.c", 6, words, &error), TW_FAILED);
  assert_non_null(strstr(error.text, "past the end of "));
  assert_non_null(strstr(error.text, "kernel.c:"));
}

int main(void) {
  if (cdna_toolchain_find(NULL) != TW_OK) {
    puts("skipped: clang-22 and ld.lld-22 are not here");
    return 77;
  }
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_f32_through_lds),
      cmocka_unit_test(test_bf16_with_the_matrix_unit),
      cmocka_unit_test(test_a_kernel_that_reads_too_far_is_stopped),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
