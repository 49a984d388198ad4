/* pack.h - elements of any type become units of a kernel's arithmetic. */
#ifndef TW_X86_PACK_H
#define TW_X86_PACK_H

#include "target/x86/plan.h"

/* Rows [row, row + rows) of op(A), units [unit, unit + units) of k, as rows of `stride` bytes at `to`. Zeros follow
 * k. */
void x86_convert_rows(const tw_gemm_plan *, const void *a, int64_t row, int64_t rows, int64_t unit, int64_t units,
                      void *to, int64_t stride);

/* The same rows of a transposed A as a packed strip, if no conversion is necessary; false: nothing was done. */
bool x86_pack_columns_of_a(const tw_gemm_plan *, const void *a, int64_t row, int64_t rows, int64_t unit, int64_t units,
                           void *to);

/* Writes panels [panel, panel + panels) of every block, at x86_panel_at, in any order, by any thread; best
 * X86_PANELS_AT_ONCE at a time. Packed B without codes is a header and then the panels. Elements of f32 in kernels
 * of f32 are multiplied by `scale`, which is 1 otherwise. */
enum { X86_PANELS_AT_ONCE = 4 };
void x86_begin_packed(const tw_gemm_plan *, void *packed);
void x86_pack_panels(const tw_gemm_plan *, const void *b, float scale, int64_t block, int64_t panel, int64_t panels,
                     void *to);

#endif
