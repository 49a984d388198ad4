/* pack.h - elements of any type become units of a kernel's arithmetic. */
#ifndef TW_X86_PACK_H
#define TW_X86_PACK_H

#include "target/x86/plan.h"

/* Rows [row, row + rows) of op(A), units [unit, unit + units) of k, as rows of `stride` bytes at `to`. Behind k there are
 * zeros. */
void x86_convert_rows(const tw_gemm_planned *, const void *a, int64_t row, int64_t rows, int64_t unit, int64_t units,
                      void *to, int64_t stride);

#endif
