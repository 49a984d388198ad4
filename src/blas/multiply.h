/* multiply.h - one product by rows, with operands in their stored order: tw_gemm without packed weights and without a
 * plan to keep. */
#ifndef TW_BLAS_MULTIPLY_H
#define TW_BLAS_MULTIPLY_H

#include <stdbool.h>

#include "tilewright/gemm.h"

/* C = alpha op(A) op(B) + beta C. The spec has types, sizes of at least 1, transposes and pitches; alpha is not 0. C
 * of i32 requires alpha = 1, beta = 0, k <= 2^16. Uses the threads of blas_threads.
 * The spec is changed: a copy of what was just written takes as long as a product of 8 x 8 x 8. */
void blas_multiply(tw_gemm_spec *, const void *a, const void *b, void *c);

/* C = beta C, by rows, of f32. */
void blas_scale(float *c, int64_t m, int64_t n, int64_t ldc, float beta);

#endif
