/* test_gemmini_export.c - the folder for the real machine: its program finds a right kernel right and a wrong one
 * wrong.
 *
 * Here it runs on the host, where data/gemmini_commands.h stands in for the public header. With the public one
 * (GEMMINI_ROCC_TESTS: a checkout of ucb-bar/gemmini-rocc-tests with riscv-tests in it) it is built as its README says,
 * and run where SPIKE names a command like "spike --extension=gemmini". */
#include "gemmini_kernels.h"

#include <sys/stat.h>

#include "subject.h"
#include "target/gemmini/export.h"
#include "target/gemmini/schedule/family.h"
#include "target/gemmini/target.h"
#include "tilewright/extend/target.h"

static void write_file(const char *directory, const char *name, const void *data, size_t size) {
  char path[1024];
  snprintf(path, sizeof path, "%s/%s", directory, name);
  FILE *file = fopen(path, "w");
  assert_non_null(file);
  assert_int_equal(fwrite(data, 1, size, file), size);
  assert_int_equal(fclose(file), 0);
}

/* The plainest kernel of the problem with everything that it needs, in a new directory. */
static void export(const tw_target *t, const tw_problem *p, char *directory) {
  const tw_schedule none = {0};
  tw_files files = {0};
  tw_error error = {0};
  char *source = NULL;
  assert_non_null(mkdtemp(directory));
  if (gm_emit(gm_config_of(t), p, &none, &source, &error) != TW_OK) fail_msg("%s", error.text);
  if (gm_export(t, p, &none, source, &files, &error) != TW_OK) fail_msg("%s", error.text);
  write_file(directory, "kernel.c", source, strlen(source));
  for (size_t i = 0; i < files.n; i++) {
    const bool text = !files.file[i].size;
    write_file(directory, files.file[i].name, files.file[i].text,
               text ? strlen(files.file[i].text) : files.file[i].size);
    if (text) assert_null(strchr(files.file[i].text, '@')); /* all is filled in */
  }
  tw_files_free(&files);
  free(source);
}

static int shell(const char *directory, const char *command) {
  char line[4096];
  snprintf(line, sizeof line, "cd %s && { %s; } >output 2>&1", directory, command);
  return system(line);
}

static void assert_says(const char *directory, const char *words) {
  char path[512], text[4096] = "";
  snprintf(path, sizeof path, "%s/output", directory);
  FILE *file = fopen(path, "r");
  assert_non_null(file);
  assert_true(fread(text, 1, sizeof text - 1, file) > 0);
  fclose(file);
  if (!strstr(text, words)) fail_msg("'%s' is not in:\n%s", words, text);
}

/* What stands for the public header: the commands on the host. */
static void write_stand_in(const char *directory, const gm_config *c) {
  char text[2048], folder[512];
  snprintf(folder, sizeof folder, "%s/include", directory);
  assert_int_equal(mkdir(folder, 0700), 0);
  snprintf(text, sizeof text,
           "#include <stdint.h>\n#include <stdio.h>\n#include <stdlib.h>\n#define GEMMINI_SHORT_H\n"
           "#define DIM %d\n#define BANK_NUM %d\n#define BANK_ROWS %d\n#define ACC_ROWS %d\n#define SPAD_ROWS %d\n"
           "typedef %s elem_t;\ntypedef %s acc_t;\n#define weights array_weights\n#include "
           "\"gemmini_commands.h\"\n#undef weights\n"
           "#define gemmini_flush(skip) reset_commands()\n#define gemmini_fence() ((void)0)\n"
           "static uint64_t read_cycles(void) { return 7; }\n",
           c->dim, c->spad_banks, gm_spad_bank_rows(c), gm_acc_rows(c), gm_spad_rows(c), c_type(c->input_type),
           c_type(c->acc_type));
  write_file(folder, "gemmini_testutils.h", text, strlen(text));
}

static void on_host(const char *target, const char *op, const char *words, bool wide) {
  const tw_target *t = tw_target_find(target);
  assert_non_null(t);
  const tw_problem p = problem_of(gm_config_of(t), op, words, wide);
  char directory[] = "/tmp/tilewright-export-XXXXXX";
  const char build[] =
      "gcc -std=gnu99 -O0 -w -I. -I" TW_TEST_DATA " main.c operands.S -Wl,-z,noexecstack -lm -o program";
  export(t, &p, directory);
  write_stand_in(directory, gm_config_of(t));
  assert_int_equal(shell(directory, build), 0);
  assert_int_equal(shell(directory, "./program"), 0);
  assert_says(directory, "cycles: 0\nright: every element");
  /* A kernel that leaves out the first store. */
  assert_int_equal(shell(directory, "sed -i '0,/mvout(/s/mvout(/(void) (/' kernel.c"), 0);
  assert_int_equal(shell(directory, build), 0);
  assert_int_not_equal(shell(directory, "./program"), 0);
  assert_says(directory, "WRONG: element ");
  /* Another machine. */
  assert_int_not_equal(shell(directory,
                             "sed -i 's/define ACC_ROWS /define ACC_ROWS 1/' include/*.h; gcc -w -I. -I" TW_TEST_DATA
                             " main.c"),
                       0);
  assert_says(directory, "gemmini_params.h is another machine's");
  assert_int_equal(shell(directory, "rm -rf ../$(basename $PWD)"), 0);
}

static void test_gemm(void **state) {
  on_host("gemmini-16x16-int8", "gemm", "m=37 n=40 k=50 bias=row relu=1", false);
  on_host("gemmini-16x16-int8", "gemm", "m=20 n=33 k=17 ldc=40", true);
  on_host("gemmini-4x4-fp32", "gemm", "m=9 n=10 k=11 lda=12", false);
}

static void test_conv2d(void **state) {
  on_host("gemmini-16x16-int8", "conv2d", "n=1 h=9 w=8 c=17 k=18 r=3 s=3 pad=1 relu=1", false);
}

/* The chain is checked where its own op says what an element may be off; its inputs are read before. */
static void test_chain(void **state) {
  const tw_target *t = tw_target_find("gemmini-4x4-fp32");
  const tw_problem p = problem_from(NULL, "mpc_forward horizon=5 states=6 inputs=3 type=f32");
  tw_error error = {0};
  tw_files files = {0};
  const char source[] = "void test(float *a, float *b, float *c, float *d, float *x, float *u) {}\n";
  tw_operand o[TW_OPERANDS_MAX];
  assert_int_equal(p.op->operands(&p, o), 6);
  if (gm_export(t, &p, NULL, source, &files, &error) != TW_OK) fail_msg("%s", error.text);
  const char *problem = NULL;
  for (size_t i = 0; i < files.n; i++)
    if (!strcmp(files.file[i].name, "problem.h")) problem = files.file[i].text;
  assert_non_null(strstr(problem, "#define GM_MAKE_CACHED() do { gm_read((const char *)gm_operand_"));
  tw_files_free(&files);
}

static void test_public_header(void **state) {
  const char *spike = getenv("SPIKE");
  if (!getenv("GEMMINI_ROCC_TESTS")) skip();
  const tw_target *t = tw_target_find("gemmini-16x16-int8");
  const tw_problem p = problem_of(gm_config_of(t), "gemm", "m=37 n=40 k=50 bias=row relu=1", false);
  char directory[] = "/tmp/tilewright-export-XXXXXX";
  export(t, &p, directory);
  if (shell(directory,
            "export ROCC=$GEMMINI_ROCC_TESTS; "
            "sed -n '/^    riscv64/,/kernel-baremetal$/p' README.md | sed 's/elf-gcc /elf-gcc --specs=picolibc.specs "
            "-w /' >build.sh; "
            "sh -e build.sh") != 0)
    assert_says(directory, "nothing: it must build");
  if (spike) {
    assert_int_equal(shell(directory, "$SPIKE kernel-baremetal"), 0);
    assert_says(directory, "right: every element");
  }
  assert_int_equal(shell(directory, "rm -rf ../$(basename $PWD)"), 0);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_gemm),
      cmocka_unit_test(test_conv2d),
      cmocka_unit_test(test_chain),
      cmocka_unit_test(test_public_header),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
