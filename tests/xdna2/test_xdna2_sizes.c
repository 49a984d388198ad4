/* Run-time sizes: one configuration of the array computes products of many sizes, one after the other; and the C++
 * program that runs exported folders of several sizes. */
#include "test.h"

#include <stdio.h>

#include "base/files.h"
#include "base/random.h"
#include "mlir_aie/read.h"
#include "subject.h"
#include "target/xdna2/mlir/write.h"
#include "tilewright/extend/extend.h"
#include "xdna2_gemm.h"

/* Multiples of the macro-tile of 64x128 and of T_K, and sizes with each remainder. */
static const int64_t sizes[][3] = {{64, 128, 64},  {128, 256, 32}, {64, 256, 160}, {192, 128, 96},
                                   {100, 128, 64}, {64, 200, 96},  {64, 128, 84},  {70, 140, 52}};
enum { SIZES = sizeof sizes / sizeof *sizes };

static xd_gemm sized(const char *name, int64_t m, int64_t n, int64_t k, bool runtime) {
  xd_gemm g = gemm_of(name, (tw_tile){.m = 16, .k = 16, .n = 16, .rho = 1}, m, n, k);
  g.runtime_sizes = runtime;
  return g;
}

static double cycles_of(const xd_program *p, void *const *external) {
  const xd_run_options options = {
      .cost = analytic_cost(&machine), .external = external, .timing_only = external == NULL};
  xd_run_result r;
  tw_error error;
  if (xd_run(&machine, p, &options, &r, &error) != TW_OK) fail_msg("%s", error.text);
  return r.cycles;
}

static double cycles(const xd_gemm *g) {
  xd_program p;
  tw_error error;
  if (xd_gemm_program(&machine, g, &p, &error) != TW_OK) fail_msg("%s", error.text);
  const double time = cycles_of(&p, NULL);
  xd_program_free(&p);
  return time;
}

static void expect_product(const xd_gemm *g, const int8_t *a, const int8_t *b, const int32_t *c) {
  for (int64_t i = 0; i < g->m; i++)
    for (int64_t j = 0; j < g->n; j++) {
      int32_t sum = 0;
      for (int64_t p = 0; p < g->k; p++) sum += a[i * g->k + p] * b[p * g->n + j];
      if (c[i * g->n + j] != sum)
        fail_msg("m=%d n=%d k=%d: C[%d][%d] is %d, expected %d", (int)g->m, (int)g->n, (int)g->k, (int)i, (int)j,
                 c[i * g->n + j], sum);
    }
}

/* Whatever the previous product left in FIFOs, locks and buffers: the next one is right. */
static void one_configuration_computes_all_sizes_in_turn(void **state) {
  xd_gemm g[SIZES];
  xd_program p;
  tw_error error;
  void *external[SIZES * XD_GEMM_OPERANDS];
  tw_random r;
  tw_random_seed(&r, 5);
  for (size_t i = 0; i < SIZES; i++) {
    int64_t bytes[XD_GEMM_OPERANDS];
    g[i] = sized("int8", sizes[i][0], sizes[i][1], sizes[i][2], true);
    xd_gemm_bytes(&g[i], bytes);
    for (int o = 0; o < XD_GEMM_OPERANDS; o++) {
      int8_t *at = external[i * XD_GEMM_OPERANDS + (size_t)o] = calloc((size_t)bytes[o] + 1, 1);
      for (int64_t b = 0; o < XD_GEMM_C && b < bytes[o]; b++) at[b] = (int8_t)tw_random_between(&r, -128, 127);
      if (o == XD_GEMM_C) memset(at, 0xA5, (size_t)bytes[o]);
    }
  }
  if (xd_gemm_program_of_all(&machine, SIZES, g, &p, &error) != TW_OK) fail_msg("%s", error.text);
  cycles_of(&p, external);
  for (size_t i = 0; i < SIZES; i++)
    expect_product(&g[i], external[i * XD_GEMM_OPERANDS], external[i * XD_GEMM_OPERANDS + 1],
                   external[i * XD_GEMM_OPERANDS + XD_GEMM_C]);
  for (size_t i = 0; i < SIZES * XD_GEMM_OPERANDS; i++) free(external[i]);
  xd_program_free(&p);
}

static void a_size_costs_at_most_three_percent_more_than_its_own_design(void **state) {
  static const char *const kernels[] = {"int8", "atb", "atb-bfp16", "ternary-int8"};
  for (size_t k = 0; k < sizeof kernels / sizeof *kernels; k++)
    for (size_t i = 0; i < SIZES; i++) {
      const int64_t depth = (sizes[i][2] + 31) / 32 * 32; /* other kernels take deeper blocks */
      xd_gemm own = sized(kernels[k], sizes[i][0], sizes[i][1], depth, false), all = own;
      own.tile.k = all.tile.k = 32;
      all.runtime_sizes = true;
      const double most = 1.03 * cycles(&own), is = cycles(&all);
      if (is > most || is < cycles(&own))
        fail_msg("%s, size %zu: %.0f cycles, 103%% of its own design are %.0f", kernels[k], i, is, most);
    }
}

static void the_array_is_written_alike_for_all_sizes(void **state) {
  char *first = NULL;
  for (size_t i = 0; i < SIZES; i++) {
    const xd_gemm g = sized("int8", sizes[i][0], sizes[i][1], sizes[i][2], true);
    const xd_mlir_options options = {.rounding = g.rounding};
    xd_program p;
    xd_mlir_design d;
    tw_error error;
    char *text;
    if (xd_gemm_program(&machine, &g, &p, &error) != TW_OK || xd_mlir_write(&machine, &p, "", &text, &error) != TW_OK ||
        xd_mlir_read(&machine, text, &options, &d, &error) != TW_OK)
      fail_msg("%s", error.text);
    assert_true(cycles_of(&d.program, NULL) == cycles_of(&p, NULL));
    char line[100];
    snprintf(line, sizeof line, "aiex.npu.rtp_write(@sizes_7_5, 0, %d)", (int)((sizes[i][2] + 15) / 16));
    if (!strstr(text, line)) fail_msg("%s is missing", line);
    assert_non_null(strstr(text, "aiex.set_lock(%go_7_5, 1)"));
    *strstr(text, "aie.runtime_sequence") = '\0';
    if (first) assert_string_equal(text, first);
    xd_mlir_free(&d);
    xd_program_free(&p);
    if (first)
      free(text);
    else
      first = text;
  }
  free(first);
}

/* ---- the explicit form ---- */

/* Object FIFOs cannot express fewer rows than a macro-tile, nor a tile of A for several rows of cores. */
static const struct explicit_form {
  const char *kernel;
  int columns, depth;
  int64_t m, k; /* m: 0, the sizes' own; k: of the tile */
  bool hide_unpacking;
} forms[] = {{"int8", 8, 1, 8, 16, false},
             {"int8", 2, 2, 0, 16, false},
             {"ternary-int8", 2, 2, 0, 32, false},
             {"ternary-int8", 2, 2, 0, 32, true}};
static const int64_t explicit_sizes[][3] = {{64, 128, 96},  {128, 256, 64}, {64, 256, 160}, {192, 128, 96},
                                            {100, 128, 64}, {64, 200, 96},  {64, 128, 84},  {70, 140, 68}};

static xd_gemm in_form(const struct explicit_form *f, const int64_t size[3], bool runtime) {
  xd_gemm g = sized(f->kernel, f->m ? f->m : size[0], size[1], size[2], runtime);
  g.tile.k = f->k;
  g.columns = f->columns;
  g.depth = f->depth;
  if (f->m) g.rows = 1;
  g.hide_unpacking = f->hide_unpacking;
  return g;
}

static char *written(const xd_gemm *g) {
  xd_program p;
  tw_error error;
  char *text;
  if (xd_gemm_program(&machine, g, &p, &error) != TW_OK || xd_mlir_write(&machine, &p, "", &text, &error) != TW_OK)
    fail_msg("%s", error.text);
  xd_program_free(&p);
  return text;
}

/* Runs what was read, on random operands, and compares C in full. */
static double run_text(const xd_gemm *g, const char *text) {
  const xd_mlir_options options = {.rounding = g->rounding};
  int64_t bytes[XD_GEMM_OPERANDS];
  void *external[XD_GEMM_OPERANDS];
  xd_mlir_design d;
  tw_error error;
  tw_random r;
  tw_random_seed(&r, 9);
  if (xd_mlir_read(&machine, text, &options, &d, &error) != TW_OK) fail_msg("%s", error.text);
  xd_gemm_bytes(g, bytes);
  for (int o = 0; o < XD_GEMM_OPERANDS; o++) {
    int8_t *at = external[o] = calloc((size_t)bytes[o] + 1, 1);
    for (int64_t b = 0; o < XD_GEMM_C && b < bytes[o]; b++) at[b] = (int8_t)tw_random_between(&r, -128, 127);
  }
  const double time = cycles_of(&d.program, external);
  expect_product(g, external[0], external[1], external[2]);
  for (int o = 0; o < XD_GEMM_OPERANDS; o++) free(external[o]);
  xd_mlir_free(&d);
  return time;
}

static void explicit_designs_compute_all_sizes_by_one_configuration(void **state) {
  for (size_t f = 0; f < 2; f++) {
    char *first = NULL;
    for (size_t i = 0; i < sizeof explicit_sizes / sizeof *explicit_sizes; i++) {
      const xd_gemm g = in_form(&forms[f], explicit_sizes[i], true), own = in_form(&forms[f], explicit_sizes[i], false);
      char *text = written(&g);
      assert_null(strstr(text, "aie.objectfifo"));
      assert_non_null(strstr(text, "scf.index_switch"));
      const double is = run_text(&g, text), most = 1.03 * cycles(&own);
      if (is > most) fail_msg("form %zu, size %zu: %.0f cycles, 103%% of its own design are %.0f", f, i, is, most);
      *strstr(text, "aie.runtime_sequence") = '\0';
      if (first) assert_string_equal(text, first);
      if (first)
        free(text);
      else
        first = text;
    }
    free(first);
  }
}

static void explicit_designs_write_what_was_read(void **state) {
  for (size_t f = 0; f < sizeof forms / sizeof *forms; f++) {
    const xd_gemm g = in_form(&forms[f], explicit_sizes[2], true);
    const xd_mlir_options options = {.rounding = g.rounding};
    char *text = written(&g), *again;
    xd_mlir_design d;
    tw_error error;
    if (xd_mlir_read(&machine, text, &options, &d, &error) != TW_OK ||
        xd_mlir_write(&machine, &d.program, "", &again, &error) != TW_OK)
      fail_msg("%s", error.text);
    assert_string_equal(text, again);
    xd_mlir_free(&d);
    free(text);
    free(again);
  }
}

/* Replaces the first occurrence after `after`. */
static char *changed(const char *text, const char *after, const char *from, const char *to) {
  const char *at = strstr(text, after);
  if (!at || !(at = strstr(at, from))) fail_msg("'%s' is not in the text", from);
  char *new = malloc(strlen(text) + strlen(to) + 1);
  sprintf(new, "%.*s%s%s", (int)(at - text), text, to, at + strlen(from));
  return new;
}

static void wrong_choices_of_buffers_are_found(void **state) {
  static const struct {
    const char *after, *from, *to, *says;
  } wrong[] = {
      {"Release", "arith.constant 1 : i32", "arith.constant 0 : i32", "an acquire is missing"},
      {"scf.index_switch", "case 1", "case 2", "the cases of scf.index_switch must be 0, 1, ..."},
      {"case 1", "scf.yield %c_0_0_1_0_2", "scf.yield %c_0_0_0_0_2", "buffers that are declared consecutively"},
      {"default", "scf.yield %c_0_0_0_0_2", "scf.yield %c_0_0_1_0_2", "must be the buffer of case 0"},
      {"case 1", "scf.yield %c_0_0_1_0_2", "scf.yield %turns_0_2", "the type differs"},
      {"case 1", "scf.yield %c_0_0_1_0_2", "scf.yield %c_0_1_1_0_3", "is not a buffer of"},
      {"scf.for", "case 1 {\n            scf.yield %c_0_0_1_0_2 : memref<256xi32>\n          }", "",
       "must choose among all buffers of a DMA channel"},
  };
  const xd_gemm g = in_form(&forms[1], explicit_sizes[0], true);
  char *text = written(&g);
  for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
    const xd_mlir_options options = {.rounding = g.rounding};
    char *bad = changed(text, wrong[i].after, wrong[i].from, wrong[i].to);
    void *external[XD_GEMM_OPERANDS];
    int64_t bytes[XD_GEMM_OPERANDS];
    xd_mlir_design d;
    tw_error error = {0};
    tw_status status = xd_mlir_read(&machine, bad, &options, &d, &error);
    xd_gemm_bytes(&g, bytes);
    for (int o = 0; o < XD_GEMM_OPERANDS; o++) external[o] = calloc((size_t)bytes[o] + 1, 1);
    if (status == TW_OK) {
      const xd_run_options run = {.cost = analytic_cost(&machine), .external = external};
      xd_run_result r;
      status = xd_run(&machine, &d.program, &run, &r, &error);
      xd_mlir_free(&d);
    }
    if (status == TW_OK || !strstr(error.text, wrong[i].says))
      fail_msg("%s: '%s', expected '%s'", wrong[i].to, error.text, wrong[i].says);
    for (int o = 0; o < XD_GEMM_OPERANDS; o++) free(external[o]);
    free(bad);
  }
  free(text);
}

static void products_that_cannot_share_are_rejected(void **state) {
  xd_gemm g[2] = {sized("int8", 64, 128, 64, true), sized("int8", 64, 128, 64, false)};
  xd_program p;
  tw_error error;
  assert_int_equal(xd_gemm_program_of_all(&machine, 2, g, &p, &error), TW_USAGE);
  assert_non_null(strstr(error.text, "m=64 n=128 k=64 requires a different configuration than m=64 n=128 k=64"));
  g[1] = sized("int8", 64, 128, 8, true); /* less than a step of K */
  assert_int_equal(xd_gemm_program_of_all(&machine, 2, g, &p, &error), TW_USAGE);
  g[1] = sized("int8", 64, 128, 64, true);
  g[1].shift = 1;
  assert_int_equal(xd_gemm_program_of_all(&machine, 2, g, &p, &error), TW_USAGE);
}

/* ---- the exported program ---- */

static void write_folder(const char *folder, const char *size, bool runtime, bool wrong) {
  const tw_target *target = tw_target_find("xdna2");
  const tw_problem p = problem_from(target, "gemm %s n=128 k=64 a=i8 b=i8 c=i32", size);
  tw_schedule s;
  tw_files files = {0};
  tw_error error;
  char path[600];
  if (tw_schedule_parse(runtime ? "tile m=16 k=16 n=16\nruntime_sizes\n" : "tile m=16 k=16 n=16\n", &s, &error) !=
          TW_OK ||
      target->exporter->sources(target, &p, &s, NULL, &files, &error) != TW_OK ||
      tw_directory_make(folder, &error) != TW_OK)
    fail_msg("%s", error.text);
  for (size_t i = 0; i < files.n; i++) {
    snprintf(path, sizeof path, "%s/%s", folder, files.file[i].name);
    if (tw_file_write(path, files.file[i].text, files.file[i].size ? files.file[i].size : strlen(files.file[i].text),
                      &error) != TW_OK)
      fail_msg("%s", error.text);
  }
  tw_files_free(&files);
  const int32_t instructions[] = {atoi(size + 2), 128, 64, wrong}; /* of the stand-in (data/xdna2/xrt) */
  snprintf(path, sizeof path, "%s/insts.bin", folder);
  if (tw_file_write(path, instructions, sizeof instructions, &error) != TW_OK) fail_msg("%s", error.text);
  snprintf(path, sizeof path, "%s/gemm.xclbin", folder);
  if (tw_file_write(path, "x", 1, &error) != TW_OK) fail_msg("%s", error.text);
}

static void expect_run(const char *folder, const char *arguments, int status, const char *says) {
  char command[1024];
  snprintf(command, sizeof command, "cd %s && ./gemm %s >output 2>&1; test $? = %d && grep -q '%s' output", folder,
           arguments, status, says);
  if (system(command) != 0) fail_msg("%s", command);
}

static void the_cpp_program_runs_all_folders_and_tells_right_from_wrong(void **state) {
  tw_error error;
  char *folder, path[512], command[1200];
  if (system("c++ --version >/dev/null 2>&1") != 0) skip();
  assert_int_equal(tw_directory_temporary(&folder, &error), TW_OK);
  static const struct {
    const char *name, *size;
    bool runtime, wrong;
  } list[] = {
      {"a", "m=64", true, false}, {"b", "m=192", true, false}, {"c", "m=64", true, true}, {"d", "m=64", false, false}};
  for (size_t i = 0; i < sizeof list / sizeof *list; i++) {
    snprintf(path, sizeof path, "%s/%s", folder, list[i].name);
    write_folder(path, list[i].size, list[i].runtime, list[i].wrong);
  }
  snprintf(command, sizeof command, "cd %s && c++ -std=c++17 -Wall -Wextra -Werror -isystem %s a/gemm.cpp -o gemm",
           folder, TW_TEST_DATA "/xdna2/xrt");
  if (system(command) != 0) fail_msg("%s", command);
  expect_run(folder, "a b", 0, "m=192 .*right");
  expect_run(folder, "a c", 1, "WRONG: element 2730 of C");
  expect_run(folder, "a d", 2, "d: requires a different configuration of the array than a");
  expect_run(folder, "a nowhere", 2, "nowhere/layout.txt: cannot be read");
  tw_directory_remove(folder);
  free(folder);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(one_configuration_computes_all_sizes_in_turn),
      cmocka_unit_test(a_size_costs_at_most_three_percent_more_than_its_own_design),
      cmocka_unit_test(the_array_is_written_alike_for_all_sizes),
      cmocka_unit_test(explicit_designs_compute_all_sizes_by_one_configuration),
      cmocka_unit_test(explicit_designs_write_what_was_read),
      cmocka_unit_test(wrong_choices_of_buffers_are_found),
      cmocka_unit_test(products_that_cannot_share_are_rejected),
      cmocka_unit_test(the_cpp_program_runs_all_folders_and_tells_right_from_wrong),
  };
  return cmocka_run_group_tests(tests, setup, NULL);
}
