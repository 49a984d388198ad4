/* exact.h - for ops that compute single elements exactly (tw_op.exact). Such an op has only that function; its
 * reference and its comparison are here. */
#ifndef TW_OP_EXACT_H
#define TW_OP_EXACT_H

#include "op/compare.h"

/* Values and bounds of the elements [first, first + count) of a row; false without memory. */
typedef bool tw_row_function(const void *context, int64_t row, int64_t first, int64_t count, double *value,
                             double *bound);

/* `exact` for an op that computes elements row by row: elements of one row are computed together. */
tw_status tw_exact_rows(tw_row_function *function, const void *context, size_t n, const tw_place place[],
                        double value[], double bound[], int threads, tw_error *error);

/* The same for an op whose elements share no work: elements between the places are not computed, and threads share a
 * long row. */
tw_status tw_exact_runs(tw_row_function *function, const void *context, size_t n, const tw_place place[],
                        double value[], double bound[], int threads, tw_error *error);

/* The same for elements that take milliseconds each: the function is called for each one, on any thread. */
tw_status tw_exact_elements(tw_row_function *function, const void *context, size_t n, const tw_place place[],
                            double value[], double bound[], int threads, tw_error *error);

/* tw_op.reference and tw_op.compare. The comparison does not use the expected outputs. */
void tw_exact_reference(const tw_problem *, void *const buffers[], int threads);
tw_status tw_exact_compare(const tw_problem *, void *const expected[], void *const actual[], tw_error *);

/* The fields of an op whose file has only functions with the names of their fields. `validate` follows. */
#define TW_EXACT_OP(name_, summary_)                                                                                   \
  .name = (name_), .summary = (summary_), .keys = keys, .n_keys = sizeof keys / sizeof *keys, .operands = operands,    \
  .inputs = inputs, .reference = tw_exact_reference, .compare = tw_exact_compare, .operations = operations,            \
  .bytes = tw_operands_once, .exact = exact, .exact_cost = exact_cost

/* Computes `n` places exactly and compares them; `buffers` holds the inputs. */
tw_status tw_compare_places(const tw_problem *, void *const buffers[], const tw_operand *, size_t operand, size_t n,
                            const tw_place[], const void *actual, int threads, tw_mismatch *, tw_error *);
/* The same for a whole output. */
tw_status tw_compare_output(const tw_problem *, void *const buffers[], const tw_operand *, size_t operand,
                            const void *actual, int threads, tw_mismatch *, tw_error *);

/* For a run that computed only a part of the outputs: compares a random sample of the elements that hold no poison, and
 * the inputs. *compared counts them. TW_MISSING: an output has no such element, or poison may equal
 * a value. */
tw_status tw_compare_written(const tw_case *, void *const actual[], uint64_t seed, int threads, size_t *compared,
                             tw_error *);

#endif
