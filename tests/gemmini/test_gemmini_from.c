/* A user's program as the start of a search: what is understood, what is refused, what is found, what is rewritten. */
#include "gemmini_yardstick.h"
#include "target/gemmini/build.h"
#include "target/gemmini/rewrite/clean.h"
#include "target/gemmini/rewrite/rewrite.h"
#include "target/gemmini/target.h"
#include "tilewright/extend/extend.h"

static gm_config config;
static tw_target machine;

/* A program of one 16 x 16 x 16 product; `middle` comes behind the store of C and before the last fence. */
#define ONE_TILE(before, middle)                                                                                       \
  "void test(int8_t A[16][16], int8_t B[16][16], int8_t C[16][16]) {\n" before                                         \
  "config_st(16); config_ex(WEIGHT_STATIONARY, NO_ACTIVATION, 1, 0, 0); config_ld(16, 1.0f, 16, 0);\n"                 \
  "mvin(&A[0][0], 0, 16, 16); mvin(&B[0][0], 4096, 16, 16);\n"                                                         \
  "preload(4096, 0x80000000, 16, 16, 16, 16); compute_preloaded(0, 0xffffffff, 16, 16, 16, 16);\n"                     \
  "mvout(&C[0][0], 0x80000000, 16, 16);\n" middle "fence(); }\n"

static tw_status study(const tw_problem *p, const char *source, tw_program **out, tw_error *error) {
  return gm_study(&machine, p, source, strlen(source), false, 1, 1, NULL, out, error);
}

static void expect_refusal(const char *source, const char *part) {
  const tw_problem p = gemm_problem("m=16 n=16 k=16");
  tw_program *program = NULL;
  tw_error error = {0};
  assert_int_equal(study(&p, source, &program, &error), TW_FAILED);
  if (!strstr(error.text, part)) fail_msg("'%s' does not say '%s'", error.text, part);
  assert_null(strchr(error.text, '\n'));
}

/* The program is right, and diagnosed, but there are no rewrites; `part` is of the reason. */
static void expect_no_rewrites(const char *source, const char *part) {
  const tw_problem p = gemm_problem("m=16 n=16 k=16");
  const tw_schedule nothing = {0};
  tw_program *program = NULL;
  tw_menu menu;
  tw_diagnosis d;
  tw_error error = {0};
  must(study(&p, source, &program, &error), &error);
  must(gm_rewrites(program, &nothing, &menu, &error), &error);
  assert_int_equal(menu.n, 0);
  must(gm_diagnose_program(program, 1, &d, &error), &error);
  if (!strstr(d.fixed, part)) fail_msg("'%s' does not say '%s'", d.fixed, part);
  assert_null(strchr(d.fixed, '\n'));
  assert_true(d.n > 0);
  gm_forget(program);
}

static void a_program_whose_commands_depend_on_its_data_is_not_rewritten(void **state) {
  expect_no_rewrites(
      ONE_TILE("if (A[0][0] & 1) config_ld(32, 1.0f, 16, 1);\nif (A[0][1] & 1) config_ld(32, 1.0f, 16, 1);\n"
               "if (A[0][2] & 1) config_ld(32, 1.0f, 16, 1);\nif (A[0][3] & 1) config_ld(32, 1.0f, 16, 1);\n",
               ""),
      "depend on its data");
}

static void a_program_in_which_the_core_computes_is_not_rewritten(void **state) {
  expect_no_rewrites(
      "void test(int8_t A[16][16], int8_t B[16][16], int8_t C[16][16]) {\n"
      "config_ld(16, 1.0f, 16, 0); mvin(&A[0][0], 0, 16, 16); fence();\n"
      "for (int i = 0; i < 16; i++) for (int j = 0; j < 16; j++) { int s = 0;\n"
      "for (int k = 0; k < 16; k++) s += A[i][k] * B[k][j]; C[i][j] = s > 127 ? 127 : s < -128 ? -128 : s; } }\n",
      "the core computes a part of the result; only programs whose commands compute all of it can be rewritten");
}

static void a_wrong_program_is_refused(void **state) {
  expect_refusal(ONE_TILE("", "mvout(&C[0][0], 0x80000010, 16, 16);"), "C[");
  expect_refusal("void test(int8_t A[16][16], int8_t B[16][16], int8_t C[16][16]) { fence(); }", "C[");
}

/* ---- passes ---- */

typedef struct captured {
  tw_problem problem;
  tw_case data;
  gm_stream stream;
} captured;

static void capture(captured *c, const tw_problem *p, const char *source, size_t length) {
  tw_error error = {0};
  c->problem = *p;
  must(tw_case_make(&c->problem, 3, 1, &c->data, &error), &error);
  must(gm_stream_capture(&config, &c->problem, source, length, false, &c->data, NULL, &c->stream, &error), &error);
}

static void release(captured *c) {
  gm_stream_free(&c->stream);
  tw_case_free(&c->data);
}

static size_t changed_by(gm_pass *pass, const char *source) {
  const tw_problem p = gemm_problem("m=16 n=16 k=16");
  captured c;
  gm_change change;
  tw_error error = {0};
  capture(&c, &p, source, strlen(source));
  must(pass(&c.stream, &change, &error), &error);
  must(gm_stream_replay(&c.stream, &c.data, &error), &error);
  release(&c);
  return change.count;
}

/* Copies run on several threads at a time. A run writes outputs and marks bytes that are not written yet. */
static void copies_of_a_stream_share_no_memory_that_a_run_changes(void **state) {
  const tw_problem p = gemm_problem("m=16 n=16 k=16");
  const char *source = ONE_TILE("", "");
  captured c;
  gm_stream copy;
  tw_error error = {0};
  capture(&c, &p, source, strlen(source));
  must(gm_stream_copy(&c.stream, &copy, &error), &error);
  for (size_t i = 0; i < c.stream.memory.n_regions; i++) {
    const rv64_region *r = &c.stream.memory.region[i];
    if (r->rights & RV64_WRITE) assert_ptr_not_equal(r->host, copy.memory.region[i].host);
  }
  rv64_region *out = rv64_region_named(&c.stream.memory, "C"), *out_of_copy = rv64_region_named(&copy.memory, "C");
  assert_non_null(out);
  uint8_t *kept = out->in_flight;
  memset(out->host, TW_POISON, out->size);
  assert_true(gm_stream_cycles(&copy) < UINT64_MAX);
  for (uint64_t i = 0; i < out->size; i++) assert_int_equal(out->host[i], TW_POISON);
  assert_ptr_equal(out->in_flight, kept);
  assert_non_null(out_of_copy->in_flight);
  assert_int_equal(gm_stream_cycles(&copy), gm_stream_cycles(&c.stream));
  gm_stream_free_copy(&copy);
  release(&c);
}

static void a_fence_between_a_store_and_a_load_of_the_same_bytes_stays(void **state) {
  /* the program's own last fence comes right before the harness's: that one is not needed */
  assert_int_equal(changed_by(gm_remove_fences, ONE_TILE("", "")), 1);
  assert_int_equal(changed_by(gm_remove_fences, ONE_TILE("", "fence(); mvin(&A[0][0], 0, 16, 16);")), 2);
  assert_int_equal(
      changed_by(gm_remove_fences, ONE_TILE("", "fence(); mvin(&C[0][0], 32, 16, 16); mvout(&C[0][0], 32, 16, 16);")),
      1);
  /* two fences: one is enough */
  assert_int_equal(
      changed_by(gm_remove_fences,
                 ONE_TILE("", "fence(); fence(); mvin(&C[0][0], 32, 16, 16); mvout(&C[0][0], 32, 16, 16);")),
      2);
}

static void a_load_goes_only_if_nothing_has_changed(void **state) {
  assert_int_equal(changed_by(gm_remove_loads, ONE_TILE("", "mvin(&A[0][0], 0, 16, 16);")), 1);
  /* the rows were loaded with something else in between */
  assert_int_equal(changed_by(gm_remove_loads, ONE_TILE("", "mvin(&B[0][0], 0, 16, 16); mvin(&A[0][0], 0, 16, 16);")),
                   0);
  /* fewer rows than before: the same bytes are there, but it is another load */
  assert_int_equal(changed_by(gm_remove_loads, ONE_TILE("", "mvin(&A[0][0], 8, 16, 8);")), 0);
  /* another scale, another stride */
  assert_int_equal(changed_by(gm_remove_loads, ONE_TILE("", "config_ld(16, 2.0f, 16, 0); mvin(&A[0][0], 0, 16, 16);")),
                   0);
  /* the source was stored to in between */
  assert_int_equal(changed_by(gm_remove_loads,
                              ONE_TILE("", "fence(); mvin(&C[0][0], 32, 16, 16); mvout(&C[0][0], 32, 16, 16); fence();"
                                           "mvin(&C[0][0], 32, 16, 16);")),
                   0);
  assert_int_equal(
      changed_by(gm_remove_loads, ONE_TILE("", "fence(); mvin(&C[0][0], 32, 16, 16); mvin(&C[0][0], 32, 16, 16);")), 1);
}

static void a_config_goes_only_if_it_sets_what_is_set(void **state) {
  assert_int_equal(changed_by(gm_remove_configs, ONE_TILE("", "config_ld(16, 1.0f, 16, 0);")), 1);
  assert_int_equal(changed_by(gm_remove_configs, ONE_TILE("", "config_ld(16, 1.0f, 16, 1);")), 0);
  assert_int_equal(changed_by(gm_remove_configs, ONE_TILE("", "config_st(32); config_st(16);")), 0);
}

#define TWO_STEPS(fill, first)                                                                                         \
  "void test(int8_t A[16][16], int8_t B[16][16], int8_t C[16][16]) {\n"                                                \
  "config_st(16); config_ex(WEIGHT_STATIONARY, NO_ACTIVATION, 1, 0, 0); config_ld(16, 1.0f, 16, 0);\n"                 \
  "config_ld(0, 1.0f, 16, 1); mvin(&A[0][0], 0, 16, 16); mvin(&B[0][0], 4096, 16, 16); " fill "preload(4096, " first   \
  ", 16, 16, 16, 16); compute_preloaded(0, 0xffffffff, 16, 16, 16, 16);\n"                                             \
  "mvout(&C[0][0], 0x80000000, 16, 16); fence(); }\n"

static void zeros_go_where_the_first_product_can_overwrite(void **state) {
  assert_int_equal(changed_by(gm_remove_zero_fills, TWO_STEPS("mvin2(0, 0x80000000, 16, 16);", "0xc0000000")), 1);
  assert_int_equal(changed_by(gm_remove_zero_fills, TWO_STEPS("mvin2(0, 0x80000000, 64, 16);", "0xc0000000")), 1);
  /* only half of the rows are zeroed by it: the rest holds something, also zeros here */
  assert_int_equal(changed_by(gm_remove_zero_fills,
                              TWO_STEPS("mvin2(0, 0x80000000, 16, 8); mvin2(0, 0x80000008, 16, 8);", "0xc0000000")),
                   2);
  /* read before */
  assert_int_equal(
      changed_by(gm_remove_zero_fills,
                 TWO_STEPS("mvin2(0, 0x80000000, 16, 16); mvout(&C[0][0], 0x80000000, 16, 16);", "0xc0000000")),
      0);
}

/* ---- rewrites ---- */

/* The program after the steps; its result must be right on inputs that the study has not seen. 0 if a step does not
 * apply. */
static double cycles_after(const tw_program *program, const yardstick *y, const tw_schedule *steps) {
  char *source = NULL, *elf = NULL;
  size_t size = 0;
  tw_case data = {0};
  gm_run_result result = {0};
  const gm_run_options options = {0};
  tw_error error = {0};
  if (gm_rewrite(program, steps, &source, &error) != TW_OK) {
    assert_true(error.text[0] && !strchr(error.text, '\n'));
    return 0;
  }
  must(gm_build(&config, &y->problem, source, strlen(source), false, &elf, &size, &error), &error);
  must(tw_case_make(&y->problem, 99, 1, &data, &error), &error);
  tw_status status = gm_run(&config, elf, size, &data, &options, &result, &error);
  if (status != TW_OK) fail_msg("%s after %s: %s", y->program, steps->step[steps->n - 1], error.text);
  tw_case_free(&data);
  free(elf);
  free(source);
  return (double)result.core.cycles;
}

/* Cycles of the program after all removals that apply; then after one step more. */
static double rewritten(const yardstick *y, const char *last, double *start) {
  static const char *const removals[] = {
      "remove configs", "remove loads", "remove fences", "overwrite instead of zeros", "wide loads", "wide stores"};
  tw_program *program = NULL;
  tw_error error = {0};
  must(gm_study(&machine, &y->problem, y->source, y->length, false, 5, 1, NULL, &program, &error), &error);
  tw_schedule steps = {0};
  for (size_t i = 0; i < sizeof removals / sizeof *removals; i++) {
    tw_schedule longer = steps;
    char *source = NULL;
    must(tw_schedule_add(&longer, removals[i], &error), &error);
    if (gm_rewrite(program, &longer, &source, NULL) == TW_OK) steps = longer;
    free(source);
  }
  if (last) must(tw_schedule_add(&steps, last, &error), &error);
  *start = (double)y->cycles;
  double cycles = cycles_after(program, y, &steps);
  gm_forget(program);
  return cycles;
}

static void rewritten_programs_are_right(void **state) {
  static const char *const names[] = {"p01_naive_same_bank.c", "p16_mvin48.c",     "p31_partial_all.c",
                                      "p37_config_step.c",     "p39_fence_step.c", "p41_a_transposed.c",
                                      "p43_bias_row.c"};
  static const char *const last[] = {NULL, "place banks", "prefetch products=32",
                                     "prefetch products=64 and spread stores"};
  size_t n, applied = 0;
  yardstick *all = yardstick_load(&n);
  for (size_t i = 0; i < n; i++)
    for (size_t k = 0; k < sizeof names / sizeof *names; k++)
      for (size_t l = 0; !strcmp(all[i].program, names[k]) && l < sizeof last / sizeof *last; l++) {
        double start;
        applied += rewritten(&all[i], last[l], &start) > 0;
      }
  print_message("%zu rewritten programs are right\n", applied);
  assert_true(applied >= 14);
  yardstick_free(all, n);
}

static void a_naive_program_becomes_a_fast_one(void **state) {
  size_t n;
  double start = 0, cycles = 0;
  yardstick *all = yardstick_load(&n);
  for (size_t i = 0; i < n; i++)
    if (!strcmp(all[i].program, "p01_naive_same_bank.c")) cycles = rewritten(&all[i], "prefetch products=32", &start);
  assert_true(cycles > 0 && cycles * 2 < start);
  yardstick_free(all, n);
}

/* The best of the rewrites of a program, as one step. 0 if there is none; the program must be right after it. */
static double best_single(const tw_problem *p, const char *source, size_t length) {
  tw_program *program = NULL;
  tw_menu menu;
  const tw_schedule nothing = {0};
  tw_error error = {0};
  const yardstick y = {.problem = *p};
  double best = 0;
  must(gm_study(&machine, p, source, length, false, 5, 1, NULL, &program, &error), &error);
  must(gm_rewrites(program, &nothing, &menu, &error), &error);
  for (size_t i = 0; i < menu.n; i++) {
    tw_schedule one = nothing;
    must(tw_schedule_add(&one, menu.item[i].step, &error), &error);
    double cycles = cycles_after(program, &y, &one);
    if (cycles > 0 && (best == 0 || cycles < best)) best = cycles;
  }
  tw_menu_free(&menu);
  gm_forget(program);
  return best;
}

static void hardware_loops_are_taken_apart(void **state) {
  size_t n;
  yardstick *all = yardstick_load(&n);
  for (size_t i = 0; i < n; i++)
    if (!strcmp(all[i].program, "p51_hw_partial.c")) {
      double cycles = best_single(&all[i].problem, all[i].source, all[i].length);
      print_message("%s: %.0f cycles, rewritten %.0f\n", all[i].program, (double)all[i].cycles, cycles);
      assert_true(cycles > 0);
    }
  yardstick_free(all, n);
}

/* Partial sums stay in the array over four products; C leaves with the last. */
static void output_stationary_products_keep_their_sums(void **state) {
  static const char source[] =
      "void test(int8_t A[64][64], int8_t B[64][64], int8_t C[64][64]) {\n"
      "config_st(64); gemmini_extended_config_ex(OUTPUT_STATIONARY, 0, 0, 1, 0, 0); config_ld(64, 1.0f, 16, 0);\n"
      "for (int i = 0; i < 4; i++) for (int j = 0; j < 4; j++) {\n"
      "  for (int k = 0; k < 4; k++) {\n"
      "    mvin(&A[16 * i][16 * k], 0, 16, 16); mvin(&B[16 * k][16 * j], 16, 16, 16);\n"
      "    preload(0xffffffff, k == 3 ? 0x80000000 : 0xffffffff, 16, 16, 16, 16);\n"
      "    if (k) { compute_accumulated(0, 16, 16, 16, 16, 16); } else { compute_preloaded(0, 16, 16, 16, 16, 16); }\n"
      "  }\n"
      "  mvout(&C[16 * i][16 * j], 0x80000000, 16, 16);\n"
      "} fence(); }\n";
  const tw_problem p = gemm_problem("m=64 n=64 k=64");
  captured c;
  capture(&c, &p, source, strlen(source));
  const double start = (double)c.stream.run.core.cycles;
  release(&c);
  double cycles = best_single(&p, source, strlen(source));
  assert_true(cycles > 0 && 2 * cycles < start);
}

/* Right or wrong by chance: it is refused, or right on all the inputs that it was tried on, but never kept as it is. */
static void a_program_that_is_wrong_on_other_inputs_is_wrong(void **state) {
  const char *source = ONE_TILE("", "fence(); if (A[0][0] & 1) C[3][3] ^= 1;\n");
  const tw_problem p = gemm_problem("m=16 n=16 k=16");
  int refused_later = 0;
  for (uint64_t seed = 1; seed <= 24; seed++) {
    tw_program *program = NULL;
    tw_diagnosis d = {0};
    tw_error error = {0};
    const tw_status status = tw_target_find("gemmini-16x16-int8")
                                 ->rewriter->study(tw_target_find("gemmini-16x16-int8"), &p, source, strlen(source),
                                                   false, seed, 1, NULL, &program, &error);
    refused_later += status == TW_FAILED && strstr(error.text, "on other inputs: wrong result");
    if (status != TW_OK) continue;
    must(gm_diagnose_program(program, 1, &d, &error), &error);
    if (strstr(d.fixed, "wrong result")) fail_msg("kept, though: %s", d.fixed);
    gm_forget(program);
  }
  assert_true(refused_later > 0);
}

int main(void) {
  config = gemmini_config("gemmini-16x16-int8");
  machine = gm_target_of(&config);
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_program_that_is_wrong_on_other_inputs_is_wrong),
      cmocka_unit_test(a_program_whose_commands_depend_on_its_data_is_not_rewritten),
      cmocka_unit_test(a_program_in_which_the_core_computes_is_not_rewritten),
      cmocka_unit_test(a_wrong_program_is_refused),
      cmocka_unit_test(copies_of_a_stream_share_no_memory_that_a_run_changes),
      cmocka_unit_test(a_fence_between_a_store_and_a_load_of_the_same_bytes_stays),
      cmocka_unit_test(a_load_goes_only_if_nothing_has_changed),
      cmocka_unit_test(a_config_goes_only_if_it_sets_what_is_set),
      cmocka_unit_test(zeros_go_where_the_first_product_can_overwrite),
      cmocka_unit_test(rewritten_programs_are_right),
      cmocka_unit_test(a_naive_program_becomes_a_fast_one),
      cmocka_unit_test(hardware_loops_are_taken_apart),
      cmocka_unit_test(output_stationary_products_keep_their_sums),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
