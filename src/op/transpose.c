/* transpose.c - the transposes of a batch of matrices.
 *
 *   y[b][j][i] = x[b][i][j]
 *
 * The C parameters of a kernel are x [b][rows][cols], y [b][cols][rows], dense, both of type a. */
#include "op/element.h"
#include "op/exact.h"
#include "op/inputs.h"
#include "op/ops.h"

enum { X, Y };

static const tw_key keys[] = {
    TW_INT_KEY("b", "1", 1, 1 << 20, "matrices"),
    TW_SIZE_KEY("rows", 1 << 24, 512, "rows of x"),
    TW_SIZE_KEY("cols", 1 << 24, 512, "columns of x"),
    TW_TYPE_KEY("a", "", "element type: f32, f16 or bf16"),
};

static tw_status validate(const tw_problem *p, tw_error *error) {
  if (tw_expect_real(p, error) != TW_OK) return TW_UNSUPPORTED;
  const double elements =
      (double)tw_problem_int(p, "b") * (double)tw_problem_int(p, "rows") * (double)tw_problem_int(p, "cols");
  if (elements > 0x1p40)
    return tw_fail(error, TW_USAGE, "unsupported size: %.3g elements; expected at most 1.1e12", elements);
  return TW_OK;
}

static size_t operands(const tw_problem *p, tw_operand out[TW_OPERANDS_MAX]) {
  const int64_t b = tw_problem_int(p, "b"), rows = tw_problem_int(p, "rows"), columns = tw_problem_int(p, "cols");
  out[X] = tw_operand_dense("x", tw_problem_type(p, "a"), 3, (int64_t[]){b, rows, columns});
  out[Y] = tw_operand_dense("y", tw_problem_type(p, "a"), 3, (int64_t[]){b, columns, rows});
  out[Y].is_output = true;
  return Y + 1;
}

static void inputs(const tw_problem *p, uint64_t seed, void *const buffers[]) {
  tw_operand o[TW_OPERANDS_MAX];
  operands(p, o);
  tw_fill_uniform(seed, X, &o[X], 1, buffers[X]);
}

typedef struct job {
  const void *x;
  tw_type type;
  int64_t rows, columns;
} job;

static bool make_row(const void *context, int64_t row, int64_t first, int64_t count, double *value, double *bound) {
  const job *j = context;
  const int64_t batch = row / j->columns, column = row % j->columns;
  for (int64_t i = 0; i < count; i++) {
    value[i] = tw_element(j->type, j->x, (batch * j->rows + first + i) * j->columns + column);
    bound[i] = 0;
  }
  return true;
}

static tw_status exact(const tw_problem *p, void *const buffers[], size_t operand, size_t n, const tw_place place[],
                       double value[], double bound[], int threads, tw_error *error) {
  (void)operand;
  const job j = {buffers[X], tw_problem_type(p, "a"), tw_problem_int(p, "rows"), tw_problem_int(p, "cols")};
  return tw_exact_runs(make_row, &j, n, place, value, bound, threads, error);
}

static void exact_cost(const tw_problem *p, size_t operand, double *element, double *row) {
  (void)operand;
  *element = 1;
  *row = (double)tw_problem_int(p, "rows");
}

static double operations(const tw_problem *p) {
  (void)p;
  return 0;
}

const tw_op tw_op_transpose = {TW_EXACT_OP("transpose", "transposes of a batch of matrices"), .validate = validate};
