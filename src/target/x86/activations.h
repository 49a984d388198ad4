/* activations.h - rounds rows of A to int8 while they are packed (tw_a_rounding). */
#ifndef TW_X86_ACTIVATIONS_H
#define TW_X86_ACTIVATIONS_H

#include "target/x86/plan.h"

/* TW_A_INT8_ROWS: computes the scales of `rows` rows from `row` on. `room`: for a transposed A, memory for a strip
 * of a block, as f32. */
void x86_row_scales(const tw_gemm_plan *, const void *a, int64_t row, int64_t rows, float *scale, void *room);

/* Contiguous elements of a row in strips (kernel.h); units of a row, filled up to whole runs. */
int64_t x86_run(const tw_gemm_plan *);
int64_t x86_units_in_runs(const tw_gemm_plan *, int64_t units);

/* Where the strips of one block of k are written (x86_quantize in kernel.h). */
typedef struct x86_rounded {
  const float *row_scales; /* [row]; TW_A_INT8_ROWS only */
  void *to;
  int32_t *start;  /* [strip][group][row] */
  float *a_scales; /* likewise; TW_A_INT8_GROUPS only */
  void *room;      /* for a transposed A: memory for a strip of a block, as f32 */
} x86_rounded;
/* Rounds `strips` strips (of a transposed A: 1) of `rows` rows, from row `row` on. */
void x86_round_strips(const tw_gemm_plan *, const void *a, int64_t row, int64_t strips, int64_t rows, int64_t unit,
                      int64_t units, const x86_rounded *);

#endif
