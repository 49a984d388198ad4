/* activations.h - rows of A that are rounded to int8 on their way in (tw_a_rounding). */
#ifndef TW_X86_ACTIVATIONS_H
#define TW_X86_ACTIVATIONS_H

#include "target/x86/plan.h"

/* TW_A_INT8_ROWS: the scales of `rows` rows from `row` on. `room`: of a transposed A, a strip of a block, as f32. */
void x86_row_scales(const tw_gemm_planned *, const void *a, int64_t row, int64_t rows, float *scale, void *room);

/* Where the rows of a strip go, for one block of k. */
typedef struct x86_rounded {
  const float *row_scales; /* [row]; TW_A_INT8_ROWS only */
  void *to;                /* units of the kernel's integers, `stride` bytes from row to row; zeros behind k */
  int64_t stride;
  int32_t *start;  /* [group][row]: -lift * sum, as x86_coded has it */
  float *a_scales; /* [group][row]; TW_A_INT8_GROUPS only */
  void *room;      /* of a transposed A: a strip of a block, as f32 */
} x86_rounded;
void x86_round_rows(const tw_gemm_planned *, const void *a, int64_t row, int64_t rows, int64_t unit, int64_t units,
                    const x86_rounded *);

#endif
