/* elementwise.c - a function of each element: y[i][j] = f(x[i][j]).
 *
 *   relu          max(x, 0)                      leaky_relu     x > 0 ? x : alpha x
 *   elu           x > 0 ? x : alpha (e^x - 1)    selu           elu of 1.6732632, times 1.0507010
 *   sigmoid       1 / (1 + e^-x)                 hard_sigmoid   x / 6 + 1/2, within 0..1
 *   tanh                                         hard_tanh      x, within beta..alpha
 *   silu          x / (1 + e^-x)                 gelu_erf, gelu_tanh, as in gemm
 *   softplus      log(1 + e^(alpha x)) / alpha   softsign       x / (1 + |x|)
 *   scale         alpha x                        divide         x / s, of one number s in memory
 *
 * The C parameters of a kernel are x, [s [1],] and y; x and y are [rows][cols], dense, all of type a. */
#include "op/elementwise.h"

#include <math.h>

#include "base/random.h"
#include "base/strings.h"
#include "op/element.h"
#include "op/exact.h"
#include "op/gemm_numerics.h"
#include "op/inputs.h"
#include "op/numerics.h"
#include "op/ops.h"

#define NAME(function, name) name,
#define CHOICE(function, name) "|" name
static const char *const names[] = {TW_ELEMENTWISE_LIST(NAME)};

static const tw_key keys[] = {
    TW_SIZE_KEY("rows", 1 << 30, 8192, "vectors"),
    TW_SIZE_KEY("cols", 1 << 23, 8192, "elements of a vector"),
    TW_CHOICE_KEY("f", "relu", &(TW_ELEMENTWISE_LIST(CHOICE))[1], "the function"),
    TW_REAL_KEY(
        "alpha", "1",
        "slope of leaky_relu below 0, factor of elu and scale, upper limit of hard_tanh, steepness of softplus"),
    TW_REAL_KEY("beta", "-1", "lower limit of hard_tanh"),
    TW_TYPE_KEY("a", "", "element type of both operands: f32, f16 or bf16"),
};

tw_elementwise tw_elementwise_function(const tw_problem *p) { return (tw_elementwise)tw_problem_int(p, "f"); }
const char *tw_elementwise_name(tw_elementwise f) { return names[f]; }

static bool has_divisor(const tw_problem *p) { return tw_elementwise_function(p) == TW_DIVIDE; }

static tw_status validate(const tw_problem *p, tw_error *error) {
  const tw_elementwise f = tw_elementwise_function(p);
  const double alpha = tw_problem_real(p, "alpha"), beta = tw_problem_real(p, "beta");
  if (tw_expect_real(p, error) != TW_OK) return TW_UNSUPPORTED;
  if ((double)tw_problem_int(p, "rows") * (double)tw_problem_int(p, "cols") > 0x1p40)
    return tw_fail(error, TW_USAGE, "rows times cols must be at most 2^40; choose smaller ones");
  if (fabs(alpha) > 0x1p16 || fabs(beta) > 0x1p16)
    return tw_fail(error, TW_USAGE, "alpha and beta must be within -65536..65536 (found %g and %g)", alpha, beta);
  if (f == TW_HARD_TANH && alpha < beta)
    return tw_fail(error, TW_USAGE, "hard_tanh requires beta <= alpha (found beta=%g alpha=%g)", beta, alpha);
  if (f == TW_SOFTPLUS && !(alpha >= 0x1p-16))
    return tw_fail(error, TW_USAGE, "softplus requires alpha >= 2^-16 (found %g)", alpha);
  return TW_OK;
}

static size_t operands(const tw_problem *p, tw_operand out[TW_OPERANDS_MAX]) {
  const tw_type a = tw_problem_type(p, "a");
  const int64_t dims[] = {tw_problem_int(p, "rows"), tw_problem_int(p, "cols")};
  size_t n = 0;
  out[n++] = tw_operand_dense("x", a, 2, dims);
  if (has_divisor(p)) out[n++] = tw_operand_dense("s", a, 1, (int64_t[]){1});
  out[n] = tw_operand_dense("y", a, 2, dims);
  out[n++].is_output = true;
  return n;
}

/* One element of about 64 is large. Half of these are below 128, where functions reach their limits. The exponential and the
 * square of the rest are infinite in binary32. */
static void enlarge(const tw_problem *p, uint64_t seed, void *x) {
  const tw_type a = tw_problem_type(p, "a");
  const int64_t n = tw_problem_int(p, "rows") * tw_problem_int(p, "cols");
  tw_random r;
  tw_random_seed_stream(&r, seed, (uint64_t)1 << 60);
  for (int64_t at = (int64_t)tw_random_below(&r, 64); at < n; at += 1 + (int64_t)tw_random_below(&r, 127)) {
    const double size =
        a == TW_F16 || tw_random_below(&r, 2) ? ldexp(8 + 8 * tw_random_real(&r), (int)tw_random_below(&r, 4)) : 0x1p66;
    tw_set_element(a, x, at, tw_random_below(&r, 2) ? size : -size);
  }
}

static void inputs(const tw_problem *p, uint64_t seed, void *const buffers[]) {
  tw_operand o[TW_OPERANDS_MAX];
  operands(p, o);
  tw_fill_rows(seed, 0, &o[0], tw_spread_to_bends, buffers[0]);
  tw_zero_a_row(seed, 0, &o[0], buffers[0]);
  enlarge(p, seed, buffers[0]);
  if (has_divisor(p)) tw_fill_factors(seed, 1, &o[1], buffers[1]);
}

typedef struct job {
  const void *x;
  tw_type type;
  tw_elementwise f;
  double alpha, beta, divisor;
  int64_t cols;
} job;

static double value_at(const job *j, double x) {
  switch (j->f) {
  case TW_RELU: return fmax(x, 0);
  case TW_LEAKY_RELU: return x > 0 ? x : j->alpha * x;
  case TW_ELU: return x > 0 ? x : j->alpha * expm1(x);
  case TW_SELU: return TW_SELU_SCALE * (x > 0 ? x : TW_SELU_ALPHA * expm1(x));
  case TW_SIGMOID: return 1 / (1 + exp(-x));
  case TW_HARD_SIGMOID: return fmin(fmax(x / 6 + 0.5, 0), 1);
  case TW_TANH: return tanh(x);
  case TW_HARD_TANH: return fmin(fmax(x, j->beta), j->alpha);
  case TW_SILU: return tw_gemm_act(TW_GLU_SILU, x);
  case TW_GELU_ERF_OF: return tw_gemm_act(TW_GLU_GELU_ERF, x);
  case TW_GELU_TANH_OF: return tw_gemm_act(TW_GLU_GELU_TANH, x);
  case TW_SOFTPLUS: return fmax(x, 0) + log1p(exp(-fabs(j->alpha * x))) / j->alpha;
  case TW_SOFTSIGN: return x / (1 + fabs(x));
  case TW_DIVIDE: return x / j->divisor;
  default: return j->alpha * x;
  }
}

/* The error in binary32, before the result is rounded to its type. The relative error of an exponential is |x| units
 * (its argument is a rounded product) and some more for the function. The error of 1 + erf(x) and 1 + tanh(x) is
 * relative to 1, also where gelu is small. */
static double error_at(const job *j, double x, double value) {
  const double size = fabs(value);
  switch (j->f) {
  case TW_RELU:
  case TW_HARD_TANH: return 0;
  case TW_LEAKY_RELU:
  case TW_SCALE:
  case TW_DIVIDE: return 2 * TW_U32 * size;
  case TW_HARD_SIGMOID: return 4 * TW_U32;
  case TW_SOFTSIGN: return 8 * TW_U32 * size;
  case TW_SIGMOID:
  case TW_SILU: return (32 + 4 * fmin(fabs(x), 128)) * TW_U32 * size + 4 * fabs(x) * tw_least_real(TW_F32);
  case TW_SOFTPLUS: return (32 + 4 * fmin(fabs(j->alpha * x), 128)) * TW_U32 * size;
  case TW_GELU_ERF_OF:
  case TW_GELU_TANH_OF: return 32 * TW_U32 * fmax(fmin(fabs(x), 8), size);
  default: return 48 * TW_U32 * size; /* e^x - 1 and tanh; near 0 both are close to x */
  }
}

static bool make_element(const void *context, int64_t row, int64_t first, int64_t count, double *value, double *bound) {
  const job *j = context;
  for (int64_t i = 0; i < count; i++) {
    const double x = tw_element(j->type, j->x, row * j->cols + first + i);
    value[i] = value_at(j, x);
    bound[i] = tw_store_error(j->type, value[i], error_at(j, x, value[i]) + tw_least_real(TW_F32));
  }
  return true;
}

static tw_status exact(const tw_problem *p, void *const buffers[], size_t operand, size_t n, const tw_place place[],
                       double value[], double bound[], int threads, tw_error *error) {
  (void)operand;
  const job j = {.x = buffers[0],
                 .type = tw_problem_type(p, "a"),
                 .f = tw_elementwise_function(p),
                 .alpha = (double)(float)tw_problem_real(p, "alpha"),
                 .beta = (double)(float)tw_problem_real(p, "beta"),
                 .divisor = has_divisor(p) ? tw_element(tw_problem_type(p, "a"), buffers[1], 0) : 1,
                 .cols = tw_problem_int(p, "cols")};
  return tw_exact_runs(make_element, &j, n, place, value, bound, threads, error);
}

static void exact_cost(const tw_problem *p, size_t operand, double *element, double *row) {
  (void)operand;
  *element = 64; /* a function and its bound in double */
  *row = 64 * (double)tw_problem_int(p, "cols");
}

/* An operation for each element; an exponential or a quotient counts as one. */
static double operations(const tw_problem *p) {
  return (double)tw_problem_int(p, "rows") * (double)tw_problem_int(p, "cols");
}

const tw_op tw_op_elementwise = {
    TW_EXACT_OP(
        "elementwise",
        "a function of each element: activations of neural networks, and a product with or quotient by a number"),
    .validate = validate};
