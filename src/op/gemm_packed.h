/* gemm_packed.h - operands of a gemm with packed=1: codes and scales instead of numbers, in one of three orders.
 *
 * Plain: the planes of format.h, row by row along k. With shuffle=aiter, the order in which AITER's kernels for gfx950
 * read MXFP4 (its functions shuffle_weight with layout (16, 16), and e8m0_shuffle):
 *
 *   codes of B     tiles of 16 rows x 32 bytes; in a tile 16 bytes of each row, then the other 16 bytes of each
 *   scales         rows padded to a multiple of 256, blocks to a multiple of 8; tiles of 32 rows x 8 blocks, in which
 *                  byte 64 (block % 4) + 4 (row % 16) + 2 (block / 4) + row / 16 is the scale of (row, block)
 *
 * Codes of A stay plain, as AITER has them.
 *
 * With shuffle=mma, codes of B are the registers of NVIDIA's products of 16 x 16 weights (mma.m16n8k16, wgmma with its
 * left operand in registers). A unit of 512 bytes has 16 rows and 64 weights of each (ternary: 128).
 * Units follow one another first along k. In a unit, thread 4 (row % 8) + k % 8 / 2 has 16 bytes. Its product is
 * j = k / 16, the register i = row / 8 + 2 (k % 16 / 8), and the half h = k % 2. A code of four bits begins at bit
 * 16 h + 4 i of word j. A code of two bits begins at bit 16 h + 8 (i % 2) + 6 - 2 (j % 4) of word 2 (j / 4) + i / 2.
 * Scales are words: one scale, with mxfp4 four. A unit of scales has a word of each of 16 rows; units follow one another
 * first along k. */
#ifndef TW_OP_GEMM_PACKED_H
#define TW_OP_GEMM_PACKED_H

#include "op/gemm_problem.h"

typedef struct tw_gemm_packed {
  tw_packing packing;
  tw_packed_size row; /* of one row in the plain order */
  int64_t rows, k;
  tw_gemm_shuffle codes, scales;
} tw_gemm_packed;

/* Is A an operand of codes? (B always is, with packed=1.) */
bool tw_gemm_packs_a(const tw_gemm *);
/* The planes of A ('a') or B. */
tw_status tw_gemm_packed_of(const tw_gemm *, char operand, tw_gemm_packed *out, tw_error *);
/* The operands of the codes and the scales of one matrix. */
tw_operand tw_gemm_code_operand(const tw_gemm_packed *, const char *name);
tw_operand tw_gemm_scale_operand(const tw_gemm_packed *, const char *name);
/* Fills the planes with `x`, rows of k numbers. Bytes that pad shuffled scales become NaN, so that a kernel that uses
 * them is found. Without memory the planes stay zero. */
void tw_gemm_fill_planes(const tw_gemm_packed *, const float *x, void *codes, void *scales);
/* Row `row` as k numbers. */
void tw_gemm_unpack_row(const tw_gemm_packed *, const void *codes, const void *scales, int64_t row, double *out);

#endif
