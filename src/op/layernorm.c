/* layernorm.c - dropout, residual sum and normalization of rows, fused as in a prenorm Transformer block.
 *
 *   r[i][j] = keep[i][j] x[i][j] / (1 - dropout) [+ residual[i][j]];
 *   y[i][j] = (r[i][j] - mean r[i]) / sqrt(variance r[i] + eps) weight[j] + bias[j]      norm=layer;
 *   y[i][j] = r[i][j] / sqrt(mean of r[i]^2 + eps) weight[j]                             norm=rms;
 *   y[i][j] = r[i][j] / (mean of |r[i]| + eps)                                           norm=abs, affine=0;
 *   y[i][j] = r[i][j] / sqrt(sum of r[i]^2 + eps)                                        norm=l2, affine=0.
 *
 * The mask keep[i][j] is 1 where word j % 4 of Philox4x32-10 (philox.h) with the counter (j / 4, i, 0, 0) and the key
 * (seed[0], seed[1]) is at least floor(dropout 2^32), else 0.
 *
 * The weight and bias of y[i][j] have the number i % groups * (cols / span) + j / span: one for each column with groups=1
 * span=1. In group normalization a row has all pixels of some channels, and `span` pixels share a weight. With affine=0 there
 * is neither weight nor bias.
 *
 * With quantize=e4m3, y[i][j] is the nearest e4m3 of the result divided by scales[i], the largest magnitude of the row's
 * results over 448, or 1 if all are 0: the operands of a product with scales=row.
 *
 * The C parameters of a kernel are dense.
 * Inputs: x [rows][cols], [residual [rows][cols],] [weight [groups cols / span],] [bias like weight,] [seed [2],].
 * Outputs: y [rows][cols], [scales [rows] of f32,] [sum [rows][cols]]. Residual and sum (the rows r) belong to
 * residual=1, bias to norm=layer, seed (of i32) to dropout > 0. All other operands have type a.
 *
 * With inner > 1, x and y are [rows][cols][inner] in memory: the elements of a vector are `inner` apart, as channels before
 * the pixels of an image. There are rows times inner vectors, and a weight for each column. */
#include "op/layernorm.h"

#include <math.h>
#include <stdlib.h>

#include "base/random.h"
#include "base/strings.h"
#include "op/element.h"
#include "op/exact.h"
#include "op/inputs.h"
#include "op/numerics.h"
#include "op/ops.h"
#include "op/philox.h"

static const tw_key keys[] = {
    TW_SIZE_KEY("rows", 1 << 30, 32768, "vectors"),
    TW_SIZE_KEY("cols", 1 << 24, 2048, "elements of a vector"),
    TW_REAL_KEY("dropout", "0", "fraction of x that becomes 0, from 0 to below 1"),
    TW_FLAG_KEY("residual", "add a second input; the sum is an output"),
    TW_CHOICE_KEY("norm", "layer", "layer|rms|abs|l2",
                  "layer or RMS normalization, or division by the mean magnitude or by the Euclidean norm"),
    TW_REAL_KEY("eps", "0.00001", "number added to the variance, square or magnitude; may be 0 with abs and l2"),
    {.name = "affine",
     .kind = TW_KEY_BOOL,
     .fallback = "1",
     .help = "multiply by weights, and add biases with norm=layer"},
    TW_INT_KEY("groups", "1", 1, 1 << 20,
               "rows that have weights of their own; row i has the weights of row i % groups"),
    TW_INT_KEY("span", "1", 1, 1 << 24, "neighbours in a row that share a weight"),
    TW_INT_KEY("inner", "1", 1, 1 << 30, "elements from one element of a vector to the next; x is rows x cols x inner"),
    TW_CHOICE_KEY("quantize", "none", "none|e4m3",
                  "type of y; e4m3: divided by a scale for each row, which is a second output"),
    TW_TYPE_KEY("a", "", "element type of every operand except seed and quantized results: f32, f16 or bf16"),
};

/* Operands by position; absent ones are -1. */
typedef struct layernorm {
  int64_t rows, columns, inner;
  int64_t groups, span;
  double dropout, eps;
  tw_norm norm;
  tw_type type;
  int x, residual, weight, bias, seed, y, scales, sum, n;
} layernorm;

static layernorm layernorm_of(const tw_problem *p) {
  layernorm l = {.rows = tw_problem_int(p, "rows"),
                 .columns = tw_problem_int(p, "cols"),
                 .inner = tw_problem_int(p, "inner"),
                 .groups = tw_problem_int(p, "groups"),
                 .span = tw_problem_int(p, "span"),
                 .dropout = tw_problem_real(p, "dropout"),
                 .eps = tw_problem_real(p, "eps"),
                 .norm = (tw_norm)tw_problem_int(p, "norm"),
                 .type = tw_problem_type(p, "a")};
  const bool residual = tw_problem_int(p, "residual");
  l.x = l.n++;
  l.residual = residual ? l.n++ : -1;
  const bool affine = tw_problem_int(p, "affine");
  l.weight = affine ? l.n++ : -1;
  l.bias = l.norm != TW_NORM_LAYER || !affine ? -1 : l.n++;
  l.seed = l.dropout > 0 ? l.n++ : -1;
  l.y = l.n++;
  l.scales = tw_problem_int(p, "quantize") ? l.n++ : -1;
  l.sum = residual ? l.n++ : -1;
  return l;
}

static tw_status validate(const tw_problem *p, tw_error *error) {
  const layernorm l = layernorm_of(p);
  if (tw_expect_real(p, error) != TW_OK) return TW_UNSUPPORTED;
  if (!(l.dropout >= 0 && l.dropout < 1))
    return tw_fail(error, TW_USAGE, "unsupported dropout=%g; expected at least 0 and below 1", l.dropout);
  if (!(l.eps < 1 && (l.eps > 0 || (l.eps == 0 && l.norm >= TW_NORM_ABS))))
    return tw_fail(error, TW_USAGE, "unsupported eps=%g; expected a number between 0 and 1, as in eps=0.00001", l.eps);
  if (l.norm >= TW_NORM_ABS && l.weight >= 0)
    return tw_fail(error, TW_USAGE, "norm=abs and norm=l2 have no weights; add affine=0");
  if (l.rows % l.groups)
    return tw_fail(error, TW_USAGE, "groups=%lld must divide rows=%lld", (long long)l.groups, (long long)l.rows);
  if (l.columns % l.span)
    return tw_fail(error, TW_USAGE, "span=%lld must divide cols=%lld", (long long)l.span, (long long)l.columns);
  if (l.inner > 1 && (l.groups > 1 || l.span > 1 || l.residual >= 0 || l.dropout > 0))
    return tw_fail(error, TW_USAGE,
                   "inner=%lld requires groups=1, span=1, residual=0 and dropout=0; remove these keys or inner",
                   (long long)l.inner);
  if (l.inner > 1 && l.scales >= 0) return tw_fail(error, TW_USAGE, "quantize=e4m3 requires inner=1; transpose x");
  if ((double)l.rows * (double)l.columns * (double)l.inner > 0x1p40)
    return tw_fail(error, TW_USAGE, "rows times cols times inner must be at most 2^40; choose smaller ones");
  if (l.weight < 0 && (l.groups > 1 || l.span > 1))
    return tw_fail(error, TW_USAGE,
                   "affine=0 has no weights, so it requires groups=1 and span=1 (found groups=%lld span=%lld)",
                   (long long)l.groups, (long long)l.span);
  return TW_OK;
}

/* Vectors are rows of the operand, for any `inner`. */
static tw_operand vectors(const char *name, const layernorm *l) {
  const int64_t all[] = {l->rows, l->columns}, apart[] = {l->rows, l->inner, l->columns};
  tw_operand o = tw_operand_dense(name, l->type, l->inner > 1 ? 3 : 2, l->inner > 1 ? apart : all);
  if (l->inner > 1) o.stride[1] = 1, o.stride[2] = l->inner;
  return o;
}

/* The element of x where a vector begins. */
static int64_t begin_of(const layernorm *l, int64_t row) {
  return row / l->inner * l->columns * l->inner + row % l->inner;
}

static size_t operands(const tw_problem *p, tw_operand out[TW_OPERANDS_MAX]) {
  const layernorm l = layernorm_of(p);
  const int64_t row[] = {l.groups * (l.columns / l.span)};
  out[l.x] = vectors("x", &l);
  if (l.weight >= 0) out[l.weight] = tw_operand_dense("weight", l.type, 1, row);
  if (l.bias >= 0) out[l.bias] = tw_operand_dense("bias", l.type, 1, row);
  if (l.seed >= 0) out[l.seed] = tw_operand_dense("seed", TW_I32, 1, (int64_t[]){2});
  out[l.y] = vectors("y", &l);
  if (l.scales >= 0) {
    out[l.y].type = TW_E4M3;
    out[l.scales] = tw_operand_dense("scales", TW_F32, 2, (int64_t[]){l.rows, 1});
    out[l.scales].is_output = true;
  }
  out[l.y].is_output = true;
  if (l.residual >= 0) {
    out[l.residual] = vectors("residual", &l);
    out[l.sum] = vectors("sum", &l);
    out[l.sum].is_output = true;
  }
  return (size_t)l.n;
}

/* Rows have different means, so that subtracting the mean matters, and one of eight is so small that eps matters. */
static tw_row_spread spread_of_row(uint64_t seed, int64_t row) {
  tw_random r;
  tw_random_seed_stream(&r, seed, (uint64_t)row);
  if (tw_random_below(&r, 8) == 0) return (tw_row_spread){.middle = 0, .amplitude = 0x1p-8};
  return (tw_row_spread){.middle = 2 * tw_random_real(&r) - 1, .amplitude = 2};
}

/* One element of every eighth row is far from all others: a kernel that limits its results shows. */
static double raised(double x, tw_random *r) {
  (void)x;
  return tw_random_below(r, 2) ? 64 : -64;
}

static void inputs(const tw_problem *p, uint64_t seed, void *const buffers[]) {
  const layernorm l = layernorm_of(p);
  tw_operand o[TW_OPERANDS_MAX];
  operands(p, o);
  tw_fill_rows(seed, l.x, &o[l.x], spread_of_row, buffers[l.x]);
  tw_fill_outliers(seed, 8, &o[l.x], raised, buffers[l.x]);
  if (l.weight >= 0) tw_fill_factors(seed, l.weight, &o[l.weight], buffers[l.weight]);
  if (l.residual >= 0) tw_fill_rows(seed, l.residual, &o[l.residual], spread_of_row, buffers[l.residual]);
  if (l.residual < 0 && l.eps > 0) tw_zero_a_row(seed, l.x, &o[l.x], buffers[l.x]);
  if (l.bias >= 0) tw_fill_uniform(seed, l.bias, &o[l.bias], 1, buffers[l.bias]);
  if (l.seed < 0) return;
  tw_random r;
  tw_random_seed_stream(&r, seed, (uint64_t)(l.seed + 8) << 32);
  for (int i = 0; i < 2; i++) ((uint32_t *)buffers[l.seed])[i] = (uint32_t)(tw_random_next(&r) >> 32);
}

typedef struct job {
  layernorm l;
  void *const *buffer;
  bool of_sum, of_scales; /* rows of the sum are wanted, or scales, not rows of y */
} job;

/* The largest finite e4m3; half of its relative and of its smallest step. */
static const double E4M3_LARGEST = 448, E4M3_UNIT = 0x1p-4, E4M3_LEAST = 0x1p-10;

static bool keeps(const job *j, int64_t row, int64_t column) {
  if (j->l.seed < 0) return true;
  const uint32_t *seed = j->buffer[j->l.seed];
  const tw_philox counter = {{(uint32_t)(column / 4), (uint32_t)row, 0, 0}};
  return tw_philox4x32(counter, seed[0], seed[1]).word[column % 4] >= (uint32_t)(j->l.dropout * 0x1p32);
}

/* r and its error in binary32: the factor, the product and the sum are rounded. The vector begins at `begin`. */
static void make_sum(const job *j, int64_t row, int64_t begin, int64_t column, double *r, double *off) {
  const layernorm *l = &j->l;
  const int64_t at = begin + column * l->inner;
  const double x = keeps(j, row, column) ? tw_element(l->type, j->buffer[l->x], at) / (1 - l->dropout) : 0;
  const double residual = l->residual >= 0 ? tw_element(l->type, j->buffer[l->residual], at) : 0;
  *r = x + residual;
  *off = l->dropout > 0 || l->residual >= 0 ? 3 * TW_U32 * (fabs(x) + fabs(residual)) : 0;
}

typedef struct moments {
  double mean, mean_off;    /* of r; error bound in binary32 */
  double divisor, relative; /* of r less the mean; error bound */
} moments;

/* The root of a mean or sum of squares, plus eps. */
static void set_root(const layernorm *l, double square, double off, moments *m) {
  m->divisor = sqrt(square + l->eps);
  m->relative = off / (square + l->eps) / 2;
}

/* Errors of the elements are independent. The error of a sum of n terms is the sum of the errors of its steps; the mean
 * square may also be a difference of squares, as a one-pass kernel computes the variance. */
static moments moments_of(const layernorm *l, const double *r, const double *off) {
  const double n = (double)l->columns, steps = (tw_sum_steps(n) + 2) * TW_U32;
  double sum = 0, size = 0, square = 0, offs = 0, off2 = 0;
  for (int64_t i = 0; i < l->columns; i++) {
    sum += r[i];
    size += fabs(r[i]);
    square += r[i] * r[i];
    offs += off[i];
    off2 += off[i] * off[i];
  }
  moments m = {.mean = l->norm == TW_NORM_LAYER ? sum / n : 0};
  double central = 0, turned = 0, turned2 = 0;
  for (int64_t i = 0; i < l->columns; i++) {
    const double c = r[i] - m.mean;
    central += c * c;
    turned += fabs(c) * off[i];
    turned2 += c * c * off[i] * off[i];
  }
  const double sum_off = tw_random_sum(offs, off2) + steps * size,
               square_off = 2 * tw_random_sum(turned, turned2) + off2 + 2 * steps * square;
  m.mean_off = l->norm == TW_NORM_LAYER ? sum_off / n : 0;
  if (l->norm == TW_NORM_L2) set_root(l, central, square_off, &m);
  if (l->norm < TW_NORM_ABS) set_root(l, central / n, square_off / n + m.mean_off * (m.mean_off + 2 * TW_U32), &m);
  if (l->norm == TW_NORM_ABS) {
    m.divisor = size / n + l->eps;
    m.relative = sum_off / n / m.divisor;
  }
  return m;
}

/* Results in binary32. y may be computed from the stored sum or from the exact one: the sum's rounding counts, if there
 * is a sum. Then the deviation, its reciprocal square root and the products are rounded: 8 u of z, 4 u of the result. */
static void finish(const job *j, const moments *m, const double *r, const double *off, int64_t row, int64_t first,
                   int64_t count, double *value, double *bound) {
  const layernorm *l = &j->l;
  for (int64_t i = 0; i < count; i++) {
    const int64_t at = row % l->groups * (l->columns / l->span) + (first + i) / l->span;
    const double weight = l->weight >= 0 ? tw_element(l->type, j->buffer[l->weight], at) : 1;
    const double bias = l->bias >= 0 ? tw_element(l->type, j->buffer[l->bias], at) : 0;
    const double z = (r[first + i] - m->mean) / m->divisor;
    const double z_off = (off[first + i] + m->mean_off) / m->divisor + fabs(z) * (m->relative + 8 * TW_U32);
    value[i] = z * weight + bias;
    bound[i] = fabs(weight) * z_off + 4 * TW_U32 * (fabs(z * weight) + fabs(bias)) + tw_least_real(TW_F32);
  }
}

/* The scale of a row's results, and its error. */
static void scale_of(const double *result, const double *off, int64_t columns, double *scale, double *scale_off) {
  double largest = 0, most = 0;
  for (int64_t i = 0; i < columns; i++) {
    largest = fmax(largest, fabs(result[i]));
    most = fmax(most, fabs(result[i]) + off[i]);
  }
  *scale = largest > 0 ? largest / E4M3_LARGEST : 1;
  *scale_off = largest > 0 ? (most - largest) / E4M3_LARGEST + 4 * TW_U32 * *scale : 0;
}

/* Rounds results to the type of y; `all` has the results of the whole row, if y is quantized. */
static void store(const layernorm *l, const double *all, const double *all_off, int64_t count, double *value,
                  double *bound) {
  double scale = 1, scale_off = 0;
  if (l->scales >= 0) scale_of(all, all_off, l->columns, &scale, &scale_off);
  for (int64_t i = 0; i < count; i++) {
    if (l->scales < 0) {
      bound[i] = tw_store_error(l->type, value[i], bound[i]);
      continue;
    }
    const double off = (bound[i] + fabs(value[i]) * (scale_off / scale + 4 * TW_U32)) / scale;
    value[i] /= scale;
    bound[i] = off + E4M3_UNIT * (fabs(value[i]) + off) + E4M3_LEAST;
  }
}

static bool make_row(const void *context, int64_t row, int64_t first, int64_t count, double *value, double *bound) {
  const job *j = context;
  const layernorm *l = &j->l;
  const int64_t begin = begin_of(l, row);
  if (j->of_sum) {
    for (int64_t i = 0; i < count; i++) {
      double off;
      make_sum(j, row, begin, first + i, &value[i], &off);
      bound[i] = tw_store_error(l->type, value[i], off);
    }
    return true;
  }
  double *r = tw_new(2 * (size_t)l->columns, sizeof *r);
  if (!r) return false;
  double *off = r + l->columns;
  for (int64_t i = 0; i < l->columns; i++) {
    make_sum(j, row, begin, i, &r[i], &off[i]);
    if (l->sum >= 0) off[i] = tw_store_error(l->type, r[i], off[i]);
  }
  const moments m = moments_of(l, r, off);
  if (!j->of_scales) finish(j, &m, r, off, row, first, count, value, bound);
  if (l->scales >= 0) finish(j, &m, r, off, row, 0, l->columns, r, off); /* in place: an element needs only itself */
  if (j->of_scales)
    scale_of(r, off, l->columns, value, bound);
  else
    store(l, r, off, count, value, bound);
  free(r);
  return true;
}

static tw_status exact(const tw_problem *p, void *const buffers[], size_t operand, size_t n, const tw_place place[],
                       double value[], double bound[], int threads, tw_error *error) {
  job j = {.l = layernorm_of(p), .buffer = buffers};
  j.of_sum = (int)operand == j.l.sum;
  j.of_scales = (int)operand == j.l.scales;
  return tw_exact_rows(make_row, &j, n, place, value, bound, threads, error);
}

static void exact_cost(const tw_problem *p, size_t operand, double *element, double *row) {
  const layernorm l = layernorm_of(p);
  const double each = l.seed >= 0 ? 40 : 16;
  *row = each * (double)l.columns;
  *element = (int)operand == l.sum ? each : *row;
}

/* Per element: mean and variance three additions and a product, normalization four; scaling and sum of a residual. */
static double operations(const tw_problem *p) {
  const layernorm l = layernorm_of(p);
  return ((l.norm == TW_NORM_LAYER ? 4 : 2) + (l.dropout > 0) / 2.0 + (l.residual >= 0) / 2.0) * (double)l.rows *
         (double)l.columns * (double)l.inner;
}

const tw_op tw_op_layernorm = {TW_EXACT_OP("layernorm", "dropout, residual sum and layer or RMS normalization of rows"),
                               .validate = validate};
