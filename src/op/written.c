/* written.c - the comparison of a run that computed only a part of the outputs (tw_compare_written). */
#include <stdlib.h>

#include "base/strings.h"
#include "op/exact.h"
#include "op/sample.h"

/* Multiply-adds of the host for each output, and elements. */
static const double BUDGET = 1e8;
enum { LEAST = 256, MOST = 2048 };

static bool is_written(const tw_operand *o, const void *actual, int64_t i) {
  const int64_t columns = tw_operand_columns(o);
  return !tw_is_poison(o, actual, i / columns, i % columns);
}

/* One written element of each of `n` equal parts of all that were written; malloc'ed, in order. */
static tw_place *choose(const tw_operand *o, const void *actual, tw_random *r, double wanted, size_t *n) {
  const int64_t columns = tw_operand_columns(o), elements = tw_operand_rows(o) * columns;
  int64_t written = 0, seen = 0;
  for (int64_t i = 0; i < elements; i++) written += is_written(o, actual, i);
  const int64_t parts = tw_limited(wanted, written < LEAST ? written : LEAST, written < MOST ? written : MOST);
  tw_place *place = tw_new((size_t)parts + 1, sizeof *place);
  *n = 0;
  int64_t next = parts ? tw_sample_part(r, written, 0, parts) : 0;
  for (int64_t i = 0; place && i < elements && (int64_t)*n < parts; i++) {
    if (!is_written(o, actual, i) || seen++ != next) continue;
    place[(*n)++] = (tw_place){i / columns, i % columns};
    if ((int64_t)*n < parts) next = tw_sample_part(r, written, (int64_t)*n, parts);
  }
  return place;
}

static tw_status compare(const tw_case *c, size_t output, const void *actual, tw_random *r, int threads,
                         size_t *compared, tw_error *error) {
  const tw_operand *o = &c->operand[output];
  double element, row;
  size_t n = 0;
  tw_mismatch found = {0};
  c->problem->op->exact_cost(c->problem, output, &element, &row);
  if (!tw_poison_tells(o->type))
    return tw_fail(error, TW_MISSING, "poison cannot be told from a value of '%s'", o->name);
  tw_place *place = choose(o, actual, r, BUDGET / element, &n);
  tw_status status = place ? TW_OK : tw_no_memory(error, "the comparison");
  if (status == TW_OK && n == 0) status = tw_fail(error, TW_MISSING, "no element of '%s' was written", o->name);
  if (status == TW_OK)
    status = tw_compare_places(c->problem, c->buffer, o, output, n, place, actual, threads, &found, error);
  if (status == TW_OK) status = tw_mismatch_status(o, &found, error);
  *compared += n;
  free(place);
  return status;
}

tw_status tw_compare_written(const tw_case *c, void *const actual[], uint64_t seed, int threads, size_t *compared,
                             tw_error *error) {
  tw_random r;
  tw_random_seed(&r, seed);
  *compared = 0;
  tw_status status = tw_compare_inputs(c->operand, c->n_operands, c->buffer, actual, error);
  for (size_t i = 0; i < c->n_operands && status == TW_OK; i++)
    if (c->operand[i].is_output) status = compare(c, i, actual[i], &r, threads, compared, error);
  return status;
}
