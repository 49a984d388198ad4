/* depthwise.c - a convolution along the last dimension, with a filter for each channel.
 *
 *   y[n][c][i] = sum over r < taps of x[n][c][i + r - pad] weights[c][r]      (x is 0 outside)
 *
 * The C parameters of a kernel are x, weights and y, dense, all of type a: x [n][c][w], weights [c][taps], y [n][c][w +
 * 2 pad - taps + 1]. */
#include <math.h>

#include "op/element.h"
#include "op/exact.h"
#include "op/inputs.h"
#include "op/numerics.h"
#include "op/ops.h"

enum { X, WEIGHTS, Y };

static const tw_key keys[] = {
    TW_INT_KEY("n", "1", 1, 1 << 20, "sequences"),
    TW_SIZE_KEY("c", 1 << 20, 512, "channels"),
    TW_SIZE_KEY("w", 1 << 24, 2048, "elements of a channel"),
    TW_SIZE_KEY("taps", 64, 3, "elements of a filter"),
    TW_INT_KEY("pad", "0", 0, 63, "zeros on both sides"),
    TW_TYPE_KEY("a", "", "element type: f32, f16 or bf16"),
};

static int64_t width(const tw_problem *p) {
  return tw_problem_int(p, "w") + 2 * tw_problem_int(p, "pad") - tw_problem_int(p, "taps") + 1;
}

static tw_status validate(const tw_problem *p, tw_error *error) {
  if (tw_expect_real(p, error) != TW_OK) return TW_UNSUPPORTED;
  if (width(p) < 1)
    return tw_fail(error, TW_USAGE, "unsupported taps=%lld; expected at most w + 2 pad = %lld",
                   (long long)tw_problem_int(p, "taps"), (long long)(width(p) + tw_problem_int(p, "taps") - 1));
  if (tw_problem_int(p, "pad") >= tw_problem_int(p, "taps"))
    return tw_fail(error, TW_USAGE, "unsupported pad=%lld; expected less than taps=%lld",
                   (long long)tw_problem_int(p, "pad"), (long long)tw_problem_int(p, "taps"));
  if ((double)tw_problem_int(p, "n") * (double)tw_problem_int(p, "c") * (double)tw_problem_int(p, "w") > 0x1p40)
    return tw_fail(error, TW_USAGE, "unsupported size; expected n c w of at most 1.1e12");
  return TW_OK;
}

static size_t operands(const tw_problem *p, tw_operand out[TW_OPERANDS_MAX]) {
  const tw_type a = tw_problem_type(p, "a");
  const int64_t n = tw_problem_int(p, "n"), c = tw_problem_int(p, "c");
  out[X] = tw_operand_dense("x", a, 3, (int64_t[]){n, c, tw_problem_int(p, "w")});
  out[WEIGHTS] = tw_operand_dense("weights", a, 2, (int64_t[]){c, tw_problem_int(p, "taps")});
  out[Y] = tw_operand_dense("y", a, 3, (int64_t[]){n, c, width(p)});
  out[Y].is_output = true;
  return Y + 1;
}

static void inputs(const tw_problem *p, uint64_t seed, void *const buffers[]) {
  tw_operand o[TW_OPERANDS_MAX];
  operands(p, o);
  tw_fill_rows(seed, X, &o[X], tw_spread_by_row, buffers[X]);
  tw_zero_a_row(seed, X, &o[X], buffers[X]);
  tw_fill_factors(seed, WEIGHTS, &o[WEIGHTS], buffers[WEIGHTS]);
}

typedef struct job {
  void *const *buffer;
  tw_type type;
  int64_t c, w, taps, pad, width;
} job;

/* Products and sums in binary32. */
static bool make_row(const void *context, int64_t row, int64_t first, int64_t count, double *value, double *bound) {
  const job *j = context;
  const int64_t channel = row % j->c;
  for (int64_t i = 0; i < count; i++) {
    double sum = 0, size = 0;
    for (int64_t r = 0; r < j->taps; r++) {
      const int64_t at = first + i + r - j->pad;
      if (at < 0 || at >= j->w) continue;
      const double product = tw_element(j->type, j->buffer[X], row * j->w + at) *
                             tw_element(j->type, j->buffer[WEIGHTS], channel * j->taps + r);
      sum += product;
      size += fabs(product);
    }
    value[i] = sum;
    bound[i] = tw_store_error(j->type, sum, (tw_sum_steps((double)j->taps) + 1) * TW_CUT32 * size);
  }
  return true;
}

static tw_status exact(const tw_problem *p, void *const buffers[], size_t operand, size_t n, const tw_place place[],
                       double value[], double bound[], int threads, tw_error *error) {
  (void)operand;
  const job j = {.buffer = buffers,
                 .type = tw_problem_type(p, "a"),
                 .c = tw_problem_int(p, "c"),
                 .w = tw_problem_int(p, "w"),
                 .taps = tw_problem_int(p, "taps"),
                 .pad = tw_problem_int(p, "pad"),
                 .width = width(p)};
  return tw_exact_runs(make_row, &j, n, place, value, bound, threads, error);
}

static void exact_cost(const tw_problem *p, size_t operand, double *element, double *row) {
  (void)operand;
  *element = (double)tw_problem_int(p, "taps");
  *row = *element * (double)width(p);
}

static double operations(const tw_problem *p) {
  return (double)tw_problem_int(p, "n") * (double)tw_problem_int(p, "c") * (double)width(p) *
         (double)tw_problem_int(p, "taps");
}

const tw_op tw_op_depthwise = {
    TW_EXACT_OP("depthwise", "convolution along the last dimension, with a filter for each channel"),
    .validate = validate};
