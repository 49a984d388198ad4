/* test_status.c - statuses: a program branches on them, names them, and the command maps them to exit statuses. */
#include "test.h"

#include <stdio.h>
#include <string.h>

#include "base/status.h"
#include "tilewright/extend/extend.h"

enum { M = 3, N = 4, K = 5 };

/* As in a program with two libraries: what tilewright does not support, another GEMM computes. */
static tw_status multiply(tw_gemm_spec spec, const float a[M][K], const float b[K][N], float c[M][N], bool *by_other) {
  tw_gemm_plan *plan = NULL;
  void *packed = NULL;
  *by_other = false;
  tw_status status = tw_gemm_plan_create(&spec, &plan, NULL);
  if (status == TW_UNSUPPORTED) {
    *by_other = true;
    for (int i = 0; i < M; i++)
      for (int j = 0; j < N; j++) {
        c[i][j] = 0;
        for (int k = 0; k < K; k++) c[i][j] += a[i][k] * b[k][j];
      }
    return TW_OK;
  }
  if (status == TW_OK) status = tw_memory_alloc(tw_gemm_packed_bytes(plan), &packed, NULL);
  if (status == TW_OK) status = tw_gemm_pack(plan, b, packed, NULL);
  const tw_gemm_operands o = {.size = sizeof o, .a = a, .packed_b = packed, .c = c};
  if (status == TW_OK) status = tw_gemm_plan_execute(plan, &o, NULL);
  tw_memory_free(packed);
  tw_gemm_plan_destroy(plan);
  return status;
}

static void a_program_calls_another_library_where_unsupported(void **state) {
  static const float a[M][K] = {{1, 2, 3, 4, 5}, {2, 0, 1, 0, 1}, {-1, 3, 0, 2, 2}};
  static const float b[K][N] = {{1, 0, 2, 1}, {0, 1, 1, 3}, {2, 2, 0, 1}, {1, 1, 1, 1}, {0, 3, 1, 2}};
  static const float c[M][N] = {{11, 27, 13, 24}, {4, 5, 5, 5}, {1, 11, 5, 14}};
  const tw_gemm_spec spec = {.size = sizeof spec, .m = M, .n = N, .k = K};
  tw_gemm_spec other = spec, wrong = spec;
  float out[M][N];
  bool by_other;
  assert_int_equal(multiply(spec, a, b, out, &by_other), TW_OK);
  assert_false(by_other);
  assert_memory_equal(out, c, sizeof c);
  other.a = TW_E4M3; /* a type that exists, and no kernel of the CPU library has */
  memset(out, 0, sizeof out);
  assert_int_equal(multiply(other, a, b, out, &by_other), TW_OK);
  assert_true(by_other);
  assert_memory_equal(out, c, sizeof c);
  wrong.lda = K - 1; /* an error of the program: another library cannot help */
  assert_int_equal(multiply(wrong, a, b, out, &by_other), TW_USAGE);
  assert_false(by_other);
}

static void what_a_target_lacks_is_told_from_what_is_wrong(void **state) {
  static const struct {
    const char *target, *problem;
    tw_status status;
  } cases[] = {
      {"gemmini-16x16-int8", "gemm m=16 n=16 k=16", TW_OK},
      {"gemmini-16x16-int8", "softmax rows=4 cols=16", TW_UNSUPPORTED},        /* the op */
      {"gemmini-16x16-int8", "gemm m=16 n=16 k=16 a=bf16", TW_UNSUPPORTED},    /* the type */
      {"xdna2", "gemm m=512 n=512 k=512 threads=2", TW_USAGE},                 /* no key of this target */
      {"cuda-h200", "gemm m=16 n=16 k=0", TW_USAGE},                           /* the size of no product */
      {"cuda-h200", "gemm m=16 n=16 k=16 a=bf16 b=i8 c=e4m3", TW_UNSUPPORTED}, /* types that no target sums */
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    const tw_target *t = tw_target_find(cases[i].target);
    tw_problem p;
    tw_error error = {0};
    assert_non_null(t);
    tw_status status = tw_problem_parse(t, cases[i].problem, &p, &error);
    if (status == TW_OK) status = tw_target_supports(t, &p, &error);
    if (status != cases[i].status) fail_msg("%s: %s (%s)", cases[i].problem, tw_status_name(status), error.text);
    assert_int_equal(error.status, status);
  }
}

static void each_status_has_a_name_and_a_group(void **state) {
  for (int s = TW_OK; s <= TW_DISK_FULL; s++) {
    tw_status read;
    const tw_status group = tw_status_group((tw_status)s);
    assert_true(tw_status_parse(tw_status_name((tw_status)s), &read));
    assert_int_equal(read, s);
    assert_true(group <= TW_INTERRUPTED);
    assert_int_equal(tw_status_group(group), group);
  }
  tw_status read;
  assert_false(tw_status_parse("", &read));
  assert_string_equal(tw_status_name((tw_status)-1), "unknown status");
  assert_string_equal(tw_status_name((tw_status)(TW_DISK_FULL + 1)), "unknown status");
  assert_int_equal(tw_status_group(TW_UNSUPPORTED), TW_USAGE);
  assert_int_equal(tw_status_group(TW_NO_DEVICE), TW_MISSING);
  tw_error error = {.status = TW_USAGE};
  assert_int_equal(tw_status_restate(TW_USAGE, TW_USAGE, TW_UNSUPPORTED, &error), TW_UNSUPPORTED);
  assert_int_equal(error.status, TW_UNSUPPORTED);
  assert_int_equal(tw_status_restate(TW_FAILED, TW_USAGE, TW_UNSUPPORTED, &error), TW_FAILED);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_program_calls_another_library_where_unsupported),
      cmocka_unit_test(what_a_target_lacks_is_told_from_what_is_wrong),
      cmocka_unit_test(each_status_has_a_name_and_a_group),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
