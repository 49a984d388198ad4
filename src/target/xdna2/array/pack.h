/* pack.h - operands of a GEMM in DDR as gemm.h wants them.
 *
 * bfp16 lies in tiles of 8x8 blocks in the order in which the array reads it:
 *   A  macro-rows; in each, columns that hold A; in each, steps of K in L2; the rows of cores served; T_K tiles;
 *      blocks row by row
 *   B  columns of tiles (one a column of cores); in each, steps of T_K; blocks as xd_bfp16_b_at says
 *   C  macro-tiles row by row; in each, columns of cores; rows of cores; blocks row by row
 * Rows and columns beyond the matrix are zero. With A row-major, the last step of K is moved back and B is zero where
 * it overlaps; with A packed, both are zero beyond K. */
#ifndef TW_XDNA2_ARRAY_PACK_H
#define TW_XDNA2_ARRAY_PACK_H

#include "target/xdna2/array/gemm.h"

/* From row-major f32; A is m x k, B k x n. Rounded as g->rounding says. */
void xd_pack_a(const xd_gemm *, const float *a, uint8_t *out);
void xd_pack_b(const xd_gemm *, const float *b, uint8_t *out);
/* To row-major f32, m x n. */
void xd_unpack_c(const xd_gemm *, const uint8_t *c, float *out);

#endif
