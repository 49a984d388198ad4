/* conv2d.c - convolution of images with its epilogue: keys, operands, inputs, comparison, cost. The reference result is
 * in conv2d_reference.c.
 *
 *   x[n][p][q][k] = bias[k] + sum over r, s, c of input[n][p stride + r - pad][q stride + s - pad][c] weights[r][s][c][k]
 *
 * with p < (h + 2 pad - r) / stride + 1 and q likewise; elements outside the input are 0; dilation is 1.
 *
 *   out=i8    y = relu(sat8(round(scale * x)))   acc=i32; the scaling in binary32, ties to even
 *   out=i32   y = relu(x)                        acc=i32; inputs are such that nothing overflows
 *
 * Without pooling the output is y. With pool=size each of its elements is the largest of a window of size x size
 * elements of y, pool_stride apart; windows begin pool_pad before the image, and elements outside are never the
 * maximum.
 *
 * The C parameters of a kernel are input [n][h][w][c], weights [r][s][c][k] (weight_layout=krsc: [k][r][s][c], kcrs:
 * [k][c][r][s]), bias [1][k] if there is one, output [n][p][q][k], all dense; image_layout=nchw, as in PyTorch: input
 * [n][c][h][w], output [n][k][p][q]. a and b of f32, f16 or bf16: y = relu(scale * x) within the bound of conv.c. */
#include "op/conv2d.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

#include "base/strings.h"
#include "op/conv.h"
#include "op/exact.h"
#include "op/inputs.h"
#include "op/int8.h"
#include "op/numerics.h"
#include "op/ops.h"
#include "op/sample.h"

enum { SIZE_LIMIT = 1 << 16, WINDOW_LIMIT = 64, PRODUCTS_LIMIT = 1 << 20 };

static const tw_key keys[] = {
    TW_SIZE_KEY("n", SIZE_LIMIT, 1, "images"),
    TW_SIZE_KEY("h", SIZE_LIMIT, 56, "rows of the input"),
    TW_SIZE_KEY("w", SIZE_LIMIT, 56, "columns of the input"),
    TW_SIZE_KEY("c", SIZE_LIMIT, 64, "channels of the input"),
    TW_SIZE_KEY("k", SIZE_LIMIT, 64, "channels of the output"),
    TW_SIZE_KEY("r", WINDOW_LIMIT, 3, "rows of the kernel"),
    TW_SIZE_KEY("s", WINDOW_LIMIT, 3, "columns of the kernel"),
    TW_INT_KEY("stride", "1", 1, WINDOW_LIMIT, "step of the window in both directions"),
    TW_INT_KEY("pad", "0", 0, WINDOW_LIMIT, "zeros around the input, on all four sides"),
    TW_INT_KEY("pool", "0", 0, WINDOW_LIMIT, "max pooling over windows of pool x pool; 0 = none"),
    TW_INT_KEY("pool_stride", "0", 0, WINDOW_LIMIT, "step of the pooling window; 0 = pool"),
    TW_INT_KEY("pool_pad", "0", 0, WINDOW_LIMIT, "padding of the pooling input; padding is never the maximum"),
    TW_CONV_RESULT_KEYS,
    TW_CHOICE_KEY("weight_layout", "rsck", "rsck|krsc|kcrs", "order of the weights' dimensions"),
    TW_CHOICE_KEY("image_layout", "nhwc", "nhwc|nchw", "order of the dimensions of input and output"),
    TW_CONV_TYPE_KEYS("element type of the input"),
};

tw_conv2d tw_conv2d_of(const tw_problem *p) {
  tw_conv2d v = {
      .n = tw_problem_int(p, "n"),
      .h = tw_problem_int(p, "h"),
      .w = tw_problem_int(p, "w"),
      .c = tw_problem_int(p, "c"),
      .k = tw_problem_int(p, "k"),
      .r = tw_problem_int(p, "r"),
      .s = tw_problem_int(p, "s"),
      .stride = tw_problem_int(p, "stride"),
      .pad = tw_problem_int(p, "pad"),
      .pool = tw_problem_int(p, "pool"),
      .pool_stride = tw_problem_int(p, "pool_stride"),
      .pool_pad = tw_problem_int(p, "pool_pad"),
      .bias = tw_problem_int(p, "bias") != 0,
      .relu = tw_problem_int(p, "relu"),
      .scale = (float)tw_problem_real(p, "scale"),
      .layout = (tw_conv2d_layout)tw_problem_int(p, "weight_layout"),
      .input = tw_problem_type(p, "a"),
      .weights = tw_problem_type(p, "b"),
      .output = tw_problem_type(p, "out"),
      .acc = tw_problem_type(p, "acc"),
      .images_first = tw_problem_int(p, "image_layout") == 1,
      .arithmetic = tw_conv_arithmetic(tw_problem_int(p, "arithmetic")),
  };
  if (!v.pool) v.pool_stride = 1, v.pool_pad = 0;
  if (!v.pool_stride) v.pool_stride = v.pool;
  v.p = tw_conv_windows(v.h, v.pad, v.r, v.stride);
  v.q = tw_conv_windows(v.w, v.pad, v.s, v.stride);
  v.out_h = v.pool ? tw_conv_windows(v.p, v.pool_pad, v.pool, v.pool_stride) : v.p;
  v.out_w = v.pool ? tw_conv_windows(v.q, v.pool_pad, v.pool, v.pool_stride) : v.q;
  return v;
}

static size_t operands(const tw_problem *p, tw_operand out[TW_OPERANDS_MAX]) {
  const tw_conv2d v = tw_conv2d_of(p);
  const int64_t shapes[][4] = {[TW_CONV2D_RSCK] = {v.r, v.s, v.c, v.k},
                               [TW_CONV2D_KRSC] = {v.k, v.r, v.s, v.c},
                               [TW_CONV2D_KCRS] = {v.k, v.c, v.r, v.s}};
  size_t n = 0;
  out[n++] = tw_conv_images("input", v.input, v.images_first, 2, v.n, (int64_t[]){1, v.h, v.w}, v.c);
  out[n++] = tw_operand_dense("weights", v.weights, 4, shapes[v.layout]);
  if (v.bias) out[n++] = tw_operand_dense("bias", v.acc, 2, (int64_t[]){1, v.k});
  out[n] = tw_conv_images("output", v.output, v.images_first, 2, v.n, (int64_t[]){1, v.out_h, v.out_w}, v.k);
  out[n++].is_output = true;
  return n;
}

static bool is_real(const tw_conv2d *v) { return tw_is_real(v->input); }

static bool knows_types(const tw_conv2d *v) {
  if (is_real(v)) return v->weights == v->input && tw_is_real(v->output) && v->acc == TW_F32;
  return v->input == TW_I8 && v->weights == TW_I8 && v->acc == TW_I32 && (v->output == TW_I8 || v->output == TW_I32);
}

static tw_status check_types(const tw_conv2d *v, tw_error *error) {
  if (!knows_types(v))
    return tw_fail(
        error, TW_UNSUPPORTED,
        "conv2d does not support a=%s b=%s out=%s acc=%s; expected a=b=i8, acc=i32 and out=i8 or i32; or one of "
        "f32, f16 and bf16 for a=b and for out, with acc=f32",
        tw_type_name(v->input), tw_type_name(v->weights), tw_type_name(v->output), tw_type_name(v->acc));
  if (!is_real(v) && (v->images_first || v->layout == TW_CONV2D_KCRS))
    return tw_fail(error, TW_USAGE, "image_layout=nchw and weight_layout=kcrs need a of f32, f16 or bf16, not a=%s",
                   tw_type_name(v->input));
  if (v->arithmetic && v->input != TW_F32)
    return tw_fail(error, TW_USAGE, "arithmetic=tf32 and bf16 need a=f32 b=f32, not a=%s", tw_type_name(v->input));
  return TW_OK;
}

static tw_status check_sizes(const tw_conv2d *v, tw_error *error) {
  if (!v->p || !v->q)
    return tw_fail(error, TW_USAGE,
                   "a kernel of r=%" PRId64 " s=%" PRId64 " is larger than the input of h=%" PRId64 " w=%" PRId64
                   " with pad=%" PRId64 "; choose a smaller kernel or more padding",
                   v->r, v->s, v->h, v->w, v->pad);
  if (!is_real(v) && v->r * v->s * v->c > PRODUCTS_LIMIT)
    return tw_fail(error, TW_USAGE, "r s c = %" PRId64 " products in each result; at most %d can be summed exactly",
                   v->r * v->s * v->c, PRODUCTS_LIMIT);
  const double most = fmax((double)v->n * (double)v->h * (double)v->w * (double)v->c,
                           (double)v->n * (double)v->p * (double)v->q * (double)v->k);
  if (most > 0x1p40)
    return tw_fail(error, TW_USAGE, "an array of %.3g elements is too large; choose smaller n, h, w, c or k", most);
  return TW_OK;
}

static tw_status check_pooling(const tw_problem *p, const tw_conv2d *v, tw_error *error) {
  if (!v->pool && (tw_problem_int(p, "pool_stride") || tw_problem_int(p, "pool_pad")))
    return tw_fail(error, TW_USAGE, "pool_stride and pool_pad require a window; write for instance pool=3");
  if (v->pool && v->pool_pad >= v->pool)
    return tw_fail(error, TW_USAGE,
                   "pool_pad=%" PRId64 " must be less than pool=%" PRId64
                   "; otherwise a window is outside of the image",
                   v->pool_pad, v->pool);
  if (v->pool && (!v->out_h || !v->out_w))
    return tw_fail(error, TW_USAGE,
                   "pool=%" PRId64 " is larger than the %" PRId64 " x %" PRId64 " results of the convolution", v->pool,
                   v->p, v->q);
  return TW_OK;
}

static tw_status validate(const tw_problem *p, tw_error *error) {
  tw_conv2d v = tw_conv2d_of(p);
  tw_status status = check_types(&v, error);
  if (status == TW_OK) status = check_sizes(&v, error);
  if (status == TW_OK) status = check_pooling(p, &v, error);
  if (status != TW_OK) return status;
  if (!isfinite(v.scale)) return tw_fail(error, TW_USAGE, "scale does not fit a 32-bit float");
  if (v.output == TW_I32 && v.scale != 1.0f)
    return tw_fail(error, TW_USAGE, "scale must be 1 with out=i32, which stores the accumulator unchanged");
  return TW_OK;
}

/* ---- inputs ----
 *
 * int8.h describes the inputs of out=i8. Its full-range lines are pixels of the input and output channels of the
 * weights. A pixel takes part in up to r s results, so the number of full-range pixels is smaller by this factor.
 * out=i32 uses the whole range everywhere: the chance that a sum leaves 2^30 is below e^-2000. For seeds of
 * TW_SEED_KIND, every other filter has the least value in one place, and one pixel of as many as two windows have. */

enum { INPUT, WEIGHTS };

static void fill_line(uint64_t seed, int operand, int64_t line, tw_distribution d, int8_t *data, int64_t count,
                      int64_t step) {
  tw_random r;
  tw_random_seed_stream(&r, seed, (uint64_t)(operand + 8) << 32 | (uint64_t)line);
  for (int64_t i = 0; i < count; i++) data[i * step] = tw_draw_i8(&r, d);
}

/* `count` elements of a line get the least value in one place. */
static void mark_line(uint64_t seed, int operand, int64_t line, int8_t *data, int64_t count, int64_t step) {
  tw_random r;
  tw_random_seed_stream(&r, seed, (uint64_t)(operand + 16) << 32 | (uint64_t)line);
  data[tw_random_between(&r, 0, count - 1) * step] = INT8_MIN;
}

static void fill_operands(const tw_problem *p, uint64_t seed, void *const buffers[]) {
  tw_conv2d v = tw_conv2d_of(p);
  if (is_real(&v)) {
    tw_operand o[TW_OPERANDS_MAX];
    const tw_conv all = tw_conv_of_conv2d(p);
    operands(p, o);
    tw_conv_inputs(&all, seed, o, buffers);
    return;
  }
  const int64_t products = v.r * v.s * v.c, pixels = v.n * v.h * v.w;
  const tw_distribution usual = v.output == TW_I32 ? tw_full_range : tw_int8_distribution(products, (double)v.scale);
  const bool marked = tw_seed_is(seed, TW_SEED_KIND);
  for (int64_t i = 0; i < pixels; i++) {
    int8_t *pixel = (int8_t *)buffers[0] + i * v.c;
    bool full = tw_is_full_range(seed, INPUT, i, pixels, TW_FULL_RANGE_ONE_IN * v.r * v.s);
    fill_line(seed, INPUT, i, full ? tw_full_range : usual, pixel, v.c, 1);
    if (marked && i % (2 * v.r * v.s) == 0) mark_line(seed, INPUT, i, pixel, v.c, 1);
  }
  for (int64_t k = 0; k < v.k; k++) {
    bool full = tw_is_full_range(seed, WEIGHTS, k, v.k, TW_FULL_RANGE_ONE_IN), innermost = v.layout == TW_CONV2D_RSCK;
    int8_t *filter = (int8_t *)buffers[1] + (innermost ? k : k * products);
    fill_line(seed, WEIGHTS, k, full ? tw_full_range : usual, filter, products, innermost ? v.k : 1);
    if (marked && k % 2) mark_line(seed, WEIGHTS, k, filter, products, innermost ? v.k : 1);
  }
  if (v.bias) tw_fill_bias_i32(seed, v.output == TW_I32 ? 0 : (double)v.scale, 1, v.k, v.k, buffers[2]);
}

static void inputs(const tw_problem *p, uint64_t seed, void *const buffers[]) {
  const tw_conv v = tw_conv_of_conv2d(p);
  tw_operand o[TW_OPERANDS_MAX];
  operands(p, o);
  fill_operands(p, seed, buffers);
  tw_conv_zeros(&v, seed, o, buffers);
}

static tw_status compare(const tw_problem *p, void *const expected[], void *const actual[], tw_error *error) {
  tw_operand o[TW_OPERANDS_MAX];
  const tw_conv2d v = tw_conv2d_of(p);
  size_t output = operands(p, o) - 1;
  tw_mismatch found = {0};
  if (is_real(&v)) return tw_exact_compare(p, expected, actual, error);
  tw_status status = tw_compare_inputs(o, output, expected, actual, error);
  if (status != TW_OK) return status;
  tw_compare_exact(&o[output], expected[output], actual[output], &found);
  return tw_mismatch_status(&o[output], &found, error);
}

/* ---- cost ---- */

static double needed(const tw_conv2d *v, int64_t results, int64_t windows) {
  int64_t n = 0;
  for (int64_t i = 0; i < results; i++) n += tw_conv2d_needs(v, i, windows);
  return (double)n;
}

/* Products with padding count: a kernel without special cases for edges computes them too. Results that no pooling
 * window covers do not count. */
static double operations(const tw_problem *p) {
  tw_conv2d v = tw_conv2d_of(p);
  return (double)v.n * needed(&v, v.p, v.out_h) * needed(&v, v.q, v.out_w) * (double)v.k * (double)(v.r * v.s * v.c);
}

static void reference(const tw_problem *p, void *const buffers[], int threads) {
  tw_conv2d v = tw_conv2d_of(p);
  if (is_real(&v))
    tw_exact_reference(p, buffers, threads);
  else
    tw_conv2d_reference(&v, buffers, threads);
}

/* ---- single elements ---- */

static tw_conv as_conv(const tw_conv2d *v) {
  static const tw_conv_layout layouts[] = {[TW_CONV2D_RSCK] = TW_CONV_WINDOW_FIRST,
                                           [TW_CONV2D_KRSC] = TW_CONV_CHANNELS_LAST,
                                           [TW_CONV2D_KCRS] = TW_CONV_CHANNELS_FIRST};
  return (tw_conv){.n = v->n,
                   .c = v->c,
                   .k = v->k,
                   .in = {1, v->h, v->w},
                   .window = {1, v->r, v->s},
                   .out = {1, v->p, v->q},
                   .stride = v->stride,
                   .pad = {0, v->pad, v->pad},
                   .images_first = v->images_first,
                   .layout = layouts[v->layout],
                   .bias = v->bias,
                   .relu = v->relu,
                   .scale = v->scale,
                   .input = v->input,
                   .weights = v->weights,
                   .output = v->output,
                   .acc = v->acc,
                   .arithmetic = v->arithmetic};
}

tw_conv tw_conv_of_conv2d(const tw_problem *p) {
  const tw_conv2d v = tw_conv2d_of(p);
  return as_conv(&v);
}

/* A result of the convolution that contributes to the pooled element `owner`. */
typedef struct candidate {
  tw_place place;
  size_t owner;
} candidate;

/* Fills `out`, unless that is NULL; returns how many there are. */
static size_t candidates(const tw_conv2d *v, const tw_place *place, size_t owner, candidate *out) {
  const int64_t row = place->row / v->out_w, image = row / v->out_h;
  const tw_conv2d_span p = tw_conv2d_window(v, row % v->out_h, v->p),
                       q = tw_conv2d_window(v, place->row % v->out_w, v->q);
  size_t n = 0;
  for (int64_t i = p.first; i < p.last; i++)
    for (int64_t j = q.first; j < q.last; j++, n++)
      if (out) out[n] = (candidate){{(image * v->p + i) * v->q + j, place->column}, owner};
  return n;
}

/* The maximum of a window. Its error is at most the largest error in the window. */
static tw_status exact_pooled(const tw_conv2d *v, const tw_conv *c, void *const buffers[], size_t n,
                              const tw_place place[], double value[], double bound[], int threads, tw_error *error) {
  size_t all = 0, at = 0;
  for (size_t i = 0; i < n; i++) all += candidates(v, &place[i], i, NULL);
  candidate *list = tw_new(all, sizeof *list);
  tw_place *places = tw_new(all, sizeof *places);
  double *values = tw_new(all, 2 * sizeof *values);
  tw_status status = list && places && values ? TW_OK : tw_no_memory(error, "the comparison");
  if (status == TW_OK) {
    for (size_t i = 0; i < n; i++) at += candidates(v, &place[i], i, list + at);
    qsort(list, all, sizeof *list, tw_place_order);
    for (size_t i = 0; i < all; i++) places[i] = list[i].place;
    status = tw_conv_exact(c, buffers, all, places, values, values + all, threads, error);
  }
  for (size_t i = 0; i < n; i++) value[i] = -INFINITY, bound[i] = 0;
  for (size_t i = 0; status == TW_OK && i < all; i++) {
    value[list[i].owner] = fmax(value[list[i].owner], values[i]);
    bound[list[i].owner] = fmax(bound[list[i].owner], values[all + i]);
  }
  free(list);
  free(places);
  free(values);
  return status;
}

static tw_status exact(const tw_problem *p, void *const buffers[], size_t operand, size_t n, const tw_place place[],
                       double value[], double bound[], int threads, tw_error *error) {
  (void)operand;
  const tw_conv2d v = tw_conv2d_of(p);
  const tw_conv c = as_conv(&v);
  if (!v.out_h || !v.out_w) return TW_OK; /* the tensor has no elements; validate rejects it */
  if (v.pool) return exact_pooled(&v, &c, buffers, n, place, value, bound, threads, error);
  return tw_conv_exact(&c, buffers, n, place, value, bound, threads, error);
}

static void exact_cost(const tw_problem *p, size_t operand, double *element, double *row) {
  (void)operand;
  const tw_conv2d v = tw_conv2d_of(p);
  const tw_conv c = as_conv(&v);
  tw_conv_exact_cost(&c, element, row);
  if (v.pool) *element *= (double)(v.pool * v.pool), *row *= (double)(v.pool * v.pool);
}

static tw_status survey(const tw_problem *p, void *const buffers[], const tw_effort *effort, tw_coverage *out,
                        tw_error *error) {
  const tw_conv2d v = tw_conv2d_of(p);
  const tw_conv c = as_conv(&v);
  tw_operand o[TW_OPERANDS_MAX];
  const size_t output = operands(p, o) - 1;
  return v.pool ? TW_OK : tw_conv_survey(&c, &o[output], buffers, effort, out, error);
}

const tw_op tw_op_conv2d = {
    .name = "conv2d",
    .summary = "convolution of images (NHWC): act(scale * (conv(input, weights) + bias)), max pooling",
    .keys = keys,
    .n_keys = sizeof keys / sizeof *keys,
    .validate = validate,
    .operands = operands,
    .inputs = inputs,
    .reference = reference,
    .compare = compare,
    .operations = operations,
    .bytes = tw_operands_once,
    .exact = exact,
    .exact_cost = exact_cost,
    .survey = survey,
};
