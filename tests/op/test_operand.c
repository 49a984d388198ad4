/* test_operand.c - where elements of an operand lie, and what lies between them. */
#include "test.h"

#include <stdlib.h>
#include <string.h>

#include "op/compare.h"

/* Every element holds its row and column, the rest poison. */
static int8_t *filled(const tw_operand *o) {
  int8_t *data = malloc(o->bytes);
  memset(data, TW_POISON, o->bytes);
  for (int64_t row = 0; row < tw_operand_rows(o); row++)
    for (int64_t column = 0; column < tw_operand_columns(o); column++)
      data[tw_operand_row_at(o, row) + column * o->stride[o->rank - 1]] = (int8_t)(10 * row + column);
  return data;
}

static int64_t gaps_of(const tw_operand *o, const int8_t *data) {
  tw_mismatch found = {0};
  tw_compare_gaps(o, data, &found);
  return found.gaps;
}

/* Whatever is damaged, is either an element or a gap, and never both. */
static void expect_every_byte_watched(const tw_operand *o) {
  int8_t *right = filled(o), *actual = filled(o);
  assert_int_equal(gaps_of(o, right), 0);
  int64_t elements = 0, gaps = 0;
  for (size_t at = 0; at < o->bytes; at++) {
    tw_mismatch found = {0};
    actual[at] ^= 64;
    tw_compare_exact(o, right, actual, &found);
    tw_compare_gaps(o, actual, &found);
    assert_int_equal(found.elements + found.gaps, 1);
    if (found.gaps) assert_int_equal(found.gap, at);
    elements += found.elements;
    gaps += found.gaps;
    actual[at] ^= 64;
  }
  assert_int_equal(elements, tw_operand_rows(o) * tw_operand_columns(o));
  assert_int_equal(elements + gaps, o->bytes);
  free(right);
  free(actual);
}

static void every_byte_is_an_element_or_a_gap(void **state) {
  const int64_t dims[] = {2, 3, 4};
  tw_operand o = tw_operand_dense("C", TW_I8, 3, dims);
  assert_int_equal(o.bytes, 24);
  expect_every_byte_watched(&o);
  o = tw_operand_pitched("C", TW_I8, 3, dims, 7);
  assert_int_equal(o.bytes, 42);
  assert_int_equal(tw_operand_pitch(&o), 7);
  expect_every_byte_watched(&o);
  o = (tw_operand){
      .name = "heads outside", .type = TW_I8, .rank = 3, .dims = {2, 3, 4}, .stride = {5, 10, 1}, .bytes = 33};
  expect_every_byte_watched(&o);
  o = (tw_operand){.name = "columns", .type = TW_I8, .rank = 2, .dims = {3, 4}, .stride = {2, 7}, .bytes = 30};
  expect_every_byte_watched(&o);
  o = tw_operand_dense("one", TW_I8, 1, (int64_t[]){1});
  expect_every_byte_watched(&o);
}

static void a_gap_is_told_by_the_index_that_is_too_large(void **state) {
  const tw_operand o = tw_operand_pitched("C", TW_I8, 3, (int64_t[]){2, 3, 4}, 7);
  int8_t *data = filled(&o);
  tw_mismatch found = {0};
  tw_error error;
  data[21 + 7 + 5] = 0;
  tw_compare_gaps(&o, data, &found);
  assert_int_equal(tw_mismatch_status(&o, &found, &error), TW_FAILED);
  assert_non_null(strstr(error.text, "C[1][1][5]"));
  free(data);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(every_byte_is_an_element_or_a_gap),
      cmocka_unit_test(a_gap_is_told_by_the_index_that_is_too_large),
  };
  return cmocka_run_group_tests_name("operand", tests, NULL, NULL);
}
