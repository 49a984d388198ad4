/* gemm_values.c - see gemm_values.h. */
#include "op/gemm_values.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/integers.h"
#include "op/element.h"
#include "op/gemm_packed.h"
#include "op/int8.h"

tw_gemm_values tw_gemm_values_of(const tw_gemm *g, void *const buffers[]) {
  return (tw_gemm_values){.g = *g,
                          .numerics = tw_gemm_numerics_of(g),
                          .a = buffers[0],
                          .b = buffers[1],
                          .d = g->bias != TW_GEMM_BIAS_NONE ? buffers[tw_gemm_d_index(g)] : NULL,
                          .codes_scale_a = tw_gemm_packs_a(g) ? buffers[2] : NULL,
                          .codes_scale_b = g->packed ? buffers[tw_gemm_d_index(g) - 1] : NULL,
                          .scale_a = g->scales ? buffers[2] : NULL,
                          .scale_b = g->scales ? buffers[3] : NULL};
}

/* Multiplies the k numbers of line `line` by its scales. `shared` neighbouring lines have one scale. */
static void apply_scales(const tw_gemm *g, const float *scale, int64_t line, int64_t lines, int64_t shared,
                         bool k_first, double *x) {
  if (!scale) return;
  const int64_t blocks = tw_ceil_div(g->k, TW_GEMM_SCALE_BLOCK), all = tw_ceil_div(lines, shared);
  for (int64_t p = 0; p < g->k; p++) {
    const int64_t block = p / TW_GEMM_SCALE_BLOCK, at = line / shared;
    x[p] *= (double)scale[g->scales == TW_GEMM_SCALES_TENSOR ? 0
                          : g->scales == TW_GEMM_SCALES_ROW  ? line
                          : k_first                          ? block * all + at
                                                             : at * blocks + block];
  }
}

/* Rounds to the type and back, some blocks at a time. */
static void quantize(const tw_gemm *g, double *x) {
  static const tw_type types[] = {TW_TYPE_NONE, TW_MXFP4, TW_MXFP6, TW_MXFP8};
  enum { PART = 1024 };
  float line[PART];
  unsigned char codes[PART], scales[PART];
  const tw_packing packing = {.format = tw_format_of_type(types[g->quantize]), .rule = g->rule};
  for (int64_t p = 0; g->quantize && p < g->k; p += PART) {
    const size_t n = (size_t)(g->k - p < PART ? g->k - p : PART);
    for (size_t i = 0; i < n; i++) line[i] = (float)x[p + (int64_t)i];
    tw_format_encode(&packing, 1, n, line, n, codes, scales, NULL);
    tw_format_decode(&packing, 1, n, codes, scales, line, n, NULL);
    for (size_t i = 0; i < n; i++) x[p + (int64_t)i] = (double)line[i];
  }
}

/* `n` lines of k elements that are beside each other in memory: element p of line c is at p pitch + c. Each piece of
 * memory is read once for all lines. */
static void read_beside(tw_type type, const void *data, int64_t at, int64_t pitch, int64_t k, int64_t n, double *out) {
  enum { ROWS = 8, COLUMNS = 64 };
  double part[ROWS][COLUMNS];
  for (int64_t first = 0; first < n; first += COLUMNS)
    for (int64_t p = 0; p < k; p += ROWS) {
      const int64_t rows = k - p < ROWS ? k - p : ROWS, columns = n - first < COLUMNS ? n - first : COLUMNS;
      for (int64_t r = 0; r < rows; r++) tw_element_row(type, data, (p + r) * pitch + at + first, 1, columns, part[r]);
      for (int64_t c = 0; c < columns; c++)
        for (int64_t r = 0; r < rows; r++) out[(first + c) * k + p + r] = part[r][c];
    }
}

void tw_gemm_row_run(const tw_gemm_values *v, int64_t i, int64_t n, double *out) {
  const tw_gemm *g = &v->g;
  tw_gemm_packed planes;
  const bool packed = !v->row && tw_gemm_packs_a(g) && tw_gemm_packed_of(g, 'a', &planes, NULL) == TW_OK,
             plain = !v->row && !packed;
  if (plain && g->a_transposed) read_beside(v->numerics.a, v->a, i, g->lda, g->k, n, out);
  for (int64_t end = i + n; i < end; i++, out += g->k) {
    if (v->row) v->row(v, i, out);
    if (packed) tw_gemm_unpack_row(&planes, v->a, v->codes_scale_a, i, out);
    if (!plain) continue;
    if (!g->a_transposed) tw_element_row(v->numerics.a, v->a, i * g->lda, 1, g->k, out);
    quantize(g, out);
    apply_scales(g, v->scale_a, i, g->m, 1, g->a_transposed, out);
  }
}

void tw_gemm_column_run(const tw_gemm_values *v, int64_t j, int64_t n, double *out) {
  const tw_gemm *g = &v->g;
  tw_gemm_packed planes;
  const bool packed = g->packed && tw_gemm_packed_of(g, 'b', &planes, NULL) == TW_OK;
  if (!packed && !g->b_transposed) read_beside(v->numerics.b, v->b, j, g->ldb, g->k, n, out);
  for (int64_t end = j + n; j < end; j++, out += g->k) {
    if (packed) {
      tw_gemm_unpack_row(&planes, v->b, v->codes_scale_b, j, out);
      continue;
    }
    if (g->b_transposed) tw_element_row(v->numerics.b, v->b, j * g->ldb, 1, g->k, out);
    apply_scales(g, v->scale_b, j, g->n, TW_GEMM_SCALE_BLOCK, !g->b_transposed, out);
  }
}

static int ascending(const void *a, const void *b) {
  const double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

void tw_gemm_term_sizes(const tw_gemm_values *v, double *room, double size[]) {
  enum { COLUMNS = 32 };
  const int64_t k = v->g.k, n = v->g.n < COLUMNS ? v->g.n : COLUMNS;
  for (int64_t p = 0; p < k; p++) size[p] = 0;
  for (int64_t i = 0; i < n; i++) {
    double all = 0;
    tw_gemm_column_run(v, (int64_t)((__int128)v->g.n * i / n), 1, room);
    for (int64_t p = 0; p < k; p++) all += room[p] * room[p];
    for (int64_t p = 0; p < k; p++) size[p] += all > 0 ? room[p] * room[p] * (double)k / all : 0;
  }
  memcpy(room, size, (size_t)k * sizeof *room);
  qsort(room, (size_t)k, sizeof *room, ascending);
  const double most_are = room[k / 2];
  for (int64_t p = 0; p < k; p++) {
    const double ratio = size[p] > 0 && most_are > 0 ? sqrt(size[p] / most_are) : 1;
    size[p] = ratio > 0.5 && ratio < 2 ? 1 : ratio; /* a factor of two may be luck */
  }
}

double tw_gemm_bias_at(const tw_gemm_values *v, int64_t i, int64_t j) {
  return v->d ? tw_element(v->numerics.d, v->d, (v->g.bias == TW_GEMM_BIAS_FULL ? i * v->g.ldd : 0) + j) : 0;
}

static double gelu_erf(double x) { return x / 2 * (1 + erf(x * M_SQRT1_2)); }
static double gelu_tanh(double x) { return x / 2 * (1 + tanh(sqrt(M_2_PI) * (x + 0.044715 * x * x * x))); }

double tw_gemm_act(tw_glu glu, double x) {
  return glu == TW_GLU_SILU ? x / (1 + exp(-x)) : glu == TW_GLU_GELU_ERF ? gelu_erf(x) : gelu_tanh(x);
}

static double normal_below(double x) { return 0.5 * erfc(-x * M_SQRT1_2); }

double tw_gemm_act_slope(tw_glu act, double x) {
  if (act == TW_GLU_SILU) {
    const double s = 1 / (1 + exp(-x));
    return s * (1 + x * (1 - s));
  }
  if (act == TW_GLU_GELU_ERF) return normal_below(x) + x * exp(-x * x / 2) / sqrt(2 * M_PI);
  const double k = sqrt(2 / M_PI), t = tanh(k * (x + 0.044715 * x * x * x));
  return 0.5 * (1 + t) + 0.5 * x * (1 - t * t) * k * (1 + 3 * 0.044715 * x * x);
}

/* Errors of act and of act' in binary32: 32 u of 1 plus the larger of the argument (at most 8) and the value.
 * Kernels with results of 16 bits may use functions of the machine whose error is 2^-12 of the value. */
double tw_gemm_act_error(tw_type c, double x, double function) {
  return 32 * TW_U32 * (1 + fmax(fmin(fabs(x), 8), fabs(function))) + (c == TW_F32 ? 0 : 0x1p-12 * fabs(function));
}

double tw_gemm_finish(const tw_gemm *g, double sum) {
  if (g->c == TW_I8) return tw_round_i8((int32_t)sum, g->scale, g->relu);
  const double x = (double)g->scale * sum;
  if (g->c == TW_I16) return tw_round_i16(g->a == TW_I16 ? x : (double)((float)(int32_t)sum * g->scale), g->relu);
  if (g->gelu == TW_GELU_ERF) return gelu_erf(x);
  if (g->gelu == TW_GELU_TANH) return gelu_tanh(x);
  return g->relu && x < 0 ? 0 : x;
}
