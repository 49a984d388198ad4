/* test_x86_gemm_hostile.c - what must not count does not: whatever lies between rows, was in C or in the plan's memory
 * before, or belongs to other rows. Every kernel that this CPU runs, every pair of types, on products that are
 * exact. */
#define _GNU_SOURCE
#include "test.h"

#include <stdio.h>

#include "amx.h"
#include "target/x86/kernel.h"
#include "x86_exact.h"

static int64_t any(tw_random *r, int64_t least, int64_t most) { return tw_random_between(r, least, most); }

static bool begins_with(const char *text, const char *start) { return strncmp(text, start, strlen(start)) == 0; }

static tw_gemm_spec random_spec(tw_random *r, const char *kernel) {
  tw_gemm_spec s = {
      .size = sizeof s, .kernel = kernel, .a_transposed = any(r, 0, 2) == 0, .b_transposed = any(r, 0, 1)};
  s.m = any(r, 1, any(r, 0, 1) ? 40 : 4), s.n = any(r, 1, any(r, 0, 1) ? 150 : 20);
  s.k = any(r, 1, any(r, 0, 3) ? 100 : 1500);
  s.lda = (s.a_transposed ? s.m : s.k) + any(r, 0, 9);
  s.ldb = (s.b_transposed ? s.k : s.n) + any(r, 0, 9);
  s.ldc = s.n + any(r, 0, 9);
  s.threads = (int)any(r, 1, 3);
  return s;
}

static void must_be_exact(const exact *e, const char *what) {
  const int64_t at = exact_wrong(e);
  char line[400];
  if (at < 0) return;
  tw_gemm_plan_print(e->plan, line, sizeof line);
  fail_msg("%s: C[%d][%d] is wrong, %s", line, (int)(at / e->spec.ldc), (int)(at % e->spec.ldc), what);
}

static void run(const exact *e) {
  tw_error error;
  const tw_gemm_operands o = exact_operands(e);
  if (tw_gemm_plan_execute(e->plan, &o, &error) != TW_OK) fail_msg("%s", error.text);
}

typedef void check(exact *);

/* All pairs of types that a kernel takes, `times` each. At least one pair must go with each kernel. */
static void for_every_kernel(check *check_one, int times) {
  const char *name;
  for (size_t i = 0; (name = tw_gemm_kernel_at(i)); i++) {
    int taken = 0;
    for (int t = 0; t < EXACT_TYPES; t++) {
      for (int time = 0; time < times; time++) {
        tw_random r;
        tw_error error;
        exact e;
        tw_random_seed_stream(&r, (uint64_t)(100 * t + time), i);
        const tw_gemm_spec s = random_spec(&r, name);
        const tw_status status = exact_new(&exact_all[t], &s, (uint64_t)time, time % 2, &e, &error);
        if (status == TW_OK) {
          check_one(&e);
          taken++;
        } else if (!strstr(error.text, "does not support")) {
          fail_msg("%s", error.text);
        }
        exact_free(&e);
      }
    }
    if (taken == 0) fail_msg("no types go with %s", name);
  }
}

static void check_gaps(exact *e) {
  run(e);
  must_be_exact(e, "with NaN between rows, and in C before");
}

static void what_lies_between_rows_and_in_c_does_not_count(void **state) { for_every_kernel(check_gaps, 10); }

/* Sums, packed rows and expanded panels of an execution stay in the plan's memory. */
static void check_twice(exact *e) {
  const tw_gemm_spec *s = &e->spec;
  const size_t bytes =
      (size_t)((exact_rows(s->a_transposed, s->m, s->k) - 1) * s->lda + exact_rows(s->a_transposed, s->k, s->m)) *
      exact_bytes(s->a);
  char *kept = malloc(bytes);
  memcpy(kept, e->a.data, bytes);
  memset(e->a.data, 0xff, bytes);
  run(e);
  memcpy(e->a.data, kept, bytes);
  free(kept);
  memset(e->c.data, 0xff, exact_c_bytes(s));
  run(e);
  must_be_exact(e, "after an execution on NaN");
}

static void one_execution_leaves_nothing_for_the_next(void **state) { for_every_kernel(check_twice, 6); }

/* A fault in row i of A makes row i of C NaN, and nothing else. */
static void check_fault(exact *e) {
  const tw_gemm_spec *s = &e->spec;
  if (s->c != TW_F32 || s->a == TW_I8) return;
  const int64_t row = s->m / 2, p = s->k - 1, at = s->a_transposed ? p * s->lda + row : row * s->lda + p;
  memset(e->a.data + at * (int64_t)exact_bytes(s->a), 0xff, exact_bytes(s->a));
  run(e);
  float *c = (float *)(void *)e->c.data + row * s->ldc;
  for (int64_t j = 0; j < s->n; j++) {
    int32_t sum = 0;
    assert_true(isnan(c[j]));
    for (int64_t q = 0; q < s->k; q++) sum += e->a_value[row * s->k + q] * e->b_value[q * s->n + j];
    c[j] = (float)sum; /* so that the rest can be checked as ever */
  }
  must_be_exact(e, "beside a row with NaN");
}

static void faults_stay_in_their_row(void **state) { for_every_kernel(check_fault, 6); }

/* Packing reads just the operands, and fills all of the packed weights whatever was there. */
static void check_packing(exact *e) {
  const size_t bytes = tw_gemm_packed_bytes(e->plan);
  tw_error error;
  char *first = malloc(bytes);
  memcpy(first, e->packed.data, bytes);
  memset(e->packed.data, 0xff, bytes);
  if (tw_gemm_pack(e->plan, e->b.data, e->packed.data, &error) != TW_OK) fail_msg("%s", error.text);
  assert_memory_equal(first, e->packed.data, bytes);
  if (exact_has_scales(&e->spec)) { /* the same from planes between guard pages */
    const tw_gemm_spec *s = &e->spec;
    tw_packing packing = {.format = tw_format_of_type(s->b), .group = s->group};
    tw_packed_size size;
    float *rows = malloc((size_t)(s->n * s->k) * sizeof *rows);
    for (int64_t j = 0; j < s->n; j++)
      for (int64_t p = 0; p < s->k; p++) rows[j * s->k + p] = e->b_value[p * s->n + j];
    const size_t n = (size_t)s->n, k = (size_t)s->k;
    assert_int_equal(tw_format_sizes(&packing, n, k, &size, NULL), TW_OK);
    guarded codes = guarded_new(size.codes, 1, 1), scales = guarded_new(size.scales, 1, 1);
    assert_int_equal(tw_format_encode(&packing, n, k, rows, k, codes.data, scales.data, NULL), TW_OK);
    memset(e->packed.data, 0xff, bytes);
    if (tw_gemm_pack_codes(e->plan, codes.data, scales.data, e->packed.data, &error) != TW_OK)
      fail_msg("%s", error.text);
    assert_memory_equal(first, e->packed.data, bytes);
    guarded_free(&codes);
    guarded_free(&scales);
    free(rows);
  }
  free(first);
}

static void packing_fills_everything_and_reads_nothing_else(void **state) { for_every_kernel(check_packing, 4); }

/* Run by CTest with each value of the variable. */
static void the_environment_limits_the_instruction_sets(void **state) {
  static const char *const sets[] = {"portable", "avx2", "avxvnni", "avx512", "avx512vnni", "avx512bf16", "amx"};
  const char *limit = getenv("TILEWRIGHT_GEMM_ISA"), *name;
  size_t most = sizeof sets / sizeof *sets - 1;
  for (size_t i = 0; limit && i < sizeof sets / sizeof *sets; i++)
    if (strcmp(sets[i], limit) == 0) most = i;
  for (size_t i = 0; (name = tw_gemm_kernel_at(i)); i++) {
    size_t set = 0;
    while (set <= most && strcmp(strrchr(name, '-') + 1, sets[set]) != 0) set++;
    if (set > most) fail_msg("%s is beyond %s", name, sets[most]);
  }
  const tw_gemm_spec s = {.size = sizeof s, .m = 1, .n = 1, .k = 1};
  tw_gemm_plan *plan;
  assert_int_equal(tw_gemm_plan_create(&s, &plan, NULL), TW_OK);
  if (most == 0)
    assert_true(begins_with(tw_gemm_plan_kernel(plan), "f32-gemm-") && strstr(tw_gemm_plan_kernel(plan), "portable"));
  tw_gemm_plan_destroy(plan);
}

int main(void) {
  emulate_what_is_asked();
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(what_lies_between_rows_and_in_c_does_not_count),
      cmocka_unit_test(one_execution_leaves_nothing_for_the_next),
      cmocka_unit_test(faults_stay_in_their_row),
      cmocka_unit_test(packing_fills_everything_and_reads_nothing_else),
      cmocka_unit_test(the_environment_limits_the_instruction_sets),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
