/* exact.c - see exact.h. Outputs of any size are processed in pieces of a bounded size. */
#include "op/exact.h"

#include <math.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "base/parallel.h"
#include "base/strings.h"
#include "op/element.h"
#include "op/numerics.h"

enum { PIECE = 1 << 19, PART = 1 << 12 }; /* elements of a piece; places in a part of a row that one thread computes */

/* ---- row by row ---- */

typedef struct rows {
  tw_row_function *function;
  const void *context;
  const tw_place *place;
  const size_t *begin; /* index of the first place of each part of a row; one entry more */
  double *value, *bound;
  atomic_bool failed;
} rows;

/* The row function is called for each run of adjacent places. */
static void make_runs(void *context, size_t index) {
  rows *r = context;
  for (size_t at = r->begin[index], end = r->begin[index + 1], n; at < end; at += n) {
    for (n = 1; at + n < end && r->place[at + n].column == r->place[at].column + (int64_t)n;) n++;
    if (!r->function(r->context, r->place[at].row, r->place[at].column, (int64_t)n, r->value + at, r->bound + at))
      r->failed = true;
  }
}

/* The row function is called once: it also computes the elements between places. */
static void make_row(void *context, size_t index) {
  rows *r = context;
  const size_t at = r->begin[index], n = r->begin[index + 1] - at;
  const int64_t first = r->place[at].column, count = r->place[at + n - 1].column - first + 1;
  if ((size_t)count == n) {
    if (!r->function(r->context, r->place[at].row, first, count, r->value + at, r->bound + at)) r->failed = true;
    return;
  }
  double *all = tw_new(2 * (size_t)count, sizeof *all);
  if (!all || !r->function(r->context, r->place[at].row, first, count, all, all + count)) {
    r->failed = true;
  } else {
    for (size_t i = at; i < at + n; i++) {
      r->value[i] = all[r->place[i].column - first];
      r->bound[i] = all[count + r->place[i].column - first];
    }
  }
  free(all);
}

/* Calls `make` for parts of rows, of `most` places at most. */
static tw_status for_parts(tw_parallel_function *make, size_t most, tw_row_function *function, const void *context,
                           size_t n, const tw_place place[], double value[], double bound[], int threads,
                           tw_error *error) {
  size_t parts = 0, *begin = tw_new(n + 1, sizeof *begin);
  if (!begin) return tw_no_memory(error, "the comparison");
  for (size_t i = 0; i < n; i++)
    if (i == 0 || place[i].row != place[i - 1].row || i - begin[parts - 1] == most) begin[parts++] = i;
  begin[parts] = n;
  rows r = {.function = function, .context = context, .place = place, .begin = begin, .value = value, .bound = bound};
  tw_parallel_for(threads, parts, make, &r);
  free(begin);
  return r.failed ? tw_no_memory(error, "the comparison") : TW_OK;
}

tw_status tw_exact_rows(tw_row_function *function, const void *context, size_t n, const tw_place place[],
                        double value[], double bound[], int threads, tw_error *error) {
  return for_parts(make_row, n, function, context, n, place, value, bound, threads, error);
}

tw_status tw_exact_runs(tw_row_function *function, const void *context, size_t n, const tw_place place[],
                        double value[], double bound[], int threads, tw_error *error) {
  return for_parts(make_runs, PART, function, context, n, place, value, bound, threads, error);
}

tw_status tw_exact_elements(tw_row_function *function, const void *context, size_t n, const tw_place place[],
                            double value[], double bound[], int threads, tw_error *error) {
  return for_parts(make_runs, 1, function, context, n, place, value, bound, threads, error);
}

/* ---- all of an output ---- */

typedef struct piece {
  tw_place *place;
  double *value, *bound;
} piece;

static bool new_piece(piece *p, size_t n) {
  p->place = tw_new(n, sizeof *p->place);
  p->value = tw_new(n, sizeof *p->value);
  p->bound = tw_new(n, sizeof *p->bound);
  return p->place && p->value && p->bound;
}

static void free_piece(piece *p) {
  free(p->place);
  free(p->value);
  free(p->bound);
}

/* The places of elements [from, from + n), counted row by row. */
static void list_places(const tw_operand *o, int64_t from, size_t n, tw_place *place) {
  const int64_t columns = tw_operand_columns(o);
  for (size_t i = 0; i < n; i++) place[i] = (tw_place){(from + (int64_t)i) / columns, (from + (int64_t)i) % columns};
}

static size_t piece_size(const tw_operand *o, int64_t from) {
  const int64_t columns = tw_operand_columns(o), left = tw_operand_rows(o) * columns - from;
  const int64_t most = columns < PIECE ? PIECE / columns * columns : PIECE;
  return (size_t)(left < most ? left : most);
}

/* An output for which memory does not suffice stays poisoned, so that no kernel's result equals it. */
void tw_exact_reference(const tw_problem *p, void *const buffers[], int threads) {
  tw_operand o[TW_OPERANDS_MAX];
  const size_t n = p->op->operands(p, o);
  for (size_t i = 0; i < n; i++) {
    piece it;
    bool room = o[i].is_output && new_piece(&it, piece_size(&o[i], 0));
    for (int64_t from = 0; room && from < tw_operand_rows(&o[i]) * tw_operand_columns(&o[i]);) {
      const size_t size = piece_size(&o[i], from);
      list_places(&o[i], from, size, it.place);
      room = p->op->exact(p, buffers, i, size, it.place, it.value, it.bound, threads, NULL) == TW_OK;
      for (size_t e = 0; room && e < size; e++)
        tw_set_element(o[i].type, buffers[i],
                       tw_operand_row_at(&o[i], it.place[e].row) + it.place[e].column * o[i].stride[o[i].rank - 1],
                       it.value[e]);
      from += (int64_t)size;
    }
    if (o[i].is_output) free_piece(&it);
  }
}

static void compare_piece(const tw_operand *o, size_t n, const piece *p, const void *actual, tw_mismatch *found) {
  for (size_t i = 0; i < n; i++) {
    const int64_t row = p->place[i].row, column = p->place[i].column;
    const double got = tw_operand_element(o, actual, row, column);
    const double off = fabs(got - p->value[i]); /* NaN is never within a bound */
    const bool poison = tw_is_poison(o, actual, row, column),
               unwritten = poison && tw_poison_tells(o->type) && off > 2 * tw_unit(o->type) * fabs(p->value[i]);
    if (off <= p->bound[i] && !unwritten) continue;
    if (found->elements++ == 0) {
      found->row = row;
      found->column = column;
      found->expected = p->value[i];
      found->got = got;
    }
    found->unwritten += poison;
  }
}

tw_status tw_compare_places(const tw_problem *p, void *const buffers[], const tw_operand *o, size_t operand, size_t n,
                            const tw_place place[], const void *actual, int threads, tw_mismatch *found,
                            tw_error *error) {
  tw_status status = TW_OK;
  piece it = {0};
  const size_t most = n < PIECE ? n : PIECE;
  it.value = tw_new(most, sizeof *it.value);
  it.bound = tw_new(most, sizeof *it.bound);
  if (!it.value || !it.bound) status = tw_no_memory(error, "the comparison");
  for (size_t from = 0, size; status == TW_OK && from < n; from += size) {
    size = n - from < most ? n - from : most;
    const tw_stop *before = tw_parallel_until(tw_stop_of_thread());
    status = p->op->exact(p, buffers, operand, size, place + from, it.value, it.bound, threads, error);
    tw_parallel_until(before);
    if (status == TW_OK && tw_is_stop_asked())
      status = tw_fail(error, TW_INTERRUPTED, "interrupted while %s is compared", o->name);
    const piece part = {.place = (tw_place *)place + from, .value = it.value, .bound = it.bound};
    if (status == TW_OK) compare_piece(o, size, &part, actual, found);
  }
  free(it.value);
  free(it.bound);
  return status;
}

tw_status tw_compare_output(const tw_problem *p, void *const buffers[], const tw_operand *o, size_t operand,
                            const void *actual, int threads, tw_mismatch *found, tw_error *error) {
  tw_place *place = tw_new(piece_size(o, 0), sizeof *place);
  tw_status status = place ? TW_OK : tw_no_memory(error, "the comparison");
  for (int64_t from = 0; status == TW_OK && from < tw_operand_rows(o) * tw_operand_columns(o);) {
    const size_t size = piece_size(o, from);
    list_places(o, from, size, place);
    status = tw_compare_places(p, buffers, o, operand, size, place, actual, threads, found, error);
    from += (int64_t)size;
  }
  free(place);
  return status;
}

tw_status tw_exact_compare(const tw_problem *p, void *const expected[], void *const actual[], tw_error *error) {
  tw_operand o[TW_OPERANDS_MAX];
  const size_t n = p->op->operands(p, o);
  tw_status status = tw_compare_inputs(o, n, expected, actual, error);
  for (size_t i = 0; status == TW_OK && i < n; i++) {
    tw_mismatch found = {0};
    if (!o[i].is_output) continue;
    status = tw_compare_output(p, expected, &o[i], i, actual[i], 1, &found, error);
    if (status == TW_OK) tw_compare_gaps(&o[i], actual[i], &found);
    if (status == TW_OK) status = tw_mismatch_status(&o[i], &found, error);
  }
  return status;
}
