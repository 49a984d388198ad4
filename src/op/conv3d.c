/* conv3d.c - convolution of volumes: keys, operands, inputs, cost. conv.c has the reference.
 *
 *   out[n][o][p][q][k] = relu(scale * (bias[k] + sum over t, r, s, c of
 *                        input[n][o stride + t - pad][p stride + r - pad][q stride + s - pad][c]
 *                        weights[t][r][s][c][k]))
 *
 * with o < (d + 2 pad - t) / stride + 1 and p, q likewise; elements outside the input are 0; dilation is 1.
 *
 * The C parameters of a kernel are input, weights, bias [1][k] if there is one, output. image_layout=ndhwc: input
 * [n][d][h][w][c], output [n][o][p][q][k]; ncdhw, as in PyTorch: input [n][c][d][h][w], output [n][k][o][p][q]. layout
 * gives the order of the dimensions of the weights. */
#include <inttypes.h>
#include <math.h>

#include "op/conv.h"
#include "op/exact.h"
#include "op/inputs.h"
#include "op/numerics.h"
#include "op/ops.h"

enum { SIZE_LIMIT = 1 << 16, WINDOW_LIMIT = 64 };

static const tw_key keys[] = {
    TW_SIZE_KEY("n", SIZE_LIMIT, 16, "volumes"),
    TW_SIZE_KEY("d", SIZE_LIMIT, 64, "planes of the input"),
    TW_SIZE_KEY("h", SIZE_LIMIT, 64, "rows of the input"),
    TW_SIZE_KEY("w", SIZE_LIMIT, 64, "columns of the input"),
    TW_SIZE_KEY("c", SIZE_LIMIT, 3, "channels of the input"),
    TW_SIZE_KEY("k", SIZE_LIMIT, 64, "channels of the output"),
    TW_SIZE_KEY("t", WINDOW_LIMIT, 3, "planes of the kernel"),
    TW_SIZE_KEY("r", WINDOW_LIMIT, 3, "rows of the kernel"),
    TW_SIZE_KEY("s", WINDOW_LIMIT, 3, "columns of the kernel"),
    TW_INT_KEY("stride", "1", 1, WINDOW_LIMIT, "step of the window in all three directions"),
    TW_INT_KEY("pad", "0", 0, WINDOW_LIMIT, "zeros around the input"),
    TW_CONV_RESULT_KEYS,
    TW_CHOICE_KEY("image_layout", "ndhwc", "ndhwc|ncdhw", "order of the dimensions of input and output"),
    TW_CHOICE_KEY("weight_layout", "trsck", "trsck|ktrsc|kctrs", "order of the weights' dimensions"),
    TW_CONV_TYPE_KEYS("element type of the input: f32, f16 or bf16"),
};

tw_conv tw_conv_of_conv3d(const tw_problem *p) {
  tw_conv v = {.n = tw_problem_int(p, "n"),
               .c = tw_problem_int(p, "c"),
               .k = tw_problem_int(p, "k"),
               .in = {tw_problem_int(p, "d"), tw_problem_int(p, "h"), tw_problem_int(p, "w")},
               .window = {tw_problem_int(p, "t"), tw_problem_int(p, "r"), tw_problem_int(p, "s")},
               .stride = tw_problem_int(p, "stride"),
               .images_first = tw_problem_int(p, "image_layout") == 1,
               .layout = (tw_conv_layout)tw_problem_int(p, "weight_layout"),
               .bias = tw_problem_int(p, "bias") != 0,
               .relu = tw_problem_int(p, "relu"),
               .scale = (float)tw_problem_real(p, "scale"),
               .input = tw_problem_type(p, "a"),
               .weights = tw_problem_type(p, "b"),
               .output = tw_problem_type(p, "out"),
               .acc = tw_problem_type(p, "acc"),
               .arithmetic = tw_conv_arithmetic(tw_problem_int(p, "arithmetic"))};
  for (int i = 0; i < TW_CONV_DIMS; i++) {
    v.pad[i] = tw_problem_int(p, "pad");
    v.out[i] = tw_conv_windows(v.in[i], v.pad[i], v.window[i], v.stride);
  }
  return v;
}

static tw_status validate(const tw_problem *p, tw_error *error) {
  const tw_conv v = tw_conv_of_conv3d(p);
  if (!tw_is_real(v.input) || v.weights != v.input || !tw_is_real(v.output) || v.acc != TW_F32)
    return tw_fail(error, TW_UNSUPPORTED,
                   "conv3d does not support a=%s b=%s out=%s acc=%s; expected a and b both f32, f16 or bf16, out of "
                   "these types and acc=f32",
                   tw_type_name(v.input), tw_type_name(v.weights), tw_type_name(v.output), tw_type_name(v.acc));
  if (!v.out[0] || !v.out[1] || !v.out[2])
    return tw_fail(error, TW_USAGE,
                   "a kernel of %" PRId64 " x %" PRId64 " x %" PRId64 " is larger than the input of %" PRId64
                   " x %" PRId64 " x %" PRId64 " with pad=%" PRId64 "; choose a smaller kernel or more padding",
                   v.window[0], v.window[1], v.window[2], v.in[0], v.in[1], v.in[2], v.pad[0]);
  if (v.arithmetic && v.input != TW_F32)
    return tw_fail(error, TW_USAGE, "arithmetic=tf32 and bf16 need a=f32 b=f32, not a=%s", tw_type_name(v.input));
  if (!isfinite(v.scale)) return tw_fail(error, TW_USAGE, "scale does not fit a 32-bit float");
  const double most = (double)v.n * fmax((double)v.in[0] * (double)v.in[1] * (double)v.in[2] * (double)v.c,
                                         (double)v.out[0] * (double)v.out[1] * (double)v.out[2] * (double)v.k);
  if (most > 0x1p40)
    return tw_fail(error, TW_USAGE, "an array of %.3g elements is too large; choose smaller n, d, h, w, c or k", most);
  return TW_OK;
}

static size_t operands(const tw_problem *p, tw_operand out[TW_OPERANDS_MAX]) {
  const tw_conv v = tw_conv_of_conv3d(p);
  const int64_t *w = v.window, shapes[][5] = {[TW_CONV_WINDOW_FIRST] = {w[0], w[1], w[2], v.c, v.k},
                                              [TW_CONV_CHANNELS_LAST] = {v.k, w[0], w[1], w[2], v.c},
                                              [TW_CONV_CHANNELS_FIRST] = {v.k, v.c, w[0], w[1], w[2]}};
  size_t n = 0;
  out[n++] = tw_conv_images("input", v.input, v.images_first, 3, v.n, v.in, v.c);
  out[n++] = tw_operand_dense("weights", v.weights, 5, shapes[v.layout]);
  if (v.bias) out[n++] = tw_operand_dense("bias", v.acc, 2, (int64_t[]){1, v.k});
  out[n] = tw_conv_images("output", v.output, v.images_first, 3, v.n, v.out, v.k);
  out[n++].is_output = true;
  return n;
}

static void inputs(const tw_problem *p, uint64_t seed, void *const buffers[]) {
  tw_operand o[TW_OPERANDS_MAX];
  const tw_conv v = tw_conv_of_conv3d(p);
  operands(p, o);
  tw_conv_inputs(&v, seed, o, buffers);
  tw_conv_zeros(&v, seed, o, buffers);
}

static tw_status exact(const tw_problem *p, void *const buffers[], size_t operand, size_t n, const tw_place place[],
                       double value[], double bound[], int threads, tw_error *error) {
  (void)operand;
  const tw_conv v = tw_conv_of_conv3d(p);
  return tw_conv_exact(&v, buffers, n, place, value, bound, threads, error);
}

static void exact_cost(const tw_problem *p, size_t operand, double *element, double *row) {
  (void)operand;
  const tw_conv v = tw_conv_of_conv3d(p);
  tw_conv_exact_cost(&v, element, row);
}

static tw_status survey(const tw_problem *p, void *const buffers[], const tw_effort *effort, tw_coverage *out,
                        tw_error *error) {
  const tw_conv v = tw_conv_of_conv3d(p);
  tw_operand o[TW_OPERANDS_MAX];
  const size_t output = operands(p, o) - 1;
  return tw_conv_survey(&v, &o[output], buffers, effort, out, error);
}

/* Products with padding count, as in conv2d. */
static double operations(const tw_problem *p) {
  const tw_conv v = tw_conv_of_conv3d(p);
  double all = (double)v.n * (double)v.k * (double)v.c;
  for (int i = 0; i < TW_CONV_DIMS; i++) all *= (double)v.out[i] * (double)v.window[i];
  return all;
}

const tw_op tw_op_conv3d = {TW_EXACT_OP("conv3d", "convolution of volumes: act(scale * (conv(input, weights) + bias))"),
                            .validate = validate, .survey = survey};
