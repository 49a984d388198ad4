/* gemm_values.h - what the elements of op(A) and op(B) mean, as numbers in double, and what becomes of a sum of products. */
#ifndef TW_OP_GEMM_VALUES_H
#define TW_OP_GEMM_VALUES_H

#include "op/gemm_numerics.h"

typedef struct tw_gemm_values {
  tw_gemm g;
  tw_gemm_numerics numerics;
  const void *a, *b, *d;          /* d NULL without a bias */
  const float *scale_a, *scale_b; /* NULL without */
} tw_gemm_values;

tw_gemm_values tw_gemm_values_of(const tw_gemm *, void *const buffers[]);

/* Row i of op(A), column j of op(B): k numbers each, scales included. */
void tw_gemm_row(const tw_gemm_values *, int64_t i, double *out);
void tw_gemm_column(const tw_gemm_values *, int64_t j, double *out);
double tw_gemm_bias_at(const tw_gemm_values *, int64_t i, int64_t j);
/* An element of C, from the sum of products and bias; rounded where C is of integers, else not yet. */
double tw_gemm_finish(const tw_gemm *, double sum);

#endif
