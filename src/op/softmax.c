/* softmax.c - softmax of the rows of a matrix.
 *
 *   y[i][j] = exp(x[i][j] - max x[i]) / sum over l of exp(x[i][l] - max x[i])
 *   log=1: its logarithm, x[i][j] - max x[i] - log(sum)
 *
 * The C parameters of a kernel are x [rows][cols], y [rows][cols], dense, both of type a. */
#include <math.h>
#include <stdlib.h>

#include "base/random.h"
#include "base/strings.h"
#include "op/element.h"
#include "op/exact.h"
#include "op/inputs.h"
#include "op/numerics.h"
#include "op/ops.h"

enum { X, Y };

static const tw_key keys[] = {
    TW_SIZE_KEY("rows", 1 << 30, 4096, "vectors"),
    TW_SIZE_KEY("cols", 1 << 24, 4096, "elements of a vector"),
    TW_FLAG_KEY("log", "the logarithm of the softmax"),
    TW_TYPE_KEY("a", "", "element type of x and y: f32, f16 or bf16"),
};

static size_t operands(const tw_problem *p, tw_operand out[TW_OPERANDS_MAX]) {
  const int64_t dims[] = {tw_problem_int(p, "rows"), tw_problem_int(p, "cols")};
  out[X] = tw_operand_dense("x", tw_problem_type(p, "a"), 2, dims);
  out[Y] = tw_operand_dense("y", tw_problem_type(p, "a"), 2, dims);
  out[Y].is_output = true;
  return Y + 1;
}

/* Every fourth row has values where exp overflows binary32, above or below 0: the maximum must be subtracted. */
static tw_row_spread spread(uint64_t seed, int64_t row) {
  tw_random r;
  tw_random_seed_stream(&r, seed, (uint64_t)row);
  const bool far = tw_random_below(&r, 4) == 0, below = tw_random_below(&r, 2);
  return (tw_row_spread){.middle = !far ? 0 : below ? -120 : 120, .amplitude = 4};
}

/* Every fourth row has one element far above all others. In half of these rows exp overflows unless it is found: a maximum
 * over part of a row shows. In the other half all other results of the row are small, but not 0. */
static double raised(double x, tw_random *r) { return x + (tw_random_below(r, 2) ? 104 : 12 + 64 * tw_random_real(r)); }

static void inputs(const tw_problem *p, uint64_t seed, void *const buffers[]) {
  tw_operand o[TW_OPERANDS_MAX];
  operands(p, o);
  tw_fill_rows(seed, X, &o[X], spread, buffers[X]);
  tw_fill_outliers(seed, 4, &o[X], raised, buffers[X]);
  tw_zero_a_row(seed, X, &o[X], buffers[X]);
}

typedef struct job {
  const void *x;
  tw_type type;
  int64_t columns;
  bool log;
} job;

/* Errors in binary32. An exponential has a relative error of 4 u for the function and of 2 u |x - max| for its argument
 * (the difference and its product with log2(e) are rounded). Sums that restart when a larger element is met (online
 * softmax) add such an error each time, which the steps of the sum cover. So a quotient has four errors: of its own
 * exponential, the weighted mean of all exponentials' errors, of the sum, and 2 u for itself. The logarithm of a sum is off
 * by the relative error of the sum, 4 u, and 6 u of its own value: lg2.approx has 2^-22. */
static bool make_row(const void *context, int64_t row, int64_t first, int64_t count, double *value, double *bound) {
  const job *j = context;
  double *x = tw_new((size_t)j->columns, sizeof *x);
  if (!x) return false;
  tw_element_row(j->type, j->x, row * j->columns, 1, j->columns, x);
  double largest = -INFINITY, sum = 0, errors = 0;
  for (int64_t i = 0; i < j->columns; i++) largest = fmax(largest, x[i]);
  for (int64_t i = 0; i < j->columns; i++) {
    const double e = exp(x[i] - largest);
    sum += e;
    errors += e * (4 + 2 * (largest - x[i]));
  }
  const double shared = errors / sum + tw_sum_steps((double)j->columns) + 2;
  for (int64_t i = 0; i < count; i++) {
    const double below = largest - x[first + i];
    if (j->log) {
      value[i] = -below - log(sum);
      const double units = 4 + 6 * log(sum) + 2 * below + fabs(value[i]) + shared;
      bound[i] = tw_store_error(j->type, value[i], units * TW_U32 + tw_least_real(TW_F32));
      continue;
    }
    value[i] = exp(-below) / sum;
    bound[i] = tw_store_error(j->type, value[i], value[i] * (4 + 2 * below + shared) * TW_U32 + tw_least_real(TW_F32));
  }
  free(x);
  return true;
}

static tw_status exact(const tw_problem *p, void *const buffers[], size_t operand, size_t n, const tw_place place[],
                       double value[], double bound[], int threads, tw_error *error) {
  (void)operand;
  const job j = {buffers[X], tw_problem_type(p, "a"), tw_problem_int(p, "cols"), tw_problem_int(p, "log")};
  return tw_exact_rows(make_row, &j, n, place, value, bound, threads, error);
}

static void exact_cost(const tw_problem *p, size_t operand, double *element, double *row) {
  (void)operand;
  *element = *row = 16 * (double)tw_problem_int(p, "cols"); /* two exponentials */
}

/* Per element: a comparison, a difference, an exponential, an addition and a product. */
static double operations(const tw_problem *p) {
  return 2.5 * (double)tw_problem_int(p, "rows") * (double)tw_problem_int(p, "cols");
}

const tw_op tw_op_softmax = {TW_EXACT_OP("softmax", "softmax of the rows of a matrix, or its logarithm"),
                             .validate = tw_expect_real};
