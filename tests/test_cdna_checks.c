/* test_cdna_checks.c - each check finds the mistake of a kernel made for it (tests/data/cdna/checks.c), on the line where it
 * is, and nothing in the kernel beside it, nor in those that are honest. Skipped without clang-22. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "test.h"

#include "base/files.h"
#include "target/cdna/checks/checks.h"
#include "target/cdna/toolchain.h"

enum { GROUPS = 3, BLOCK = 128, ITEMS = GROUPS * BLOCK };

static char *object[CDNA_ARCHES];
static cdna_object code[CDNA_ARCHES];

static int compile(void **state) {
  char path[300], *source;
  size_t length, size;
  tw_error error = {0};
  (void)state;
  snprintf(path, sizeof path, "%s/cdna/checks.c", TW_TEST_DATA);
  if (tw_file_read(path, 1 << 20, &source, &length, &error) != TW_OK) return 1;
  for (int arch = 0; arch < CDNA_ARCHES; arch++)
    if (cdna_compile((cdna_arch)arch, source, length, true, NULL, &object[arch], &size, &error) != TW_OK ||
        cdna_object_read(object[arch], size, "checks", &code[arch], &error) != TW_OK) {
      fprintf(stderr, "%s\n", error.text);
      return 1;
    }
  free(source);
  return 0;
}

static int release(void **state) {
  (void)state;
  for (int arch = 0; arch < CDNA_ARCHES; arch++) {
    cdna_object_free(&code[arch]);
    free(object[arch]);
  }
  return 0;
}

/* The findings of a kernel, in words. */
static tw_inspection findings_of(int arch, const char *name, const char *checks, int jobs) {
  static int in[ITEMS], out[ITEMS];
  const cdna_kernel *k;
  cdna_memory m = {0};
  cdna_checker *c;
  tw_error error = {0};
  tw_inspection result = {.checks = checks};
  for (int i = 0; i < ITEMS; i++) in[i] = i, out[i] = 0x5a5a5a5a;
  assert_int_equal(cdna_object_kernel(&code[arch], name, &k, &error), TW_OK);
  const uint64_t to = cdna_memory_add(&m, out, sizeof out, true, "out");
  cdna_memory_undefined(&m, 0, 0);
  const uint64_t block[] = {to, cdna_memory_add(&m, in, sizeof in, false, "in")};
  assert_int_equal(cdna_checker_new(&result, &c, &error), TW_OK);
  const cdna_launch launch = {.grid = {GROUPS, 1, 1},
                              .block = {BLOCK, 1, 1},
                              .lds = 1024,
                              .arguments = block,
                              .argument_bytes = sizeof block,
                              .jobs = jobs,
                              .observer = c ? cdna_checker_start(c) : NULL};
  if (cdna_run(&code[arch], k, &launch, &m, NULL, &error) != TW_OK) fail_msg("%s: %s", name, error.text);
  if (c) cdna_checker_report(c, &code[arch], k, &result);
  cdna_checker_free(c);
  return result;
}

static const struct mistake {
  const char *kernel, *check, *words;
  int errors;
} mistakes[] = {
    {"register_stored", "uninitialized", "reads v60, which nothing has written: it decides what is stored in memory",
     1},
    {"scalar_branch", "uninitialized", "reads s90, which nothing has written: it decides where the wave goes on", 1},
    {"address", "uninitialized", "reads v60, which nothing has written: it decides an address", 1},
    {"lds_read", "uninitialized", "reads LDS at", 1},
    {"memory_read", "uninitialized", "of out (1536 bytes), which nothing has written: it decides what is stored", 1},
    {"race", "races", "which wave 0 writes in ds_write_b32", 1},
    {"write_not_waited", "races", "s_waitcnt lgkmcnt is missing before the barrier", 1},
    {"load_not_waited", "waits", "reads v60, which global_load_dword", 1},
    {"eighth_of_70", "waits", "reads v67, which global_load_dword", 1},
    {"scalar_not_waited", "waits", "reads s90, which s_load_dword", 1},
    {"direct_not_waited", "races", "s_waitcnt vmcnt is missing", 1},
    {"matrix_too_early", "hazards", "reads v79 10 wait states behind v_mfma_f32_32x32x8_f16", 1},
    {"lane_too_early", "hazards", "reads s90 2 wait states behind v_readfirstlane_b32", 1},
    {"transcendental_too_early", "hazards", "reads v60 0 wait states behind v_exp_f32", 1},
    {"misaligned", "alignment", "which is no multiple of 4", 1},
    {"scalar_misaligned", "alignment", "the lowest bits are ignored", 1},
    {"divergent", "barriers", "a barrier in divergent code: 32 of the wave's 64 lanes are off", 1},
    {"one_wave_at_a_barrier", "barriers", "wave 1 has ended after 0", 1},
    {"overlap", "overlaps", "than workgroup", 1},
    {"defect", "defects", "op_sel:[0,1,0]", 0},
};

static void expect(const tw_inspection *i, const struct mistake *m) {
  if (!i->findings || !strstr(i->findings, m->words) || strncmp(i->findings, m->check, strlen(m->check)) != 0)
    fail_msg("%s: expected %s: ... %s, found: %s", m->kernel, m->check, m->words, i->findings);
  /* on a line of the kernel, by one wave of one workgroup */
  assert_non_null(strstr(i->findings, "(kernel.c:"));
  assert_non_null(strstr(i->findings, "workgroup "));
  for (const char *line = i->findings; *line; line = strchr(line, '\n') + 1)
    if (strncmp(line, m->check, strlen(m->check)) != 0) fail_msg("%s: also found: %s", m->kernel, line);
  assert_int_equal(i->n_errors > 0, m->errors);
}

static void test_each_mistake_is_found_alone(void **state) {
  (void)state;
  for (int arch = 0; arch < CDNA_ARCHES; arch++)
    for (size_t m = 0; m < sizeof mistakes / sizeof *mistakes; m++) {
      if (!strcmp(mistakes[m].check, "defects") && arch == CDNA3) continue;
      tw_inspection i = findings_of(arch, mistakes[m].kernel, "all", 1);
      expect(&i, &mistakes[m]);
      tw_inspection_free(&i);
      /* the same by its own check, on several threads; nothing by the others */
      tw_inspection alone = findings_of(arch, mistakes[m].kernel, mistakes[m].check, 2);
      expect(&alone, &mistakes[m]);
      tw_inspection_free(&alone);
      for (int c = 0; c < CDNA_CHECKS; c++) {
        if (!strcmp(cdna_check_name((cdna_check)c), mistakes[m].check)) continue;
        tw_inspection other = findings_of(arch, mistakes[m].kernel, cdna_check_name((cdna_check)c), 1);
        if (other.findings && *other.findings) fail_msg("%s: %s", mistakes[m].kernel, other.findings);
        tw_inspection_free(&other);
      }
    }
}

static void test_nothing_is_found_without_mistakes(void **state) {
  int n = 0;
  (void)state;
  for (int arch = 0; arch < CDNA_ARCHES; arch++)
    for (size_t k = 0; k < code[arch].n_kernels; k++) {
      const char *name = code[arch].kernel[k].name;
      if (strncmp(name, "ok_", 3) != 0) continue;
      tw_inspection i = findings_of(arch, name, "all", 1);
      if (!i.findings || *i.findings) fail_msg("%s: %s", name, i.findings);
      tw_inspection_free(&i);
      n++;
    }
  assert_true(n > 25);
}

/* Kernels of the library's users, as the compiler makes them. */
static void test_honest_kernels_have_no_findings(void **state) {
  static const struct { const char *file, *a; } kernels[] = {{"gemm_f32_lds.c", "f32"}, {"gemm_bf16_mfma.c", "bf16"}};
  (void)state;
  for (int m = 0; m < 4; m++) {
    const tw_target *t = tw_target_find(m & 1 ? "cdna4" : "cdna3");
    char path[300], *source, types[3][16];
    size_t length;
    tw_error error = {0};
    tw_problem p;
    tw_case inputs = {0};
    tw_artefact *artefact = NULL;
    tw_inspection i = {.checks = "all"};
    static const char keys[] = "abc";
    for (int k = 0; k < 3; k++) snprintf(types[k], sizeof types[k], "%c=%s", keys[k], k < 2 ? kernels[m / 2].a : "f32");
    const char *words[] = {"m=128", "n=128", "k=48", types[0], types[1], types[2]};
    snprintf(path, sizeof path, "%s/cdna/%s", TW_TEST_DATA, kernels[m / 2].file);
    if (m / 2) words[2] = "k=96";
    assert_int_equal(tw_file_read(path, 1 << 20, &source, &length, &error), TW_OK);
    tw_status status = tw_problem_parse("gemm", 6, words, &p, &error);
    if (status == TW_OK) status = tw_target_supports(t, &p, &error);
    if (status == TW_OK) status = t->build(t, &p, source, length, true, &artefact, &error);
    if (status == TW_OK) status = t->inspect(t, artefact, &i, &error);
    if (status == TW_OK) status = tw_target_case(t, &p, 7, 2, &inputs, &error);
    if (status == TW_OK) status = t->check(t, artefact, &inputs, &error);
    if (status != TW_OK) fail_msg("%s: %s", kernels[m / 2].file, error.text);
    if (!i.findings || *i.findings) fail_msg("%s: %s", kernels[m / 2].file, i.findings);
    tw_inspection_free(&i);
    tw_case_free(&inputs);
    t->release(artefact);
    free(source);
  }
}

static void test_lists_of_checks(void **state) {
  unsigned checks;
  tw_error error = {0};
  (void)state;
  assert_int_equal(cdna_checks_parse("none", &checks, &error), TW_OK);
  assert_int_equal(checks, 0);
  assert_int_equal(cdna_checks_parse("all", &checks, &error), TW_OK);
  assert_int_equal(checks, (1u << CDNA_CHECKS) - 1);
  assert_int_equal(cdna_checks_parse("waits,races", &checks, &error), TW_OK);
  assert_int_equal(checks, 1u << CDNA_CHECK_WAITS | 1u << CDNA_CHECK_RACES);
  assert_int_equal(cdna_checks_parse("waits,rices", &checks, &error), TW_USAGE);
  assert_non_null(strstr(error.text, "'rices' is none of uninitialized, races"));
}

int main(void) {
  if (cdna_toolchain_find(NULL) != TW_OK) {
    puts("skipped: clang-22 and ld.lld-22 are not here");
    return 77;
  }
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_each_mistake_is_found_alone),
      cmocka_unit_test(test_nothing_is_found_without_mistakes),
      cmocka_unit_test(test_honest_kernels_have_no_findings),
      cmocka_unit_test(test_lists_of_checks),
  };
  return cmocka_run_group_tests(tests, compile, release);
}
