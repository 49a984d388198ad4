/* cumsum.c - running sums of the rows of a matrix.
 *
 *   y[i][j] = x[i][0] + ... + x[i][j]         exclusive=1: up to x[i][j-1]; reverse=1: from the end of the row;
 *                                             masked=1: of x[i][j] mask[i][j], where mask is 0 or 1
 *
 * The C parameters of a kernel are x, [mask,] y, all [rows][cols] and dense; mask is of u8, x and y of type a. Sums are in
 * binary32. */
#include <math.h>

#include "base/random.h"
#include "op/element.h"
#include "op/exact.h"
#include "op/inputs.h"
#include "op/numerics.h"
#include "op/ops.h"

enum { X, MASK };

static const tw_key keys[] = {
    TW_SIZE_KEY("rows", 1 << 30, 2048, "vectors"),
    TW_SIZE_KEY("cols", 1 << 24, 2048, "elements of a vector"),
    TW_FLAG_KEY("reverse", "sum from the end of the row"),
    TW_FLAG_KEY("exclusive", "sum what is before the element, without it"),
    TW_FLAG_KEY("masked", "sum the elements whose mask is 1, a second input"),
    TW_TYPE_KEY("a", "", "element type of x and y: f32, f16 or bf16"),
};

static size_t operands(const tw_problem *p, tw_operand out[TW_OPERANDS_MAX]) {
  const int64_t dims[] = {tw_problem_int(p, "rows"), tw_problem_int(p, "cols")};
  size_t n = 0;
  out[n++] = tw_operand_dense("x", tw_problem_type(p, "a"), 2, dims);
  if (tw_problem_int(p, "masked")) out[n++] = tw_operand_dense("mask", TW_U8, 2, dims);
  out[n] = tw_operand_dense("y", tw_problem_type(p, "a"), 2, dims);
  out[n++].is_output = true;
  return n;
}

static void inputs(const tw_problem *p, uint64_t seed, void *const buffers[]) {
  tw_operand o[TW_OPERANDS_MAX];
  operands(p, o);
  tw_fill_rows(seed, X, &o[X], tw_spread_by_row, buffers[X]);
  tw_zero_a_row(seed, X, &o[X], buffers[X]);
  if (!tw_problem_int(p, "masked")) return;
  const int64_t cols = tw_problem_int(p, "cols");
  for (int64_t row = 0; row < tw_problem_int(p, "rows"); row++) {
    tw_random r;
    tw_random_seed_stream(&r, seed, (uint64_t)(MASK + 8) << 32 | (uint64_t)row);
    for (int64_t i = 0; i < cols; i++) ((uint8_t *)buffers[MASK])[row * cols + i] = (uint8_t)tw_random_below(&r, 2);
  }
}

typedef struct job {
  const void *x;
  const uint8_t *mask; /* may be NULL */
  tw_type type;
  int64_t columns;
  bool reverse, exclusive;
} job;

/* A sum of n terms of random signs in binary32, in any order: columns are counted in the order of summation. */
static bool make_row(const void *context, int64_t row, int64_t first, int64_t count, double *value, double *bound) {
  const job *j = context;
  const int64_t least = j->reverse ? j->columns - first - count : first;
  double sum = 0, size = 0, square = 0;
  for (int64_t i = 0; i < least + count; i++) {
    const int64_t from = row * j->columns + (j->reverse ? j->columns - 1 - i : i);
    const double x = tw_element(j->type, j->x, from) * (j->mask ? j->mask[from] : 1), n = (double)i;
    const int64_t at = j->reverse ? least + count - 1 - i : i - least;
    if (i >= least && j->exclusive) value[at] = sum;
    sum += x;
    size += fabs(x);
    square += x * x;
    if (i < least) continue;
    if (!j->exclusive) value[at] = sum;
    const double off = TW_U32 * fmin(tw_sum_steps(n) * size, tw_walk_steps(n) * sqrt(square));
    bound[at] = tw_store_error(j->type, value[at], off);
  }
  return true;
}

static tw_status exact(const tw_problem *p, void *const buffers[], size_t operand, size_t n, const tw_place place[],
                       double value[], double bound[], int threads, tw_error *error) {
  (void)operand;
  const job j = {.x = buffers[X],
                 .mask = tw_problem_int(p, "masked") ? buffers[MASK] : NULL,
                 .type = tw_problem_type(p, "a"),
                 .columns = tw_problem_int(p, "cols"),
                 .reverse = tw_problem_int(p, "reverse"),
                 .exclusive = tw_problem_int(p, "exclusive")};
  return tw_exact_rows(make_row, &j, n, place, value, bound, threads, error);
}

static void exact_cost(const tw_problem *p, size_t operand, double *element, double *row) {
  (void)operand;
  *element = *row = 4 * (double)tw_problem_int(p, "cols");
}

/* One addition for each element. */
static double operations(const tw_problem *p) {
  return 0.5 * (double)tw_problem_int(p, "rows") * (double)tw_problem_int(p, "cols");
}

const tw_op tw_op_cumsum = {TW_EXACT_OP("cumsum", "running sums of the rows of a matrix"), .validate = tw_expect_real};
