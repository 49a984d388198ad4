/* x86_exact.h - products of small whole numbers, which every type and every order of summation holds exactly: what the
 * library's gemm gives must be the same bits as a sum of integers. */
#ifndef TW_TESTS_X86_EXACT_H
#define TW_TESTS_X86_EXACT_H

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/random.h"
#include "guarded.h"
#include "target/x86/runtime/convert.h"
#include "tilewright/format.h"
#include "tilewright/gemm.h"

typedef struct exact_types {
  tw_type a, b, c;
  int b_largest; /* |B| is at most this; every eighth row of B holds it, so that scales come out as powers of two */
  int group;
  tw_a_rounding a_rounding; /* then every eighth element of a row of A is 127: its scales are 1 */
} exact_types;

/* Sums stay below 2^24: A is at most 3, or 127 in an eighth of the places, and k at most some thousands. i8, i4 and
 * ternary scale by largest / largest code = 1. */
static const exact_types exact_all[] = {
    {TW_F32, TW_F32, TW_F32, 3, 0, TW_A_EXACT},         {TW_BF16, TW_BF16, TW_F32, 3, 0, TW_A_EXACT},
    {TW_F16, TW_F16, TW_F32, 3, 0, TW_A_EXACT},         {TW_F32, TW_BF16, TW_F32, 3, 0, TW_A_EXACT},
    {TW_BF16, TW_F32, TW_F32, 3, 0, TW_A_EXACT},        {TW_U8, TW_I8, TW_I32, 127, 0, TW_A_EXACT},
    {TW_I8, TW_I8, TW_I32, 127, 0, TW_A_EXACT},         {TW_I8, TW_I8, TW_F32, 127, 0, TW_A_EXACT},
    {TW_F32, TW_MXFP4, TW_F32, 3, 0, TW_A_EXACT},       {TW_F32, TW_MXFP6, TW_F32, 3, 0, TW_A_EXACT},
    {TW_F32, TW_MXFP8, TW_F32, 3, 0, TW_A_EXACT},       {TW_F32, TW_BFP16, TW_F32, 3, 0, TW_A_EXACT},
    {TW_F32, TW_I8, TW_F32, 127, 32, TW_A_EXACT},       {TW_F32, TW_I4, TW_F32, 7, 32, TW_A_EXACT},
    {TW_F32, TW_TERNARY, TW_F32, 1, 0, TW_A_EXACT},     {TW_BF16, TW_MXFP4, TW_F32, 3, 0, TW_A_EXACT},
    {TW_BF16, TW_MXFP6, TW_F32, 3, 0, TW_A_EXACT},      {TW_BF16, TW_MXFP8, TW_F32, 3, 0, TW_A_EXACT},
    {TW_BF16, TW_BFP16, TW_F32, 3, 0, TW_A_EXACT},      {TW_BF16, TW_I8, TW_F32, 127, 128, TW_A_EXACT},
    {TW_BF16, TW_I4, TW_F32, 7, 128, TW_A_EXACT},       {TW_BF16, TW_TERNARY, TW_F32, 1, 0, TW_A_EXACT},
    {TW_F16, TW_I4, TW_F32, 7, 0, TW_A_EXACT},          {TW_F32, TW_MXFP4, TW_F32, 3, 0, TW_A_INT8_GROUPS},
    {TW_BF16, TW_MXFP4, TW_F32, 3, 0, TW_A_INT8_ROWS},  {TW_F32, TW_MXFP6, TW_F32, 3, 0, TW_A_INT8_ROWS},
    {TW_F32, TW_I4, TW_F32, 7, 32, TW_A_INT8_GROUPS},   {TW_BF16, TW_I4, TW_F32, 7, 128, TW_A_INT8_GROUPS},
    {TW_F32, TW_I8, TW_F32, 127, 32, TW_A_INT8_ROWS},   {TW_F16, TW_BFP16, TW_F32, 3, 0, TW_A_INT8_GROUPS},
    {TW_F32, TW_TERNARY, TW_F32, 1, 0, TW_A_INT8_ROWS},
};
enum { EXACT_TYPES = sizeof exact_all / sizeof *exact_all };

static inline bool exact_has_scales(const tw_gemm_spec *s) {
  return s->a != TW_I8 && s->a != TW_U8 && tw_format_of_type(s->b)->scale != TW_SCALE_NONE;
}
static inline size_t exact_bytes(tw_type t) { return (size_t)tw_type_bits(t) / 8; }

static inline void exact_put(tw_type t, void *data, int64_t i, int value) {
  switch (t) {
  case TW_F32: ((float *)data)[i] = (float)value; break;
  case TW_BF16: ((uint16_t *)data)[i] = bf16_of((float)value); break;
  case TW_F16: ((uint16_t *)data)[i] = f16_of((float)value); break;
  case TW_I32: ((int32_t *)data)[i] = value; break;
  default: ((int8_t *)data)[i] = (int8_t)value;
  }
}

typedef struct exact {
  tw_gemm_spec spec;
  tw_gemm_plan *plan;
  guarded a, b, packed, c;
  int8_t *a_value, *b_value; /* m x k and k x n, dense */
} exact;

static inline int64_t exact_rows(bool transposed, int64_t rows, int64_t columns) { return transposed ? columns : rows; }

/* A matrix between guard pages; what lies between its rows is all ones: NaN in every real type. */
static inline guarded exact_matrix(tw_type t, bool transposed, int64_t rows, int64_t columns, int64_t pitch,
                                   const int8_t *value, int at_end) {
  const int64_t stored = exact_rows(transposed, rows, columns), width = exact_rows(transposed, columns, rows);
  const size_t bytes = (size_t)((stored - 1) * pitch + width) * exact_bytes(t);
  guarded g = guarded_new(bytes, exact_bytes(t), at_end);
  memset(g.data, 0xff, bytes);
  for (int64_t i = 0; i < rows; i++)
    for (int64_t j = 0; j < columns; j++)
      exact_put(t, g.data, transposed ? j * pitch + i : i * pitch + j, value[i * columns + j]);
  return g;
}

static inline size_t exact_c_bytes(const tw_gemm_spec *s) {
  return (size_t)((s->m - 1) * s->ldc + s->n) * exact_bytes(s->c);
}

/* The plan must exist. Packs B; C is all ones. */
static inline tw_status exact_new(const exact_types *t, const tw_gemm_spec *spec, uint64_t seed, int at_end, exact *e,
                                  tw_error *error) {
  tw_random r;
  *e = (exact){.spec = *spec};
  tw_gemm_spec *s = &e->spec;
  s->size = sizeof *s;
  s->a = t->a, s->b = t->b, s->c = t->c, s->group = t->group, s->a_rounding = t->a_rounding;
  if (!s->lda) s->lda = s->a_transposed ? s->m : s->k;
  if (!s->ldb) s->ldb = s->b_transposed ? s->k : s->n;
  if (!s->ldc) s->ldc = s->n;
  tw_random_seed(&r, seed);
  e->a_value = malloc((size_t)(s->m * s->k));
  e->b_value = malloc((size_t)(s->k * s->n));
  for (int64_t i = 0; i < s->m * s->k; i++) {
    const int value = (int)tw_random_between(&r, s->a == TW_U8 ? 0 : -3, 3);
    e->a_value[i] = (int8_t)(t->a_rounding && i % s->k % 8 == 0 ? 127 : value);
  }
  const int small = t->b_largest < 7 ? t->b_largest : 7;
  for (int64_t i = 0; i < s->k * s->n; i++)
    e->b_value[i] = (int8_t)(i / s->n % 8 == 0 ? t->b_largest : (int)tw_random_between(&r, -small, small));
  const tw_type given = exact_has_scales(s) ? TW_F32 : s->b;
  e->a = exact_matrix(s->a, s->a_transposed, s->m, s->k, s->lda, e->a_value, at_end);
  e->b = exact_matrix(given, s->b_transposed, s->k, s->n, s->ldb, e->b_value, at_end);
  e->c = guarded_new(exact_c_bytes(s), exact_bytes(s->c), at_end);
  memset(e->c.data, 0xff, exact_c_bytes(s));
  tw_status status = tw_gemm_plan_create(s, &e->plan, error);
  if (status != TW_OK) return status;
  e->packed = guarded_new(tw_gemm_packed_bytes(e->plan), TW_GEMM_ALIGNMENT, at_end);
  return tw_gemm_pack(e->plan, e->b.data, e->packed.data, error);
}

static inline void exact_free(exact *e) {
  tw_gemm_plan_destroy(e->plan);
  guarded *all[] = {&e->a, &e->b, &e->packed, &e->c};
  for (size_t i = 0; i < sizeof all / sizeof *all; i++)
    if (all[i]->map) guarded_free(all[i]);
  free(e->a_value);
  free(e->b_value);
}

static inline tw_gemm_operands exact_operands(const exact *e) {
  return (tw_gemm_operands){
      .size = sizeof(tw_gemm_operands), .a = e->a.data, .packed_b = e->packed.data, .c = e->c.data};
}

/* The first element of C, or of what lies between its rows, that is not what it should be: -1 if all are. */
static inline int64_t exact_wrong(const exact *e) {
  const tw_gemm_spec *s = &e->spec;
  for (int64_t i = 0; i < s->m; i++) {
    for (int64_t j = 0; j < s->ldc && (j < s->n || i + 1 < s->m); j++) {
      int32_t sum = 0, got, expected = -1;                        /* all ones */
      memcpy(&got, e->c.data + (i * s->ldc + j) * 4, sizeof got); /* C is f32 or i32 here */
      for (int64_t p = 0; j < s->n && p < s->k; p++) sum += e->a_value[i * s->k + p] * e->b_value[p * s->n + j];
      const float real = (float)sum;
      if (j < s->n) memcpy(&expected, s->c == TW_F32 ? (const void *)&real : (const void *)&sum, sizeof expected);
      if (got != expected && !(j < s->n && s->c == TW_F32 && sum == 0 && got == INT32_MIN)) return i * s->ldc + j;
    }
  }
  return -1;
}

#endif
