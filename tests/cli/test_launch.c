/* test_launch.c - expressions and headers of kernels: what they mean, and what is refused with which words. */
#include "test.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "launch/launch.h"
#include "subject.h"

/* ---- expressions ---- */

static tw_scope small_scope(void) {
  tw_scope s = {0};
  tw_scope_set(&s, "m", 1000);
  tw_scope_set(&s, "n", 7);
  tw_scope_set(&s, "A.pitch", 64);
  return s;
}

static void values_are_those_of_c(void **state) {
  const struct {
    const char *text;
    int64_t value;
  } cases[] = {
      {"1 + 2 * 3", 7},
      {"(1+2)*3", 9},
      {"0x1F", 31},
      {"m / n % 10", 1000 / 7 % 10},
      {"-m / n", -1000 / 7},
      {"7 - 3 - 2", 2},
      {"ceildiv(m, 128)", 8},
      {"ceildiv(0, 128)", 0},
      {"align(m, 128)", 1024},
      {"min(m, n, 3)", 3},
      {"max(1, m)", 1000},
      {"m > n == 1", 1},
      {"m <= 1000 && n != 7 || 0", 0},
      {"!n", 0},
      {"!0 + 1", 2},
      {"n == 7 ? m : 1 / 0", 1000},
      {"n == 8 ? 1 / 0 : n == 7 ? 2 : 3", 2},
      {"0 && 1 / 0", 0},
      {"1 || 1 % 0", 1},
      {"A.pitch*2", 128},
      {"9223372036854775807", INT64_MAX},
      {"-9223372036854775807 - 1", INT64_MIN},
      {"  m ", 1000},
  };
  const tw_scope s = small_scope();
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    int64_t value = -1;
    tw_error error = {0};
    if (tw_expression(cases[i].text, NULL, &s, &value, &error) != TW_OK) fail_msg("%s", error.text);
    if (value != cases[i].value) fail_msg("%s is %" PRId64, cases[i].text, value);
  }
}

static void what_has_no_value_is_refused(void **state) {
  const struct {
    const char *text, *words;
  } cases[] = {
      {"", "a number, a name or '(' is missing"},
      {"1 +", "a number, a name or '(' is missing"},
      {"(1", "')' is missing"},
      {"1 2", "the expression ends"},
      {"m / 0", "division by zero"},
      {"m % (n - 7)", "division by zero"},
      {"(-9223372036854775807 - 1) / -1", "overflow"},
      {"-(-9223372036854775807 - 1)", "overflow"},
      {"9223372036854775807 + 1", "overflow"},
      {"m * 9223372036854775807", "overflow"},
      {"9223372036854775808", "more than 64 bits"},
      {"12abc", "no number"},
      {"mm", "unknown name 'mm'"},
      {"A.pitc", "did you mean 'A.pitch'?"},
      {"floor(m)", "unknown name 'floor'"},
      {"min(m)", "second argument"},
      {"ceildiv(m, n, 2)", "two arguments"},
      {"ceildiv(m, 0)", "b > 0"},
      {"1 ? 2", "':' is missing"},
      {"m = 3", "the expression ends"},
      {"m; n", "the expression ends"},
  };
  const tw_scope s = small_scope();
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    int64_t value;
    tw_error error = {0};
    assert_int_equal(tw_expression(cases[i].text, NULL, &s, &value, &error), TW_USAGE);
    if (!strstr(error.text, cases[i].words)) fail_msg("%s: %s", cases[i].text, error.text);
  }
}

static void depth_is_limited(void **state) {
  enum { DEEP = 100000 };
  const tw_scope s = small_scope();
  char *text = malloc(DEEP + 1);
  const char *const kinds = "(-!";
  for (size_t k = 0; kinds[k]; k++) {
    int64_t value;
    tw_error error = {0};
    memset(text, kinds[k], DEEP);
    text[DEEP] = '\0';
    assert_int_equal(tw_expression(text, NULL, &s, &value, &error), TW_USAGE);
    assert_non_null(strstr(error.text, "nested too deeply"));
  }
  free(text);
}

/* ---- headers ---- */

static tw_problem gemm(const char *keys) { return problem_from(NULL, "gemm %s", keys); }

static const char PROBLEM[] = "m=1000 n=520 k=96 a=bf16 b=bf16 c=f32 acc=f32 lda=104 scale=0.5";

static tw_status read_text(const char *text, tw_launch *out, tw_error *error) {
  const tw_problem p = gemm(PROBLEM);
  tw_scope scope = {0};
  tw_launch_scope(&p, &scope);
  tw_scope_set(&scope, "sms", 132);
  return tw_launch_read(text, strlen(text), &p, &scope, out, error);
}

static void a_header_says_all_of_a_launch(void **state) {
  const char *text =
      "#include <stdint.h>\n"
      "//: kernel gemm_tiled\r\n"
      "//: let BM = 128, BN = BM / 2\n"
      "//: let STAGES = a == bf16 ? 4 : 2\n"
      "//: require k % 32 == 0\n"
      "//: grid min(sms, ceildiv(n, BN)) * 2, ceildiv(m, BM)\n"
      "//: block 128, 2\n"
      "//: cluster 2\n"
      "//: shared STAGES * (BM + BN) * 32 * 2\n"
      "//: workspace 4 * m * n zeroed\n"
      "//: parts BM / 32\n"
      "//: map ta = A box(64, BM) swizzle(128) l2(256)\n"
      "//: map tb = B box(8, 4, 2) dims(64, k, ceildiv(n, 64)) pitch(ldb * 2, 128) step(1, 2, 1) fill(nan)\n"
      "//: args ta, tb, C, workspace, m, i64(m * n), f32(scale), ldc\n"
      "//: args lda, f64(2.5)\n"
      "extern \"C\" __global__ void gemm_tiled() {}\n";
  tw_launch o;
  tw_error error = {0};
  if (read_text(text, &o, &error) != TW_OK) fail_msg("%s", error.text);
  assert_string_equal(tw_launch_main(&o)->name, "gemm_tiled");
  assert_int_equal(o.n_lets, 3);
  assert_string_equal(o.let[2].name, "STAGES");
  assert_int_equal(o.let[2].value, 4);
  assert_int_equal(o.kernel[0].grid[0], 18);
  assert_int_equal(o.kernel[0].grid[1], 8);
  assert_int_equal(o.kernel[0].grid[2], 1);
  assert_int_equal(o.kernel[0].block[0] * 10 + o.kernel[0].block[1], 1282);
  assert_true(o.kernel[0].clustered && o.kernel[0].cluster[0] == 2 && o.kernel[0].cluster[1] == 1);
  assert_int_equal(o.kernel[0].shared, 4 * 192 * 64);
  assert_int_equal(o.workspace, 4 * 1000 * 520);
  assert_true(o.zeroed && o.parts == 4);
  assert_int_equal(o.n_maps, 2);
  const tw_launch_map *a = &o.map[0], *b = &o.map[1];
  assert_int_equal(a->operand * 100 + a->rank, 2);
  assert_true(a->type == TW_BF16 && a->dims[0] == 96 && a->dims[1] == 1000 && a->strides[0] == 208);
  assert_true(a->box[0] == 64 && a->box[1] == 128 && a->swizzle == 128 && a->l2 == 256 && !a->nan);
  assert_true(b->rank == 3 && b->dims[2] == 9 && b->strides[0] == 1040 && b->strides[1] == 128 && b->nan);
  assert_true(b->element_strides[1] == 2 && b->element_strides[2] == 1 && b->box[2] == 2);
  const tw_launch_kind kinds[] = {TW_LAUNCH_MAP, TW_LAUNCH_MAP, TW_LAUNCH_OPERAND, TW_LAUNCH_WORKSPACE, TW_LAUNCH_I32,
                                  TW_LAUNCH_I64, TW_LAUNCH_F32, TW_LAUNCH_I32,     TW_LAUNCH_I32,       TW_LAUNCH_F64};
  assert_int_equal(o.kernel[0].n_arguments, 10);
  for (size_t i = 0; i < 10; i++) assert_int_equal(o.kernel[0].argument[i].kind, kinds[i]);
  assert_int_equal(o.kernel[0].argument[1].index, 1);
  assert_int_equal(o.kernel[0].argument[2].index, 2);
  assert_int_equal(o.kernel[0].argument[5].integer, 520000);
  assert_true(o.kernel[0].argument[6].real == 0.5 && o.kernel[0].argument[9].real == 2.5);
  assert_int_equal(o.kernel[0].argument[7].integer, 520);
  assert_int_equal(o.kernel[0].argument[8].integer, 104);
}

static void operands_in_order_are_the_default(void **state) {
  tw_launch o;
  tw_error error = {0};
  if (read_text("//: kernel k\n//: grid 1\n//: block 1", &o, &error) != TW_OK) fail_msg("%s", error.text);
  assert_int_equal(o.kernel[0].n_arguments, 3);
  for (int i = 0; i < 3; i++)
    assert_true(o.kernel[0].argument[i].kind == TW_LAUNCH_OPERAND && o.kernel[0].argument[i].index == i);
  assert_true(o.kernel[0].cluster[0] == 1 && !o.kernel[0].clustered && !o.kernel[0].shared && !o.workspace);
}

static void kernels_before_and_after_have_their_own_lines(void **state) {
  const char *text = "//: before split\n//: grid 7\n//: block 32\n//: args A, workspace(256)\n"
                     "//: kernel multiply\n//: grid 4\n//: cluster 2\n//: overlap\n//: block 256\n//: shared 1024\n"
                     "//: workspace 512 + 2 * m * k\n"
                     "//: map t = workspace(bf16, 512) dims(k, m) pitch(2 * k) box(64, 128)\n//: args t, C\n"
                     "//: after finish\n//: grid 9\n//: block 64\n//: compile fast, words = m / 125\n";
  tw_launch o;
  tw_error error = {0};
  if (read_text(text, &o, &error) != TW_OK) fail_msg("%s", error.text);
  assert_int_equal(o.n_kernels, 3);
  assert_int_equal(o.main, 1);
  assert_string_equal(o.kernel[0].name, "split");
  assert_string_equal(o.kernel[2].name, "finish");
  assert_int_equal(o.kernel[0].grid[0] * 100 + o.kernel[1].grid[0] * 10 + o.kernel[2].grid[0], 749);
  assert_true(!o.kernel[0].overlaps && o.kernel[1].overlaps && !o.kernel[2].overlaps);
  assert_true(!o.kernel[0].clustered && o.kernel[1].clustered && !o.kernel[0].shared && o.kernel[1].shared == 1024);
  assert_true(o.kernel[0].argument[1].kind == TW_LAUNCH_WORKSPACE && o.kernel[0].argument[1].integer == 256);
  assert_int_equal(o.kernel[2].n_arguments, 3);
  assert_int_equal(o.n_options, 2);
  assert_true(!strcmp(o.option[0].name, "fast") && o.option[0].value == 1);
  assert_true(!strcmp(o.option[1].name, "words") && o.option[1].value == 8);
  const tw_launch_map *m = &o.map[0];
  assert_true(m->operand == TW_LAUNCH_NO_OPERAND && m->offset == 512 && m->type == TW_BF16 && m->rank == 2);
  assert_true(m->dims[0] == 96 && m->dims[1] == 1000 && m->strides[0] == 192);
}

static void what_is_wrong_is_named_with_its_line(void **state) {
  static const char BEGIN[] = "//: kernel k\n//: grid 1\n//: block 1\n";
  const struct {
    const char *line, *words;
  } cases[] = {
      {"//: blok 3", "line 4, '//: blok 3': unknown word 'blok' of a launch"},
      {"//: grid 0", "0 is not in 1.."},
      {"//: grid 1, 2, 3, 4", "at most 3 numbers"},
      {"//: block 32 32", "expected a comma or the end of the line"},
      {"//: after a b", "expected one name"},
      {"//: kernel a", "expected one 'kernel' line"},
      {"//: before a", "must precede 'kernel'"},
      {"//: after a\n//: block 1", "the line '//: grid X, Y, Z' is missing"},
      {"//: after a\n//: after b\n//: after c\n//: after d", "more than 4 kernels"},
      {"//: args workspace(8)", "byte 8 is outside of the workspace of 0"},
      {"//: map t = workspace(bf17, 0) box(8, 8)", "expected a type"},
      {"//: map t = workspace(bf16, 0) box(8, 8)", "requires dims"},
      {"//: require k == 97", "does not meet this condition"},
      {"//: let m = 3", "'m' is reserved"},
      {"//: let x 3", "expected '='"},
      {"//: shared -1", "at least 0"},
      {"//: workspace 3 zero", "'zeroed' or the end"},
      {"//: map t = E box(1, 1)", "gemm has no operand 'E'; it has A, B, C"},
      {"//: map t = A", "box(...) requires 2 extents"},
      {"//: map t = A box(64, 8, 2)", "more extents than the 2 dimensions"},
      {"//: map t = A box(64, 512)", "512 is not in 1..256"},
      {"//: map t = A box(8, 8, 8) dims(8, 8, 8)", "pitch(...) requires 2 numbers"},
      {"//: map t = A box(64, 8) swizzle(96)", "swizzle(0), (32), (64) or (128)"},
      {"//: map t = A box(64, 8) as(tf32)", "expected as(tf32) (f32 operands only)"},
      {"//: map t = A boks(64, 8)",
       "unknown map attribute 'boks'; expected box, dims, pitch, step, swizzle, l2, fill or as"},
      {"//: map A = A box(64, 8)", "'A' is an operand"},
      {"//: args E", "unknown name 'E'"},
      {"//: args m * 3000000", "does not fit an int; write i64(...)"},
      {"//: args f32(nonsense)", "a key or a number"},
      {"//: compile 3", "expected the name of an option"},
      {"//: compile a, b, c, d, e", "at most 4 options"},
      {"//: cluster 2", "blocks is not a multiple of clusters of"},
  };
  tw_launch o;
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    char text[512];
    tw_error error = {0};
    snprintf(text, sizeof text, "%s%s\n", BEGIN, cases[i].line);
    assert_int_equal(read_text(text, &o, &error), TW_FAILED);
    if (!strstr(error.text, cases[i].words)) fail_msg("%s: %s", cases[i].line, error.text);
  }
  tw_error error = {0};
  assert_int_equal(read_text("void f(void) {}\n", &o, &error), TW_FAILED);
  assert_non_null(strstr(error.text, "'//: kernel NAME' is missing"));
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(values_are_those_of_c),
      cmocka_unit_test(what_has_no_value_is_refused),
      cmocka_unit_test(depth_is_limited),
      cmocka_unit_test(a_header_says_all_of_a_launch),
      cmocka_unit_test(operands_in_order_are_the_default),
      cmocka_unit_test(kernels_before_and_after_have_their_own_lines),
      cmocka_unit_test(what_is_wrong_is_named_with_its_line),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
