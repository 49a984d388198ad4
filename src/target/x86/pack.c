/* pack.c - conversion of A's rows, and packing of B. It runs once for each matrix of weights, and where A's type
 * differs from the kernel's; never in an innermost loop.
 *
 * vpdpbusd multiplies unsigned A with signed B. Kernels of signed A (s8s8) add 128 as they load it. Their sums begin
 * with -128 times the sum of the column of B, which packing computes for each block of k. */
#include "target/x86/pack.h"

#include <string.h>

#include "target/x86/choose.h"
#include "target/x86/runtime/convert.h"
#include "target/x86/weights.h"

static float real_at(tw_type type, const void *data, int64_t i) {
  switch (type) {
  case TW_BF16: return f32_of_bf16(((const uint16_t *)data)[i]);
  case TW_F16: return f32_of_f16(((const uint16_t *)data)[i]);
  default: return ((const float *)data)[i];
  }
}

static int integer_at(tw_type type, const void *data, int64_t i) {
  return type == TW_U8 ? ((const uint8_t *)data)[i] : ((const int8_t *)data)[i];
}

/* Writes element `at` of a row of units. */
static void pack_element(x86_arithmetic arithmetic, void *to, int64_t at, tw_type type, const void *data, int64_t i) {
  switch (arithmetic) {
  case X86_F32: ((float *)to)[at] = real_at(type, data, i); break;
  case X86_BF16: ((uint16_t *)to)[at] = ((const uint16_t *)data)[i]; break;
  case X86_S16: ((int16_t *)to)[at] = (int16_t)integer_at(type, data, i); break;
  default: ((uint8_t *)to)[at] = (uint8_t)integer_at(type, data, i); break;
  }
}

/* Rows in place that need no transposition, in loops that vectorize. */
static void convert_row(x86_arithmetic arithmetic, tw_type type, void *to, const void *from, int64_t n) {
  if (arithmetic == X86_F32 && type == TW_BF16)
    bf16_to_f32(to, from, n);
  else if (arithmetic == X86_F32 && type == TW_F16)
    f16_to_f32(to, from, n);
  else if (arithmetic == X86_F32 || (arithmetic == X86_BF16 && type == TW_BF16))
    memcpy(to, from, (size_t)n * (arithmetic == X86_F32 ? 4 : 2));
  else if (arithmetic == X86_U8S8 || arithmetic == X86_S8S8)
    memcpy(to, from, (size_t)n);
  else if (type == TW_I8)
    for (int64_t i = 0; i < n; i++) ((int16_t *)to)[i] = ((const int8_t *)from)[i];
  else
    for (int64_t i = 0; i < n; i++) ((int16_t *)to)[i] = ((const uint8_t *)from)[i];
}

bool x86_pack_columns_of_a(const tw_gemm_plan *p, const void *a, int64_t row, int64_t rows, int64_t unit, int64_t units,
                           void *to) {
  const tw_gemm_spec *s = &p->spec;
  const x86_kernel *k = p->kernel;
  const tw_type taken = k->arithmetic == X86_F32    ? TW_F32
                        : k->arithmetic == X86_BF16 ? TW_BF16
                        : k->arithmetic == X86_U8S8 ? TW_U8
                        : k->arithmetic == X86_S8S8 ? TW_I8
                                                    : TW_TYPE_NONE;
  const int64_t group = x86_kernel_group(k), bytes = tw_type_bits(s->a) / 8;
  if (!s->a_transposed || s->a != taken || k->isa == X86_AMX || p->looks_up || (unit + units) * group > s->k)
    return false;
  k->interleave(to, (const char *)a + (unit * group * s->lda + row) * bytes, s->lda * bytes, rows, rows, units, 1);
  return true;
}

void x86_convert_rows(const tw_gemm_plan *p, const void *a, int64_t row, int64_t rows, int64_t unit, int64_t units,
                      void *to, int64_t stride) {
  const tw_gemm_spec *s = &p->spec;
  const x86_arithmetic arithmetic = p->kernel->arithmetic;
  const int group = x86_kernel_group(p->kernel);
  const int64_t first = unit * group, n = x86_min(units * group, s->k - first), element = X86_UNIT / group;
  const int64_t bytes = tw_type_bits(s->a) / 8;
  for (int64_t i = 0; i < rows; i++) {
    char *line = (char *)to + i * stride;
    if (!s->a_transposed)
      convert_row(arithmetic, s->a, line, (const char *)a + ((row + i) * s->lda + first) * bytes, n);
    else
      for (int64_t q = 0; q < n; q++) pack_element(arithmetic, line, q, s->a, a, (first + q) * s->lda + row + i);
    /* B holds zeros after k, so any finite value could be here */
    memset(line + n * element, 0, (size_t)((units * group - n) * element));
  }
}

/* ---- B ---- */

/* One panel of one block of k, units [first, ...) of it, element by element. */
static void pack_elements(const tw_gemm_plan *p, const void *b, int64_t block, int64_t panel, int64_t first_unit,
                          char *to) {
  const tw_gemm_spec *s = &p->spec;
  const int64_t columns = p->kernel->columns, group = x86_kernel_group(p->kernel),
                first = block * p->layout.block * group;
  const int64_t column = panel * columns, width = x86_min(columns, s->n - column);
  const int64_t units = x86_block_units(p, block);
  enum { LIFT = 128 };
  int32_t *start = p->kernel->arithmetic == X86_S8S8 ? (int32_t *)(void *)to : NULL;
  const int64_t before = start ? columns * X86_UNIT : 0;
  if (start) memset(start, 0, (size_t)before);
  to += before;
  memset(to + first_unit * columns * X86_UNIT, 0, (size_t)((units - first_unit) * columns * X86_UNIT));
  for (int64_t q = first_unit * group; q < x86_min(units * group, s->k - first); q++)
    for (int64_t j = 0; j < width; j++) {
      const int64_t at = ((q / group) * columns + j) * group + q % group;
      const int64_t from = s->b_transposed ? (column + j) * s->ldb + first + q : (first + q) * s->ldb + column + j;
      pack_element(p->kernel->arithmetic, to, at, s->b, b, from);
      if (start) start[j] -= LIFT * ((const int8_t *)b)[from];
    }
}

/* Is B of the kernel's own type, so that packing only moves it? s8s8 also sums its columns. */
static bool only_moves_b(const tw_gemm_plan *p) {
  const x86_arithmetic arithmetic = p->kernel->arithmetic;
  return (arithmetic == X86_F32 && p->spec.b == TW_F32) || (arithmetic == X86_BF16 && p->spec.b == TW_BF16) ||
         arithmetic == X86_U8S8;
}

static void scale_elements(float *x, int64_t n, float scale) {
  for (int64_t i = 0; scale != 1 && i < n; i++) x[i] *= scale;
}

/* Rows of B are read in runs of several panels, so that a page serves more than one of them. */
void x86_pack_panels(const tw_gemm_plan *p, const void *b, float scale, int64_t block, int64_t panel, int64_t panels,
                     void *to_start) {
  enum { RUN = 32 /* units */ };
  const tw_gemm_spec *s = &p->spec;
  const int64_t columns = p->kernel->columns, group = x86_kernel_group(p->kernel), bytes = tw_type_bits(s->b) / 8;
  const int64_t units = x86_block_units(p, block), first = block * p->layout.block * group;
  const int64_t whole = only_moves_b(p) ? x86_min(units, (s->k - first) / group) : 0;
  const size_t panel_bytes = x86_panel_bytes(p, units);
  char *to = to_start;
  x86_pack *pack = s->b_transposed ? p->kernel->gather : p->kernel->interleave;
  const int64_t column_step = bytes * (s->b_transposed ? s->ldb : 1), row_step = bytes * (s->b_transposed ? 1 : s->ldb);
  for (int64_t unit = 0; unit < whole; unit += RUN)
    for (int64_t i = 0; i < panels; i++) {
      const int64_t column = (panel + i) * columns, width = x86_min(columns, s->n - column);
      const int64_t n = x86_min(RUN, whole - unit);
      char *at = to + (size_t)i * panel_bytes + unit * columns * X86_UNIT;
      if (width < columns) memset(at, 0, (size_t)(n * columns * X86_UNIT));
      pack(at, (const char *)b + (first + unit * group) * row_step + column * column_step, s->ldb * bytes, width,
           columns, n, scale);
    }
  for (int64_t i = 0; i < panels && whole < units; i++) {
    char *at = to + (size_t)i * panel_bytes;
    pack_elements(p, b, block, panel + i, whole, at);
    if (p->kernel->arithmetic == X86_F32)
      scale_elements((float *)(void *)at + whole * columns, (units - whole) * columns, scale);
  }
}

/* Everything that is not written later is zero. */
void x86_begin_packed(const tw_gemm_plan *p, void *out) {
  memset(out, 0, p->has_codes ? tw_gemm_packed_bytes(p) : x86_panel_at(p, 0, 0));
  memcpy(out, &p->layout, sizeof p->layout);
}

static tw_status check_packed(const char *function, const tw_gemm_plan *p, const void *packed, tw_error *error) {
  if (!p) return tw_fail(error, TW_USAGE, "%s: the plan is NULL", function);
  if (!packed) return tw_fail(error, TW_USAGE, "%s: packed is NULL", function);
  if ((uintptr_t)packed % TW_GEMM_ALIGNMENT)
    return tw_fail(error, TW_USAGE, "%s: packed is not aligned to %d bytes", function, TW_GEMM_ALIGNMENT);
  return TW_OK;
}

static bool overlaps(const tw_gemm_plan *p, const void *packed, const void *other, size_t bytes) {
  const uintptr_t to = (uintptr_t)packed, from = (uintptr_t)other;
  return other && from < to + tw_gemm_packed_bytes(p) && to < from + bytes;
}

tw_status tw_gemm_pack_codes(const tw_gemm_plan *p, const void *codes, const void *scales, void *packed,
                             tw_error *error) {
  static const char name[] = "tw_gemm_pack_codes";
  tw_status status = check_packed(name, p, packed, error);
  if (status != TW_OK) return status;
  if (!p->has_codes)
    return tw_fail(error, TW_USAGE, "%s: b=%s has no scales; use tw_gemm_pack", name, tw_type_name(p->spec.b));
  if (!codes) return tw_fail(error, TW_USAGE, "%s: codes is NULL", name);
  if (!scales && p->packing.format->scale != TW_SCALE_INSIDE)
    return tw_fail(error, TW_USAGE, "%s: scales is NULL", name);
  tw_packed_size row;
  status = tw_format_sizes(&p->packing, 1, (size_t)p->spec.k, &row, error);
  if (status != TW_OK) return status;
  if (overlaps(p, packed, codes, (size_t)p->spec.n * row.codes))
    return tw_fail(error, TW_USAGE, "%s: packed overlaps codes", name);
  if (overlaps(p, packed, scales, (size_t)p->spec.n * row.scales))
    return tw_fail(error, TW_USAGE, "%s: packed overlaps scales", name);
  x86_begin_packed(p, packed);
  return x86_pack_weights(p, NULL, codes, scales, packed, error);
}

tw_status tw_gemm_pack(const tw_gemm_plan *p, const void *b, void *packed, tw_error *error) {
  tw_status status = check_packed("tw_gemm_pack", p, packed, error);
  if (status != TW_OK) return status;
  if (!b) return tw_fail(error, TW_USAGE, "tw_gemm_pack: b is NULL");
  const tw_gemm_spec *s = &p->spec;
  const size_t rows = (size_t)(s->b_transposed ? s->n : s->k), width = (size_t)(s->b_transposed ? s->k : s->n);
  const size_t b_bytes = ((rows - 1) * (size_t)s->ldb + width) * (size_t)tw_type_bits(p->has_codes ? TW_F32 : s->b) / 8;
  if (overlaps(p, packed, b, b_bytes)) return tw_fail(error, TW_USAGE, "tw_gemm_pack: packed overlaps b");
  char *out = packed;
  x86_begin_packed(p, out);
  if (p->has_codes) return x86_pack_weights(p, b, NULL, NULL, out, error);
  for (int64_t block = 0; block < p->blocks; block++)
    for (int64_t panel = 0; panel < x86_panels(p); panel += X86_PANELS_AT_ONCE)
      x86_pack_panels(p, b, 1, block, panel, x86_min(X86_PANELS_AT_ONCE, x86_panels(p) - panel),
                      out + x86_panel_at(p, block, panel));
  return TW_OK;
}
