/* Register tiles (tile_register.hpp): each operator in both layouts, products of each kind, pinned registers, and the kernels by
 * hand in examples/tiles. Skipped without clang-22. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "test.h"

#include "base/files.h"
#include "base/strings.h"
#include "target/cdna/export.h"
#include "target/cdna/isa/isa.h"
#include "target/cdna/object/object.h"
#include "target/cdna/toolchain.h"
#include "tilewright/extend/target.h"

static const char *const machines[] = {"cdna3", "cdna4"};

/* ---- kernels by hand ---- */

static void test_examples_are_right(void **state) {
  static const struct example {
    const char *file, *problem;
    bool only_cdna4;
  } examples[] = {
      {"gemm_cdna.c", "gemm m=130 n=132 k=192 b_transposed=1 a=bf16 c=f32", true},
      {"gemm_pinned_cdna.hip", "gemm m=130 n=132 k=192 b_transposed=1 a=bf16 c=f32", false},
      {"attention_cdna.hip", "attention b=2 hq=4 hkv=2 sq=150 sk=130 d=64 a=bf16", false},
      {"attention_backward_cdna.hip", "attention pass=backward b=2 hq=4 hkv=2 sq=150 sk=130 d=64 a=bf16", false},
      {"softmax_cdna.hip", "softmax rows=70 cols=204 a=bf16", false},
      {"layernorm_cdna.hip", "layernorm rows=70 cols=208 a=bf16", false},
      {"gate_cdna.hip", "gate rows=70 cols=204 a=bf16", false},
      {"rotary_cdna.hip", "rotary b=2 h=3 s=70 d=64 a=bf16", false},
  };
  for (size_t i = 0; i < 2 * sizeof examples / sizeof *examples; i++) {
    const struct example *x = &examples[i / 2];
    const tw_target *t = tw_target_find(machines[i % 2]);
    char path[300], *source = NULL;
    size_t length = 0;
    tw_error error = {0};
    tw_problem p;
    tw_case inputs = {0};
    tw_artefact *artefact = NULL;
    if (x->only_cdna4 && i % 2 == 0) continue;
    tw_inspection seen = {.checks = "bounds,uninitialized,races,waits"};
    snprintf(path, sizeof path, "%s/../../examples/tiles/%s", TW_TEST_DATA, x->file);
    assert_int_equal(tw_file_read(path, 1 << 20, &source, &length, &error), TW_OK);
    assert_int_equal(tw_problem_parse(NULL, x->problem, &p, &error), TW_OK);
    assert_int_equal(tw_target_supports(t, &p, &error), TW_OK);
    tw_evaluation how = {.trust = true, .inspection = &seen};
    if (t->build(t, &p, source, length, &how, &artefact, &error) != TW_OK) fail_msg("%s: %s", x->file, error.text);
    assert_int_equal(tw_target_case(t, &p, 7, 2, &inputs, &error), TW_OK);
    if (t->check(t, artefact, &inputs, &how, &error) != TW_OK) fail_msg("%s, %s: %s", x->file, t->name, error.text);
    if (seen.n_findings) fail_msg("%s, %s: %s", x->file, t->name, seen.finding[0].text);
    tw_inspection_free(&seen);
    tw_case_free(&inputs);
    t->release(artefact);
    free(source);
  }
}

/* ---- operators ---- */

enum { ROWS = 32, COLS = 64, ITEMS = ROWS * COLS, RESULTS = 12 };

/* Runs a kernel of one wave whose arguments are x and y. */
static void launch(const char *machine, const char *source, float *x, size_t items, float *y, size_t results) {
  const tw_target *t = tw_target_find(machine);
  tw_error error = {0};
  tw_measurement m = {0};
  tw_raw_argument a[] = {
      {.data = x, .bytes = items * sizeof *x, .is_data = true, .at = -1, .name = "x"},
      {.data = y, .bytes = results * sizeof *y, .is_data = true, .writable = true, .at = -1, .name = "y"}};
  tw_raw_launch l = {.grid = {1, 1, 1}, .block = {64, 1, 1}, .n = 2, .argument = a, .untimed = true};
  if (t->launcher->run(t, source, strlen(source), &l, &m, &error) != TW_OK) fail_msg("%s: %s", machine, error.text);
}

static const char operators[] =
    "#include \"tile.hpp\"\nusing namespace tw;\n"
    "using tile = rt_fl<32, 64, LAYOUT>;\n"
    "TW_KERNEL(64, 1) k(const float *x, float *y) {\n"
    "  tile a, b, c;\n  tile::col_vec row, old_row;\n  tile::row_vec col, old_col;\n  int n = 0;\n"
    "  const auto put = [&](const tile &t) { store(matrix_of<float>{y + n++ * 2048, 64, 32, 64}, t, 0, 0); };\n"
    "  load(a, matrix_of<const float>{x, 64, 32, 64}, 0, 0);\n"
    "  exp(b, a); put(b);\n"                                                                         /* 0 */
    "  mul(b, a, a); add(b, b, 3); sub(b, b, a); put(b);\n"                                          /* 1 */
    "  col_max(col, a); sub_col(b, a, col); put(b);\n"                                               /* 2 */
    "  row_sum(row, a); mul_row(b, a, row); put(b);\n"                                               /* 3 */
    "  fill(old_row, 3.5f); row_max(row, a, old_row); sub_row(b, a, row); put(b);\n"                 /* 4 */
    "  col_sum(col, a); copy(old_col, col); col_sum(col, a, old_col); add_col(b, a, col); put(b);\n" /* 5 */
    "  right_fill(b, a, 37, 9); put(b);\n"                                                           /* 6 */
    "  rt<bf16, 32, 64, LAYOUT> rounded; copy(rounded, a); copy(b, rounded); put(b);\n"              /* 7 */
    "  one(c); max(b, a, c); div(b, b, 4); put(b);\n"                                                /* 8 */
    "  rt_fl<64, 32, OTHER> turned; swap_layout_and_transpose(turned, a);\n"
    "  store(matrix_of<float>{y + n++ * 2048, 32, 64, 32}, turned, 0, 0);\n"     /* 9 */
    "  zero(b); load(b, matrix_of<const float>{x, 64, 20, 44}, 0, 0); put(b);\n" /* 10 */
    "  rt<f16, 32, 64, LAYOUT> half; copy(half, a); store(matrix_of<float>{y + n * 2048, 64, 24, 64}, half, 0, "
    "0);\n" /* 11 */
    "}\n";

static float row_of(const float *x, int r, bool sum) {
  float v = sum ? 0 : -INFINITY;
  for (int c = 0; c < COLS; c++) v = sum ? v + x[r * COLS + c] : fmaxf(v, x[r * COLS + c]);
  return v;
}
static float column_of(const float *x, int c, bool sum) {
  float v = sum ? 0 : -INFINITY;
  for (int r = 0; r < ROWS; r++) v = sum ? v + x[r * COLS + c] : fmaxf(v, x[r * COLS + c]);
  return v;
}
/* Element (r, c) of result n. */
static float expected(const float *x, int n, int r, int c) {
  const float v = x[r * COLS + c];
  switch (n) {
  case 0: return expf(v);
  case 1: return v * v + 3 - v;
  case 2: return v - column_of(x, c, false);
  case 3: return v * row_of(x, r, true);
  case 4: return v - fmaxf(row_of(x, r, false), 3.5f);
  case 5: return v + 2 * column_of(x, c, true);
  case 6: return c < 37 ? v : 9;
  case 8: return fmaxf(v, 1) / 4;
  case 10: return r < 20 && c < 44 ? v : 0;
  case 11: return r < 24 ? v : -7;
  default: return v;
  }
}

static void test_operators_are_right(void **state) {
  static float x[ITEMS], y[RESULTS * ITEMS];
  for (int i = 0; i < ITEMS; i++)
    x[i] = (float)((i * 37 + i / 64 * 11) % 129 - 64 - i / 64 % 2) / 16; /* exact in bf16 and f16 */
  for (int by_columns = 0; by_columns < 2; by_columns++)
    for (int m = 0; m < 2; m++) {
      char source[4000];
      snprintf(source, sizeof source, "#define LAYOUT %s\n#define OTHER %s\n%s", by_columns ? "col_l" : "row_l",
               by_columns ? "row_l" : "col_l", operators);
      for (size_t i = 0; i < sizeof y / sizeof *y; i++) y[i] = -7;
      launch(machines[m], source, x, ITEMS, y, sizeof y / sizeof *y);
      for (int n = 0; n < RESULTS; n++)
        for (int r = 0; r < ROWS; r++)
          for (int c = 0; c < COLS; c++) {
            const float got = n == 9 ? y[n * ITEMS + c * ROWS + r] : y[n * ITEMS + r * COLS + c],
                        e = expected(x, n, r, c);
            if (!(fabsf(got - e) <= 1e-5f * fabsf(e)))
              fail_msg("%s, columns %d, result %d, row %d, column %d: %g, expected %g", machines[m], by_columns, n, r,
                       c, (double)got, (double)e);
          }
    }
}

/* ---- products ---- */

/* d = c + A B for 32 x 48 sums of 64 products, of each kind and layout of the sums. */
static const char products[] =
    "#include \"tile.hpp\"\nusing namespace tw;\n"
    "template <class Type, int Rows, int Cols, class Layout> TW_FN rt<Type, Rows, Cols, Layout> read(const float *x) "
    "{\n"
    "  rt_fl<Rows, Cols, Layout> wide;\n  rt<Type, Rows, Cols, Layout> t;\n"
    "  load(wide, matrix_of<const float>{x, Cols, Rows, Cols}, 0, 0);\n  copy(t, wide);\n  return t;\n}\n"
    "TW_KERNEL(64, 1) k(const float *x, float *y) {\n"
    "  const float *a = x, *at = x + 2048, *b = x + 4096, *bt = x + 7168;\n"
    "  rt_fl<32, 48, SUMS> c, d;\n  fill(c, 5);\n  int n = 0;\n"
    "  const auto put = [&] { store(matrix_of<float>{y + n++ * 1536, 48, 32, 48}, d, 0, 0); };\n"
    "  mma_AB(d, read<TYPE, 32, 64, row_l>(a), read<TYPE, 64, 48, col_l>(b), c); put();\n"
    "  mma_ABt(d, read<TYPE, 32, 64, row_l>(a), read<TYPE, 48, 64, row_l>(bt), c); put();\n"
    "  mma_AtB(d, read<TYPE, 64, 32, col_l>(at), read<TYPE, 64, 48, col_l>(b), c); put();\n"
    "  mma_AtBt(d, read<TYPE, 64, 32, col_l>(at), read<TYPE, 48, 64, row_l>(bt), c); put();\n"
    "}\n";

static void test_products_are_right(void **state) {
  enum { M = 32, N = 48, K = 64 };
  static float x[2 * (M + N) * K], y[4 * M * N];
  float *a = x, *at = a + M * K, *b = at + K * M, *bt = b + K * N;
  for (int k = 0; k < K; k++) {
    for (int r = 0; r < M; r++) a[r * K + k] = at[k * M + r] = (float)((r * 5 + k * 7) % 17 - 8);
    for (int c = 0; c < N; c++) b[k * N + c] = bt[c * K + k] = (float)((c * 3 + k * 11) % 13 - 6);
  }
  for (int kind = 0; kind < 8; kind++) {
    char source[4000];
    snprintf(source, sizeof source, "#define TYPE %s\n#define SUMS %s\n%s", kind & 2 ? "f16" : "bf16",
             kind & 4 ? "col_l" : "row_l", products);
    launch(machines[kind & 1], source, x, sizeof x / sizeof *x, y, sizeof y / sizeof *y);
    for (int i = 0; i < 4 * M * N; i++) {
      float e = 5;
      for (int k = 0; k < K; k++) e += a[i / N % M * K + k] * b[k * N + i % N];
      if (y[i] != e)
        fail_msg("kind %d, product %d, row %d, column %d: %g, expected %g", kind, i / (M * N), i / N % M, i % N,
                 (double)y[i], (double)e);
    }
  }
}

/* ---- pinned registers ---- */

/* The loop's matrix instructions of the example have their sums in v128 and later, and their operands in a0 and later. */
static void test_pinned_tiles_are_where_they_were_pinned(void **state) {
  const tw_target *t = tw_target_find("cdna4");
  char *source = NULL, *object = NULL;
  size_t length, size, products_seen = 0;
  tw_error error = {0};
  tw_problem p;
  tw_launch header;
  cdna_object o;
  assert_int_equal(
      tw_file_read(TW_TEST_DATA "/../../examples/tiles/gemm_pinned_cdna.hip", 1 << 20, &source, &length, &error),
      TW_OK);
  assert_int_equal(tw_problem_parse(NULL, "gemm m=256 n=256 k=64 b_transposed=1 a=bf16 c=f32", &p, &error), TW_OK);
  assert_int_equal(tw_target_supports(t, &p, &error), TW_OK);
  assert_int_equal(cdna_launch_of(t, &p, source, length, &header, &error), TW_OK);
  if (cdna_compile(CDNA4, source, length, &(tw_evaluation){.trust = true}, &header, &object, &size, &error) != TW_OK)
    fail_msg("%s", error.text);
  assert_int_equal(cdna_object_read(object, size, "pinned", &o, &error), TW_OK);
  const cdna_segment *s = o.segment;
  while (!s->executable) s++;
  for (size_t at = 0; at < s->file_size / 4;) {
    cdna_code c;
    uint32_t word[4] = {0};
    const size_t left = s->file_size / 4 - at;
    memcpy(word, s->data + 4 * at, 4 * (left < 4 ? left : 4));
    if (cdna_decode(CDNA4, word, left < 4 ? left : 4, &c)) break;
    at += (size_t)c.dwords;
    if (strncmp(c.instruction->name, "v_mfma", 6) != 0) continue;
    int to, left_at, right_at, add;
    tw_text line = {0};
    cdna_print(&c, &line);
    char *printed = tw_text_take(&line);
    if (sscanf(printed, "v_mfma_f32_16x16x32_bf16 v[%d:%*d], a[%d:%*d], a[%d:%*d], v[%d:", &to, &right_at, &left_at,
               &add) != 4)
      fail_msg("%s", printed);
    assert_true(to == add && to >= 128 && to < 192 && left_at < 64 && right_at >= 64 && right_at < 128);
    free(printed);
    products_seen++;
  }
  assert_int_equal(products_seen, 16);
  cdna_object_free(&o);
  free(object);
  free(source);
}

int main(void) {
  if (cdna_toolchain_find(NULL) != TW_OK) {
    puts("skipped: clang-22 and ld.lld-22 are not here");
    return 77;
  }
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_examples_are_right),
      cmocka_unit_test(test_operators_are_right),
      cmocka_unit_test(test_products_are_right),
      cmocka_unit_test(test_pinned_tiles_are_where_they_were_pinned),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
