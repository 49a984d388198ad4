/* test_x86_gemm_arguments.c - every wrong argument of the library's gemm is refused with a line that names it, whatever
 * the types; nothing is written then. */
#include "test.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tilewright/format.h"
#include "tilewright/gemm.h"
#include "x86/portable.h"

enum { M = 4, N = 70, K = 64, MEMORY = 1 << 18 };

static char *memory; /* aligned, of MEMORY bytes */

static int make_memory(void **state) {
  memory = aligned_alloc(TW_GEMM_ALIGNMENT, MEMORY);
  return memory == NULL;
}

static int free_memory(void **state) {
  free(memory);
  return 0;
}

static tw_gemm_plan *plan_of(tw_gemm_spec s) {
  s.size = sizeof s;
  tw_gemm_plan *plan;
  tw_error error;
  if (tw_gemm_plan_create(&s, &plan, &error) != TW_OK) fail_msg("%s", error.text);
  return plan;
}

/* One line, which holds all of `parts`. */
static void must_say(const tw_error *error, const char *part) {
  if (!strstr(error->text, part) || strchr(error->text, '\n')) fail_msg("'%s' does not say '%s'", error->text, part);
}

static void no_plan(tw_gemm_spec s, const char *part) {
  tw_gemm_plan *plan = (void *)memory;
  tw_error error = {0};
  assert_int_equal(tw_gemm_plan_create(&s, &plan, &error), TW_USAGE);
  assert_null(plan);
  must_say(&error, "tw_gemm_plan_create: ");
  must_say(&error, part);
  assert_int_equal(tw_gemm_plan_create(&s, &plan, NULL), TW_USAGE); /* the message may be unwanted */
}

static void descriptions(void **state) {
  const tw_gemm_spec good = {.size = sizeof good, .m = M, .n = N, .k = K};
  tw_gemm_spec s;
  s = good, s.m = -1, no_plan(s, "m=-1");
  s = good, s.n = 0, no_plan(s, "n=0");
  s = good, s.k = INT64_MIN, no_plan(s, "k=");
  s = good, s.m = (INT64_C(1) << 30) + 1, no_plan(s, "m=");
  s = good, s.lda = K - 1, no_plan(s, "lda=63");
  s = good, s.lda = -1, no_plan(s, "lda=-1");
  s = good, s.a_transposed = true, s.lda = M - 1, no_plan(s, "lda=3");
  s = good, s.ldb = N - 1, no_plan(s, "ldb=69");
  s = good, s.b_transposed = true, s.ldb = K - 1, no_plan(s, "ldb=63");
  s = good, s.ldc = N - 1, no_plan(s, "ldc=69");
  /* whose last row would lie beyond what an address can say */
  s = good, s.lda = INT64_MAX, no_plan(s, "lda=");
  s = good, s.m = 1 << 30, s.lda = INT64_C(1) << 40, no_plan(s, "lda=");
  s = good, s.ldb = INT64_C(1) << 60, no_plan(s, "ldb=");
  s = good, s.m = 1 << 30, s.ldc = INT64_C(1) << 34, no_plan(s, "ldc=");
  s = good, s.threads = -2, no_plan(s, "threads=-2");
  s = good, s.threads = INT32_MAX, no_plan(s, "threads=");
  s = good, s.activation = (tw_activation)-1, no_plan(s, "activation=-1");
  s = good, s.kernel = "", no_plan(s, "kernel=");
  s = good, s.kernel = "f32", no_plan(s, "kernel=f32");
  s = good, s.group = -8, no_plan(s, "group=-8");
  s = good, s.b = TW_I8, s.group = 12, no_plan(s, "group=12");
  s = good, s.b = TW_BFP16, s.group = 32, no_plan(s, "group=32");
}

/* Every triple of types either has a plan, or a line that names what does not go with what. */
static void types(void **state) {
  int plans = 0;
  for (int a = -1; a <= TW_TYPE_COUNT; a++) {
    for (int b = -1; b <= TW_TYPE_COUNT; b++) {
      for (int c = -1; c <= TW_TYPE_COUNT; c++) {
        const tw_gemm_spec s = {
            .size = sizeof s, .m = M, .n = N, .k = K, .a = (tw_type)a, .b = (tw_type)b, .c = (tw_type)c};
        tw_gemm_plan *plan;
        tw_error error = {0};
        const tw_status status = tw_gemm_plan_create(&s, &plan, &error);
        plans += status == TW_OK;
        if (status != TW_OK) {
          const bool are_types =
              a >= 0 && b >= 0 && c >= 0 && a < TW_TYPE_COUNT && b < TW_TYPE_COUNT && c < TW_TYPE_COUNT;
          if (status != TW_UNSUPPORTED && (are_types || status != TW_USAGE)) fail_msg("%d: %s", status, error.text);
          must_say(&error, "=");
          if (!strstr(error.text, "a=") && !strstr(error.text, "c=")) fail_msg("'%s' names no type", error.text);
        }
        tw_gemm_plan_destroy(plan);
      }
    }
  }
  assert_true(plans > 50 && plans < 400);
}

static void a_plan_that_is_missing(void **state) {
  tw_error error;
  const tw_gemm_operands o = {.size = sizeof o, .a = memory, .packed_b = memory + 64, .c = memory + 128};
  char line[80];
  tw_gemm_plan_destroy(NULL);
  assert_int_equal(tw_gemm_packed_bytes(NULL), 0);
  assert_string_equal(tw_gemm_plan_kernel(NULL), "");
  assert_true(tw_gemm_plan_print(NULL, line, sizeof line) > 0);
  assert_int_equal(tw_gemm_pack(NULL, memory, memory, &error), TW_USAGE);
  must_say(&error, "tw_gemm_pack: the plan is NULL");
  assert_int_equal(tw_gemm_pack_codes(NULL, memory, memory, memory, &error), TW_USAGE);
  must_say(&error, "tw_gemm_pack_codes: the plan is NULL");
  assert_int_equal(tw_gemm_plan_execute(NULL, &o, &error), TW_USAGE);
  must_say(&error, "tw_gemm_plan_execute: the plan is NULL");
}

static void no_pack(const tw_gemm_plan *plan, const void *b, void *packed, const char *part) {
  tw_error error = {0};
  assert_int_equal(tw_gemm_pack(plan, b, packed, &error), TW_USAGE);
  must_say(&error, part);
}

static void no_pack_codes(const tw_gemm_plan *plan, const void *codes, const void *scales, void *packed,
                          const char *part) {
  tw_error error = {0};
  assert_int_equal(tw_gemm_pack_codes(plan, codes, scales, packed, &error), TW_USAGE);
  must_say(&error, part);
}

static void packing(void **state) {
  tw_gemm_plan *plain = plan_of((tw_gemm_spec){.m = M, .n = N, .k = K});
  tw_gemm_plan *coded = plan_of((tw_gemm_spec){.m = M, .n = N, .k = K, .b = TW_I4, .group = 32});
  char *b = memory, *packed = memory + (1 << 16);
  memset(memory, 0, MEMORY);
  assert_true(tw_gemm_packed_bytes(plain) <= 1 << 16);
  no_pack(plain, NULL, packed, "b is NULL");
  no_pack(plain, b, NULL, "packed is NULL");
  for (int off = 1; off < TW_GEMM_ALIGNMENT; off *= 2) no_pack(plain, b, packed + off, "packed is not aligned");
  no_pack(plain, packed, packed, "packed overlaps b");
  no_pack(plain, packed - 4, packed, "packed overlaps b"); /* its end reaches into packed */
  no_pack(plain, packed + tw_gemm_packed_bytes(plain) - 4, packed, "packed overlaps b");
  no_pack_codes(plain, b, b, packed, "b=f32 has no scales");
  no_pack_codes(coded, NULL, b, packed, "codes is NULL");
  no_pack_codes(coded, b, NULL, packed, "scales is NULL");
  no_pack_codes(coded, b, b, NULL, "packed is NULL");
  no_pack_codes(coded, b, b, packed + 32, "packed is not aligned");
  no_pack_codes(coded, packed - N * K / 2 + 1, b, packed, "packed overlaps codes");
  no_pack_codes(coded, b, packed - N * K / 32 * 4 + 1, packed, "packed overlaps scales");
  for (int i = 0; i < MEMORY; i++) assert_int_equal(memory[i], 0);
  assert_int_equal(tw_gemm_pack_codes(coded, packed - N * K / 2, b, packed, NULL), TW_OK); /* just before it */
  tw_gemm_plan_destroy(plain);
  tw_gemm_plan_destroy(coded);
}

static void not_executed(const tw_gemm_plan *plan, tw_gemm_operands o, const char *part) {
  tw_error error = {0};
  assert_int_equal(tw_gemm_plan_execute(plan, &o, &error), TW_USAGE);
  must_say(&error, "tw_gemm_plan_execute: ");
  must_say(&error, part);
}

/* The operand at `offset` of the struct ends with the first element of C, or begins with its last. */
static void overlaps(const tw_gemm_plan *plan, tw_gemm_operands o, size_t offset, size_t bytes, const char *part) {
  const char *c = o.c, *at[2] = {c - bytes + 4, c + M * N * 4 - 4};
  for (int i = 0; i < 2; i++) {
    memcpy((char *)&o + offset, &at[i], sizeof at[i]);
    not_executed(plan, o, part);
  }
}

static void operands(void **state) {
  tw_gemm_plan *plan = plan_of((tw_gemm_spec){.m = M, .n = N, .k = K});
  const size_t packed_bytes = tw_gemm_packed_bytes(plan);
  char *a = memory, *packed = memory + (1 << 15), *c = memory + (1 << 17);
  memset(memory, 0, MEMORY);
  assert_int_equal(tw_gemm_pack(plan, a, packed, NULL), TW_OK);
  tw_gemm_operands o = {.size = sizeof o, .a = a, .packed_b = packed, .c = c};
  const tw_gemm_operands good = o;
  memset(c, 0x55, M * N * 4);
  o = good, o.a = NULL, not_executed(plan, o, "a is NULL");
  o = good, o.packed_b = NULL, not_executed(plan, o, "packed_b is NULL");
  o = good, o.c = NULL, not_executed(plan, o, "c is NULL");
  o = good, o.packed_b = packed + 16, not_executed(plan, o, "packed_b is not aligned");
  o = good, o.packed_b = a, not_executed(plan, o, "packed_b was not packed");
  overlaps(plan, good, offsetof(tw_gemm_operands, a), M * K * 4, "c overlaps a");
  overlaps(plan, good, offsetof(tw_gemm_operands, bias), N * 4, "c overlaps bias");
  overlaps(plan, good, offsetof(tw_gemm_operands, row_scale), M * 4, "c overlaps row_scale");
  overlaps(plan, good, offsetof(tw_gemm_operands, column_scale), N * 4, "c overlaps column_scale");
  o = good, o.c = packed + packed_bytes - 4, not_executed(plan, o, "c overlaps packed_b");
  for (int i = 0; i < M * N * 4; i++) assert_int_equal(c[i], 0x55);
  tw_gemm_plan_destroy(plan);
  plan = plan_of((tw_gemm_spec){.m = M, .n = N, .k = K, .a = TW_U8, .b = TW_I8, .c = TW_I32});
  assert_int_equal(tw_gemm_pack(plan, a, packed, NULL), TW_OK);
  o = good, o.bias = (const float *)(const void *)a,
  not_executed(plan, o, "tw_gemm_plan_execute: bias is unsupported with c=i32; use c=f32");
  o = good, o.row_scale = (const float *)(const void *)a,
  not_executed(plan, o, "tw_gemm_plan_execute: row_scale is unsupported with c=i32; use c=f32");
  o = good, o.column_scale = (const float *)(const void *)a, not_executed(plan, o, "column_scale is unsupported");
  tw_gemm_plan_destroy(plan);
}

/* Weights of one plan in another: only those of the same n, k, types, groups and kernel are taken. */
static void weights_of_another_plan(void **state) {
  const tw_gemm_spec specs[] = {
      {.m = M, .n = N, .k = K},
      {.m = M, .n = N + 1, .k = K},
      {.m = M, .n = N, .k = K - 1},
      {.m = M, .n = N, .k = K, .kernel = portable_kernel()},
      {.m = M, .n = N, .k = K, .b = TW_BF16},
      {.m = M, .n = N, .k = K, .b = TW_MXFP4},
      {.m = M, .n = N, .k = K, .b = TW_MXFP8},
      {.m = M, .n = N, .k = K, .b = TW_I4},
      {.m = M, .n = N, .k = K, .b = TW_I4, .group = 32},
      {.m = M, .n = N, .k = K, .a = TW_U8, .b = TW_I8, .c = TW_I32},
  };
  enum { SPECS = sizeof specs / sizeof *specs };
  static float a[M * K], b[(N + 1) * K], c[M * (N + 1)];
  tw_gemm_plan *plan[SPECS];
  for (int i = 0; i < SPECS; i++) plan[i] = plan_of(specs[i]);
  for (int i = 0; i < SPECS; i++) {
    assert_true(tw_gemm_packed_bytes(plan[i]) <= MEMORY);
    assert_int_equal(tw_gemm_pack(plan[i], b, memory, NULL), TW_OK);
    for (int j = 0; j < SPECS; j++) {
      const tw_gemm_operands o = {.size = sizeof o, .a = a, .packed_b = memory, .c = c};
      const bool same = i == j || strcmp(tw_gemm_plan_kernel(plan[i]), tw_gemm_plan_kernel(plan[j])) == 0;
      const bool only_kernel = (i == 0 && j == 3) || (i == 3 && j == 0); /* the same here if there is no better */
      if (i == j || (only_kernel && same))
        assert_int_equal(tw_gemm_plan_execute(plan[j], &o, NULL), TW_OK);
      else
        not_executed(plan[j], o, "packed_b was not packed by a plan of this n, k, types and kernel");
    }
    tw_gemm_spec taller = specs[i]; /* m does not matter */
    taller.m = 1, taller.threads = 1;
    tw_gemm_plan *other = plan_of(taller);
    const tw_gemm_operands o = {.size = sizeof o, .a = a, .packed_b = memory, .c = c};
    assert_int_equal(tw_gemm_plan_execute(other, &o, NULL), TW_OK);
    tw_gemm_plan_destroy(other);
  }
  for (int i = 0; i < SPECS; i++) tw_gemm_plan_destroy(plan[i]);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(descriptions), cmocka_unit_test(types),    cmocka_unit_test(a_plan_that_is_missing),
      cmocka_unit_test(packing),      cmocka_unit_test(operands), cmocka_unit_test(weights_of_another_plan),
  };
  return cmocka_run_group_tests(tests, make_memory, free_memory);
}
