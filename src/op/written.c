/* written.c - the comparison of a run that computed only a part of the outputs (tw_compare_written). */
#include <stdlib.h>
#include <string.h>

#include "base/strings.h"
#include "op/exact.h"
#include "op/sample.h"

/* Multiply-adds of the host for each output, and elements. */
static const double BUDGET = 1e8;
enum { LEAST = 256, MOST = 2048 };

/* The first element at or after `i` of all of an operand's memory that is not poison; `end`: none. */
static int64_t next_written(const unsigned char *data, size_t size, int64_t i, int64_t end) {
  const uint64_t poison = UINT64_MAX / 255 * TW_POISON;
  const int64_t step = (int64_t)(sizeof poison / size);
  uint64_t word;
  while (i + step <= end && (memcpy(&word, data + (size_t)i * size, sizeof word), word == poison)) i += step;
  while (i < end && (word = poison, memcpy(&word, data + (size_t)i * size, size), word == poison)) i++;
  return i;
}

/* The element at a place of memory; false between elements. */
static bool element_at(const tw_operand *o, int64_t at, tw_place *out) {
  int64_t index[TW_RANK_MAX] = {0};
  bool seen[TW_RANK_MAX] = {false};
  for (int n = 0; n < o->rank; n++) {
    int next = 0;
    while (seen[next]) next++;
    for (int d = next + 1; d < o->rank; d++)
      if (!seen[d] && o->stride[d] > o->stride[next]) next = d;
    seen[next] = true;
    if (o->dims[next] == 1) continue;
    index[next] = at / o->stride[next];
    at %= o->stride[next];
    if (index[next] >= o->dims[next]) return false;
  }
  *out = (tw_place){0, index[o->rank - 1]};
  for (int d = 0; d < o->rank - 1; d++) out->row = out->row * o->dims[d] + index[d];
  return at == 0;
}

/* One written element of each of `n` equal parts of all that were written; malloc'ed, in order. They are found in the
 * order of memory, which need not be the order of elements. */
static tw_place *choose(const tw_operand *o, const void *actual, tw_random *r, double wanted, size_t *n) {
  const size_t size = (size_t)tw_type_bits(o->type) / 8;
  const int64_t end = (int64_t)(o->bytes / size);
  tw_place element;
  int64_t written = 0, seen = 0;
  for (int64_t i = 0; (i = next_written(actual, size, i, end)) < end; i++) written += element_at(o, i, &element);
  const int64_t parts = tw_limited(wanted, written < LEAST ? written : LEAST, written < MOST ? written : MOST);
  tw_place *place = tw_new((size_t)parts + 1, sizeof *place);
  *n = 0;
  int64_t next = parts ? tw_sample_part(r, written, 0, parts) : 0;
  for (int64_t i = 0; place && (int64_t)*n < parts && (i = next_written(actual, size, i, end)) < end; i++) {
    if (!element_at(o, i, &element) || seen++ != next) continue;
    place[(*n)++] = element;
    if ((int64_t)*n < parts) next = tw_sample_part(r, written, (int64_t)*n, parts);
  }
  if (place) qsort(place, *n, sizeof *place, tw_place_order);
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
    return tw_fail(error, TW_MISSING, "a value of '%s' may equal the poison that marks unwritten elements", o->name);
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
