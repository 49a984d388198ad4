/* gemm_survey.c - checks all of C in less time than computing it.
 *
 * R. Freivalds' check (1977), by segments: the columns of C are divided into segments of L. Each column gets a random
 * sign, drawn after the kernel ran. For each row and segment the signed sum of C's elements must be the row of A times
 * the signed sum of B's columns. This costs m k + k n / S + m n / S for each of S segments instead of m n k. The more
 * segments the budget allows, the sharper the test; S = n would be the whole product.
 *
 * The threshold. An element may be off by t_ij (gemm_numerics.c); with random signs the sum of L such errors is
 * below 8 sqrt(sum of t_ij^2) with probability above 1 - 3e-14 (Hoeffding). So even 2^30 sums raise no false alarm.
 * t_ij is the root mean square of an element's error (tw_gemm_signed_off), not its bound. One element is caught for
 * certain if its error exceeds 16 sqrt(L) times that, a few times more in segments of few columns; w such elements
 * in a segment are caught with the probability that a sum of w signs leaves that window. t_ij of a 16-bit C grows
 * with the element's size: it is estimated from the signed sums over the inputs, never from the kernel's output.
 *
 * It needs C to be linear in the sums, with the same factors in each row: so it is unavailable with relu, gelu or
 * rotary and for 8-bit and 16-bit integer C. */
#include <math.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/integers.h"
#include "base/parallel.h"
#include "base/per_cpu.h"
#include "base/random.h"
#include "base/strings.h"
#include "op/compare.h"
#include "op/element.h"
#include "op/gemm_values.h"
#include "op/numerics.h"

enum { LEAST_COLUMNS = 16, ROWS = 8, COLUMNS = 64 };

/* Sums over a part of op(B)'s columns, or a row of op(A): of squares, of balanced squares, of the roots of the fourth
 * powers' sums or of fourth powers; the largest magnitude; numbers that are not 0. */
typedef struct sums {
  double own, square, fourth, largest, terms;
} sums;

typedef struct job {
  tw_gemm_values v;
  const tw_operand *c_operand;
  const void *c;
  int64_t segments, parts; /* parts of each segment, for threads */
  double *sign;            /* n */
  double *product;         /* k x segments: op(B) times the signs */
  double *projected;       /* the same for each part: segments x parts x k */
  sums *of_parts;          /* segments x parts */
  double *term;            /* k: tw_gemm_term_sizes, by which norms are balanced */
  double *inverse;         /* k: 1 / term */
  double *size,
      *fourth;    /* per segment, balanced: sums of its columns' squared norms, and of the norms of their squares */
  double *column; /* per segment: the sum of its columns' squared norms without weights */
  double *expected, *off2; /* m x segments: rows of A times `product`, without scale; the square of its error bound */
  double *row_norm, *row_largest; /* m; the norm is balanced */
  double *row_own;                /* m: the norm without weights */
  double *row_fourth;             /* m: sums of fourth powers, balanced */
  double *row_terms;              /* m: elements that are not 0 */
  double spread;                  /* |element|^2 / (|row|^2 |column|^2), in the mean */
  tw_mismatch *of_rows;           /* for ROWS rows each */
  atomic_bool failed;
} job;

static int64_t begin_of(const job *j, int64_t segment) { return (int64_t)((__int128)j->v.g.n * segment / j->segments); }

/* Adds a column of op(B), with its sign, to `sum`. */
static TW_ALWAYS_INLINE void add_column_in(const double *restrict x, const double *restrict inverse, double sign,
                                           int64_t k, double *restrict sum, sums *out) {
  double own = 0, squares = 0, fourth = 0;
#pragma omp simd reduction(+ : own, squares, fourth)
  for (int64_t p = 0; p < k; p++) {
    const double balanced = x[p] * inverse[p], square = balanced * balanced;
    own += x[p] * x[p];
    sum[p] += sign * x[p];
    squares += square;
    fourth += square * square;
  }
  out->own += own;
  out->square += squares;
  out->fourth += sqrt(fourth);
}

TW_PER_CPU(add_column, (const double *x, const double *inverse, double sign, int64_t k, double *sum, sums *out),
           (x, inverse, sign, k, sum, out))

static TW_ALWAYS_INLINE void sums_of_row_in(const double *restrict x, const double *restrict term, int64_t k,
                                            sums *out) {
  double own = 0, squares = 0, fourth = 0, largest = 0, terms = 0;
#pragma omp simd reduction(+ : own, squares, fourth, terms) reduction(max : largest)
  for (int64_t p = 0; p < k; p++) {
    const double balanced = x[p] * term[p] * x[p] * term[p], magnitude = fabs(x[p]);
    own += x[p] * x[p];
    squares += balanced;
    fourth += balanced * balanced;
    terms += x[p] != 0 ? 1 : 0;
    largest = magnitude > largest ? magnitude : largest;
  }
  *out = (sums){.own = own, .square = squares, .fourth = fourth, .largest = largest, .terms = terms};
}

TW_PER_CPU(sums_of_row, (const double *x, const double *term, int64_t k, sums *out), (x, term, k, out))

/* to += x * from */
static TW_ALWAYS_INLINE void add_multiple_in(double x, const double *restrict from, int64_t n, double *restrict to) {
  for (int64_t i = 0; i < n; i++) to[i] += x * from[i];
}

TW_PER_CPU(add_multiple, (double x, const double *from, int64_t n, double *to), (x, from, n, to))

/* Part of the columns of a segment. */
static void project_b(void *context, size_t index) {
  job *j = context;
  const int64_t k = j->v.g.k, segment = (int64_t)index / j->parts, part = (int64_t)index % j->parts,
                begin = begin_of(j, segment), columns = begin_of(j, segment + 1) - begin,
                end = begin + columns * (part + 1) / j->parts;
  double *room = tw_new(COLUMNS * (size_t)k, sizeof *room);
  if (!room) {
    j->failed = true;
    return;
  }
  for (int64_t first = begin + columns * part / j->parts; first < end; first += COLUMNS) {
    const int64_t n = end - first < COLUMNS ? end - first : COLUMNS;
    tw_gemm_column_run(&j->v, first, n, room);
    for (int64_t c = 0; c < n; c++)
      add_column(room + c * k, j->inverse, j->sign[first + c], k, j->projected + (int64_t)index * k,
                 &j->of_parts[index]);
  }
  free(room);
}

static void join_parts(const job *j) {
  for (int64_t i = 0; i < j->segments * j->parts; i++) {
    const int64_t s = i / j->parts;
    for (int64_t p = 0; p < j->v.g.k; p++) j->product[p * j->segments + s] += j->projected[i * j->v.g.k + p];
    j->size[s] += j->of_parts[i].square;
    j->column[s] += j->of_parts[i].own;
    j->fourth[s] += j->of_parts[i].fourth;
  }
}

static void project_a(void *context, size_t index) {
  job *j = context;
  const int64_t k = j->v.g.k, s = j->segments, first = (int64_t)index * ROWS;
  const int64_t rows = j->v.g.m - first < ROWS ? j->v.g.m - first : ROWS;
  double *room = tw_new((size_t)(ROWS * k), sizeof *room);
  if (!room) {
    j->failed = true;
    return;
  }
  tw_gemm_row_run(&j->v, first, rows, room);
  for (int64_t r = 0; r < rows; r++) {
    sums of;
    sums_of_row(room + r * k, j->term, k, &of);
    j->row_norm[first + r] = sqrt(of.square);
    j->row_own[first + r] = sqrt(of.own);
    j->row_fourth[first + r] = of.fourth;
    j->row_largest[first + r] = of.largest;
    j->row_terms[first + r] = of.terms;
  }
  for (int64_t p = 0; p < k; p++)
    for (int64_t r = 0; r < rows; r++)
      add_multiple(room[r * k + p], j->product + p * s, s, j->expected + (first + r) * s);
  free(room);
}

/* The signed sums of a row have the row's own size, in the mean over signs. */
static double spread_of(const job *j) {
  double sum = 0, parts = 0;
  for (int64_t i = 0; i < j->v.g.m; i++)
    for (int64_t s = 0; s < j->segments; s++) {
      const double e = j->expected[i * j->segments + s];
      sum += e * e;
      parts += j->row_norm[i] * j->row_norm[i] * j->size[s];
    }
  return parts > 0 ? sum / parts : 0;
}

/* The error of the signed sum of a segment. The elements of 16 bits differ from the mean of all, but by at most a
 * factor of 8 in their mean square: they are sums of many products. */
static double threshold(const job *j, int64_t i, int64_t s, double biases) {
  const tw_gemm *g = &j->v.g;
  const double columns = (double)(begin_of(j, s + 1) - begin_of(j, s)), row = j->row_norm[i];
  const double element = sqrt(8 * j->spread * row * row * j->size[s] / columns) + sqrt(biases / columns);
  const tw_gemm_sizes sizes = {.products = row * sqrt(j->size[s] / columns),
                               .row = j->row_own[i],
                               .column = sqrt(j->column[s] / columns),
                               .norm = sqrt(sqrt(j->row_fourth[i]) * j->fourth[s] / columns),
                               .largest = j->row_largest[i],
                               .terms = j->row_terms[i],
                               .bias = sqrt(biases / columns),
                               .value = fabs((double)g->scale) * element};
  const double error_of_test =
      0x1p-50 * row * sqrt(j->size[s]) * sqrt((double)g->k); /* error of this test, in double */
  const double unit = j->v.numerics.exact ? 0 : fmax(j->v.numerics.unit, TW_U32) * sizes.value + j->v.numerics.least;
  return tw_gemm_signed_off(g, &j->v.numerics, &sizes, columns) + 8 * sqrt(columns) * unit + error_of_test;
}

static void check_rows(void *context, size_t index) {
  job *j = context;
  const tw_gemm *g = &j->v.g;
  double *c = tw_new((size_t)g->n, sizeof *c);
  if (!c) {
    j->failed = true;
    return;
  }
  for (int64_t i = (int64_t)index * ROWS; i < g->m && i < ((int64_t)index + 1) * ROWS; i++) {
    const tw_operand *o = j->c_operand;
    tw_element_row(o->type, j->c, tw_operand_row_at(o, i), o->stride[o->rank - 1], g->n, c);
    for (int64_t s = 0; s < j->segments; s++) {
      double got = 0, bias = 0, biases = 0;
      for (int64_t l = begin_of(j, s); l < begin_of(j, s + 1); l++) {
        const double d = j->v.d ? tw_gemm_bias_at(&j->v, i, l) : 0;
        got += j->sign[l] * c[l];
        bias += j->sign[l] * d;
        biases += d * d;
      }
      const double right = (double)g->scale * (j->expected[i * j->segments + s] + bias);
      if (fabs(got - right) <= threshold(j, i, s, biases)) continue;
      tw_mismatch *m = &j->of_rows[index];
      if (m->elements++ == 0) *m = (tw_mismatch){.elements = 1, .row = i, .column = s, .got = got, .expected = right};
    }
  }
  free(c);
}

static tw_status judged(const job *j, size_t pieces, tw_error *error) {
  tw_mismatch all = {0};
  for (size_t i = 0; i < pieces; i++) {
    const int64_t elements = all.elements + j->of_rows[i].elements;
    if (!all.elements) all = j->of_rows[i];
    all.elements = elements;
  }
  if (!all.elements) return TW_OK;
  return tw_fail(error, TW_FAILED,
                 "wrong result: row %lld of C, columns %lld to %lld: their sum with random signs is %.9g and should be "
                 "%.9g; %lld of %lld such sums are wrong",
                 (long long)all.row, (long long)begin_of(j, all.column), (long long)begin_of(j, all.column + 1) - 1,
                 all.got, all.expected, (long long)all.elements, (long long)(j->segments * j->v.g.m));
}

static bool make_room(job *j, size_t pieces) {
  const size_t m = (size_t)j->v.g.m, n = (size_t)j->v.g.n, k = (size_t)j->v.g.k, s = (size_t)j->segments;
  j->sign = tw_new(n, sizeof *j->sign);
  j->product = tw_new(k * s, sizeof *j->product);
  j->projected = tw_new(s * (size_t)j->parts * k, sizeof *j->projected);
  j->of_parts = tw_new(s * (size_t)j->parts, sizeof *j->of_parts);
  j->size = tw_new(s, sizeof *j->size);
  j->expected = tw_new(m * s, sizeof *j->expected);
  j->fourth = tw_new(s, sizeof *j->fourth);
  j->column = tw_new(s, sizeof *j->column);
  j->term = tw_new(2 * k, sizeof *j->term);
  j->inverse = j->term ? j->term + k : NULL;
  j->row_norm = tw_new(5 * m, sizeof *j->row_norm);
  j->of_rows = tw_new(pieces, sizeof *j->of_rows);
  if (j->row_norm) {
    j->row_largest = j->row_norm + m;
    j->row_fourth = j->row_largest + m;
    j->row_terms = j->row_fourth + m;
    j->row_own = j->row_terms + m;
  }
  return j->sign && j->product && j->projected && j->of_parts && j->size && j->fourth && j->column && j->term &&
         j->expected && j->row_norm && j->of_rows;
}

static void free_room(job *j) {
  free(j->sign);
  free(j->product);
  free(j->projected);
  free(j->of_parts);
  free(j->size);
  free(j->fourth);
  free(j->column);
  free(j->term);
  free(j->expected);
  free(j->row_norm);
  free(j->of_rows);
}

static bool is_linear(const tw_gemm *g) {
  return !g->relu && !g->gelu && !tw_gemm_pair_key(g) && g->c != TW_I8 && g->c != TW_I16;
}

tw_status tw_gemm_survey_values(const tw_gemm_values *v, const tw_operand *c, const void *data, const tw_effort *effort,
                                tw_coverage *out, tw_error *error) {
  const tw_gemm g = v->g;
  if (!is_linear(&g)) return TW_OK;
  job j = {.v = *v, .c_operand = c, .c = data};
  const double most = ceil((double)g.n / LEAST_COLUMNS), some = effort->budget / ((double)g.m * (double)g.k);
  j.segments = (int64_t)fmax(1, fmin(most, some));
  const int64_t threads = effort->threads > 0 ? effort->threads : tw_cores(), widest = tw_ceil_div(g.n, j.segments);
  j.parts = tw_ceil_div(threads, j.segments);
  if (j.parts > widest) j.parts = widest;
  const size_t pieces = (size_t)tw_ceil_div(g.m, ROWS);
  j.failed = !make_room(&j, pieces);
  if (!j.failed) {
    tw_random r;
    tw_random_seed(&r, effort->seed);
    for (int64_t i = 0; i < g.n; i++) j.sign[i] = tw_random_next(&r) >> 63 ? 1 : -1;
    tw_gemm_term_sizes(v, j.inverse, j.term);
    for (int64_t p = 0; p < g.k; p++) j.inverse[p] = 1 / j.term[p];
    tw_parallel_for(effort->threads, (size_t)(j.segments * j.parts), project_b, &j);
    join_parts(&j);
  }
  if (!j.failed) tw_parallel_for(effort->threads, pieces, project_a, &j);
  if (!j.failed) {
    j.spread = spread_of(&j);
    tw_parallel_for(effort->threads, pieces, check_rows, &j);
  }
  const tw_status status = j.failed ? tw_no_memory(error, "the comparison") : judged(&j, pieces, error);
  if (status == TW_OK)
    snprintf(out->survey, sizeof out->survey, "by sums with random signs of every %lld elements of each row",
             (long long)tw_ceil_div(g.n, j.segments));
  free_room(&j);
  return status;
}

tw_status tw_gemm_survey(const tw_problem *p, void *const buffers[], const tw_effort *effort, tw_coverage *out,
                         tw_error *error) {
  tw_operand o[TW_OPERANDS_MAX];
  const size_t c = p->op->operands(p, o) - 1;
  const tw_gemm g = tw_gemm_of(p);
  const tw_gemm_values v = tw_gemm_values_of(&g, buffers);
  return tw_gemm_survey_values(&v, &o[c], buffers[c], effort, out, error);
}
