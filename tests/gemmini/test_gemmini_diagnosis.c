/* The diagnosis of tune --from: each kind of finding on a program that was written for it, and not on its better twin;
 * and, where a pair of programs differs in nothing else, with the cycles by which they differ. */
#include "gemmini_yardstick.h"
#include "target/gemmini/rewrite/diagnose.h"
#include "target/gemmini/rewrite/rewrite.h"

typedef struct diagnosed {
  double cycles;
  tw_diagnosis diagnosis;
} diagnosed;

static gm_config config;
static yardstick *programs;
static size_t n_programs;

static void diagnose(const tw_problem *p, const char *source, size_t length, const tw_stop *stop, diagnosed *out) {
  tw_problem problem = *p;
  tw_case data;
  gm_stream stream;
  tw_error error = {0};
  must(tw_case_make(&problem, 3, 1, &data, &error), &error);
  must(gm_stream_capture(&config, &problem, source, length, false, &data, NULL, &stream, &error), &error);
  stream.stop = stop;
  must(gm_diagnose(&stream, 1, &out->diagnosis, &error), &error);
  out->cycles = (double)stream.run.core.cycles;
  for (size_t i = 1; i < out->diagnosis.n; i++)
    assert_true(out->diagnosis.finding[i - 1].cost >= out->diagnosis.finding[i].cost);
  gm_stream_free(&stream);
  tw_case_free(&data);
}

static void diagnose_program(const char *program, diagnosed *out) {
  for (size_t i = 0; i < n_programs; i++)
    if (!strcmp(programs[i].program, program)) {
      diagnose(&programs[i].problem, programs[i].source, programs[i].length, NULL, out);
      return;
    }
  fail_msg("there is no %s", program);
}

static const tw_finding *find(const diagnosed *d, const char *what) {
  for (size_t i = 0; i < d->diagnosis.n; i++)
    if (strstr(d->diagnosis.finding[i].what, what)) return &d->diagnosis.finding[i];
  return NULL;
}

static double share(const diagnosed *d, const char *what) {
  const tw_finding *f = find(d, what);
  return f ? f->cost / d->cycles : 0;
}

/* What share of its time the finding costs a program, at least; and its twin, at most. */
static void each_kind_is_found_where_it_was_made(void **state) {
  static const struct {
    const char *what, *bad;
    double least;
    const char *good;
    double most;
  } kinds[] = {
      {"from one scratchpad bank", "p01_naive_same_bank.c", 0.15, "p02_naive_two_banks.c", 0},
      {"from one scratchpad bank", "p62_b_bank_written.c", 0.3, "p55_b_resident_spread_st64.c", 0},
      {"bring data that is already there", "p17_reuse_weights.c", 0.1, "p24_hold_a.c", 0},
      {"repeat an earlier load", "p01_naive_same_bank.c", 0.2, "p23_both_resident.c", 0},
      {"loads of zeros", "p02_naive_two_banks.c", 0.04, "p03_naive_overwrite.c", 0},
      {"set values that are already set", "p37_config_step.c", 0.02, "p36_flat.c", 0},
      {"set values that are already set", "p59_config_ex_bound.c", 0.02, "p55_b_resident_spread_st64.c", 0},
      {"wait for results that no later command needs", "p39_fence_step.c", 0.08, "p37_config_step.c", 0},
      {"narrow loads", "p14_mvin16.c", 0.2, "p15_mvin32.c", 0},
      {"narrow stores", "p47_store_bound.c", 0.3, "p48_store_bound_st64.c", 0},
      {"commands are issued late", "p34_cpu_div.c", 0.5, "p03_naive_overwrite.c", 0.01},
      {"commands are issued late", "p36_flat.c", 0.3, "p35_cpu_loop_k16.c", 0.1},
      {"the core has not yet issued", "p34_cpu_div.c", 0.4, "p03_naive_overwrite.c", 0.02},
      {"the array is idle", "p34_cpu_div.c", 0.5, "p08_triple_ab.c", 0.1},
      {"the array waits for a load", "p03_naive_overwrite.c", 0.2, "p06_double_ab_prefetch.c", 0.02},
      {"a full load queue", "p14_mvin16.c", 0.3, "p06_double_ab_prefetch.c", 0.03},
      {"the array waits for a store", "p47_store_bound.c", 0.4, "p13_square_st64.c", 0.01},
      {"bank that it reads", "p63_a_bank_written.c", 0.15, "p55_b_resident_spread_st64.c", 0.01},
      {"drains for a config_ex", "p38_config_ex.c", 0.015, "p37_config_step.c", 0},
      {"fences wait for the last", "p40_fence_load.c", 0.4, "p37_config_step.c", 0.03},
      {"weights enter the array", "p36_flat.c", 0.1, "p09_square_tile4.c", 0.01},
  };
  for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
    diagnosed bad, good;
    diagnose_program(kinds[i].bad, &bad);
    diagnose_program(kinds[i].good, &good);
    double lost = share(&bad, kinds[i].what), twin = share(&good, kinds[i].what);
    if (lost < kinds[i].least || twin > kinds[i].most)
      fail_msg("'%s' costs %s %.1f%%, and %s %.1f%%", kinds[i].what, kinds[i].bad, 100 * lost, kinds[i].good,
               100 * twin);
  }
}

/* Programs that differ in one thing: what the first says that it costs is what the second saves, to a tenth. */
static void the_cycles_are_those_that_the_better_twin_saves(void **state) {
  static const char *const pairs[][3] = {
      {"from one scratchpad bank", "p01_naive_same_bank.c", "p02_naive_two_banks.c"},
      {"loads of zeros", "p02_naive_two_banks.c", "p03_naive_overwrite.c"},
      {"narrow stores", "p47_store_bound.c", "p48_store_bound_st64.c"},
      {"wait for results that no later command needs", "p60_fence_bound.c", "p55_b_resident_spread_st64.c"},
  };
  for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++) {
    diagnosed bad, good;
    diagnose_program(pairs[i][1], &bad);
    diagnose_program(pairs[i][2], &good);
    const tw_finding *f = find(&bad, pairs[i][0]);
    double saved = bad.cycles - good.cycles;
    assert_non_null(f);
    print_message("%s: '%s' costs %.0f cycles; %s saves %.0f\n", pairs[i][1], pairs[i][0], f->cost, pairs[i][2], saved);
    assert_true(f->cost > 0.9 * saved && f->cost < 1.1 * saved);
  }
}

/* Sixteen rows of blocks, and B is loaded for each of them. */
static void what_is_counted_is_what_is_there(void **state) {
  static const char source[] =
      "void test(int8_t A[256][16], int8_t B[16][16], int8_t C[256][16]) {\n"
      "  config_st(16); config_ex(WEIGHT_STATIONARY, NO_ACTIVATION, 1, 0, 0);\n"
      "  for (int i = 0; i < 16; i++) {\n"
      "    config_ld(16, 1.0f, 16, 0); mvin(&A[16 * i][0], 16 * i, 16, 16); mvin(&B[0][0], 4096, 16, 16);\n"
      "    preload(4096, 0x80000000 + 16 * i, 16, 16, 16, 16); compute_preloaded(16 * i, 0xffffffff, 16, 16, 16, 16);\n"
      "    fence(); mvout(&C[16 * i][0], 0x80000000 + 16 * i, 16, 16);\n"
      "  }\n"
      "  fence();\n"
      "}\n";
  const tw_problem p = gemm_problem("m=256 n=16 k=16");
  static const struct {
    const char *what;
    double count;
  } expected[] = {{"15 loads bring", 15}, {"15 configurations", 15}, {"17 fences wait for results", 17}};
  diagnosed d;
  diagnose(&p, source, sizeof source - 1, NULL, &d);
  for (size_t i = 0; i < sizeof expected / sizeof *expected; i++) {
    const tw_finding *f = find(&d, expected[i].what);
    if (!f) fail_msg("nothing says '%s'", expected[i].what);
    assert_true(f->count == expected[i].count && f->cost > 0 && strstr(f->example, "command "));
  }
}

/* What holds weights in one turn holds activations in the next, all in one bank. */
static void operands_of_one_bank_are_seen_where_they_change_places(void **state) {
  static const char source[] =
      "void test(int8_t A[512][16], int8_t B[16][16], int8_t C[512][16]) {\n"
      "  config_st(16); config_ex(WEIGHT_STATIONARY, NO_ACTIVATION, 1, 0, 0); config_ld(16, 1.0f, 16, 0);\n"
      "  for (int i = 0; i < 32; i++) {\n"
      "    int a = 16 * (i % 2), b = 16 - a;\n"
      "    mvin(&A[16 * i][0], a, 16, 16); mvin(&B[0][0], b, 16, 16);\n"
      "    preload(b, 0x80000000 + 16 * i, 16, 16, 16, 16); compute_preloaded(a, 0xffffffff, 16, 16, 16, 16);\n"
      "    mvout(&C[16 * i][0], 0x80000000 + 16 * i, 16, 16);\n"
      "  }\n"
      "  fence();\n"
      "}\n";
  const tw_problem p = gemm_problem("m=512 n=16 k=16");
  diagnosed d;
  diagnose(&p, source, sizeof source - 1, NULL, &d);
  const tw_finding *f = find(&d, "from one scratchpad bank");
  assert_non_null(f);
  assert_true(f->count == 32 && f->cost > 0);
}

/* A deadline that has passed does not thin out the diagnosis: what is left would be put down to other causes. */
static void the_diagnosis_is_whole_or_missing(void **state) {
  const tw_stop past = {.deadline = 1};
  diagnosed whole, late;
  diagnose_program("p01_naive_same_bank.c", &whole);
  for (size_t i = 0; i < n_programs; i++)
    if (!strcmp(programs[i].program, "p01_naive_same_bank.c"))
      diagnose(&programs[i].problem, programs[i].source, programs[i].length, &past, &late);
  assert_int_equal(late.diagnosis.n, whole.diagnosis.n);
  for (size_t i = 0; i < whole.diagnosis.n; i++)
    assert_true(late.diagnosis.finding[i].cost == whole.diagnosis.finding[i].cost);
}

int main(void) {
  config = gemmini_config("gemmini-16x16-int8");
  programs = yardstick_load(&n_programs);
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(each_kind_is_found_where_it_was_made),
      cmocka_unit_test(the_cycles_are_those_that_the_better_twin_saves),
      cmocka_unit_test(what_is_counted_is_what_is_there),
      cmocka_unit_test(operands_of_one_bank_are_seen_where_they_change_places),
      cmocka_unit_test(the_diagnosis_is_whole_or_missing),
  };
  int failed = cmocka_run_group_tests(tests, NULL, NULL);
  yardstick_free(programs, n_programs);
  return failed;
}
