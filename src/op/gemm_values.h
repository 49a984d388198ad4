/* gemm_values.h - the values of the elements of op(A) and op(B) as numbers in double, and the conversion of a sum of
 * products. */
#ifndef TW_OP_GEMM_VALUES_H
#define TW_OP_GEMM_VALUES_H

#include "op/gemm_numerics.h"

typedef struct tw_gemm_values tw_gemm_values;
struct tw_gemm_values {
  tw_gemm g;
  tw_gemm_numerics numerics;
  const void *a, *b, *d;                     /* d NULL without a bias */
  const float *scale_a, *scale_b;            /* NULL without */
  const void *codes_scale_a, *codes_scale_b; /* scales of A and B where they are codes */
  /* Makes row i of op(A) if A is not a matrix in memory, as in a convolution. NULL: A is in memory. */
  void (*row)(const tw_gemm_values *, int64_t i, double *out);
  const void *context; /* the row function's */
};

tw_gemm_values tw_gemm_values_of(const tw_gemm *, void *const buffers[]);

/* Rows i .. i + n - 1 of op(A), columns j .. j + n - 1 of op(B), one after the other: k numbers each, scales included.
 * Neighbours in memory are read together. */
void tw_gemm_row_run(const tw_gemm_values *, int64_t i, int64_t n, double *out);
void tw_gemm_column_run(const tw_gemm_values *, int64_t j, int64_t n, double *out);
double tw_gemm_bias_at(const tw_gemm_values *, int64_t i, int64_t j);
/* The size of the elements of each row of op(B) relative to other rows: the root mean square of some columns, 1 for
 * most rows. Norms of op(A) times these sizes, and norms of op(B) divided by them, bound norms of products (Cauchy).
 * This bound is sharp although terms differ in size. Any positive sizes give a valid bound. */
void tw_gemm_term_sizes(const tw_gemm_values *, double *room, double size[]);
/* An element of C, from the sum of products and bias; rounded where C is of integers, else not yet. */
double tw_gemm_finish(const tw_gemm *, double sum);

/* tw_op.exact and tw_op.survey of C, or of similar outputs: row i of C is row i of the operand `c`. */
tw_status tw_gemm_exact_values(const tw_gemm_values *, size_t n, const tw_place[], double value[], double bound[],
                               int threads, tw_error *);
tw_status tw_gemm_survey_values(const tw_gemm_values *, const tw_operand *c, const void *data, const tw_effort *,
                                tw_coverage *, tw_error *);

#endif
