/* gate.c - the gate of a gated MLP, and its gradient.
 *
 *   pass=forward    y[i][j]           = act(x[i][j]) x[i][cols + j]
 *   pass=backward   dx[i][j]          = g[i][j] x[i][cols + j] act'(x[i][j])
 *                   dx[i][cols + j]   = g[i][j] act(x[i][j])
 *
 * for j < cols. x is what a product with stacked weights gives (`gemm glu` computes both at once): the gate, then the values that it gates.
 * act is silu, x / (1 + exp(-x)), or gelu. The C parameters of a kernel are x [rows][2 cols], y [rows][cols]; or x, g [rows][cols],
 * dx [rows][2 cols]; dense, all of type a. */
#include <math.h>
#include <stdlib.h>

#include "base/random.h"
#include "base/strings.h"
#include "op/element.h"
#include "op/exact.h"
#include "op/gate.h"
#include "op/gemm_numerics.h"
#include "op/inputs.h"
#include "op/numerics.h"
#include "op/ops.h"

enum { X, G };

static const tw_key keys[] = {
    TW_SIZE_KEY("rows", 1 << 30, 8192, "vectors"),
    TW_SIZE_KEY("cols", 1 << 23, 14336, "elements of each half"),
    TW_CHOICE_KEY("act", "silu", "silu|gelu_erf|gelu_tanh", "activation of the first half"),
    TW_CHOICE_KEY("pass", "forward", "forward|backward",
                  "forward computes the result; backward computes the gradient of x"),
    TW_TYPE_KEY("a", "", "element type of every operand: f32, f16 or bf16"),
};

tw_glu tw_gate_act(const tw_problem *p) { return (tw_glu)(TW_GLU_SILU + tw_problem_int(p, "act")); }
bool tw_gate_is_backward(const tw_problem *p) { return tw_problem_int(p, "pass") == 1; }

static tw_status validate(const tw_problem *p, tw_error *error) {
  if (tw_expect_real(p, error) != TW_OK) return TW_UNSUPPORTED;
  if ((double)tw_problem_int(p, "rows") * (double)tw_problem_int(p, "cols") > 0x1p40)
    return tw_fail(error, TW_USAGE, "rows times cols must be at most 2^40; choose smaller ones");
  return TW_OK;
}

static size_t operands(const tw_problem *p, tw_operand out[TW_OPERANDS_MAX]) {
  const tw_type a = tw_problem_type(p, "a");
  const int64_t one[] = {tw_problem_int(p, "rows"), tw_problem_int(p, "cols")}, both[] = {one[0], 2 * one[1]};
  size_t n = 0;
  out[n++] = tw_operand_dense("x", a, 2, both);
  if (tw_gate_is_backward(p)) out[n++] = tw_operand_dense("g", a, 2, one);
  out[n] = tw_gate_is_backward(p) ? tw_operand_dense("dx", a, 2, both) : tw_operand_dense("y", a, 2, one);
  out[n++].is_output = true;
  return n;
}

/* One gate of 128 is so large that its square is infinite in binary32. There act and its slope reach their limits. One of
 * 128 of the other factors is as large. */
static const double HUGE_VALUE = 0x1p66;
static void enlarge_some(const tw_problem *p, uint64_t seed, void *x) {
  const tw_type a = tw_problem_type(p, "a");
  const int64_t rows = tw_problem_int(p, "rows"), cols = tw_problem_int(p, "cols");
  tw_random r;
  tw_random_seed_stream(&r, seed, (uint64_t)1 << 60);
  for (int64_t at = (int64_t)tw_random_below(&r, 64); a != TW_F16 && at < rows * cols;
       at += 1 + (int64_t)tw_random_below(&r, 127))
    tw_set_element(a, x, at / cols * 2 * cols + at % cols + (tw_random_below(&r, 2) ? cols : 0),
                   tw_random_below(&r, 2) ? HUGE_VALUE : -HUGE_VALUE);
}

static void inputs(const tw_problem *p, uint64_t seed, void *const buffers[]) {
  tw_operand o[TW_OPERANDS_MAX];
  const size_t n = operands(p, o);
  for (size_t i = 0; i + 1 < n; i++) {
    tw_fill_rows(seed, (int)i, &o[i], tw_spread_to_bends, buffers[i]);
    tw_zero_a_row(seed, (int)i, &o[i], buffers[i]);
  }
  enlarge_some(p, seed, buffers[X]);
}

typedef struct job {
  const void *x, *g;
  tw_type type;
  tw_glu act;
  int64_t cols;
} job;

static bool make_row(const void *context, int64_t row, int64_t first, int64_t count, double *value, double *bound) {
  const job *j = context;
  for (int64_t i = 0; i < count; i++) {
    const int64_t at = first + i, column = at % j->cols;
    const double gate = tw_element(j->type, j->x, row * 2 * j->cols + column),
                 up = tw_element(j->type, j->x, row * 2 * j->cols + j->cols + column),
                 g = j->g ? tw_element(j->type, j->g, row * j->cols + column) : 1;
    const bool of_gate = j->g && at < j->cols;
    const double factor = of_gate ? g * up
                          : j->g  ? g
                                  : up,
                 function = of_gate ? tw_gemm_act_slope(j->act, gate) : tw_gemm_act(j->act, gate);
    value[i] = factor * function;
    const double off = fabs(factor) * tw_gemm_act_error(j->type, gate, function) + 4 * TW_U32 * fabs(value[i]);
    bound[i] = tw_store_error(j->type, value[i], off + tw_least_real(TW_F32));
  }
  return true;
}

static tw_status exact(const tw_problem *p, void *const buffers[], size_t operand, size_t n, const tw_place place[],
                       double value[], double bound[], int threads, tw_error *error) {
  (void)operand;
  const job j = {.x = buffers[X],
                 .g = tw_gate_is_backward(p) ? buffers[G] : NULL,
                 .type = tw_problem_type(p, "a"),
                 .act = tw_gate_act(p),
                 .cols = tw_problem_int(p, "cols")};
  return tw_exact_runs(make_row, &j, n, place, value, bound, threads, error);
}

static void exact_cost(const tw_problem *p, size_t operand, double *element, double *row) {
  (void)operand;
  *element = 16;
  *row = 16 * (double)tw_problem_int(p, "cols") * (tw_gate_is_backward(p) ? 2 : 1);
}

/* The forward pass has an exponential, a quotient and two products; the backward pass has twice as much. */
static double operations(const tw_problem *p) {
  return (tw_gate_is_backward(p) ? 8 : 4) * (double)tw_problem_int(p, "rows") * (double)tw_problem_int(p, "cols");
}

const tw_op tw_op_gate = {
    TW_EXACT_OP("gate", "gated activation of an MLP: act(first half) * second half of each row, forward and backward"),
    .validate = validate};
