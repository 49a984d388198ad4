/* finish.h - sums on their way into C: scales, bias, beta C, activation, conversion (x86_finish in kernel.h).
 * Plain C that a compiler vectorizes; compiled once for each kernel.
 *
 * exp and tanh are polynomials in binary32, the same operations on every instruction set but for fused multiply-adds:
 * a few units in the last place of the exact function, which is far inside what bf16 and f16 sums leave certain. */
#ifndef TW_X86_FINISH_H
#define TW_X86_FINISH_H

#include <math.h>
#include <string.h>

#include "target/x86/kernel.h"
#include "target/x86/runtime/convert.h"

/* e^x: 2^n e^r with |r| <= ln 2 / 2, the Taylor series to r^7 (its rest: r^8 / 8! < 6e-9). */
static inline float exponential(float x) {
  const float clamped = x > 88.0f ? 88.0f : x < -87.0f ? -87.0f : x; /* results stay normal numbers */
  const float n = __builtin_rintf(clamped * 1.44269504f);
  const float r = (clamped - n * 0.693359375f) + n * 2.12194440e-4f; /* ln 2 in two parts, the first exact */
  const float e =
      1 + r * (1 + r * (1.0f / 2 + r * (1.0f / 6 + r * (1.0f / 24 + r * (1.0f / 120 + r * (1.0f / 720 + r / 5040))))));
  const int32_t bits = ((int32_t)n + 127) << 23;
  float power;
  memcpy(&power, &bits, sizeof power);
  return e * power;
}

static inline float silu(float x) { return x / (1 + exponential(-x)); }

/* x / 2 (1 + tanh(sqrt(2 / pi) (x + 0.044715 x^3))) (Hendrycks and Gimpel 2016), with (1 + tanh y) / 2 = 1 / (1 + e^-2y). */
static inline float gelu(float x) { return x / (1 + exponential(-1.59576912f * (x + 0.044715f * x * x * x))); }

static void activate(float *x, int64_t n, x86_activation which) {
  if (which == X86_RELU)
    for (int64_t j = 0; j < n; j++) x[j] = x[j] < 0 ? 0 : x[j];
  if (which == X86_GELU)
    for (int64_t j = 0; j < n; j++) x[j] = gelu(x[j]);
  if (which == X86_SILU)
    for (int64_t j = 0; j < n; j++) x[j] = silu(x[j]);
}

static void read_c(const x86_finish *f, int64_t row, float *x) {
  const char *c = (const char *)f->c + row * f->c_stride;
  if (f->output == X86_OUT_F32) memcpy(x, c, (size_t)f->columns * sizeof *x);
  if (f->output == X86_OUT_BF16) bf16_to_f32(x, (const void *)c, f->columns);
  if (f->output == X86_OUT_F16) f16_to_f32(x, (const void *)c, f->columns);
  for (int64_t j = 0; f->output == X86_OUT_I8 && j < f->columns; j++) x[j] = ((const int8_t *)(const void *)c)[j];
}

static void write_c(const x86_finish *f, int64_t row, const float *x) {
  char *c = (char *)f->c + row * f->c_stride;
  if (f->output == X86_OUT_F32) memcpy(c, x, (size_t)f->columns * sizeof *x);
  if (f->output == X86_OUT_BF16) f32_to_bf16((void *)c, x, f->columns);
  if (f->output == X86_OUT_F16) f32_to_f16((void *)c, x, f->columns);
  for (int64_t j = 0; f->output == X86_OUT_I8 && j < f->columns; j++) {
    const float low = x[j] >= -128 ? x[j] : -128; /* NaN too */
    ((int8_t *)(void *)c)[j] = (int8_t)__builtin_rintf(low > 127 ? 127 : low);
  }
}

static void read_sums(const x86_finish *f, int64_t row, float *x) {
  const void *from = (const char *)f->sums + row * f->sums_stride;
#if defined ARITHMETIC_F32 || defined ARITHMETIC_BF16
  memcpy(x, from, (size_t)f->columns * sizeof *x);
#else
  if (f->sums_are_real) {
    memcpy(x, from, (size_t)f->columns * sizeof *x);
    return;
  }
  const int32_t *sum = from;
  for (int64_t j = 0; j < f->columns; j++) x[j] = (float)sum[j];
#endif
}

SHARED void finish(const x86_finish *f) {
  const int64_t n = f->columns;
  for (int64_t i = 0; i < f->rows; i++) {
    float x[X86_COLUMNS_MAX], old[X86_COLUMNS_MAX];
    const float scale = f->alpha * (f->row_scale ? f->row_scale[i] : 1);
    read_sums(f, i, x);
    for (int64_t j = 0; j < n; j++) x[j] *= scale;
    if (f->column_scale)
      for (int64_t j = 0; j < n; j++) x[j] *= f->column_scale[j];
    if (f->bias)
      for (int64_t j = 0; j < n; j++) x[j] += f->bias[j];
    if (f->beta != 0) {
      read_c(f, i, old);
      for (int64_t j = 0; j < n; j++) x[j] += f->beta * old[j];
    }
    activate(x, n, f->activation);
    write_c(f, i, x);
  }
}

#endif
