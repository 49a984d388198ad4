/* gemm.h - a gemm problem as a plain struct, for gemm.c, its reference and its tests. */
#ifndef TW_OP_GEMM_H
#define TW_OP_GEMM_H

#include <stdbool.h>
#include <stdint.h>

#include "tilewright/op.h"

typedef enum tw_gemm_bias { TW_GEMM_BIAS_NONE, TW_GEMM_BIAS_ROW, TW_GEMM_BIAS_FULL } tw_gemm_bias;

typedef struct tw_gemm {
  int64_t m, n, k;
  bool a_transposed, b_transposed, relu;
  tw_gemm_bias bias;
  float scale;
  int64_t lda, ldb, ldc, ldd; /* elements; never 0 here */
  tw_type a, b, c, acc;
} tw_gemm;

tw_gemm tw_gemm_of(const tw_problem *);

/* buffers: A, B, [D,] C. */
void tw_gemm_reference(const tw_gemm *, void *const buffers[], int threads);

#endif
