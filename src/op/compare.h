/* compare.h - the comparison of a kernel's outputs and the report of a difference: for every op. */
#ifndef TW_OP_COMPARE_H
#define TW_OP_COMPARE_H

#include "op/operand.h"

typedef struct tw_mismatch {
  int64_t elements, gaps, unwritten; /* wrong elements; written ones between rows; wrong ones that still hold poison */
  int64_t row, column;               /* place of the first wrong element */
  int64_t gap;                       /* the first written place between elements: its offset in elements */
  double got, expected;
} tw_mismatch;

/* Notes one wrong element. For ops with their own tolerance. */
void tw_note_element(tw_mismatch *, const tw_operand *, const void *expected, const void *actual, int64_t row,
                     int64_t column);
/* Requires that every element is equal. */
void tw_compare_exact(const tw_operand *, const void *expected, const void *actual, tw_mismatch *);
/* Checks that nothing was written between the elements. */
void tw_compare_gaps(const tw_operand *, const void *actual, tw_mismatch *);
/* An element as C would write it: "C[7][9]". */
void tw_print_place(const tw_operand *, int64_t row, int64_t column, char *buffer, size_t size);
/* TW_OK if nothing was found, else TW_FAILED with the first wrong element and how many there are. */
tw_status tw_mismatch_status(const tw_operand *, const tw_mismatch *, tw_error *);
/* Checks that a kernel did not change its inputs. */
tw_status tw_compare_inputs(const tw_operand *, size_t n, void *const expected[], void *const actual[], tw_error *);

/* Least traffic: every element of every operand once. */
double tw_operand_bytes(const tw_operand *, size_t n);
double tw_operands_once(const tw_problem *); /* tw_op.bytes of an op that reads or writes each operand once */

#endif
