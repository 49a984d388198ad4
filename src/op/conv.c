/* conv.c - see conv.h. */
#include "op/conv.h"

#include <string.h>

#include "base/random.h"
#include "op/element.h"
#include "op/inputs.h"
#include "op/numerics.h"

tw_operand tw_conv_images(const char *name, tw_type type, bool images_first, int rank, int64_t n, const int64_t dims[],
                          int64_t c) {
  int64_t all[TW_RANK_MAX] = {n}, size = 1;
  for (int i = 0; i < rank; i++) {
    all[1 + i] = dims[TW_CONV_DIMS - rank + i];
    size *= all[1 + i];
  }
  all[1 + rank] = c;
  tw_operand o = tw_operand_dense(name, type, 2 + rank, all);
  if (!images_first) return o;
  for (int i = 0; i < rank; i++) o.stride[1 + i] /= c;
  o.stride[1 + rank] = size;
  return o;
}

static tw_gemm gemm_of(const tw_conv *v) {
  const int64_t k = v->window[0] * v->window[1] * v->window[2] * v->c;
  tw_gemm g = {.m = v->n * v->out[0] * v->out[1] * v->out[2],
               .n = v->k,
               .k = k,
               .b_transposed = v->layout != TW_CONV_WINDOW_FIRST,
               .relu = v->relu,
               .bias = v->bias ? TW_GEMM_BIAS_ROW : TW_GEMM_BIAS_NONE,
               .scale = v->scale,
               .lda = k,
               .ldc = v->k,
               .ldd = v->k,
               .a = v->input,
               .b = v->weights,
               .c = v->output,
               .acc = v->acc,
               .arithmetic = v->arithmetic};
  g.ldb = g.b_transposed ? k : v->k;
  return g;
}

/* The contents of the window at place i of the output, in the order of the weights; 0 outside of the image. */
static void window(const tw_gemm_values *values, int64_t i, double *out) {
  const tw_conv *v = values->context;
  int64_t place[TW_CONV_DIMS], rest = i, at[TW_CONV_DIMS];
  for (int d = TW_CONV_DIMS - 1; d >= 0; d--) {
    place[d] = rest % v->out[d] * v->stride - v->pad[d];
    rest /= v->out[d];
  }
  const int64_t windows = v->window[0] * v->window[1] * v->window[2], pixels = v->in[0] * v->in[1] * v->in[2];
  const int64_t in_step = v->images_first ? pixels : 1, pixel_step = v->images_first ? 1 : v->c;
  const int64_t out_step = v->layout == TW_CONV_CHANNELS_FIRST ? windows : 1,
                window_step = v->layout == TW_CONV_CHANNELS_FIRST ? 1 : v->c;
  double *to = out;
  for (int64_t t = 0; t < v->window[0]; t++)
    for (int64_t r = 0; r < v->window[1]; r++)
      for (int64_t s = 0; s < v->window[2]; s++, to += window_step) {
        at[0] = place[0] + t, at[1] = place[1] + r, at[2] = place[2] + s;
        bool inside = true;
        for (int d = 0; d < TW_CONV_DIMS; d++) inside = inside && at[d] >= 0 && at[d] < v->in[d];
        const int64_t from = rest * pixels * v->c + ((at[0] * v->in[1] + at[1]) * v->in[2] + at[2]) * pixel_step;
        for (int64_t c = 0; c < v->c; c++)
          to[c * out_step] = inside ? tw_element(v->input, values->a, from + c * in_step) : 0;
      }
}

/* Can weights and outputs be 2^24 times as large or as small? */
static bool is_wide(const tw_conv *v) {
  return (v->weights == TW_F32 || v->weights == TW_BF16) && (v->output == TW_F32 || v->output == TW_BF16);
}

/* Scales filters and their biases by 1, 1/2, 1/4 or 1/8, for seeds of TW_SEED_KIND also by 2^24 or 2^-24 in turn. Each
 * element of the output belongs to one filter. */
static void scale_filters(const tw_conv *v, uint64_t seed, bool columns_are_filters, const tw_operand *o, void *data) {
  const int64_t rows = tw_operand_rows(o), columns = tw_operand_columns(o), own = rows / v->k * columns;
  for (int64_t filter = 0; filter < (columns_are_filters ? columns : v->k); filter++) {
    tw_random r;
    tw_random_seed_stream(&r, seed, (uint64_t)33 << 32 | (uint64_t)filter);
    double size = 1. / (double)(1 << tw_random_below(&r, 4));
    if (tw_seed_is(seed, TW_SEED_KIND) && is_wide(v)) size *= (seed ^ (uint64_t)filter) & 1 ? 0x1p24 : 0x1p-24;
    for (int64_t i = 0; i < (columns_are_filters ? rows : own); i++) {
      const int64_t at = columns_are_filters ? i * columns + filter : filter * own + i;
      tw_set_element(o->type, data, at, size * tw_element(o->type, data, at));
    }
  }
}

void tw_conv_inputs(const tw_conv *v, uint64_t seed, const tw_operand o[], void *const buffers[]) {
  for (int i = 0; i < 2; i++) tw_fill_lines(seed, i, &o[i], TW_LINES_ROWS, false, buffers[i]);
  if (v->bias) tw_fill_uniform(seed, 2, &o[2], 1, buffers[2]);
  if (v->arithmetic != TW_ARITHMETIC_FULL || !tw_is_real(v->input) || !tw_is_real(v->weights)) return;
  const tw_terms of_input = {.seed = seed, .n = v->c},
                 of_weights = {.seed = seed,
                               .n = v->c,
                               .run = v->layout == TW_CONV_WINDOW_FIRST     ? 1
                                      : v->layout == TW_CONV_CHANNELS_FIRST ? v->window[0] * v->window[1]
                                                                            : 0,
                               .inverse = true};
  tw_scale_terms(&of_input, &o[0], buffers[0]);
  tw_scale_terms(&of_weights, &o[1], buffers[1]);
  scale_filters(v, seed, v->layout == TW_CONV_WINDOW_FIRST, &o[1], buffers[1]);
  if (v->bias) scale_filters(v, seed, true, &o[2], buffers[2]);
}

void tw_conv_zeros(const tw_conv *v, uint64_t seed, const tw_operand o[], void *const buffers[]) {
  const int64_t image = tw_zero_line(seed, 0, v->n + 1), filter = tw_zero_line(seed, 1, v->k),
                pixels = tw_operand_rows(&o[0]) / v->n, rows = tw_operand_rows(&o[1]) / v->k;
  for (int64_t i = 0; image >= 0 && i < pixels / 2; i++) tw_zero_row(&o[0], image % v->n * pixels + i, buffers[0]);
  if (v->layout == TW_CONV_WINDOW_FIRST) tw_zero_column(&o[1], filter, buffers[1]);
  for (int64_t i = 0; v->layout != TW_CONV_WINDOW_FIRST && filter >= 0 && i < rows; i++)
    tw_zero_row(&o[1], filter * rows + i, buffers[1]);
}

static tw_gemm_values values_of(const tw_conv *v, void *const buffers[]) {
  const tw_gemm g = gemm_of(v);
  tw_gemm_values values = tw_gemm_values_of(&g, buffers);
  values.row = window;
  values.context = v;
  return values;
}

tw_status tw_conv_exact(const tw_conv *v, void *const buffers[], size_t n, const tw_place place[], double value[],
                        double bound[], int threads, tw_error *error) {
  const tw_gemm_values values = values_of(v, buffers);
  return tw_gemm_exact_values(&values, n, place, value, bound, threads, error);
}

void tw_conv_exact_cost(const tw_conv *v, double *element, double *row) {
  const tw_gemm g = gemm_of(v);
  *element = 2 * (double)g.k + 16;
  *row = *element * (double)g.n;
}

tw_status tw_conv_survey(const tw_conv *v, const tw_operand *output, void *const buffers[], const tw_effort *effort,
                         tw_coverage *out, tw_error *error) {
  const tw_gemm_values values = values_of(v, buffers);
  return tw_gemm_survey_values(&values, output, buffers[2 + v->bias], effort, out, error);
}
