/* check.c - checks results of any size (tw_case_check).
 *
 * Outputs of a GPU's problem have up to 2^30 elements, and an element may cost 10^5 multiply-adds. So a budget is
 * shared between the outputs in proportion to the cost of their exact values. Where it suffices for all of an output,
 * every element is compared with its exact value. Otherwise:
 *
 *   sample   The output is divided into as many equal blocks as elements (or rows, where a row costs little more than
 *            one of its elements) can be computed; in each block one is chosen at random, after the kernel ran. A wrong
 *            block is caught for certain; for wrong elements that are a fraction f of the output, the probability that none of n
 *            samples is wrong is below (1 - f)^n.
 *   sight    Every element is tested: one that still holds poison, is infinite or is not a number is wrong. (The
 *            inputs are such that every right element is finite.)
 *   survey   The op's own test in which every element takes part, where it has one. */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/random.h>

#include "base/integers.h"
#include "base/parallel.h"
#include "base/random.h"
#include "base/strings.h"
#include "op/element.h"
#include "op/exact.h"
#include "op/numerics.h"
#include "op/sample.h"

static const double BUDGET = 1e10;
enum { LEAST = 64, PLACES_MAX = 1 << 22, PLACES_AT_ONCE = 1 << 19, SIGHT_ROWS = 64 };

typedef struct output {
  size_t index; /* among the operands */
  const tw_operand *o;
  int64_t rows, columns;
  double element, row; /* cost of each */
  double budget;
} output;

typedef struct check {
  const tw_case *data;
  void *const *actual;
  tw_random *random;
  int threads;
  tw_coverage *out;
} check;

static double cost_of(const output *u) { return u->row * (double)u->rows; }

/* ---- a sample ---- */

static tw_status compare(const check *c, const output *u, size_t n, const tw_place *place, tw_mismatch *found,
                         tw_error *error) {
  c->out->exact += (double)n;
  return tw_compare_places(c->data->problem, c->data->buffer, u->o, u->index, n, place, c->actual[u->index], c->threads,
                           found, error);
}

/* Compares one whole row of each of `n` blocks of rows, as many rows at a time as memory allows. */
static tw_status compare_rows(const check *c, const output *u, int64_t n, tw_mismatch *found, tw_error *error) {
  const int64_t most = tw_limited((double)PLACES_AT_ONCE / (double)u->columns, 1, n);
  tw_place *place = tw_new((size_t)(most * u->columns), sizeof *place);
  tw_status status = place ? TW_OK : tw_no_memory(error, "the comparison");
  for (int64_t i = 0; status == TW_OK && i < n;) {
    size_t at = 0;
    for (const int64_t end = i + most < n ? i + most : n; i < end; i++) {
      const int64_t row = tw_sample_part(c->random, u->rows, i, n);
      for (int64_t column = 0; column < u->columns; column++) place[at++] = (tw_place){row, column};
    }
    status = compare(c, u, at, place, found, error);
  }
  free(place);
  return status;
}

static tw_status compare_elements(const check *c, const output *u, double wanted, tw_mismatch *found, tw_error *error) {
  size_t n;
  tw_place *place = tw_sample_elements(c->random, u->rows, u->columns, wanted, &n);
  const tw_status status = place ? compare(c, u, n, place, found, error) : tw_no_memory(error, "the comparison");
  free(place);
  return status;
}

/* True if the elements of a row share most of their cost. */
static bool shares_rows(const output *u) { return u->row < u->element * (double)u->columns / 4; }

static tw_status compare_sample(const check *c, const output *u, tw_mismatch *found, tw_error *error) {
  if (shares_rows(u))
    return compare_rows(c, u, tw_limited(u->budget / u->row, u->rows < LEAST ? u->rows : LEAST, u->rows), found, error);
  return compare_elements(c, u, fmin(fmax(u->budget / u->element, LEAST), PLACES_MAX), found, error);
}

/* ---- sight ---- */

typedef struct sight {
  const output *u;
  const void *actual;
  tw_mismatch *of_piece;
} sight;

/* Are all elements of a row finite? The poison is not, in types where it tells. */
static bool is_finite(const output *u, const void *actual, int64_t row) {
  enum { PART = 256 };
  const tw_operand *o = u->o;
  const int64_t at = tw_operand_row_at(o, row), step = o->stride[o->rank - 1];
  double x[PART], sum = 0;
  for (int64_t first = 0; first < u->columns; first += PART) {
    const int64_t n = u->columns - first < PART ? u->columns - first : PART;
    tw_element_row(o->type, actual, at + first * step, step, n, x);
#pragma omp simd reduction(+ : sum)
    for (int64_t i = 0; i < n; i++) sum += x[i] * 0; /* NaN of what is not finite */
  }
  return sum == 0;
}

static void check_rows(void *context, size_t index) {
  const sight *s = context;
  const tw_operand *o = s->u->o;
  const bool real = tw_unit(o->type) > 0, tells = tw_poison_tells(o->type);
  tw_mismatch *found = &s->of_piece[index];
  for (int64_t row = (int64_t)index * SIGHT_ROWS; row < s->u->rows && row < ((int64_t)index + 1) * SIGHT_ROWS; row++) {
    if (real && tells && is_finite(s->u, s->actual, row)) continue;
    for (int64_t column = 0; real && column < s->u->columns; column++) {
      const double x = tw_operand_element(o, s->actual, row, column);
      const bool unwritten = tells && tw_is_poison(o, s->actual, row, column);
      if (isfinite(x) && !unwritten) continue;
      if (found->elements++ == 0) {
        found->row = row;
        found->column = column;
        found->got = x;
      }
      found->unwritten += unwritten;
    }
  }
}

static tw_status look_at_all(const output *u, const void *actual, int threads, tw_error *error) {
  const size_t pieces = (size_t)tw_ceil_div(u->rows, SIGHT_ROWS);
  sight s = {.u = u, .actual = actual, .of_piece = tw_new(pieces, sizeof *s.of_piece)};
  if (!s.of_piece) return tw_no_memory(error, "the comparison");
  tw_parallel_for(threads, pieces, check_rows, &s);
  tw_mismatch all = {0};
  for (size_t i = 0; i < pieces; i++) {
    const tw_mismatch *m = &s.of_piece[i];
    if (m->elements && !all.elements) all = (tw_mismatch){.row = m->row, .column = m->column, .got = m->got};
    all.elements += m->elements;
    all.unwritten += m->unwritten;
  }
  free(s.of_piece);
  if (!all.elements) return TW_OK;
  char place[128];
  tw_print_place(u->o, all.row, all.column, place, sizeof place);
  return tw_fail(error, TW_FAILED,
                 "wrong result: %s is %.9g; %lld of %.0f elements are not finite or were never written "
                 "(%lld)",
                 place, all.got, (long long)all.elements, (double)u->rows * (double)u->columns,
                 (long long)all.unwritten);
}

/* ---- all together ---- */

static tw_status check_output(const check *c, const output *u, tw_error *error) {
  const void *actual = c->actual[u->index];
  const bool all = cost_of(u) <= u->budget;
  tw_mismatch found = {0};
  tw_status status;
  if (all) {
    c->out->exact += (double)u->rows * (double)u->columns;
    status = tw_compare_output(c->data->problem, c->data->buffer, u->o, u->index, actual, c->threads, &found, error);
  } else {
    status = compare_sample(c, u, &found, error);
  }
  if (status == TW_OK) tw_compare_gaps(u->o, actual, &found);
  if (status == TW_OK) status = tw_mismatch_status(u->o, &found, error);
  if (status == TW_OK && !all) status = look_at_all(u, actual, c->threads, error);
  return status;
}

static uint64_t from_system(void) {
  uint64_t seed = 0;
  while (getrandom(&seed, sizeof seed, 0) < 0 && errno == EINTR) continue;
  return seed;
}

static size_t list_outputs(const tw_case *c, double budget, output out[TW_OPERANDS_MAX]) {
  size_t n = 0;
  double all = 0;
  for (size_t i = 0; i < c->n_operands; i++) {
    const tw_operand *o = &c->operand[i];
    if (!o->is_output) continue;
    output u = {.index = i, .o = o, .rows = tw_operand_rows(o), .columns = tw_operand_columns(o)};
    c->problem->op->exact_cost(c->problem, i, &u.element, &u.row);
    all += cost_of(&u);
    out[n++] = u;
  }
  for (size_t i = 0; i < n; i++) out[i].budget = budget * cost_of(&out[i]) / all;
  return n;
}

/* A survey reads every output of the op; the case may leave some out. */
static bool has_all_outputs(const tw_problem *p, size_t n) {
  tw_operand o[TW_OPERANDS_MAX];
  for (size_t i = p->op->operands(p, o); i-- > 0;) n -= o[i].is_output;
  return n == 0;
}

static void describe(tw_coverage *c) {
  if (c->exact >= c->elements) {
    snprintf(c->text, sizeof c->text, "every element");
    return;
  }
  snprintf(c->text, sizeof c->text,
           "sampled: %.0f of %.0f elements, chosen at random after the run; all were checked for being written and "
           "finite%s%s",
           c->exact, c->elements, *c->survey ? ", and " : "", c->survey);
}

tw_status tw_case_check(const tw_case *c, void *const actual[], const tw_effort *effort, tw_coverage *out,
                        tw_error *error) {
  const tw_op *op = c->problem->op;
  tw_effort e = *effort;
  if (!op->exact)
    return tw_fail(error, TW_USAGE, "%s does not define exact values of single elements; compute its whole reference",
                   op->name);
  if (!(e.budget > 0)) e.budget = BUDGET;
  if (!e.seed) e.seed = from_system();
  *out = (tw_coverage){0};
  tw_random r;
  tw_random_seed(&r, e.seed);
  output u[TW_OPERANDS_MAX];
  const size_t n = list_outputs(c, e.budget, u);
  tw_status status = tw_compare_inputs(c->operand, c->n_operands, c->buffer, actual, error);
  const check all = {.data = c, .actual = actual, .random = &r, .threads = e.threads, .out = out};
  for (size_t i = 0; status == TW_OK && i < n; i++) {
    out->elements += (double)u[i].rows * (double)u[i].columns;
    status = check_output(&all, &u[i], error);
  }
  e.seed = tw_random_next(&r);
  if (status == TW_OK && op->survey && out->exact < out->elements && has_all_outputs(c->problem, n))
    status = op->survey(c->problem, actual, &e, out, error);
  describe(out);
  return status;
}
