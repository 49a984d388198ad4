/* Schedules of gemm on Trainium: every step that the menu offers becomes a kernel that is read, correct and timed. */
#include "search_fixture.h"
#include "test.h"

#include <stdlib.h>
#include <string.h>

#include "base/status.h"
#include "op/exact.h"
#include "target/trainium/nki/kernel.h"
#include "target/trainium/timing/hazards.h"
#include "tilewright/extend/target.h"
#include "tilewright/run.h"

static double cost_of(const tw_target *t, const tw_problem *p, const tw_case *k, const tw_schedule *s) {
  tw_artefact *a;
  tw_measurement m;
  tw_error error = {0};
  char *source;
  if (tw_target_emit(t, p, s, &source, &error) != TW_OK) fail_msg("%s", error.text);
  if (t->build(t, p, source, strlen(source), &(tw_evaluation){0}, &a, &error) != TW_OK)
    fail_msg("%s\n%s", error.text, source);
  if (t->check(t, a, k, &(tw_evaluation){0}, &error) != TW_OK) fail_msg("%s\n%s", error.text, source);
  if (t->measure(t, a, k, &(tw_evaluation){0}, &m, &error) != TW_OK) fail_msg("%s\n%s", error.text, source);
  t->release(a);
  free(source);
  return m.cost;
}

static void every_offered_step_is_correct(void **state) {
  static const char *const problems[] = {"gemm m=256 n=1024 k=256 a=bf16 b=bf16 a_transposed=1",
                                         "gemm m=256 n=256 k=512 a=bf16 b=bf16", "gemm m=128 n=192 k=256"};
  const tw_target *t = tw_target_find("trn2");
  for (size_t i = 0; i < sizeof problems / sizeof *problems; i++) {
    tw_problem p;
    tw_case k;
    tw_error error = {0};
    tw_menu menu;
    tw_schedule start = {0};
    double best = 1;
    if (tw_problem_parse(t, problems[i], &p, &error) != TW_OK || tw_target_supports(t, &p, &error) != TW_OK ||
        tw_target_case(t, &p, 3, 1, &k, &error) != TW_OK)
      fail_msg("%s", error.text);
    const double first = cost_of(t, &p, &k, &start);
    if (tw_target_steps(t, &p, &start, &menu, &error) != TW_OK) fail_msg("%s", error.text);
    assert_true(menu.n >= 4);
    for (size_t s = 0; s < menu.n; s += (size_t)example_stride()) {
      tw_schedule one = {0};
      double predicted;
      assert_int_equal(tw_schedule_add(&one, menu.item[s].step, &error), TW_OK);
      const double cost = cost_of(t, &p, &k, &one);
      if (cost < best) best = cost;
      assert_int_equal(tw_target_predict(t, &p, &one, &predicted, &error), TW_OK);
      assert_true(predicted > 0);
    }
    if (example_stride() == 1) assert_true(best < first); /* some step pays */
    tw_menu_free(&menu);
    tw_case_free(&k);
  }
}

/* A baseline of one tile reads its operands again for each tile, and a short search does not leave it. */
static void the_start_reuses_operands(void **state) {
  static const char *const machines[] = {"trn1", "trn2"}, *const one_tile[] = {"block m=1 n=1", "load k=1",
                                                                               "keep nothing"};
  for (size_t i = 0; i < sizeof machines / sizeof *machines; i += (size_t)example_stride()) {
    const tw_target *t = tw_target_find(machines[i]);
    tw_problem p;
    tw_case k;
    tw_error error = {0};
    tw_schedule start = {0}, small = {0};
    if (tw_problem_parse(t, "gemm m=512 n=2048 k=2048 a=bf16 b=bf16 a_transposed=1", &p, &error) != TW_OK ||
        tw_target_supports(t, &p, &error) != TW_OK || tw_target_case(t, &p, 3, 1, &k, &error) != TW_OK)
      fail_msg("%s", error.text);
    for (size_t s = 0; s < sizeof one_tile / sizeof *one_tile; s++)
      assert_int_equal(tw_schedule_add(&small, one_tile[s], &error), TW_OK);
    assert_true(cost_of(t, &p, &k, &start) < 0.95 * cost_of(t, &p, &k, &small));
    tw_case_free(&k);
  }
}

static void what_does_not_fit_is_named(void **state) {
  static const struct {
    const char *problem, *step, *expected;
  } cases[] = {
      {"gemm m=100 n=512 k=128", NULL, "does not support m=100; expected a multiple of 128"},
      {"gemm m=128 n=512 k=100", NULL, "does not support k=100; expected a multiple of 128"},
      {"gemm m=128 n=100 k=128", NULL, "does not support n=100; expected a multiple of 64"},
      {"gemm m=1024 n=4096 k=128 a_transposed=1", "block m=8 n=2", "16 banks of PSUM; expected at most 8"},
      {"gemm m=1024 n=4096 k=16384 a_transposed=1", "block m=8 n=1", "bytes of a partition of SBUF"},
      {"gemm m=128 n=512 k=128", "load k=2", "expected a multiple of 256"},
  };
  const tw_target *t = tw_target_find("trn2");
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    tw_problem p;
    tw_schedule s = {0};
    tw_error error = {0};
    char *source;
    if (tw_problem_parse(t, cases[i].problem, &p, &error) != TW_OK || tw_target_supports(t, &p, &error) != TW_OK)
      fail_msg("%s", error.text);
    if (cases[i].step) assert_int_equal(tw_schedule_add(&s, cases[i].step, &error), TW_OK);
    assert_int_equal(tw_status_group(tw_target_emit(t, &p, &s, &source, &error)), TW_USAGE);
    if (!strstr(error.text, cases[i].expected)) fail_msg("%s: %s", cases[i].problem, error.text);
  }
}

/* Poisoned outputs, then the kernel; `needed` as in nki_request. */
static void execute(const tw_target *t, const char *source, const tw_case *k, const uint8_t *needed, size_t n_needed,
                    void *out, trn_program *program) {
  void *buffer[] = {k->buffer[0], k->buffer[1], out};
  const nki_request request = {
      .n_operands = k->n_operands, .operand = k->operand, .buffer = buffer, .needed = needed, .n_needed = n_needed};
  nki_module module;
  tw_error error;
  memset(out, TW_POISON, k->operand[2].bytes);
  if (nki_parse(source, strlen(source), &module, &error) != TW_OK ||
      nki_execute(t->config, &module, source, &request, program, &error) != TW_OK)
    fail_msg("%s", error.text);
  nki_module_free(&module);
}

/* A candidate of a search is executed in part: what is computed is what the whole run computes there. */
static void a_part_of_a_kernel_computes_the_same(void **state) {
  static const char *const steps[] = {NULL, "block m=2 n=2", "keep columns"};
  const tw_target *t = tw_target_find("trn2");
  tw_problem p;
  tw_case k;
  tw_error error = {0};
  if (tw_problem_parse(t, "gemm m=512 n=8192 k=128 a=bf16 b=bf16 a_transposed=1", &p, &error) != TW_OK ||
      tw_target_supports(t, &p, &error) != TW_OK || tw_target_case(t, &p, 5, 1, &k, &error) != TW_OK)
    fail_msg("%s", error.text);
  const size_t bytes = k.operand[2].bytes;
  int parts = 0;
  uint16_t *whole = malloc(bytes), *part = malloc(bytes);
  for (size_t i = 0; i < sizeof steps / sizeof *steps; i++)
    for (uint64_t seed = 1; seed < 4; seed++) {
      trn_program program;
      tw_schedule s = {0};
      char *source;
      uint8_t *needed;
      size_t computed = 0, written = 0, compared;
      if (steps[i]) assert_int_equal(tw_schedule_add(&s, steps[i], &error), TW_OK);
      if (tw_target_emit(t, &p, &s, &source, &error) != TW_OK) fail_msg("%s", error.text);
      execute(t, source, &k, NULL, 0, whole, &program);
      assert_int_equal(trn_slice(&program, seed, &needed, &error), TW_OK);
      const size_t all = program.n_instructions;
      if (!needed) { /* most of the kernel is needed */
        trn_program_free(&program);
        free(source);
        continue;
      }
      for (size_t n = 0; n < all; n++) computed += needed[n];
      trn_program_free(&program);
      execute(t, source, &k, needed, all, part, &program);
      assert_int_equal(program.n_instructions, all);
      for (size_t n = 0; n < bytes / 2; n++) {
        if (part[n] == (TW_POISON << 8 | TW_POISON)) continue;
        written++;
        if (part[n] != whole[n]) fail_msg("%s: element %zu is %04x, expected %04x", steps[i], n, part[n], whole[n]);
      }
      assert_true(computed > 0 && computed < all / 2 && written > 0 && written < bytes / 2);
      void *const actual[] = {k.buffer[0], k.buffer[1], part};
      assert_int_equal(tw_compare_written(&k, actual, seed, 1, &compared, &error), TW_OK);
      assert_true(compared >= 256);
      for (size_t n = 0; n < bytes / 2; n++)
        if (part[n] != (TW_POISON << 8 | TW_POISON)) part[n] ^= 0x4000;
      assert_int_equal(tw_compare_written(&k, actual, seed, 1, &compared, &error), TW_FAILED);
      memset(part, TW_POISON, bytes);
      assert_int_equal(tw_compare_written(&k, actual, seed, 1, &compared, &error), TW_MISSING);
      trn_program_free(&program);
      parts++;
      free(needed);
      free(source);
    }
  assert_true(parts >= 3);
  free(whole);
  free(part);
  tw_case_free(&k);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(every_offered_step_is_correct), cmocka_unit_test(the_start_reuses_operands),
      cmocka_unit_test(what_does_not_fit_is_named), cmocka_unit_test(a_part_of_a_kernel_computes_the_same)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
