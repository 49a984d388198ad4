/* reduce.c - one result for each line of a tensor along its middle dimension.
 *
 *   y[o][i] = f over j of t(x[o][j][i])          x [outer][n][inner], y [outer][inner]
 *
 *   sum, mean, norm (the root of the sum of squares), max, min; argmax, argmin: the first j of such an element, as i32.
 *   t, for sum and mean: x, abs, square; of x and a second input z of its shape: squared_difference (x - z)^2,
 *   smooth_l1: d^2 / 2 where d = |x - z| is below 1, else d - 1/2; hinge: max(0, 1 - x z). shared=1: z is [n][inner].
 *
 * The C parameters of a kernel are x, [z,] y, dense, of type a; sums are in binary32. */
#include "op/reduce.h"

#include <math.h>
#include <stdlib.h>

#include "base/random.h"
#include "base/strings.h"
#include "op/element.h"
#include "op/exact.h"
#include "op/inputs.h"
#include "op/numerics.h"
#include "op/ops.h"

#define NAME(value, name) name,
#define CHOICE(value, name) "|" name
static const char *const functions[] = {TW_REDUCE_LIST(NAME)}, *const terms[] = {TW_REDUCE_OF_LIST(NAME)};

static const tw_key keys[] = {
    TW_SIZE_KEY("outer", 1 << 30, 16, "size before the dimension"),
    TW_SIZE_KEY("n", 1 << 30, 4096, "size of the dimension"),
    {.name = "inner",
     .kind = TW_KEY_INT,
     .min = 1,
     .max = 1 << 30,
     .example = 1024,
     .fallback = "1",
     .help = "size after the dimension"},
    TW_CHOICE_KEY("f", "sum", &(TW_REDUCE_LIST(CHOICE))[1], "the function of the terms"),
    TW_CHOICE_KEY("of", "x", &(TW_REDUCE_OF_LIST(CHOICE))[1], "the terms of a sum or mean"),
    TW_FLAG_KEY("shared", "one z of n x inner for all x"),
    TW_TYPE_KEY("a", "", "element type of operands: f32, f16 or bf16"),
};

tw_reduce tw_reduce_of(const tw_problem *p) {
  return (tw_reduce){.outer = tw_problem_int(p, "outer"),
                     .n = tw_problem_int(p, "n"),
                     .inner = tw_problem_int(p, "inner"),
                     .function = (tw_reduce_function)tw_problem_int(p, "f"),
                     .term = (tw_reduce_term)tw_problem_int(p, "of"),
                     .type = tw_problem_type(p, "a"),
                     .shared = tw_problem_int(p, "shared")};
}
const char *tw_reduce_term_name(tw_reduce_term t) { return terms[t]; }

static tw_status validate(const tw_problem *p, tw_error *error) {
  const tw_reduce r = tw_reduce_of(p);
  if (tw_expect_real(p, error) != TW_OK) return TW_UNSUPPORTED;
  if ((double)r.outer * (double)r.n * (double)r.inner > 0x1p40)
    return tw_fail(error, TW_USAGE, "outer times n times inner must be at most 2^40; choose smaller ones");
  if (r.term != TW_REDUCE_OF_X && r.function > TW_REDUCE_MEAN)
    return tw_fail(error, TW_USAGE, "of=%s requires f=sum or f=mean (found f=%s)", terms[r.term],
                   functions[r.function]);
  if (r.shared && !tw_reduce_has_pairs(&r))
    return tw_fail(error, TW_USAGE, "shared=1 requires terms of x and z (found of=%s)", terms[r.term]);
  return TW_OK;
}

static size_t operands(const tw_problem *p, tw_operand out[TW_OPERANDS_MAX]) {
  const tw_reduce r = tw_reduce_of(p);
  const int64_t all[] = {r.outer, r.n, r.inner}, more[] = {r.shared ? 1 : r.outer, r.n, r.inner},
                results[] = {r.outer, r.inner};
  size_t n = 0;
  out[n++] = tw_operand_dense("x", r.type, 3, all);
  if (tw_reduce_has_pairs(&r)) out[n++] = tw_operand_dense("z", r.type, 3, more);
  out[n] = tw_operand_dense("y", tw_reduce_finds(&r) ? TW_I32 : r.type, 2, results);
  out[n++].is_output = true;
  return n;
}

/* ---- inputs ---- */

/* Of every four lines one has no element above 0, and one none below 0: a maximum or minimum that begins with 0 shows. Half of
 * these lines are far from 0, within f16: a minimum that begins with 10,000, or a maximum with -10,000, shows.
 * In every third line the extreme element is there twice, so that the first one must be found. */
static void choose_extremes(const tw_reduce *r, uint64_t seed, void *x) {
  const bool least = r->function == TW_REDUCE_MIN || r->function == TW_REDUCE_ARGMIN;
  for (int64_t o = 0; o < r->outer; o++)
    for (int64_t i = 0; i < r->inner; i++) {
      const int64_t line = o * r->inner + i, at = o * r->n * r->inner + i;
      const bool far = line % 8 == 4 || line % 8 == 5, negative = line % 4 == 0;
      for (int64_t j = 0; line % 4 < 2 && j < r->n; j++) {
        const double small = fabs(tw_element(r->type, x, at + j * r->inner)), size = far ? 16384 + 4096 * small : small;
        tw_set_element(r->type, x, at + j * r->inner, negative ? -size : size);
      }
      tw_random random;
      tw_random_seed_stream(&random, seed, ((uint64_t)1 << 60) + (uint64_t)line);
      if (r->n < 2 || line % 3) continue;
      const double most = far ? 24576 : 2, nearest = far ? 12000 : 0x1p-20;
      const double extreme = least ? (line % 4 == 1 ? nearest : -most) : negative ? -nearest : most;
      for (int twice = 0; twice < 2; twice++)
        tw_set_element(r->type, x, at + (int64_t)tw_random_below(&random, (uint64_t)r->n) * r->inner, extreme);
    }
}

static void inputs(const tw_problem *p, uint64_t seed, void *const buffers[]) {
  const tw_reduce r = tw_reduce_of(p);
  tw_operand o[TW_OPERANDS_MAX];
  const size_t n = operands(p, o);
  for (size_t i = 0; i + 1 < n; i++)
    tw_fill_rows(seed, (int)i, &o[i], i == 0 && r.term == TW_REDUCE_OF_HINGE ? tw_spread_to_bends : tw_spread_by_row,
                 buffers[i]);
  tw_zero_a_row(seed, 0, &o[0], buffers[0]);
  if (tw_reduce_chooses(&r)) choose_extremes(&r, seed, buffers[0]);
}

/* ---- results and their bounds ---- */

typedef struct job {
  tw_reduce r;
  const void *x, *z;
} job;

/* What a line amounts to so far. */
typedef struct line {
  double sum, size, squares, off; /* of the terms; off: the sum of their own errors */
  double best;
  int64_t place;
} line;

static double term_of(const job *j, int64_t at, double *off) {
  const int64_t z_at = j->r.shared ? at % (j->r.n * j->r.inner) : at;
  const double x = tw_element(j->r.type, j->x, at), z = j->z ? tw_element(j->r.type, j->z, z_at) : 0, d = fabs(x - z);
  *off = 0;
  if (j->r.function == TW_REDUCE_NORM || j->r.term == TW_REDUCE_OF_SQUARE) {
    *off = TW_U32 * x * x;
    return x * x;
  }
  switch (j->r.term) {
  case TW_REDUCE_OF_ABS: return fabs(x);
  case TW_REDUCE_OF_SQUARED_DIFFERENCE: *off = 3 * TW_U32 * d * d; return d * d;
  case TW_REDUCE_OF_SMOOTH_L1: *off = 4 * TW_U32 * fmax(d * d, d); return d < 1 ? d * d / 2 : d - 0.5;
  case TW_REDUCE_OF_HINGE: *off = 2 * TW_U32 * (1 + fabs(x * z)); return fmax(0, 1 - x * z);
  default: return x;
  }
}

static void add_term(const job *j, line *l, int64_t place, double t, double off) {
  l->sum += t;
  l->size += fabs(t);
  l->squares += t * t;
  l->off += off;
  const bool least = j->r.function == TW_REDUCE_MIN || j->r.function == TW_REDUCE_ARGMIN;
  if (place && !(least ? t < l->best : t > l->best)) return;
  l->best = t;
  l->place = place;
}

/* Terms that all have one sign are no walk: their sum has the classical bound (numerics.h). */
static void finish(const job *j, const line *l, double *value, double *bound) {
  const tw_reduce *r = &j->r;
  const double n = (double)r->n, steps = tw_sum_steps(n) * l->size;
  const bool walks = r->term == TW_REDUCE_OF_X && r->function != TW_REDUCE_NORM;
  const double off = l->off + TW_U32 * (walks ? fmin(steps, tw_walk_steps(n) * sqrt(l->squares)) : steps);
  switch (r->function) {
  case TW_REDUCE_SUM:
    *value = l->sum;
    *bound = off;
    break;
  case TW_REDUCE_MEAN:
    *value = l->sum / n;
    *bound = off / n + 2 * TW_U32 * fabs(*value);
    break;
  case TW_REDUCE_NORM:
    *value = sqrt(l->sum);
    *bound = (l->sum > 0 ? off / l->sum / 2 + 4 * TW_U32 : 0) * *value;
    break;
  case TW_REDUCE_MAX:
  case TW_REDUCE_MIN:
    *value = l->best;
    *bound = 0;
    return;
  default:
    *value = (double)l->place;
    *bound = 0;
    return;
  }
  *bound = tw_store_error(r->type, *value, *bound + tw_least_real(TW_F32));
}

/* The lines of a row of results advance together: they are neighbours in memory. */
static bool make_row(const void *context, int64_t row, int64_t first, int64_t count, double *value, double *bound) {
  const job *j = context;
  line *l = calloc((size_t)count, sizeof *l);
  if (!l) return false;
  for (int64_t place = 0; place < j->r.n; place++)
    for (int64_t i = 0; i < count; i++) {
      double off;
      const double t = term_of(j, (row * j->r.n + place) * j->r.inner + first + i, &off);
      add_term(j, &l[i], place, t, off);
    }
  for (int64_t i = 0; i < count; i++) finish(j, &l[i], &value[i], &bound[i]);
  free(l);
  return true;
}

static tw_status exact(const tw_problem *p, void *const buffers[], size_t operand, size_t n, const tw_place place[],
                       double value[], double bound[], int threads, tw_error *error) {
  (void)operand;
  const tw_reduce r = tw_reduce_of(p);
  const job j = {r, buffers[0], tw_reduce_has_pairs(&r) ? buffers[1] : NULL};
  return tw_exact_rows(make_row, &j, n, place, value, bound, threads, error);
}

static void exact_cost(const tw_problem *p, size_t operand, double *element, double *row) {
  (void)operand;
  const tw_reduce r = tw_reduce_of(p);
  *element = 8 * (double)r.n;
  *row = *element * (double)r.inner;
}

/* An addition or comparison for each element. */
static double operations(const tw_problem *p) {
  const tw_reduce r = tw_reduce_of(p);
  return 0.5 * (double)r.outer * (double)r.n * (double)r.inner;
}

const tw_op tw_op_reduce = {TW_EXACT_OP("reduce", "sums, means, norms, extremes and their places along a dimension"),
                            .validate = validate};
