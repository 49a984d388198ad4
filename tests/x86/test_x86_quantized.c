/* test_x86_quantized.c - products whose A is rounded to int8 on its way in (tw_a_rounding): every kernel of integers
 * that this CPU runs, every type of weights, random shapes with every tail, within the bound that gemm.h states; and,
 * where A is such that nothing is rounded, within that of binary32 alone. The operands of execution lie between guard
 * pages. */
#include "test.h"

#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/random.h"
#include "base/status.h"
#include "guarded.h"
#include "target/x86/kernel.h"
#include "target/x86/runtime/convert.h"
#include "tilewright/format.h"
#include "tilewright/gemm.h"

static int64_t any(tw_random *r, int64_t least, int64_t most) { return tw_random_between(r, least, most); }
static size_t element(tw_type t) { return (size_t)tw_type_bits(t) / 8; }

static double get(tw_type t, const void *data, int64_t i) {
  return (double)(t == TW_F32    ? ((const float *)data)[i]
                  : t == TW_BF16 ? f32_of_bf16(((const uint16_t *)data)[i])
                                 : f32_of_f16(((const uint16_t *)data)[i]));
}

static void put(tw_type t, void *data, int64_t i, float x) {
  if (t == TW_F32)
    ((float *)data)[i] = x;
  else
    ((uint16_t *)data)[i] = t == TW_BF16 ? bf16_of(x) : f16_of(x);
}

typedef struct example {
  tw_gemm_spec spec;
  bool nothing_rounded; /* A: integers, with a 127 in each group of 8 */
  bool row_scale, bias;
  guarded a, packed, c, scale, shift;
  float *given, *b; /* k x n or n x k as stored: as it is packed; what its type holds of it */
} example;

static int64_t at_a(const tw_gemm_spec *s, int64_t i, int64_t p) {
  return s->a_transposed ? p * s->lda + i : i * s->lda + p;
}

static float value_of_a(const example *e, tw_random *r, int64_t p) {
  if (e->nothing_rounded) return p % 8 == 0 ? (any(r, 0, 1) ? 127 : -127) : (float)any(r, -127, 127);
  return (float)any(r, -0xffff, 0xffff) * 0x1p-16f * (any(r, 0, 40) == 0 ? 30 : 1);
}

static void fill_a(example *e, tw_random *r) {
  const tw_gemm_spec *s = &e->spec;
  const size_t elements = s->a_transposed ? (size_t)((s->k - 1) * s->lda + s->m) : (size_t)((s->m - 1) * s->lda + s->k);
  e->a = guarded_new(elements * element(s->a), element(s->a), (int)any(r, 0, 1));
  memset(e->a.data, 0, elements * element(s->a));
  for (int64_t i = 0; i < s->m; i++)
    for (int64_t p = 0; p < s->k; p++) put(s->a, e->a.data, at_a(s, i, p), value_of_a(e, r, p));
}

/* Random values, and what the type holds of them, column by column. */
static void fill_b(example *e, tw_random *r) {
  const tw_gemm_spec *s = &e->spec;
  const size_t k = (size_t)s->k;
  tw_packing packing = {.format = tw_format_of_type(s->b)};
  if (packing.format->scale == TW_SCALE_F32) packing.group = s->group;
  tw_packed_size size;
  assert_int_equal(tw_format_sizes(&packing, 1, k, &size, NULL), TW_OK);
  const size_t elements = (size_t)(s->b_transposed ? s->n * s->ldb : s->k * s->ldb);
  e->b = calloc(elements, sizeof *e->b), e->given = calloc(elements, sizeof *e->given);
  float *column = malloc(k * sizeof *column);
  char *codes = malloc(size.codes + 1), *scales = malloc(size.scales + 1);
  for (int64_t j = 0; j < s->n; j++) {
    const int64_t first = s->b_transposed ? j * s->ldb : j, step = s->b_transposed ? 1 : s->ldb;
    const float unusual = any(r, 0, 60) ? 1 : any(r, 0, 1) ? 0x1p108f : 0x1p-100f; /* scales beyond X86_POWER_MOST */
    for (int64_t p = 0; p < s->k; p++)
      column[p] = e->given[first + p * step] = (float)any(r, -0xffff, 0xffff) * 0x1p-14f * unusual;
    assert_int_equal(tw_format_encode(&packing, 1, k, column, k, codes, scales, NULL), TW_OK);
    assert_int_equal(tw_format_decode(&packing, 1, k, codes, scales, column, k, NULL), TW_OK);
    for (int64_t p = 0; p < s->k; p++) e->b[first + p * step] = column[p];
  }
  free(column);
  free(codes);
  free(scales);
}

/* The step of A's element (i, p): (largest magnitude of its row or group) / 127. */
static double step_of(const example *e, int64_t i, int64_t p) {
  const tw_gemm_spec *s = &e->spec;
  const tw_format *f = tw_format_of_type(s->b);
  int64_t group = s->a_rounding == TW_A_INT8_ROWS ? s->k : f->scale == TW_SCALE_F32 ? s->group : (int64_t)f->block;
  if (group == 0) group = s->k;
  double largest = 0;
  for (int64_t q = p / group * group; q < s->k && q < (p / group + 1) * group; q++)
    largest = fmax(largest, fabs(get(s->a, e->a.data, at_a(s, i, q))));
  return largest / 127;
}

static void check_row(const example *e, int64_t i, const char *line) {
  const tw_gemm_spec *s = &e->spec;
  double *step = malloc((size_t)s->k * sizeof *step);
  for (int64_t p = 0; p < s->k; p++)
    step[p] = p % 8 == 0 || p == 0 ? step_of(e, i, p) : step[p - 1]; /* groups are multiples of 8 */
  for (int64_t j = 0; j < s->n; j++) {
    double sum = 0, size = 0, rounding = 0;
    for (int64_t p = 0; p < s->k; p++) {
      const double a = get(s->a, e->a.data, at_a(s, i, p));
      const double b = (double)e->b[s->b_transposed ? j * s->ldb + p : p * s->ldb + j];
      sum += a * b, size += (fabs(a) + step[p]) * fabs(b), rounding += step[p] * fabs(b);
    }
    const double scale = e->row_scale ? (double)((float *)(void *)e->scale.data)[i] : 1;
    const double value = scale * sum + (e->bias ? (double)((float *)(void *)e->shift.data)[j] : 0);
    double bound = ((double)s->k + 16) * 0x1p-24 * size * fabs(scale) + 4 * 0x1p-24 * fabs(value);
    if (!e->nothing_rounded) bound += (0.5 + 0x1p-15) * rounding * fabs(scale);
    bound += s->c == TW_BF16 ? 0x1p-8 * (fabs(value) + bound) : 0;
    const double got = get(s->c, e->c.data, i * s->ldc + j);
    if (!(fabs(got - value) <= bound))
      fail_msg("%s: C[%d][%d] is %.9g and should be %.9g within %.3g", line, (int)i, (int)j, got, value, bound);
  }
  free(step);
}

static guarded random_vector(tw_random *r, int64_t n) {
  guarded g = guarded_new((size_t)n * sizeof(float), sizeof(float), 1);
  for (int64_t i = 0; i < n; i++) ((float *)(void *)g.data)[i] = (float)any(r, -1000, 1000) / 300;
  return g;
}

/* C, on `threads` threads. */
static void execute(example *e, int threads, const tw_gemm_operands *o, char line[400]) {
  tw_gemm_plan *plan;
  tw_error error;
  e->spec.size = sizeof e->spec;
  e->spec.threads = threads;
  if (tw_gemm_plan_create(&e->spec, &plan, &error) != TW_OK) fail_msg("%s", error.text);
  tw_gemm_plan_print(plan, line, 400);
  if (!e->packed.map) {
    e->packed = guarded_new(tw_gemm_packed_bytes(plan), TW_GEMM_ALIGNMENT, 1);
    if (tw_gemm_pack(plan, e->given, e->packed.data, &error) != TW_OK) fail_msg("%s: %s", line, error.text);
  }
  tw_gemm_operands all = *o;
  all.packed_b = e->packed.data;
  if (tw_gemm_plan_execute(plan, &all, &error) != TW_OK) fail_msg("%s: %s", line, error.text);
  tw_gemm_plan_destroy(plan);
}

static void run_example(example *e, tw_random *r) {
  enum { POISON = 0xA5 };
  const tw_gemm_spec *s = &e->spec;
  char line[400];
  fill_a(e, r);
  fill_b(e, r);
  const size_t c_bytes = (size_t)((s->m - 1) * s->ldc + s->n) * element(s->c);
  e->c = guarded_new(c_bytes, element(s->c), 1);
  if (e->row_scale) e->scale = random_vector(r, s->m);
  if (e->bias) e->shift = random_vector(r, s->n);
  const tw_gemm_operands o = {.size = sizeof o,
                              .a = e->a.data,
                              .c = e->c.data,
                              .row_scale = e->row_scale ? (float *)(void *)e->scale.data : NULL,
                              .bias = e->bias ? (float *)(void *)e->shift.data : NULL};
  memset(e->c.data, POISON, c_bytes);
  execute(e, 1, &o, line);
  for (int64_t i = 0; i < s->m; i++) {
    check_row(e, i, line);
    for (size_t at = (size_t)(i * s->ldc + s->n) * element(s->c);
         i < s->m - 1 && at < (size_t)((i + 1) * s->ldc) * element(s->c); at++)
      if (((uint8_t *)e->c.data)[at] != POISON) fail_msg("%s: behind row %d something was written", line, (int)i);
  }
  char *one = malloc(c_bytes);
  memcpy(one, e->c.data, c_bytes);
  for (int threads = 2; threads <= 3; threads++) {
    execute(e, threads, &o, line);
    if (memcmp(one, e->c.data, c_bytes) != 0) fail_msg("%s: %d threads give other bits", line, threads);
  }
  free(one);
  free(e->b);
  free(e->given);
  guarded *all[] = {&e->a, &e->packed, &e->c, &e->scale, &e->shift};
  for (size_t i = 0; i < sizeof all / sizeof *all; i++)
    if (all[i]->map) guarded_free(all[i]);
}

static const struct {
  tw_type b;
  int group;
} weights[] = {{TW_I8, 0}, {TW_I8, 8},    {TW_I4, 32},   {TW_I4, 40},   {TW_I4, 128},
               {TW_I4, 0}, {TW_MXFP4, 0}, {TW_MXFP6, 0}, {TW_BFP16, 0}, {TW_TERNARY, 0}};

static void every_kernel_rounds_within_its_bound(void **state) {
  enum { SEEDS = 14 };
#ifdef __SANITIZE_ADDRESS__
  const uint64_t examples = is_thorough() ? 6 : 2;
#else
  const bool is_slow = getenv("TW_TEST_EMULATED"); /* QEMU takes about 10 times as long */
  const uint64_t examples = is_thorough() ? (is_slow ? 2 : SEEDS) : is_slow ? 1 : SEEDS / 2;
#endif
  const char *name;
  int kernels = 0;
  for (size_t i = 0; (name = tw_gemm_kernel_at(i)); i++) {
    const bool u8s8 = strncmp(name, "u8s8", 4) == 0;
    if ((!u8s8 && strncmp(name, "s16", 3) != 0) || strstr(name, "amx")) continue; /* which has no tiles on codes */
    kernels++;
    const bool small_codes = strcmp(name, "u8s8-gemm-6x16-avx2") == 0; /* where vpmaddubsw cannot saturate */
    for (size_t w = 0; w < sizeof weights / sizeof *weights; w++) {
      const tw_type b = weights[w].b;
      if (small_codes && (b == TW_I8 || b == TW_MXFP6 || b == TW_BFP16)) continue;
      for (uint64_t nth = 0; nth < examples; nth++) {
        const uint64_t seed = (5 * nth + i + w) % SEEDS; /* few of them are others for each kernel and type */
        tw_random r;
        tw_random_seed_stream(&r, 1000 * i + w, seed);
        const tw_type types[] = {TW_F32, TW_BF16, TW_F16};
        example e = {.spec = {.kernel = name, .b = weights[w].b, .group = weights[w].group}};
        tw_gemm_spec *s = &e.spec;
        s->a = types[seed % 3], s->c = any(&r, 0, 3) ? TW_F32 : TW_BF16;
        s->a_rounding = seed % 2 ? TW_A_INT8_ROWS : TW_A_INT8_GROUPS;
        s->m = any(&r, 1, any(&r, 0, 2) ? 20 : 70), s->n = any(&r, 1, 100),
        s->k = any(&r, 1,
                   seed % 7 == 3   ? 10000
                   : any(&r, 0, 2) ? 300
                                   : 3000); /* some of several blocks */
        s->a_transposed = any(&r, 0, 3) == 0, s->b_transposed = any(&r, 0, 1);
        s->lda = (s->a_transposed ? s->m : s->k) + any(&r, 0, 5),
        s->ldb = (s->b_transposed ? s->k : s->n) + any(&r, 0, 5);
        s->ldc = s->n + any(&r, 0, 5);
        e.nothing_rounded = any(&r, 0, 1), e.row_scale = any(&r, 0, 1), e.bias = any(&r, 0, 1);
        run_example(&e, &r);
      }
    }
  }
  assert_true(kernels > 0);
}

/* A group of 40 that k cuts to 32 is as long as a run of 32, but lies in runs of 8. */
static void a_long_group_may_be_cut_to_a_short_one(void **state) {
  const char *name;
  for (size_t i = 0; (name = tw_gemm_kernel_at(i)); i++) {
    if ((strncmp(name, "u8s8", 4) != 0 && strncmp(name, "s16", 3) != 0) || strstr(name, "amx")) continue;
    for (int rounding = TW_A_INT8_ROWS; rounding <= TW_A_INT8_GROUPS; rounding++) {
      tw_random r;
      tw_random_seed_stream(&r, 77, i);
      example e = {.spec = {.kernel = name, .b = TW_I4, .group = 40, .a = TW_BF16, .c = TW_F32, .m = 13, .n = 40}};
      e.spec.k = e.spec.lda = 32, e.spec.ldb = e.spec.ldc = 40, e.spec.a_rounding = (tw_a_rounding)rounding;
      run_example(&e, &r);
    }
  }
}

/* A row with a NaN or an infinity is NaN throughout (by groups too: it belongs to the sum); a row of zeros, and one too
 * small to count, give zeros. */
static void special_rows_stay_visible(void **state) {
  enum { M = 5, N = 40, K = 100 };
  static float a[M * K], b[K * N], c[M * N];
  for (int i = 0; i < M * K; i++) a[i] = 1;
  for (int i = 0; i < K * N; i++) b[i] = (float)(i % 7 - 3);
  a[0 * K + 37] = NAN, a[1 * K + 99] = -INFINITY;
  for (int p = 0; p < K; p++) a[2 * K + p] = 0, a[3 * K + p] = 1e-38f;
  for (int rounding = TW_A_INT8_ROWS; rounding <= TW_A_INT8_GROUPS; rounding++) {
    const tw_gemm_spec spec = {
        .size = sizeof spec, .m = M, .n = N, .k = K, .b = TW_MXFP4, .a_rounding = (tw_a_rounding)rounding};
    tw_gemm_plan *plan;
    assert_int_equal(tw_gemm_plan_create(&spec, &plan, NULL), TW_OK);
    void *packed = aligned_alloc(TW_GEMM_ALIGNMENT, tw_gemm_packed_bytes(plan));
    assert_int_equal(tw_gemm_pack(plan, b, packed, NULL), TW_OK);
    const tw_gemm_operands o = {.size = sizeof o, .a = a, .packed_b = packed, .c = c};
    assert_int_equal(tw_gemm_plan_execute(plan, &o, NULL), TW_OK);
    for (int j = 0; j < N; j++) {
      assert_true(isnan(c[0 * N + j]) && isnan(c[1 * N + j]));
      assert_true(c[2 * N + j] == 0 && c[3 * N + j] == 0);
      assert_true(isfinite(c[4 * N + j]));
    }
    free(packed);
    tw_gemm_plan_destroy(plan);
  }
}

static void wrong_choices_are_refused(void **state) {
  tw_gemm_spec wrong[] = {{.m = 4, .n = 4, .k = 8, .a_rounding = TW_A_INT8_ROWS},
                          {.m = 4, .n = 4, .k = 8, .b = TW_MXFP8, .a_rounding = TW_A_INT8_ROWS},
                          {.m = 4, .n = 4, .k = 8, .a = TW_I8, .b = TW_I8, .a_rounding = TW_A_INT8_ROWS},
                          {.m = 4, .n = 4, .k = 8, .b = TW_I4, .a_rounding = (tw_a_rounding)7}};
  for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
    tw_gemm_plan *plan;
    tw_error error = {0};
    wrong[i].size = sizeof wrong[i];
    assert_int_equal(tw_status_group(tw_gemm_plan_create(&wrong[i], &plan, &error)), TW_USAGE);
    assert_null(plan);
    assert_non_null(strstr(error.text, "a_rounding"));
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(every_kernel_rounds_within_its_bound),
      cmocka_unit_test(a_long_group_may_be_cut_to_a_short_one),
      cmocka_unit_test(special_rows_stay_visible),
      cmocka_unit_test(wrong_choices_are_refused),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
