/* x86_example.h - one product of the library's gemm, as tests make it: operands between guard pages, C poisoned, the
 * result against sums in double (or exact integers) within a bound that stands here, the same bits on one, two and
 * three threads. */
#ifndef TW_TESTS_X86_EXAMPLE_H
#define TW_TESTS_X86_EXAMPLE_H

#include "test.h"

#include <math.h>
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

static inline size_t element(tw_type t) { return (size_t)tw_type_bits(t) / 8; }

static inline double get(tw_type t, const void *data, int64_t i) {
  switch (t) {
  case TW_F32: return (double)((const float *)data)[i];
  case TW_BF16: return (double)f32_of_bf16(((const uint16_t *)data)[i]);
  case TW_F16: return (double)f32_of_f16(((const uint16_t *)data)[i]);
  case TW_I8: return ((const int8_t *)data)[i];
  case TW_U8: return ((const uint8_t *)data)[i];
  default: return ((const int32_t *)data)[i];
  }
}

static inline void put_random(tw_random *r, tw_type t, void *data, int64_t i) {
  const float x = (float)tw_random_between(r, -0xffffff, 0xffffff) * 0x1p-24f;
  switch (t) {
  case TW_F32: ((float *)data)[i] = x; break;
  case TW_BF16: ((uint16_t *)data)[i] = bf16_of(x); break;
  case TW_F16: ((uint16_t *)data)[i] = f16_of(x); break;
  default: ((uint8_t *)data)[i] = (uint8_t)tw_random_between(r, 0, 255); break;
  }
}

static inline bool has_scales(const tw_gemm_spec *s) {
  return s->a != TW_I8 && s->a != TW_U8 && tw_format_of_type(s->b)->scale != TW_SCALE_NONE;
}

/* The type of B as it is given to tw_gemm_pack. */
static inline tw_type given_b(const tw_gemm_spec *s) { return has_scales(s) ? TW_F32 : s->b; }

static inline guarded random_matrix(tw_random *r, tw_type t, int64_t rows, int64_t columns, int64_t pitch, int at_end) {
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

static inline double activation(tw_activation which, double x) {
  switch (which) {
  case TW_ACTIVATION_RELU: return x < 0 ? 0 : x;
  case TW_ACTIVATION_GELU: return 0.5 * x * (1 + tanh(sqrt(2 / 3.14159265358979323846) * (x + 0.044715 * x * x * x)));
  case TW_ACTIVATION_SILU: return x / (1 + exp(-x));
  default: return x;
  }
}

/* The relative distance of neighbours in C's type, halved: what rounding to it costs. */
static inline double rounding(tw_type t) { return t == TW_BF16 ? 0x1p-8 : t == TW_F16 ? 0x1p-11 : 0x1p-24; }

/* Expected value and bound of C[i][j]. A sum of k products in binary32, in any order and with fused or unfused
 * products, is off by at most (k + 2) u sum |a||b| (Higham, Accuracy and Stability, 3.1); vdpbf16ps rounds twice as
 * often and takes subnormals for zero. Scales, bias, beta and the activation add a few roundings; the activations'
 * slopes are below 1.2. */
static inline void expect(const example *e, const operands *x, double old, int64_t i, int64_t j, double *value,
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
  *bound = 1.2 * off + (s->activation >= TW_ACTIVATION_GELU ? 16 * u * fabs(before) + 1e-30 : 0);
  if (s->c == TW_I8) { /* saturation brings nothing further apart */
    *value = *value > 127 ? 127 : *value < -128 ? -128 : *value;
    *bound += 0.5;
    return;
  }
  if (s->c != TW_I32) *bound += rounding(s->c) * (fabs(*value) + *bound) + (s->c == TW_F16 ? 0x1p-25 : 0);
}

static inline void *new_vector(tw_random *r, int64_t n, guarded *g, int at_end) {
  *g = random_matrix(r, TW_F32, 1, n, n, at_end);
  return g->data;
}

static inline operands make_operands(const example *e, tw_random *r) {
  const tw_gemm_spec *s = &e->spec;
  operands x = {0};
  x.a = s->a_transposed ? random_matrix(r, s->a, s->k, s->m, s->lda, e->at_end)
                        : random_matrix(r, s->a, s->m, s->k, s->lda, e->at_end);
  x.b = s->b_transposed ? random_matrix(r, given_b(s), s->n, s->k, s->ldb, e->at_end)
                        : random_matrix(r, given_b(s), s->k, s->n, s->ldb, e->at_end);
  x.c = guarded_new(((size_t)(s->m - 1) * (size_t)s->ldc + (size_t)s->n) * element(s->c), element(s->c), e->at_end);
  x.o = (tw_gemm_operands){.size = sizeof(tw_gemm_operands), .a = x.a.data, .c = x.c.data};
  if (e->bias) x.o.bias = new_vector(r, s->n, &x.bias, e->at_end);
  if (e->row_scale) x.o.row_scale = new_vector(r, s->m, &x.row_scale, e->at_end);
  if (e->column_scale) x.o.column_scale = new_vector(r, s->n, &x.column_scale, e->at_end);
  return x;
}

static inline void free_operands(operands *x) {
  guarded *all[] = {&x->a, &x->b, &x->packed, &x->c, &x->bias, &x->row_scale, &x->column_scale};
  for (size_t i = 0; i < sizeof all / sizeof *all; i++)
    if (all[i]->map) guarded_free(all[i]);
}

static inline size_t c_bytes(const tw_gemm_spec *s) {
  return ((size_t)(s->m - 1) * (size_t)s->ldc + (size_t)s->n) * element(s->c);
}

static inline void fill_c(const example *e, operands *x, tw_random *r) {
  const tw_gemm_spec *s = &e->spec;
  memset(x->c.data, POISON, c_bytes(s));
  for (int64_t i = 0; s->beta != 0 && i < s->m; i++)
    for (int64_t j = 0; j < s->n; j++) put_random(r, s->c, x->c.data, i * s->ldc + j);
}

static inline void check_result(const example *e, const operands *x, const void *old, const char *plan) {
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
static inline void quantize_b(const example *e, operands *x, const tw_gemm_plan *plan) {
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

static inline void run_example(example *e, uint64_t seed) {
  tw_gemm_spec *s = &e->spec;
  s->size = sizeof *s;
  tw_random r;
  tw_random_seed_stream(&r, seed, 1);
  operands x = make_operands(e, &r);
  tw_gemm_plan *plan;
  tw_error error;
  char line[400];
  if (tw_gemm_plan_create(s, &plan, &error) != TW_OK) fail_msg("%s", error.text);
  tw_gemm_plan_print(plan, line, sizeof line);
  x.packed = guarded_new(tw_gemm_packed_bytes(plan), TW_GEMM_ALIGNMENT, e->at_end);
  if (tw_gemm_pack(plan, x.b.data, x.packed.data, &error) != TW_OK) fail_msg("%s: %s", line, error.text);
  x.o.packed_b = x.packed.data;
  if (has_scales(s)) quantize_b(e, &x, plan);
  fill_c(e, &x, &r);
  void *old = malloc(c_bytes(s));
  memcpy(old, x.c.data, c_bytes(s));
  if (tw_gemm_plan_execute(plan, &x.o, &error) != TW_OK) fail_msg("%s: %s", line, error.text);
  check_result(e, &x, old, line);
  tw_gemm_plan_destroy(plan);

  /* The same bits on any number of threads. */
  void *one = malloc(c_bytes(s));
  memcpy(one, x.c.data, c_bytes(s));
  for (int threads = 1; threads <= 3; threads++) {
    s->threads = threads;
    if (tw_gemm_plan_create(s, &plan, &error) != TW_OK) fail_msg("%s", error.text);
    memcpy(x.c.data, old, c_bytes(s));
    if (tw_gemm_plan_execute(plan, &x.o, &error) != TW_OK) fail_msg("%s", error.text);
    if (memcmp(one, x.c.data, c_bytes(s)) != 0) fail_msg("%s: %d threads give other bits", line, threads);
    tw_gemm_plan_destroy(plan);
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

static inline int64_t any(tw_random *r, int64_t least, int64_t most) { return tw_random_between(r, least, most); }

static inline example random_example(tw_random *r, const x86_kernel *k, size_t combination) {
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

#endif
