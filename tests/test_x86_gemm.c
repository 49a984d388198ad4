/* test_x86_gemm.c - the library's gemm: every kernel that this CPU runs, every combination of types, random shapes with
 * every tail, against sums in double (or exact integers) within a stated bound. Operands lie between guard pages, outputs
 * are poisoned. */
#include "test.h"

#include <math.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/random.h"
#include "guarded.h"
#include "target/x86/kernel.h"
#include "target/x86/runtime/convert.h"
#include "tilewright/format.h"
#include "tilewright/gemm.h"

enum { POISON = 0xA5 };

/* ---- elements ---- */

static size_t element(tw_type t) { return (size_t)tw_type_bits(t) / 8; }

static double get(tw_type t, const void *data, int64_t i) {
  switch (t) {
  case TW_F32: return (double)((const float *)data)[i];
  case TW_BF16: return (double)f32_of_bf16(((const uint16_t *)data)[i]);
  case TW_F16: return (double)f32_of_f16(((const uint16_t *)data)[i]);
  case TW_I8: return ((const int8_t *)data)[i];
  case TW_U8: return ((const uint8_t *)data)[i];
  default: return ((const int32_t *)data)[i];
  }
}

static void put_random(tw_random *r, tw_type t, void *data, int64_t i) {
  const float x = (float)tw_random_between(r, -0xffffff, 0xffffff) * 0x1p-24f;
  switch (t) {
  case TW_F32: ((float *)data)[i] = x; break;
  case TW_BF16: ((uint16_t *)data)[i] = bf16_of(x); break;
  case TW_F16: ((uint16_t *)data)[i] = f16_of(x); break;
  default: ((uint8_t *)data)[i] = (uint8_t)tw_random_between(r, 0, 255); break;
  }
}

static bool has_scales(const tw_gemm_spec *s) {
  return s->a != TW_I8 && s->a != TW_U8 && tw_format_of_type(s->b)->scale != TW_SCALE_NONE;
}

/* The type of B as it is given to tw_gemm_pack. */
static tw_type given_b(const tw_gemm_spec *s) { return has_scales(s) ? TW_F32 : s->b; }

static guarded random_matrix(tw_random *r, tw_type t, int64_t rows, int64_t columns, int64_t pitch, int at_end) {
  guarded g = guarded_new(((size_t)(rows - 1) * (size_t)pitch + (size_t)columns) * element(t), element(t), at_end);
  for (int64_t i = 0; i < (rows - 1) * pitch + columns; i++) put_random(r, t, g.data, i);
  return g;
}

/* ---- one case ---- */

typedef struct example {
  tw_gemm_spec spec;
  bool bias, row_scale, column_scale;
  bool rounds_weights; /* code times scale is rounded to bf16 */
  int at_end;
} example;

typedef struct operands {
  guarded a, b, packed, c, bias, row_scale, column_scale;
  tw_gemm_operands o;
} operands;

static double activation(tw_activation which, double x) {
  switch (which) {
  case TW_RELU: return x < 0 ? 0 : x;
  case TW_GELU: return 0.5 * x * (1 + tanh(sqrt(2 / 3.14159265358979323846) * (x + 0.044715 * x * x * x)));
  case TW_SILU: return x / (1 + exp(-x));
  default: return x;
  }
}

/* The relative distance of neighbours in C's type, halved: what rounding to it costs. */
static double rounding(tw_type t) { return t == TW_BF16 ? 0x1p-8 : t == TW_F16 ? 0x1p-11 : 0x1p-24; }

/* Expected value and bound of C[i][j]. A sum of k products in binary32, in any order and with fused or unfused products, is
 * off by at most (k + 2) u sum |a||b| (Higham, Accuracy and Stability, 3.1); vdpbf16ps rounds twice as often and takes
 * subnormals for zero. Scales, bias, beta and the activation add a few roundings; the activations' slopes are below 1.2. */
static void expect(const example *e, const operands *x, double old, int64_t i, int64_t j, double *value,
                   double *bound) {
  const tw_gemm_spec *s = &e->spec;
  const bool integers = s->a == TW_I8 || s->a == TW_U8;
  double sum = 0, size = 0;
  for (int64_t p = 0; p < s->k; p++) {
    const double a = get(s->a, x->a.data, s->a_transposed ? p * s->lda + i : i * s->lda + p);
    const double b = get(given_b(s), x->b.data, s->b_transposed ? j * s->ldb + p : p * s->ldb + j);
    sum += a * b;
    size += fabs(a * b);
  }
  const double scale = (double)(s->alpha ? s->alpha : 1) * (e->row_scale ? (double)x->o.row_scale[i] : 1) *
                       (e->column_scale ? (double)x->o.column_scale[j] : 1);
  const double bias = e->bias ? (double)x->o.bias[j] : 0, u = 0x1p-24;
  double off = (integers ? 0 : (2.0 * (double)s->k + 2) * u * size + (double)s->k * 0x1p-126) * fabs(scale);
  if (s->c != TW_I32) off += 8 * u * (fabs(scale * sum) + fabs(bias) + fabs((double)s->beta * old));
  if (has_scales(s) && e->rounds_weights) off += 0x1p-8 * size * fabs(scale);
  const double before = scale * sum + bias + (s->beta != 0 ? (double)s->beta * old : 0);
  *value = activation(s->activation, before);
  *bound = 1.2 * off + (s->activation >= TW_GELU ? 16 * u * fabs(before) + 1e-30 : 0);
  if (s->c == TW_I8) { /* saturation brings nothing further apart */
    *value = *value > 127 ? 127 : *value < -128 ? -128 : *value;
    *bound += 0.5;
    return;
  }
  if (s->c != TW_I32) *bound += rounding(s->c) * (fabs(*value) + *bound) + (s->c == TW_F16 ? 0x1p-25 : 0);
}

static void *new_vector(tw_random *r, int64_t n, guarded *g, int at_end) {
  *g = random_matrix(r, TW_F32, 1, n, n, at_end);
  return g->data;
}

static operands make_operands(const example *e, tw_random *r) {
  const tw_gemm_spec *s = &e->spec;
  operands x = {0};
  x.a = s->a_transposed ? random_matrix(r, s->a, s->k, s->m, s->lda, e->at_end)
                        : random_matrix(r, s->a, s->m, s->k, s->lda, e->at_end);
  x.b = s->b_transposed ? random_matrix(r, given_b(s), s->n, s->k, s->ldb, e->at_end)
                        : random_matrix(r, given_b(s), s->k, s->n, s->ldb, e->at_end);
  x.c = guarded_new(((size_t)(s->m - 1) * (size_t)s->ldc + (size_t)s->n) * element(s->c), element(s->c), e->at_end);
  x.o = (tw_gemm_operands){.a = x.a.data, .c = x.c.data};
  if (e->bias) x.o.bias = new_vector(r, s->n, &x.bias, e->at_end);
  if (e->row_scale) x.o.row_scale = new_vector(r, s->m, &x.row_scale, e->at_end);
  if (e->column_scale) x.o.column_scale = new_vector(r, s->n, &x.column_scale, e->at_end);
  return x;
}

static void free_operands(operands *x) {
  guarded *all[] = {&x->a, &x->b, &x->packed, &x->c, &x->bias, &x->row_scale, &x->column_scale};
  for (size_t i = 0; i < sizeof all / sizeof *all; i++)
    if (all[i]->map) guarded_free(all[i]);
}

static size_t c_bytes(const tw_gemm_spec *s) {
  return ((size_t)(s->m - 1) * (size_t)s->ldc + (size_t)s->n) * element(s->c);
}

static void fill_c(const example *e, operands *x, tw_random *r) {
  const tw_gemm_spec *s = &e->spec;
  memset(x->c.data, POISON, c_bytes(s));
  for (int64_t i = 0; s->beta != 0 && i < s->m; i++)
    for (int64_t j = 0; j < s->n; j++) put_random(r, s->c, x->c.data, i * s->ldc + j);
}

static void check_result(const example *e, const operands *x, const void *old, const char *plan) {
  const tw_gemm_spec *s = &e->spec;
  for (int64_t i = 0; i < s->m; i++) {
    for (int64_t j = 0; j < s->ldc; j++) {
      const int64_t at = i * s->ldc + j;
      if (j >= s->n) {
        for (size_t q = 0; i < s->m - 1 && q < element(s->c); q++)
          if (((uint8_t *)x->c.data)[(size_t)at * element(s->c) + q] != POISON)
            fail_msg("%s: C[%d][%d] behind the row was written", plan, (int)i, (int)j);
        continue;
      }
      double value, bound, got = get(s->c, x->c.data, at);
      expect(e, x, s->beta != 0 ? get(s->c, old, at) : 0, i, j, &value, &bound);
      if (!(fabs(got - value) <= bound))
        fail_msg("%s: C[%d][%d] is %.9g and should be %.9g within %.3g", plan, (int)i, (int)j, got, value, bound);
    }
  }
}

/* Weights with scales: B becomes what its type holds of it; its planes, packed, must be the same bytes as B, packed. */
static void quantize_b(const example *e, operands *x, const tw_gemm_planned *plan) {
  const tw_gemm_spec *s = &e->spec;
  tw_packing packing = {.format = tw_format_of_type(s->b), .group = s->group};
  tw_packed_size size;
  tw_error error;
  const size_t n = (size_t)s->n, k = (size_t)s->k;
  if (packing.format->scale != TW_SCALE_F32) packing.group = 0;
  assert_int_equal(tw_format_sizes(&packing, 1, k, &size, NULL), TW_OK);
  float *column = malloc(k * sizeof *column), *b = (float *)(void *)x->b.data;
  char *codes = malloc(n * size.codes + 1), *scales = malloc(n * size.scales + 1);
  for (size_t j = 0; j < n; j++) {
    const size_t step = s->b_transposed ? 1 : (size_t)s->ldb, first = s->b_transposed ? j * (size_t)s->ldb : j;
    for (size_t p = 0; p < k; p++) column[p] = b[first + p * step];
    assert_int_equal(
        tw_format_encode(&packing, 1, k, column, k, codes + j * size.codes, scales + j * size.scales, NULL), TW_OK);
    assert_int_equal(
        tw_format_decode(&packing, 1, k, codes + j * size.codes, scales + j * size.scales, column, k, NULL), TW_OK);
    for (size_t p = 0; p < k; p++) b[first + p * step] = column[p];
  }
  guarded again = guarded_new(tw_gemm_packed_bytes(plan), TW_GEMM_ALIGNMENT, 1);
  if (tw_gemm_pack_codes(plan, codes, scales, again.data, &error) != TW_OK) fail_msg("%s", error.text);
  assert_memory_equal(again.data, x->packed.data, tw_gemm_packed_bytes(plan));
  guarded_free(&again);
  free(scales);
  free(codes);
  free(column);
}

static void run_example(example *e, uint64_t seed) {
  tw_gemm_spec *s = &e->spec;
  tw_random r;
  tw_random_seed_stream(&r, seed, 1);
  operands x = make_operands(e, &r);
  tw_gemm_planned *plan;
  tw_error error;
  char line[400];
  if (tw_gemm_plan(s, &plan, &error) != TW_OK) fail_msg("%s", error.text);
  tw_gemm_print(plan, line, sizeof line);
  x.packed = guarded_new(tw_gemm_packed_bytes(plan), TW_GEMM_ALIGNMENT, e->at_end);
  if (tw_gemm_pack(plan, x.b.data, x.packed.data, &error) != TW_OK) fail_msg("%s: %s", line, error.text);
  x.o.packed_b = x.packed.data;
  if (has_scales(s)) quantize_b(e, &x, plan);
  fill_c(e, &x, &r);
  void *old = malloc(c_bytes(s));
  memcpy(old, x.c.data, c_bytes(s));
  if (tw_gemm_execute(plan, &x.o, &error) != TW_OK) fail_msg("%s: %s", line, error.text);
  check_result(e, &x, old, line);
  tw_gemm_destroy(plan);

  /* The same bits on any number of threads. */
  void *one = malloc(c_bytes(s));
  memcpy(one, x.c.data, c_bytes(s));
  for (int threads = 1; threads <= 3; threads++) {
    s->threads = threads;
    if (tw_gemm_plan(s, &plan, &error) != TW_OK) fail_msg("%s", error.text);
    memcpy(x.c.data, old, c_bytes(s));
    if (tw_gemm_execute(plan, &x.o, &error) != TW_OK) fail_msg("%s", error.text);
    if (memcmp(one, x.c.data, c_bytes(s)) != 0) fail_msg("%s: %d threads give other bits", line, threads);
    tw_gemm_destroy(plan);
  }
  free(one);
  free(old);
  free_operands(&x);
}

/* ---- all kernels, all types ---- */

static const struct {
  x86_arithmetic arithmetic;
  tw_type a, b, c;
} combinations[] = {
    {X86_F32, TW_F32, TW_F32, TW_F32},       {X86_F32, TW_F32, TW_F32, TW_BF16},
    {X86_F32, TW_BF16, TW_BF16, TW_F32},     {X86_F32, TW_BF16, TW_BF16, TW_BF16},
    {X86_F32, TW_F16, TW_F16, TW_F16},       {X86_F32, TW_F16, TW_F32, TW_F32},
    {X86_F32, TW_F32, TW_BF16, TW_F32},      {X86_BF16, TW_BF16, TW_BF16, TW_F32},
    {X86_BF16, TW_BF16, TW_BF16, TW_BF16},   {X86_BF16, TW_BF16, TW_BF16, TW_F16},
    {X86_S16, TW_U8, TW_I8, TW_I32},         {X86_S16, TW_I8, TW_I8, TW_I32},
    {X86_S16, TW_I8, TW_I8, TW_F32},         {X86_U8S8, TW_U8, TW_I8, TW_I32},
    {X86_S8S8, TW_I8, TW_I8, TW_I32},        {X86_F32, TW_F32, TW_MXFP4, TW_F32},
    {X86_F32, TW_F16, TW_MXFP6, TW_F32},     {X86_F32, TW_F32, TW_MXFP8, TW_F32},
    {X86_F32, TW_F32, TW_BFP16, TW_F32},     {X86_F32, TW_F32, TW_I8, TW_BF16},
    {X86_F32, TW_BF16, TW_I4, TW_F32},       {X86_F32, TW_F32, TW_TERNARY, TW_F32},
    {X86_BF16, TW_BF16, TW_MXFP4, TW_F32},   {X86_BF16, TW_BF16, TW_MXFP6, TW_BF16},
    {X86_BF16, TW_BF16, TW_MXFP8, TW_F32},   {X86_BF16, TW_BF16, TW_BFP16, TW_F32},
    {X86_BF16, TW_BF16, TW_I8, TW_F32},      {X86_BF16, TW_BF16, TW_I4, TW_F32},
    {X86_BF16, TW_BF16, TW_TERNARY, TW_F32}, {X86_S8S8, TW_I8, TW_I8, TW_F32},
    {X86_F32, TW_F32, TW_F32, TW_I8},        {X86_BF16, TW_BF16, TW_MXFP4, TW_I8},
    {X86_S8S8, TW_I8, TW_I8, TW_I8},         {X86_S16, TW_U8, TW_I8, TW_I8},
    {X86_S8S8, TW_I8, TW_I8, TW_BF16},       {X86_U8S8, TW_U8, TW_I8, TW_F32},
};

static const x86_kernel *kernel_named(const char *name) {
  for (int i = 0; x86_kernel_at(i); i++)
    if (strcmp(x86_kernel_at(i)->name, name) == 0) return x86_kernel_at(i);
  return NULL;
}

static int64_t any(tw_random *r, int64_t least, int64_t most) { return tw_random_between(r, least, most); }

static example random_example(tw_random *r, const x86_kernel *k, size_t combination) {
  example e = {.at_end = (int)any(r, 0, 1)};
  tw_gemm_spec *s = &e.spec;
  s->kernel = k->name;
  s->a = combinations[combination].a, s->b = combinations[combination].b, s->c = combinations[combination].c;
  s->m = any(r, 1, any(r, 0, 1) ? 3 * k->rows + 1 : 5);
  s->n = any(r, 1, any(r, 0, 1) ? 3 * k->columns + 1 : 5);
  s->k = any(r, 1, any(r, 0, 2) ? 40 : 2000);
  s->a_transposed = any(r, 0, 3) == 0, s->b_transposed = any(r, 0, 1);
  s->lda = (s->a_transposed ? s->m : s->k) + any(r, 0, 1) * any(r, 0, 9);
  s->ldb = (s->b_transposed ? s->k : s->n) + any(r, 0, 1) * any(r, 0, 9);
  s->ldc = s->n + any(r, 0, 1) * any(r, 0, 9);
  const tw_type b = s->b;
  if (has_scales(s) && (b == TW_I8 || b == TW_I4)) s->group = (int)(8 * any(r, 0, 4));
  e.rounds_weights = k->arithmetic == X86_BF16 && (b == TW_I8 || b == TW_I4 || b == TW_TERNARY);
  if (s->c == TW_I32 || any(r, 0, 1)) return e;
  s->alpha = any(r, 0, 1) ? 0.5f : 0, s->beta = any(r, 0, 1) ? -1.5f : 0;
  s->activation = (tw_activation)any(r, 0, 3);
  e.bias = any(r, 0, 1), e.row_scale = any(r, 0, 1), e.column_scale = any(r, 0, 1);
  return e;
}

static void every_kernel_computes_every_combination(void **state) {
  (void)state;
  enum { EXAMPLES = 24 };
  const char *name;
  for (size_t i = 0; (name = tw_gemm_kernel_at(i)); i++) {
    const x86_kernel *k = kernel_named(name);
    assert_non_null(k);
    int computed = 0;
    for (size_t c = 0; c < sizeof combinations / sizeof *combinations; c++) {
      if (combinations[c].arithmetic != k->arithmetic) continue;
      for (uint64_t seed = 0; seed < EXAMPLES; seed++) {
        tw_random r;
        tw_random_seed_stream(&r, 100 * c + i, seed);
        example e = random_example(&r, k, c);
        run_example(&e, seed);
        computed++;
      }
    }
    assert_true(computed > 0);
  }
}

/* Each number of rows and columns of the largest kernel of each arithmetic, once with k of one block and once with two. */
static void every_tail_is_computed(void **state) {
  (void)state;
  const char *name;
  for (size_t i = 0; (name = tw_gemm_kernel_at(i)); i++) {
    const x86_kernel *k = kernel_named(name);
    size_t c = 0;
    while (combinations[c].arithmetic != k->arithmetic) c++;
    for (int64_t m = 1; m <= k->rows + 1; m++)
      for (int64_t n = 1 + m % 3; n <= k->columns + 1; n += 3) {
        example e = {.spec = {.m = m, .n = n, .k = 1 + (5 * m + n) % 23, .kernel = name}, .at_end = 1};
        e.spec.a = combinations[c].a, e.spec.b = combinations[c].b, e.spec.c = combinations[c].c;
        e.spec.lda = e.spec.k, e.spec.ldb = e.spec.ldc = n;
        run_example(&e, (uint64_t)(100 * m + n));
      }
  }
}

/* Tiles on two panels at once: rows that are dealt to strips of several heights, each remainder of two and three panels, and
 * loops over k shorter and longer than the part before which C is fetched. */
static void every_width_of_two_panels_is_computed(void **state) {
  (void)state;
  static const int64_t ks[] = {7, 64, 65, 66, 131, 300};
  const char *name;
  for (size_t i = 0; (name = tw_gemm_kernel_at(i)); i++) {
    const x86_kernel *k = kernel_named(name);
    size_t c = 0;
    while (combinations[c].arithmetic != k->arithmetic) c++;
    if (k->wide_rows == 0) continue;
    for (int64_t n = k->columns + 1; n <= 3 * k->columns; n += 3) {
      example e = {.spec = {.m = 17 + n % 13, .n = n, .kernel = name}, .at_end = 1};
      e.spec.k = ks[n % 6] * (4 / (int64_t)element(combinations[c].a));
      e.spec.a = combinations[c].a, e.spec.b = combinations[c].b, e.spec.c = combinations[c].c;
      e.spec.lda = e.spec.k, e.spec.ldb = e.spec.ldc = n;
      run_example(&e, (uint64_t)n);
    }
  }
}

/* Tiles on codes: each number of rows that a decode product can have, with groups of one step, of two, of a step and a half of
 * the larger bodies of loops, of a whole row, and with every remainder of k. */
static void every_number_of_rows_on_codes(void **state) {
  (void)state;
  static const int groups[] = {8, 16, 24, 0};
  const char *name;
  for (size_t i = 0; (name = tw_gemm_kernel_at(i)); i++) {
    const x86_kernel *k = kernel_named(name);
    for (size_t c = 0; c < sizeof combinations / sizeof *combinations; c++) {
      if (combinations[c].arithmetic != k->arithmetic || combinations[c].c != TW_F32) continue;
      example e = {.at_end = 1, .spec = {.a = combinations[c].a, .b = combinations[c].b, .c = TW_F32, .kernel = name}};
      if (!has_scales(&e.spec)) continue;
      const bool grouped = e.spec.b == TW_I8 || e.spec.b == TW_I4;
      e.rounds_weights = k->arithmetic == X86_BF16 && (grouped || e.spec.b == TW_TERNARY);
      for (int64_t m = 1; m <= 16; m++)
        for (size_t g = 0; g < (grouped ? 4 : 1); g++) {
          e.spec.m = m, e.spec.k = 1 + (37 * m + 5 * (int64_t)g) % 150, e.spec.n = 1 + (7 * m) % (k->columns + 3);
          e.spec.lda = e.spec.k, e.spec.ldb = e.spec.ldc = e.spec.n;
          e.spec.group = grouped ? groups[g] : 0;
          run_example(&e, (uint64_t)(100 * m) + g);
        }
    }
  }
}

/* Codes are kept in no more bits than they have: mxfp6 in 6 where AVX-512 computes in real arithmetic, in 8 elsewhere. */
static void packed_codes_take_their_bits(void **state) {
  (void)state;
  enum { N = 256, K = 4096 };
  static const struct {
    tw_type b;
    int bits, scale_bits, bits_elsewhere; /* of an element; of its part of a scale */
  } expected[] = {{TW_MXFP4, 4, 8, 4}, {TW_MXFP6, 6, 8, 8}, {TW_MXFP8, 8, 8, 8}, {TW_TERNARY, 2, 0, 2}};
  const char *name;
  for (size_t i = 0; (name = tw_gemm_kernel_at(i)); i++) {
    const x86_kernel *kernel = kernel_named(name);
    if (kernel->arithmetic != X86_F32 && kernel->arithmetic != X86_BF16) continue;
    for (size_t e = 0; e < sizeof expected / sizeof *expected; e++) {
      const tw_gemm_spec spec = {.m = 1, .n = N, .k = K, .a = TW_BF16, .b = expected[e].b, .kernel = name};
      tw_gemm_planned *plan;
      assert_int_equal(tw_gemm_plan(&spec, &plan, NULL), TW_OK);
      const size_t bits = (size_t)(kernel->isa >= X86_AVX512 ? expected[e].bits : expected[e].bits_elsewhere);
      const size_t least = (size_t)N * K * bits / 8 + (size_t)N * K / 32 * (size_t)expected[e].scale_bits / 8;
      assert_in_range(tw_gemm_packed_bytes(plan), least, least + least / 50 + 4096);
      tw_gemm_destroy(plan);
    }
  }
}

/* k of several blocks, the last of them shorter: sums that are added to are C, or wait where C is of another type. */
static void blocks_of_k_add_up(void **state) {
  (void)state;
  enum { M = 19, N = 37, K = 10001 };
  const char *name;
  for (size_t i = 0; (name = tw_gemm_kernel_at(i)); i++) {
    const x86_kernel *k = kernel_named(name);
    for (size_t c = 0; c < sizeof combinations / sizeof *combinations; c++) {
      if (combinations[c].arithmetic != k->arithmetic) continue;
      example e = {.spec = {.n = N, .k = K, .lda = K, .ldb = N, .ldc = N, .kernel = name}, .at_end = 1};
      e.spec.a = combinations[c].a, e.spec.b = combinations[c].b, e.spec.c = combinations[c].c;
      const tw_type b = e.spec.b;
      e.rounds_weights = k->arithmetic == X86_BF16 && (b == TW_I8 || b == TW_I4 || b == TW_TERNARY);
      e.spec.m = c % 2 ? 3 : M; /* tiles on codes, and on panels */
      run_example(&e, c);
    }
  }
}

static void large_shapes_are_computed(void **state) {
  (void)state;
  static const int64_t shapes[][3] = {{150, 700, 900}, {700, 64, 300}, {33, 1100, 513}};
  const char *name;
  for (size_t i = 0; (name = tw_gemm_kernel_at(i)); i++) {
    const x86_kernel *k = kernel_named(name);
    if (k->isa == X86_PORTABLE) continue;
    size_t c = 0;
    while (combinations[c].arithmetic != k->arithmetic) c++;
    for (size_t shape = 0; shape < 3; shape++) {
      const int64_t *mnk = shapes[shape];
      example e = {.spec = {.m = mnk[0], .n = mnk[1], .k = mnk[2], .lda = mnk[2], .ldb = mnk[1], .ldc = mnk[1]}};
      e.spec.kernel = name;
      e.spec.a = combinations[c].a, e.spec.b = combinations[c].b, e.spec.c = combinations[c].c;
      run_example(&e, shape);
    }
  }
}

/* ---- many threads on one plan ---- */

typedef struct user {
  const tw_gemm_planned *plan;
  tw_gemm_operands o;
  tw_status status;
} user;

static void *use(void *context) {
  user *u = context;
  for (int i = 0; i < 20 && u->status == TW_OK; i++) u->status = tw_gemm_execute(u->plan, &u->o, NULL);
  return NULL;
}

static void plan_is_shared_by_threads(void **state) {
  (void)state;
  enum { USERS = 6, M = 37, N = 600, K = 500 };
  static float a[M * K], b[K * N], c[USERS][M * N];
  tw_random r;
  tw_random_seed_stream(&r, 1, 1);
  for (int i = 0; i < M * K; i++) put_random(&r, TW_F32, a, i);
  for (int i = 0; i < K * N; i++) put_random(&r, TW_F32, b, i);
  const tw_gemm_spec spec = {.m = M, .n = N, .k = K, .threads = 1, .activation = TW_RELU};
  tw_gemm_planned *plan;
  assert_int_equal(tw_gemm_plan(&spec, &plan, NULL), TW_OK);
  void *packed = aligned_alloc(TW_GEMM_ALIGNMENT, tw_gemm_packed_bytes(plan));
  assert_int_equal(tw_gemm_pack(plan, b, packed, NULL), TW_OK);
  pthread_t thread[USERS];
  user users[USERS];
  for (int i = 0; i < USERS; i++) {
    users[i] = (user){.plan = plan, .o = {.a = a, .packed_b = packed, .c = c[i]}};
    assert_int_equal(pthread_create(&thread[i], NULL, use, &users[i]), 0);
  }
  for (int i = 0; i < USERS; i++) {
    pthread_join(thread[i], NULL);
    assert_int_equal(users[i].status, TW_OK);
    assert_memory_equal(c[i], c[0], sizeof c[0]);
  }
  free(packed);
  tw_gemm_destroy(plan);
}

/* ---- wrong arguments ---- */

static void expect_refusal(tw_gemm_spec s, const char *part) {
  tw_gemm_planned *plan;
  tw_error error = {0};
  assert_int_not_equal(tw_gemm_plan(&s, &plan, &error), TW_OK);
  assert_null(plan);
  if (!strstr(error.text, part)) fail_msg("'%s' does not say '%s'", error.text, part);
}

static void wrong_descriptions_are_refused(void **state) {
  (void)state;
  const tw_gemm_spec good = {.m = 4, .n = 5, .k = 6};
  tw_gemm_spec s;
  tw_error error;
  tw_gemm_planned *plan;
  assert_int_equal(tw_gemm_plan(NULL, &plan, &error), TW_USAGE);
  assert_int_equal(tw_gemm_plan(&good, NULL, &error), TW_USAGE);
  s = good, s.m = 0, expect_refusal(s, "m=0");
  s = good, s.n = -3, expect_refusal(s, "n=-3");
  s = good, s.k = INT64_MAX, expect_refusal(s, "k=");
  s = good, s.lda = 5, expect_refusal(s, "lda=5");
  s = good, s.ldb = 4, expect_refusal(s, "ldb=4");
  s = good, s.ldc = 1, expect_refusal(s, "ldc=1");
  s = good, s.b_transposed = true, s.ldb = 5, expect_refusal(s, "ldb=5");
  s = good, s.threads = -1, expect_refusal(s, "threads=-1");
  s = good, s.activation = (tw_activation)9, expect_refusal(s, "activation=9");
  s = good, s.kernel = "f32-gemm-1x1-none", expect_refusal(s, "f32-gemm-1x1-none");
  s = good, s.group = 32, expect_refusal(s, "group=32");
  s = good, s.b = TW_I4, s.group = 7, expect_refusal(s, "group=7");
  s = good, s.b = TW_MXFP4, s.group = 16, expect_refusal(s, "group=16");
  s = good, s.a = TW_I8, expect_refusal(s, "a=i8 b=f32");
  s = good, s.c = TW_I32, expect_refusal(s, "c=i32");
  s = good, s.a = s.b = TW_I8, s.c = TW_I32, s.alpha = 2, expect_refusal(s, "alpha");
  s = good, s.a = s.b = TW_I8, s.c = TW_I32, s.k = 1 << 20, expect_refusal(s, "k=");
}

static void expect_bad_operands(const tw_gemm_planned *plan, tw_gemm_operands o, const char *part) {
  tw_error error = {0};
  assert_int_equal(tw_gemm_execute(plan, &o, &error), TW_USAGE);
  if (!strstr(error.text, part)) fail_msg("'%s' does not say '%s'", error.text, part);
}

static void wrong_operands_are_refused(void **state) {
  (void)state;
  static float a[4 * 6], b[6 * 5], c[4 * 5];
  const tw_gemm_spec spec = {.m = 4, .n = 5, .k = 6}, other = {.m = 4, .n = 5, .k = 7};
  tw_gemm_planned *plan, *second;
  tw_error error;
  assert_int_equal(tw_gemm_plan(&spec, &plan, NULL), TW_OK);
  assert_int_equal(tw_gemm_plan(&other, &second, NULL), TW_OK);
  char *packed = aligned_alloc(TW_GEMM_ALIGNMENT, 1 << 16);
  assert_int_equal(tw_gemm_pack(plan, b, packed + 4, &error), TW_USAGE);
  assert_non_null(strstr(error.text, "packed is not aligned"));
  assert_int_equal(tw_gemm_pack(plan, NULL, packed, &error), TW_USAGE);
  assert_int_equal(tw_gemm_pack(plan, b, NULL, &error), TW_USAGE);
  assert_int_equal(tw_gemm_pack(plan, packed + 64, packed, &error), TW_USAGE);
  assert_non_null(strstr(error.text, "overlaps"));
  assert_int_equal(tw_gemm_pack(plan, b, packed, NULL), TW_OK);
  const tw_gemm_operands good = {.a = a, .packed_b = packed, .c = c};
  tw_gemm_operands o;
  assert_int_equal(tw_gemm_execute(plan, &good, NULL), TW_OK);
  assert_int_equal(tw_gemm_execute(plan, NULL, NULL), TW_USAGE);
  assert_int_equal(tw_gemm_execute(NULL, &good, NULL), TW_USAGE);
  o = good, o.a = NULL, expect_bad_operands(plan, o, "a is NULL");
  o = good, o.packed_b = NULL, expect_bad_operands(plan, o, "packed_b is NULL");
  o = good, o.c = NULL, expect_bad_operands(plan, o, "c is NULL");
  o = good, o.c = a + 3, expect_bad_operands(plan, o, "c overlaps a");
  o = good, o.c = packed, expect_bad_operands(plan, o, "c overlaps packed_b");
  o = good, o.bias = c + 1, expect_bad_operands(plan, o, "c overlaps bias");
  o = good, o.packed_b = packed + 4, expect_bad_operands(plan, o, "aligned");
  expect_bad_operands(second, good, "packed_b was not packed by a plan");
  free(packed);
  tw_gemm_destroy(plan);
  tw_gemm_destroy(second);
  tw_gemm_destroy(NULL);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(every_kernel_computes_every_combination),
      cmocka_unit_test(every_tail_is_computed),
      cmocka_unit_test(every_width_of_two_panels_is_computed),
      cmocka_unit_test(every_number_of_rows_on_codes),
      cmocka_unit_test(packed_codes_take_their_bits),
      cmocka_unit_test(blocks_of_k_add_up),
      cmocka_unit_test(large_shapes_are_computed),
      cmocka_unit_test(plan_is_shared_by_threads),
      cmocka_unit_test(wrong_descriptions_are_refused),
      cmocka_unit_test(wrong_operands_are_refused),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
