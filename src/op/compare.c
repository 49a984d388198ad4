/* compare.c - see compare.h. */
#include "op/compare.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "op/element.h"

void tw_note_element(tw_mismatch *found, const tw_operand *o, const void *expected, const void *actual, int64_t row,
                     int64_t column) {
  if (found->elements++ == 0) {
    found->row = row;
    found->column = column;
    found->expected = tw_operand_element(o, expected, row, column);
    found->got = tw_operand_element(o, actual, row, column);
  }
  found->unwritten += tw_is_poison(o, actual, row, column);
}

void tw_compare_exact(const tw_operand *o, const void *expected, const void *actual, tw_mismatch *found) {
  size_t size = (size_t)tw_type_bits(o->type) / 8;
  int64_t rows = tw_operand_rows(o), columns = tw_operand_columns(o);
  for (int64_t row = 0; row < rows; row++) {
    size_t offset = (size_t)tw_operand_row_at(o, row) * size;
    if (o->stride[o->rank - 1] == 1 &&
        memcmp((const char *)expected + offset, (const char *)actual + offset, (size_t)columns * size) == 0)
      continue;
    for (int64_t column = 0; column < columns; column++) {
      if (tw_operand_element(o, expected, row, column) != tw_operand_element(o, actual, row, column))
        tw_note_element(found, o, expected, actual, row, column);
    }
  }
}

void tw_compare_gaps(const tw_operand *o, const void *actual, tw_mismatch *found) {
  for (int64_t at = 0; (at = tw_operand_written_gap(o, actual, at)) >= 0; at++) {
    if (found->gaps++ == 0) found->gap = at;
  }
}

/* "C[7][9]", "output[0][3][5][17]" */
static void print_index(const tw_operand *o, const int64_t index[], char *buffer, size_t size) {
  int at = snprintf(buffer, size, "%s", o->name);
  for (int d = 0; d < o->rank && at >= 0 && (size_t)at < size; d++)
    at += snprintf(buffer + at, size - (size_t)at, "[%" PRId64 "]", index[d]);
}

void tw_print_place(const tw_operand *o, int64_t row, int64_t column, char *buffer, size_t size) {
  int64_t index[TW_RANK_MAX] = {0};
  index[o->rank - 1] = column;
  for (int d = o->rank - 2; d >= 0; d--) {
    index[d] = row % o->dims[d];
    row /= o->dims[d];
  }
  print_index(o, index, buffer, size);
}

/* Prints a place between elements as C would write it: the last index is too large. */
static void print_gap(const tw_operand *o, int64_t at, char *buffer, size_t size) {
  int64_t index[TW_RANK_MAX] = {0};
  for (int d = 0; d < o->rank; d++) {
    index[d] = at / o->stride[d];
    if (d + 1 < o->rank && index[d] >= o->dims[d]) index[d] = o->dims[d] - 1;
    at -= index[d] * o->stride[d];
  }
  print_index(o, index, buffer, size);
}

tw_status tw_mismatch_status(const tw_operand *o, const tw_mismatch *found, tw_error *error) {
  char place[128], never[96] = "";
  if (found->elements) {
    if (found->unwritten)
      snprintf(never, sizeof never, ", of which %" PRId64 " look as if they were never written", found->unwritten);
    tw_print_place(o, found->row, found->column, place, sizeof place);
    return tw_fail(error, TW_FAILED,
                   "wrong result: %s is %.9g and should be %.9g; %" PRId64 " of %" PRId64 " elements are wrong%s",
                   place, found->got, found->expected, found->elements, tw_operand_rows(o) * tw_operand_columns(o),
                   never);
  }
  if (!found->gaps) return TW_OK;
  print_gap(o, found->gap, place, sizeof place);
  return tw_fail(error, TW_FAILED,
                 "writes outside its array: %s is after the %" PRId64 " elements of a row; %" PRId64
                 " such elements were written",
                 place, tw_operand_columns(o), found->gaps);
}

tw_status tw_compare_inputs(const tw_operand *o, size_t n, void *const expected[], void *const actual[],
                            tw_error *error) {
  for (size_t i = 0; i < n; i++) {
    if (!o[i].is_output && actual[i] != expected[i] && memcmp(actual[i], expected[i], o[i].bytes) != 0)
      return tw_fail(error, TW_FAILED, "the kernel changed its input %s", o[i].name);
  }
  return TW_OK;
}

double tw_operand_bytes(const tw_operand *o, size_t n) {
  double sum = 0;
  for (size_t i = 0; i < n; i++)
    sum += (double)tw_operand_rows(&o[i]) * (double)tw_operand_columns(&o[i]) * tw_type_bits(o[i].type) / 8;
  return sum;
}

double tw_operands_once(const tw_problem *p) {
  tw_operand o[TW_OPERANDS_MAX];
  return tw_operand_bytes(o, p->op->operands(p, o));
}
