/* test_gemm.c - the gemm op: its reference against three plain loops, its inputs, its comparison. */
#include "test.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/parallel.h"
#include "base/status.h"
#include "op/gemm_problem.h"
#include "op/gemm_values.h"
#include "op/int8.h"
#include "subject.h"

static tw_problem parse(const char *keys) { return problem_from(NULL, "gemm %s", keys); }

static tw_case make_case(const tw_problem *problem, uint64_t seed, int threads) {
  tw_case c;
  tw_error error;
  if (tw_case_make(problem, seed, threads, &c, &error) != TW_OK) fail_msg("%s", error.text);
  return c;
}

static void *output_of(const tw_case *c) { return c->buffer[c->n_operands - 1]; }

/* What docs and gemm.c say, in the plainest way. */
static double plain_element(const tw_gemm *g, void *const buffer[], int64_t i, int64_t j) {
  double sum = 0;
  for (int64_t p = 0; p < g->k; p++) {
    int64_t ia = g->a_transposed ? p * g->lda + i : i * g->lda + p,
            ib = g->b_transposed ? j * g->ldb + p : p * g->ldb + j;
    sum += g->a == TW_F32   ? (double)((float *)buffer[0])[ia] * (double)((float *)buffer[1])[ib]
           : g->a == TW_I16 ? ((int16_t *)buffer[0])[ia] * ((int16_t *)buffer[1])[ib]
                            : ((int8_t *)buffer[0])[ia] * ((int8_t *)buffer[1])[ib];
  }
  if (g->bias != TW_GEMM_BIAS_NONE) {
    int64_t id = g->bias == TW_GEMM_BIAS_ROW ? j : i * g->ldd + j;
    sum += g->acc == TW_F32 ? (double)((float *)buffer[2])[id] : ((int32_t *)buffer[2])[id];
  }
  if (g->c == TW_I8 || g->c == TW_I16) {
    const double scaled = g->a == TW_I16 ? sum * (double)g->scale : (double)((float)(int32_t)sum * g->scale);
    double rounded = floor(scaled), rest = scaled - rounded;
    if (rest > 0.5 || (rest == 0.5 && fmod(rounded, 2) != 0)) rounded += 1;
    const double most = g->c == TW_I8 ? 127 : 32767;
    sum = rounded > most ? most : rounded < -most - 1 ? -most - 1 : rounded;
  } else if (g->c == TW_F32) {
    sum *= (double)g->scale;
  }
  return g->relu && sum < 0 ? 0 : sum;
}

static void expect_plain_result(const char *text) {
  tw_problem problem = parse(text);
  tw_gemm g = tw_gemm_of(&problem);
  tw_case c = make_case(&problem, 7, 2);
  for (int64_t i = 0; i < g.m; i++) {
    for (int64_t j = 0; j < g.n; j++) {
      double plain = plain_element(&g, c.buffer, i, j), got;
      int64_t at = i * g.ldc + j;
      if (g.c == TW_F32) {
        got = (double)((float *)output_of(&c))[at];
        plain = (double)(float)plain;
      } else {
        got = g.c == TW_I8    ? ((int8_t *)output_of(&c))[at]
              : g.c == TW_I16 ? ((int16_t *)output_of(&c))[at]
                              : ((int32_t *)output_of(&c))[at];
      }
      if (got != plain) fail_msg("%s: C[%d][%d] is %g, plain loops say %g", text, (int)i, (int)j, got, plain);
    }
  }
  tw_case_free(&c);
}

#define I8 " a=i8 b=i8 c=i8 acc=i32"
#define I16 " a=i8 b=i8 c=i16 acc=i32"
#define I16_I16 " a=i16 b=i16 c=i16 acc=i32"
#define I32 " a=i8 b=i8 c=i32 acc=i32"
#define F32 " a=f32 b=f32 c=f32 acc=f32"

static void reference_is_what_plain_loops_say(void **state) {
  static const char *const shapes[] = {"m=1 n=1 k=1",       "m=33 n=65 k=17", "m=100 n=37 k=129",
                                       "m=64 n=128 k=1100", "m=1 n=70 k=5",   "m=70 n=1 k=2100"};
  static const char *const variants[] = {"", " a_transposed=1", " b_transposed=1 bias=row",
                                         " a_transposed=1 b_transposed=1 bias=full relu=1",
                                         " lda=2200 ldb=2300 ldc=200 ldd=210 bias=full"};
  static const char *const types[] = {
      I8,  I8 " scale=0.0371", I16, I16 " scale=0.25", I16_I16, I16_I16 " scale=0.001953125", I32,
      F32, F32 " scale=-1.5"};
  for (size_t s = 0; s < 6; s++)
    for (size_t v = 0; v < 5; v++)
      for (size_t t = 0; t < 9; t++) {
        char text[256];
        snprintf(text, sizeof text, "%s%s%s", shapes[s], variants[v], types[t]);
        expect_plain_result(text);
      }
}

static void narrow_weights_are_integers_of_their_range(void **state) {
  expect_plain_result("m=33 n=65 k=17 a=i8 b=i4 c=i32 acc=i32");
  expect_plain_result("m=33 n=65 k=17 a=i8 b=ternary c=i32 acc=i32 b_transposed=1");
  expect_plain_result("m=33 n=65 k=17 a=i8 b=ternary c=i8 acc=i32 scale=0.5");
  tw_problem problem = parse("m=40 n=64 k=32 a=i8 b=ternary c=i32 acc=i32");
  tw_case c = make_case(&problem, 3, 1);
  int seen[3] = {0};
  for (int i = 0; i < 64 * 32; i++) {
    const int8_t x = ((int8_t *)c.buffer[1])[i];
    assert_in_range(x + 1, 0, 2);
    seen[x + 1]++;
  }
  assert_true(seen[0] > 500 && seen[1] > 500 && seen[2] > 500);
  assert_true(problem.op->bytes(&problem) == 40 * 32 + 64 * 32 / 4 + 40 * 64 * 4);
  tw_case_free(&c);
}

static void rounding_is_to_nearest_even_and_saturates(void **state) {
  assert_int_equal(tw_round_i8(1, 0.5f, false), 0);
  assert_int_equal(tw_round_i8(3, 0.5f, false), 2);
  assert_int_equal(tw_round_i8(5, 0.5f, false), 2);
  assert_int_equal(tw_round_i8(-1, 0.5f, false), 0);
  assert_int_equal(tw_round_i8(-3, 0.5f, false), -2);
  assert_int_equal(tw_round_i8(-3, 0.5f, true), 0);
  assert_int_equal(tw_round_i8(128, 1, false), 127);
  assert_int_equal(tw_round_i8(-129, 1, false), -128);
  assert_int_equal(tw_round_i8(INT32_MAX, 1e30f, false), 127);
  assert_int_equal(tw_round_i8(INT32_MIN, 1e30f, false), -128);
  assert_int_equal(tw_round_i8(16777217, 0x1p-24f, false), 1); /* int32 -> binary32 rounds first */
  /* sums of int16, just above and below a half: binary32 would make a tie of both */
  const tw_problem wide = parse("m=1 n=1 k=1 scale=0.0000152587890625" I16_I16), narrow = parse("m=1 n=1 k=1" I16);
  const tw_gemm exact = tw_gemm_of(&wide);
  tw_gemm single = tw_gemm_of(&narrow);
  single.scale = exact.scale;
  for (int sign = -1; sign <= 1; sign += 2) {
    assert_true(tw_gemm_finish(&exact, sign * 0x20008001) == sign * 0x2001);
    assert_true(tw_gemm_finish(&exact, sign * 0x20008000) == sign * 0x2000);
    assert_true(tw_gemm_finish(&exact, sign * 0x20017fff) == sign * 0x2001);
    assert_true(tw_gemm_finish(&exact, sign * 0x20018000) == sign * 0x2002);
    assert_true(tw_gemm_finish(&single, sign * 0x20008001) == sign * 0x2000);
  }
  assert_true(tw_gemm_finish(&exact, INT32_MAX) == INT16_MAX && tw_gemm_finish(&exact, INT32_MIN) == INT16_MIN);
}

static void result_does_not_depend_on_threads_and_only_on_the_seed(void **state) {
  tw_problem problem = parse("m=130 n=150 k=90" I8);
  tw_case one = make_case(&problem, 5, 1), four = make_case(&problem, 5, 4), other = make_case(&problem, 6, 1);
  for (size_t i = 0; i < one.n_operands; i++) {
    assert_memory_equal(one.buffer[i], four.buffer[i], one.operand[i].bytes);
    assert_memory_not_equal(one.buffer[i], other.buffer[i], one.operand[i].bytes);
  }
  tw_case_free(&one);
  tw_case_free(&four);
  tw_case_free(&other);
}

/* Of the results, some saturate, most do not, and few values are equal: an error somewhere shows. */
static void expect_informative(const char *text) {
  tw_problem problem = parse(text);
  tw_case c = make_case(&problem, 1, 2);
  tw_gemm g = tw_gemm_of(&problem);
  int64_t count[256] = {0}, total = g.m * g.n, most = 0;
  for (int64_t i = 0; i < total; i++) count[((uint8_t *)output_of(&c))[i]]++;
  for (int v = 0; v < 256; v++) {
    if (v != 127 && v != 128 && count[v] > most) most = count[v];
  }
  double saturated = (double)(count[127] + count[128]) / (double)total, commonest = (double)most / (double)total;
  if (!(saturated > 0.001 && saturated < 0.2)) fail_msg("%s: %.3f of the results are saturated", text, saturated);
  if (!(commonest < 0.15)) fail_msg("%s: one value makes %.3f of the results", text, commonest);
  tw_case_free(&c);
}

/* Of 16 bits: some saturate, and both bytes vary. */
static void expect_informative_16(const char *text) {
  tw_problem problem = parse(text);
  tw_case c = make_case(&problem, 1, 2);
  int saturated = 0, large = 0;
  for (int i = 0; i < 128 * 128; i++) {
    const int16_t x = ((int16_t *)output_of(&c))[i];
    saturated += x == INT16_MAX || x == INT16_MIN;
    large += abs(x) > 4096;
  }
  assert_in_range(saturated, 128 * 128 / 1000, 128 * 128 / 5);
  assert_in_range(large, 128 * 128 / 4, 128 * 128);
  tw_case_free(&c);
}

static void results_of_16_bits_tell_much(void **state) {
  expect_informative_16("m=128 n=128 k=512" I16);
  expect_informative_16("m=128 n=128 k=512" I16_I16);
  expect_informative_16("m=128 n=128 k=512 scale=0.0078125 b_transposed=1" I16_I16);
}

static void inputs_make_results_that_tell_much(void **state) {
  expect_informative("m=64 n=64 k=1" I8);
  expect_informative("m=64 n=64 k=16" I8);
  expect_informative("m=128 n=128 k=512" I8);
  expect_informative("m=64 n=64 k=4096" I8);
  expect_informative("m=32 n=32 k=100000" I8);
  expect_informative("m=128 n=128 k=512 scale=0.05" I8);
  expect_informative("m=128 n=128 k=256 scale=0.001 bias=row" I8);
}

static void expect_compare(const char *text, void (*damage)(const tw_gemm *, void *C), const char *message) {
  tw_problem problem = parse(text);
  tw_gemm g = tw_gemm_of(&problem);
  tw_case c = make_case(&problem, 3, 1);
  size_t last = c.n_operands - 1;
  void *actual[TW_OPERANDS_MAX];
  memcpy(actual, c.buffer, sizeof actual);
  actual[last] = malloc(c.operand[last].bytes);
  memcpy(actual[last], c.buffer[last], c.operand[last].bytes);
  damage(&g, actual[last]);
  tw_error error = {0};
  tw_status status = problem.op->compare(&problem, c.buffer, actual, &error);
  if (message) {
    assert_int_equal(status, TW_FAILED);
    if (!strstr(error.text, message)) fail_msg("'%s' does not say '%s'", error.text, message);
  } else {
    if (status != TW_OK) fail_msg("%s", error.text);
  }
  free(actual[last]);
  tw_case_free(&c);
}

static void damage_nothing(const tw_gemm *g, void *C) { (void)g, (void)C; }
static void damage_one_i8(const tw_gemm *g, void *C) { ((int8_t *)C)[7 * g->ldc + 9] ^= 1; }
static void damage_gap_i8(const tw_gemm *g, void *C) { ((int8_t *)C)[7 * g->ldc + g->n] = 0; }
static void damage_last_i32(const tw_gemm *g, void *C) { ((int32_t *)C)[(g->m - 1) * g->ldc + g->n - 1] += 1; }
static void damage_never_written(const tw_gemm *g, void *C) { memset(C, TW_POISON, (size_t)(g->m * g->ldc)); }
static void damage_nan(const tw_gemm *g, void *C) { ((float *)C)[3 * g->ldc + 2] = NAN; }
static void damage_f32_little(const tw_gemm *g, void *C) { ((float *)C)[3 * g->ldc + 2] *= 1 + 0x1p-22f; }
static void damage_f32_much(const tw_gemm *g, void *C) { ((float *)C)[3 * g->ldc + 2] += 0.02f; }
static void damage_f32_poison(const tw_gemm *g, void *C) { memset((float *)C + g->ldc, TW_POISON, 4 * (size_t)g->n); }

static void comparison_finds_one_wrong_element(void **state) {
  expect_compare("m=20 n=30 k=40" I8, damage_nothing, NULL);
  expect_compare("m=20 n=30 k=40" I8, damage_one_i8, "C[7][9]");
  expect_compare("m=20 n=30 k=40" I8, damage_one_i8, "1 of 600 elements");
  expect_compare("m=20 n=30 k=40 ldc=33" I8, damage_nothing, NULL);
  expect_compare("m=20 n=30 k=40 ldc=33" I8, damage_gap_i8, "writes outside its array: C[7][30]");
  expect_compare("m=20 n=30 k=40" I32, damage_last_i32, "C[19][29]");
  expect_compare("m=20 n=30 k=40" I8, damage_never_written, "never written");
  expect_compare("m=20 n=30 k=1000" F32, damage_f32_little, NULL);
  expect_compare("m=20 n=30 k=1000" F32, damage_f32_much, "C[3][2]");
  expect_compare("m=20 n=30 k=1000" F32, damage_nan, "C[3][2]");
  expect_compare("m=20 n=30 k=10 relu=1" F32, damage_f32_poison, "never written");
}

static void comparison_finds_changed_inputs(void **state) {
  tw_problem problem = parse("m=4 n=4 k=4" I8);
  tw_case c = make_case(&problem, 3, 1);
  int8_t changed[16];
  memcpy(changed, c.buffer[0], 16);
  changed[5] ^= 4;
  void *actual[TW_OPERANDS_MAX] = {changed, c.buffer[1], c.buffer[2]};
  tw_error error;
  assert_int_equal(problem.op->compare(&problem, c.buffer, actual, &error), TW_FAILED);
  assert_non_null(strstr(error.text, "changed its input A"));
  tw_case_free(&c);
}

/* The simplest f32 kernel there is must pass at every depth. */
static void binary32_accumulation_is_within_the_bound(void **state) {
  static const char *const texts[] = {"m=9 n=9 k=1" F32, "m=9 n=9 k=100 bias=row" F32, "m=9 n=9 k=30000 scale=3" F32};
  for (size_t t = 0; t < 3; t++) {
    tw_problem problem = parse(texts[t]);
    tw_gemm g = tw_gemm_of(&problem);
    tw_case c = make_case(&problem, 3, 1);
    const float *A = c.buffer[0], *B = c.buffer[1], *D = g.bias ? c.buffer[2] : NULL;
    float C[81];
    for (int64_t i = 0; i < 9; i++)
      for (int64_t j = 0; j < 9; j++) {
        float sum = D ? D[j] : 0;
        for (int64_t p = 0; p < g.k; p++) sum += A[i * g.k + p] * B[p * 9 + j];
        C[i * 9 + j] = sum * g.scale;
      }
    void *actual[TW_OPERANDS_MAX];
    memcpy(actual, c.buffer, sizeof actual);
    actual[c.n_operands - 1] = C;
    tw_error error;
    if (problem.op->compare(&problem, c.buffer, actual, &error) != TW_OK) fail_msg("%s: %s", texts[t], error.text);
    tw_case_free(&c);
  }
}

static void expect_refused(const char *text, const char *message) {
  tw_problem problem = parse(text);
  tw_error error = {0};
  tw_case c;
  assert_int_equal(tw_status_group(tw_case_make(&problem, 1, 1, &c, &error)), TW_USAGE);
  if (!strstr(error.text, message)) fail_msg("'%s' does not say '%s'", error.text, message);
}

static void impossible_problems_are_refused(void **state) {
  expect_refused("m=4 n=4 k=4", "does not support");
  expect_refused("m=4 n=4 k=4 a=i8 b=u8 c=i8 acc=i32", "does not support");
  expect_refused("m=4 n=4 k=4 a=i8 b=ternary c=f32 acc=i32", "does not support");
  expect_refused("m=4 n=4 k=4 a=u8 b=i8 c=i16 acc=i32", "does not support");
  expect_refused("m=4 n=4 k=4 a=u8 b=i4 c=i32 acc=i32", "does not support");
  expect_refused("m=4 n=4 k=4 group=2 a=i8 b=i4 c=i32 acc=i32", "group=2");
  expect_refused("m=4 n=4 k=4 lda=3" I8, "lda=3");
  expect_refused("m=8 n=4 k=4 lda=7 a_transposed=1" I8, "lda=7");
  expect_refused("m=4 n=4 k=4 ldd=8" I8, "ldd=8");
  expect_refused("m=4 n=4 k=4 scale=0.5" I32, "scale");
  expect_refused("m=4 n=4 k=4 scale=1e60" I8, "scale");
  expect_refused("m=1048576 n=1048576 k=1048576" I32, "too large");
}

static void cost_counts_multiply_accumulates_and_every_operand_once(void **state) {
  tw_problem problem = parse("m=10 n=20 k=30 bias=row lda=100" I8);
  assert_true(problem.op->operations(&problem) == 6000);
  assert_true(problem.op->bytes(&problem) == 300 + 600 + 80 + 200);
}

static void an_interrupt_ends_the_reference(void **state) {
  const tw_problem p = parse("m=64 n=64 k=64 a=f32 b=f32 c=f32 acc=f32");
  volatile int flag = 0;
  tw_case c;
  tw_error error;
  const tw_stop stop = {.interrupt = &flag};
  assert_null(tw_stop_by(&stop));
  assert_int_equal(tw_case_make(&p, 1, 1, &c, &error), TW_OK);
  tw_case_free(&c);
  flag = 1;
  assert_int_equal(tw_case_make(&p, 1, 1, &c, &error), TW_INTERRUPTED);
  assert_int_equal(c.n_operands, 0);
  assert_ptr_equal(tw_stop_by(NULL), &stop);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(reference_is_what_plain_loops_say),
      cmocka_unit_test(an_interrupt_ends_the_reference),
      cmocka_unit_test(narrow_weights_are_integers_of_their_range),
      cmocka_unit_test(rounding_is_to_nearest_even_and_saturates),
      cmocka_unit_test(result_does_not_depend_on_threads_and_only_on_the_seed),
      cmocka_unit_test(results_of_16_bits_tell_much),
      cmocka_unit_test(inputs_make_results_that_tell_much),
      cmocka_unit_test(comparison_finds_one_wrong_element),
      cmocka_unit_test(comparison_finds_changed_inputs),
      cmocka_unit_test(binary32_accumulation_is_within_the_bound),
      cmocka_unit_test(impossible_problems_are_refused),
      cmocka_unit_test(cost_counts_multiply_accumulates_and_every_operand_once),
  };
  return cmocka_run_group_tests_name("gemm", tests, NULL, NULL);
}
