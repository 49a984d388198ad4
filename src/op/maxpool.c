/* maxpool.c - maxima over windows that move by one element.
 *
 *   y[n][i][j] = max over r, s < pool of x[n][i + r][j + s]
 *
 * The C parameters of a kernel are x [n][h][w], y [n][h - pool + 1][w - pool + 1], dense, both of type a. */
#include <math.h>

#include "op/element.h"
#include "op/exact.h"
#include "op/inputs.h"
#include "op/numerics.h"
#include "op/ops.h"

enum { X, Y };

static const tw_key keys[] = {
    {.name = "n", .kind = TW_KEY_INT, .fallback = "1", .min = 1, .max = 1 << 20, .help = "images"},
    {.name = "h", .kind = TW_KEY_INT, .min = 1, .max = 1 << 20, .example = 448, .help = "rows of an image"},
    {.name = "w", .kind = TW_KEY_INT, .min = 1, .max = 1 << 20, .example = 448, .help = "columns of an image"},
    {.name = "pool", .kind = TW_KEY_INT, .min = 1, .max = 64, .example = 3, .help = "rows and columns of a window"},
    {.name = "a", .kind = TW_KEY_TYPE, .fallback = "", .help = "element type: f32, f16 or bf16"},
};

static tw_status validate(const tw_problem *p, tw_error *error) {
  const tw_type a = tw_problem_type(p, "a");
  const int64_t pool = tw_problem_int(p, "pool"), h = tw_problem_int(p, "h"), w = tw_problem_int(p, "w");
  if (!tw_is_real(a))
    return tw_fail(error, TW_UNSUPPORTED, "unsupported a=%s; expected f32, f16 or bf16", tw_type_name(a));
  if (pool > h || pool > w)
    return tw_fail(error, TW_USAGE, "unsupported pool=%lld; expected at most h=%lld and w=%lld", (long long)pool,
                   (long long)h, (long long)w);
  if ((double)tw_problem_int(p, "n") * (double)h * (double)w > 0x1p40)
    return tw_fail(error, TW_USAGE, "unsupported size; expected n h w of at most 1.1e12");
  return TW_OK;
}

static size_t operands(const tw_problem *p, tw_operand out[TW_OPERANDS_MAX]) {
  const int64_t n = tw_problem_int(p, "n"), h = tw_problem_int(p, "h"), w = tw_problem_int(p, "w"),
                less = tw_problem_int(p, "pool") - 1;
  out[X] = tw_operand_dense("x", tw_problem_type(p, "a"), 3, (int64_t[]){n, h, w});
  out[Y] = tw_operand_dense("y", tw_problem_type(p, "a"), 3, (int64_t[]){n, h - less, w - less});
  out[Y].is_output = true;
  return Y + 1;
}

/* Images have values around -1, 0 or 1: maxima that begin at 0 show. */
static tw_row_spread spread(uint64_t seed, int64_t row) {
  return (tw_row_spread){.middle = (double)((seed + (uint64_t)row) % 3) - 1, .amplitude = 1};
}

static void inputs(const tw_problem *p, uint64_t seed, void *const buffers[]) {
  tw_operand o[TW_OPERANDS_MAX];
  operands(p, o);
  tw_operand bands = o[X], rest = o[X]; /* a band's rows share a mean, so that windows can be negative throughout */
  const int64_t h = o[X].dims[1], w = o[X].dims[2], pool = tw_problem_int(p, "pool"), whole = h / pool * pool;
  bands.dims[1] = h / pool;
  bands.dims[2] = bands.stride[1] = pool * w;
  rest.dims[1] = h - whole; /* no whole band */
  tw_fill_rows(seed, X, &bands, spread, buffers[X]);
  if (rest.dims[1])
    tw_fill_rows(~seed, X, &rest, spread, (char *)buffers[X] + whole * w * (tw_type_bits(o[X].type) / 8));
}

typedef struct job {
  const void *x;
  tw_type type;
  int64_t h, w, pool;
} job;

static bool make_row(const void *context, int64_t row, int64_t first, int64_t count, double *value, double *bound) {
  const job *j = context;
  const int64_t rows = j->h - j->pool + 1, image = row / rows, top = row % rows;
  for (int64_t i = 0; i < count; i++) {
    double most = -INFINITY;
    for (int64_t r = 0; r < j->pool; r++)
      for (int64_t s = 0; s < j->pool; s++)
        most = fmax(most, tw_element(j->type, j->x, (image * j->h + top + r) * j->w + first + i + s));
    value[i] = most;
    bound[i] = 0;
  }
  return true;
}

static tw_status exact(const tw_problem *p, void *const buffers[], size_t operand, size_t n, const tw_place place[],
                       double value[], double bound[], int threads, tw_error *error) {
  (void)operand;
  const job j = {buffers[X], tw_problem_type(p, "a"), tw_problem_int(p, "h"), tw_problem_int(p, "w"),
                 tw_problem_int(p, "pool")};
  return tw_exact_rows(make_row, &j, n, place, value, bound, threads, error);
}

static void exact_cost(const tw_problem *p, size_t operand, double *element, double *row) {
  const double pool = (double)tw_problem_int(p, "pool");
  (void)operand;
  *element = pool * pool;
  *row = pool * pool * (double)tw_problem_int(p, "w");
}

/* Comparisons by rows, then by columns. */
static double operations(const tw_problem *p) {
  const double pool = (double)tw_problem_int(p, "pool");
  return (pool - 1) * (double)tw_problem_int(p, "n") * (double)tw_problem_int(p, "h") * (double)tw_problem_int(p, "w");
}

const tw_op tw_op_maxpool = {
    .name = "maxpool",
    .summary = "maxima over windows that move by one element",
    .keys = keys,
    .n_keys = sizeof keys / sizeof *keys,
    .validate = validate,
    .operands = operands,
    .inputs = inputs,
    .reference = tw_exact_reference,
    .compare = tw_exact_compare,
    .operations = operations,
    .bytes = tw_operands_once,
    .exact = exact,
    .exact_cost = exact_cost,
};
