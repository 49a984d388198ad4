/* tune --from on programs that are broken, endless, huge or fixed, and on searches that are cut short: one clear line,
 * or a result. */
#include "gemmini_yardstick.h"
#include "search/result.h"
#include "tilewright/extend/extend.h"

#define HEAD "void test(int8_t A[16][16], int8_t B[16][16], int8_t C[16][16]) {\n"
#define PRODUCT                                                                                                        \
  "config_st(16); config_ex(WEIGHT_STATIONARY, NO_ACTIVATION, 1, 0, 0); config_ld(16, 1.0f, 16, 0);\n"                 \
  "mvin(&A[0][0], 0, 16, 16); mvin(&B[0][0], 4096, 16, 16); preload(4096, 0x80000000, 16, 16, 16, 16);\n"              \
  "compute_preloaded(0, 0xffffffff, 16, 16, 16, 16); mvout(&C[0][0], 0x80000000, 16, 16);\n"

static tw_problem problem_of(const tw_target *t, const char *op, const char *keys) {
  return problem_from(t, "%s %s", op, keys);
}

static tw_status improve(const char *target, const char *op, const char *keys, const char *source, size_t length,
                         const tw_search_options *options, tw_search_result *out, tw_improvement *how,
                         tw_error *error) {
  const tw_target *t = tw_target_find(target);
  const tw_problem p = problem_of(t, op, keys);
  return tw_improve(t, &p, source, length, options, true, out, how, error);
}

static tw_status improve_square(const char *source, size_t length, tw_search_result *out, tw_improvement *how,
                                tw_error *error) {
  const tw_search_options options = {.size = sizeof options, .jobs = 1, .seed = 1};
  return improve("gemmini-16x16-int8", "gemm", "m=16 n=16 k=16", source, length, &options, out, how, error);
}

static void refuses(const char *source, size_t length, const char *part) {
  tw_search_result out = {0};
  tw_error error = {0};
  assert_int_equal(improve_square(source, length, &out, NULL, &error), TW_FAILED);
  if (!strstr(error.text, part)) fail_msg("'%s' does not say '%s'", error.text, part);
  assert_null(out.source);
}

static void refuses_text(const char *source, const char *part) { refuses(source, strlen(source), part); }

static void programs_without_an_end_are_refused(void **state) {
  refuses_text(HEAD "for (;;) {} }", "still running");
  refuses_text(HEAD "for (;;) config_ld(16, 1.0f, 16, 0); }", "still running");
}

static void programs_that_reach_where_they_must_not_are_refused(void **state) {
  refuses_text(HEAD "A[0][0] = 1; " PRODUCT "fence(); }", "read-only");
  refuses_text(HEAD PRODUCT "mvout(&A[0][0], 0x80000000, 16, 16); fence(); }", "not writable");
  refuses_text(HEAD PRODUCT "mvin(&A[0][0], 16380, 16, 16); fence(); }", "does not exist");
  refuses_text(HEAD "*(volatile int *)0x123 = 1; }", "0x123");
}

static void what_is_no_program_is_refused(void **state) {
  static const char bytes[] = "\x7f\x45\x4c\x46\x00\x01\xff\xfe void test";
  refuses(bytes, sizeof bytes - 1, "not text");
  refuses_text("", "test");
  refuses_text("int main(void) { return 0; }", "test");
  refuses_text(HEAD "for for for }", "error");
}

/* Half a million commands that do nothing, each another; with sanitizers a quarter. */
static void a_huge_program_is_handled(void **state) {
  char source[] =
      HEAD PRODUCT "for (int i = 0; i < 500000; i++) config_ld(16 + i * 7919 % 64, 1.0f, 16, 1); fence(); }";
  tw_search_result out = {0};
  tw_improvement how = {0};
  tw_error error = {0};
  if (example_stride() > 1) memcpy(strstr(source, "500000"), "125000", 6);
  must(improve_square(source, sizeof source - 1, &out, &how, &error), &error);
  assert_true(out.schedule.n > 0 && how.after.cost * 100 < out.start.cost);
  tw_search_result_clear(&out);
}

/* Nothing repeats: a table is played, and the result is right. */
static void a_program_without_loops_becomes_a_table(void **state) {
  static const char source[] =
      HEAD PRODUCT "unsigned r = 1; for (int i = 0; i < 4000; i++) { r = r * 1664525 + 1013904223;\n"
                   "if (r >> 31) mvin(&B[0][0], 5000 + (r >> 24), 16, 16);\n"
                   "preload(4096, 0x80000020 + (r >> 28), 16, 16, 16, 16);\n"
                   "compute_preloaded((r >> 20) % 7, 0xffffffff, 16, 16, 16, 16); } fence(); }";
  const tw_target *t = tw_target_find("gemmini-16x16-int8");
  const tw_problem p = problem_of(t, "gemm", "m=16 n=16 k=16");
  const tw_stop never = {0};
  tw_program *program = NULL;
  tw_artefact *artefact = NULL;
  tw_schedule bare = {0};
  tw_case data;
  char *rewritten = NULL;
  tw_error error = {0};
  must(t->rewriter->study(t, &p, source, sizeof source - 1, false, 1, 1, &never, &program, &error), &error);
  must(tw_schedule_add(&bare, "bare commands", &error), &error);
  must(t->rewriter->rewrite(program, &bare, &rewritten, &error), &error);
  assert_non_null(strstr(rewritten, "static const step_t step[]"));
  must(t->build(t, &p, rewritten, strlen(rewritten), &(tw_evaluation){0}, &artefact, &error), &error);
  must(tw_case_make(&p, 7, 1, &data, &error), &error);
  must(t->check(t, artefact, &data, &(tw_evaluation){0}, &error), &error);
  t->release(artefact);
  t->rewriter->forget(program);
  tw_case_free(&data);
  free(rewritten);
}

static void memory_of_its_own_is_not_rewritten(void **state) {
  static const char source[] = HEAD "static int8_t T[16][16]; " PRODUCT
                                    "mvout(&T[0][0], 0x80000000, 16, 16); fence(); mvin(&T[0][0], 32, 16, 16);\n"
                                    "mvout(&C[0][0], 32, 16, 16); fence(); }";
  tw_search_result out = {0};
  tw_error error = {0};
  must(improve_square(source, sizeof source - 1, &out, NULL, &error), &error);
  assert_int_equal(out.schedule.n, 0);
  tw_search_result_clear(&out);
}

/* ---- the start programs of the other ops ---- */

/* How much faster the rewrites make the baseline that the target has for the problem. */
static double gain(const char *target, const char *op, const char *keys) {
  const tw_target *t = tw_target_find(target);
  const tw_problem p = problem_of(t, op, keys);
  const tw_schedule nothing = {0};
  const tw_search_options options = {.size = sizeof options, .jobs = 1, .seed = 1};
  char *source = NULL;
  tw_search_result out = {0};
  tw_improvement how = {0};
  tw_error error = {0};
  must(tw_target_emit(t, &p, &nothing, &source, &error), &error);
  must(tw_improve(t, &p, source, strlen(source), &options, true, &out, &how, &error), &error);
  double times = out.start.cost / how.after.cost;
  print_message("%s %s: %.0f cycles, %.2fx\n", op, keys, how.after.cost, times);
  tw_search_result_clear(&out);
  free(source);
  return times;
}

static void convolutions_are_rewritten(void **state) {
  assert_true(gain("gemmini-16x16-int8", "conv2d", "n=1 h=12 w=12 c=16 k=32 r=3 s=3 pad=1 bias=row relu=1") > 1.3);
  assert_true(gain("gemmini-16x16-int8", "conv2d", "n=1 h=11 w=11 c=20 k=16 r=3 s=3 stride=2") > 1);
}

static void stores_with_pooling_are_followed(void **state) {
  assert_true(gain("gemmini-16x16-int8", "conv2d", "n=1 h=16 w=16 c=16 k=32 r=3 s=3 pad=1 pool=2") > 1.3);
}

static void floating_point_keeps_its_order(void **state) {
  assert_true(gain("gemmini-4x4-fp32", "gemm", "m=20 n=12 k=36") > 1.2);
}

/* The start programs of the mpc ops compute on the core: they are measured and diagnosed. */
static void programs_that_use_the_core_are_diagnosed(void **state) {
  assert_true(gain("gemmini-4x4-fp32", "mpc_forward", "horizon=3 states=4 inputs=1") == 1);
  assert_true(gain("gemmini-4x4-fp32", "mpc_backward", "horizon=3 states=4 inputs=1") == 1);
}

/* ---- cut short ---- */

typedef struct cut {
  int flag, after;
} cut;

static void count(void *context, const tw_progress *p) {
  cut *c = context;
  if (p->done >= c->after) c->flag = 1;
}

static void improve_naive(const tw_search_options *options, tw_status expected) {
  size_t n;
  yardstick *all = yardstick_load(&n);
  for (size_t i = 0; i < n; i++) {
    if (strcmp(all[i].program, "p01_naive_same_bank.c") != 0) continue;
    tw_search_result out = {0};
    tw_improvement how = {0};
    tw_error error = {0};
    const tw_target *t = tw_target_find("gemmini-16x16-int8");
    tw_status status = tw_improve(t, &all[i].problem, all[i].source, all[i].length, options, true, &out, &how, &error);
    assert_int_equal(status, expected);
    assert_non_null(out.source);
    assert_true(how.after.cost <= out.start.cost);
    tw_search_result_clear(&out);
  }
  yardstick_free(all, n);
}

static void an_interrupt_keeps_what_was_found(void **state) {
  for (int after = 1; after < 6; after += 2) {
    cut c = {.after = after};
    const tw_search_options options = {
        .size = sizeof options, .jobs = 1, .seed = 1, .interrupt = &c.flag, .progress = count, .context = &c};
    improve_naive(&options, TW_INTERRUPTED);
  }
}

static void a_limit_on_time_keeps_what_was_found(void **state) {
  const tw_search_options options = {.size = sizeof options, .jobs = 1, .seed = 1, .seconds = 1};
  improve_naive(&options, TW_OK);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(programs_without_an_end_are_refused),
      cmocka_unit_test(programs_that_reach_where_they_must_not_are_refused),
      cmocka_unit_test(what_is_no_program_is_refused),
      cmocka_unit_test(a_huge_program_is_handled),
      cmocka_unit_test(a_program_without_loops_becomes_a_table),
      cmocka_unit_test(memory_of_its_own_is_not_rewritten),
      cmocka_unit_test(convolutions_are_rewritten),
      cmocka_unit_test(stores_with_pooling_are_followed),
      cmocka_unit_test(floating_point_keeps_its_order),
      cmocka_unit_test(programs_that_use_the_core_are_diagnosed),
      cmocka_unit_test(an_interrupt_keeps_what_was_found),
      cmocka_unit_test(a_limit_on_time_keeps_what_was_found),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
