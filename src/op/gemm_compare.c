/* gemm_compare.c - is C the product? Integers exactly, the rest within gemm_numerics.c's tolerance. */
#include <math.h>
#include <stdlib.h>

#include "base/strings.h"
#include "op/exact.h"
#include "op/gemm_values.h"

/* For a row of op(A) or a column of op(B). */
typedef struct line {
  double norm, fourth, largest;     /* Euclidean norm; sum of fourth powers; magnitude */
  double balanced, balanced_fourth; /* norm and sum with the sizes of terms (tw_gemm_term_sizes) */
  double terms;                     /* number of elements that are not 0 */
  bool fraction;                    /* some elements are not small whole numbers */
} line;

/* NULL without memory. */
static line *lines_of(const tw_operand *o, const void *data, bool of_columns, const double *size, bool divided) {
  int64_t n = o->dims[of_columns ? 1 : 0];
  line *sum = tw_new((size_t)n, sizeof *sum);
  for (int64_t row = 0; sum && row < o->dims[0]; row++) {
    for (int64_t column = 0; column < o->dims[1]; column++) {
      double x = tw_operand_element(o, data, row, column);
      line *to = &sum[of_columns ? column : row];
      const double term = size[of_columns ? row : column], y = divided ? x / term : x * term;
      to->norm += x * x;
      to->terms += x != 0;
      to->balanced += y * y;
      to->balanced_fourth += y * y * y * y;
      to->fourth += x * x * x * x;
      to->largest = fmax(to->largest, fabs(x));
      to->fraction |= !tw_gemm_is_small(x);
    }
  }
  for (int64_t i = 0; sum && i < n; i++) {
    sum[i].norm = sqrt(sum[i].norm);
    sum[i].balanced = sqrt(sum[i].balanced);
  }
  return sum;
}

/* The elements of a row of op(A) that are not 0, if these are few. Then the other elements of op(B)'s columns do not
 * count, and norms of whole columns would hide an error. */
enum { FEW = 16 };
typedef struct few {
  int n;
  int64_t at[FEW];
  double value[FEW];
} few;

static few few_of(const tw_gemm *g, const tw_operand *o, const void *data, int64_t i, double terms) {
  few f = {0};
  for (int64_t p = 0; terms > 0 && terms <= FEW && p < g->k; p++) {
    const double x = g->a_transposed ? tw_operand_element(o, data, p, i) : tw_operand_element(o, data, i, p);
    if (x != 0 && f.n < FEW) f.at[f.n] = p, f.value[f.n++] = x;
  }
  return f;
}

static void take_few(const tw_gemm *g, const tw_operand *o, const void *data, const few *f, int64_t j,
                     tw_gemm_sizes *s) {
  tw_gemm_sizes own = {0};
  for (int t = 0; t < f->n; t++) {
    const int64_t p = f->at[t];
    tw_gemm_sizes_add(&own, f->value[t],
                      g->b_transposed ? tw_operand_element(o, data, j, p) : tw_operand_element(o, data, p, j));
  }
  tw_gemm_sizes_finish(&own);
  s->products = own.products;
  s->norm = own.norm;
}

/* Results of 16 bits whose sums are so exact that the nearest number is certain for at least seven of eight. A kernel that
 * cuts its results, or always rounds away from 0, misses half of them, within the tolerance of each. */
typedef struct nearest {
  size_t n, missed;
} nearest;

static void note_nearest(const tw_gemm *g, const tw_gemm_numerics *numerics, const tw_gemm_sizes *s, double off,
                         nearest *of) {
  int exponent;
  if (!(numerics->unit > 0) || fabs(s->value) < 0x1p-14) return; /* subnormal in f16 */
  frexp(s->value, &exponent);
  const double last_place = ldexp(numerics->unit, exponent); /* 2 u of the power of 2 below the value */
  if (16 * tw_gemm_off(g, numerics, s) > last_place) return;
  of->n++;
  of->missed += off != 0;
}

/* A kernel that misses half of all elements misses at most 3/8 of LEAST once in 10^8 runs. */
static tw_status nearest_status(const nearest *of, tw_error *error) {
  enum { LEAST = 512 };
  if (of->n < LEAST || of->missed <= of->n / 8 * 3) return TW_OK;
  return tw_fail(
      error, TW_FAILED,
      "wrong result: %zu of %zu elements are not the nearest number of C's type; round results, do not cut them",
      of->missed, of->n);
}

static tw_status compare_real(const tw_gemm *g, const tw_gemm_numerics *numerics, const tw_operand *o, size_t c,
                              void *const expected[], void *const actual[], tw_mismatch *found, nearest *of,
                              tw_error *error) {
  const tw_gemm_values values = tw_gemm_values_of(g, expected);
  double *size = tw_new(2 * (size_t)g->k, sizeof *size);
  if (!size) return tw_no_memory(error, "the comparison");
  tw_gemm_term_sizes(&values, size + g->k, size);
  line *rows = lines_of(&o[0], expected[0], g->a_transposed, size, false),
       *columns = lines_of(&o[1], expected[1], !g->b_transposed, size, true);
  free(size);
  tw_gemm_sizes s = {0};
  const size_t d = tw_gemm_d_index(g);
  const bool have_norms = rows && columns, tells = tw_poison_tells(o[c].type);
  for (int64_t i = 0; have_norms && i < g->m; i++) {
    const few f = few_of(g, &o[0], expected[0], i, rows[i].terms);
    for (int64_t j = 0; j < g->n; j++) {
      if (g->bias != TW_GEMM_BIAS_NONE)
        s.bias = tw_operand_element(&o[d], expected[d], g->bias == TW_GEMM_BIAS_FULL ? i : 0, j);
      s.row = rows[i].norm;
      s.largest = rows[i].largest;
      s.column = columns[j].norm;
      s.products = fmin(s.row * s.column, rows[i].balanced * columns[j].balanced);
      s.terms = fmin(rows[i].terms, columns[j].terms);
      s.whole = !rows[i].fraction && !columns[j].fraction;
      s.norm = fmin(tw_gemm_norm(rows[i].fourth, columns[j].fourth),
                    tw_gemm_norm(rows[i].balanced_fourth, columns[j].balanced_fourth));
      if (f.n) take_few(g, &o[1], expected[1], &f, j, &s);
      s.value = tw_operand_element(&o[c], expected[c], i, j);
      const double off = fabs(tw_operand_element(&o[c], actual[c], i, j) - s.value);
      const bool unwritten = tells && tw_is_poison(&o[c], actual[c], i, j) && !tw_is_poison(&o[c], expected[c], i, j);
      if (unwritten || !(off <= tw_gemm_tolerance(g, numerics, &s, true)))
        tw_note_element(found, &o[c], expected[c], actual[c], i, j);
      note_nearest(g, numerics, &s, off, of);
    }
  }
  free(rows);
  free(columns);
  return have_norms ? TW_OK : tw_no_memory(error, "the comparison");
}

tw_status tw_gemm_compare(const tw_problem *p, void *const expected[], void *const actual[], tw_error *error) {
  const tw_gemm g = tw_gemm_of(p);
  const tw_gemm_numerics numerics = tw_gemm_numerics_of(&g);
  tw_operand o[TW_OPERANDS_MAX];
  const size_t c = p->op->operands(p, o) - 1;
  tw_mismatch found = {0};
  nearest of = {0};
  tw_status status = tw_compare_inputs(o, c, expected, actual, error);
  if (status != TW_OK) return status;
  if (numerics.exact) {
    tw_compare_exact(&o[c], expected[c], actual[c], &found);
  } else {
    if (tw_gemm_by_element(&g)) return tw_exact_compare(p, expected, actual, error);
    status = compare_real(&g, &numerics, o, c, expected, actual, &found, &of, error);
    if (status != TW_OK) return status;
  }
  tw_compare_gaps(&o[c], actual[c], &found);
  status = tw_mismatch_status(&o[c], &found, error);
  return status == TW_OK ? nearest_status(&of, error) : status;
}
