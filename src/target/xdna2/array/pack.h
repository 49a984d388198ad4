/* pack.h - operands of a GEMM in DDR in the layouts of gemm_array.h.
 *
 * bfp16 is stored in tiles of 8x8 blocks in the order in which the array reads it; within a tile as in kernel_bfp.h:
 *   A  macro-rows; in each, columns that hold A; in each, steps of K in L2; the rows of cores served; T_K tiles
 *   B  columns of tiles (one a column of cores); in each, steps of T_K
 *   C  macro-tiles row by row; in each, columns of cores; rows of cores
 * With `in_rows`, the matrix has rows as if it were row-major, of k (A, columns of B) or n (C) padded to whole tiles.
 * The bytes of a tile are cut into as many equal parts as it has rows (A, C) or columns (B), one after the other in
 * each of its rows of the matrix: the transfers of a row-major operand read such a tile in order. B of i4 and ternary
 * is stored in tiles, too: columns of tiles, in each steps of T_K, in each groups of 256 elements. A group has as many
 * of the multiplier's blocks s x t, consecutive along k, as hold its elements (four of 8x8, one of 16x16); groups are
 * row by row, blocks row-major. The encodings of a group:
 *   i4                two elements in a byte, the even one in the low nibble, as in src/format
 *   ternary, to i8    64 bytes; byte p holds elements p, 64 + p, 128 + p, 192 + p in bits 1:0, 3:2, 5:4, 7:6, each as
 *                     the code t + 1 of src/format: mask, move down, subtract one, for a block at a time
 *   ternary, to i4    64 bytes; byte p holds elements 2 p, 128 + 2 p, 2 p + 1, 128 + 2 p + 1 in bits 1:0, 3:2, 5:4,
 *                     7:6. A mask of 0x33 makes two nibbles, and subtracting 0x11 two int4, if the code of the odd
 *                     element makes up for the borrow: it is t + 1, and one more where its even neighbour is -1
 *
 * B of i4 for A of bf16 is stored in the same order of tiles. A tile has its codes, then its scales. Codes are blocks of
 * 8 columns x 8 along k, 32 bytes each, columns of blocks one after the other; a block has a column of B after the other,
 * the even element of two in the low nibble. Scales are of bf16, 8 for each two blocks along k: 5 bits for an element. A
 * scale of the format is repeated for each 16 elements of its group.
 *
 * Rows and columns beyond the matrix are zero. With A row-major, the last step of K is moved back and B is zero where
 * it overlaps; with A packed, both are zero beyond K. */
#ifndef TW_XDNA2_ARRAY_PACK_H
#define TW_XDNA2_ARRAY_PACK_H

#include "target/xdna2/array/gemm_array.h"

/* Packs row-major f32; A is m x k, B k x n, or n x k if g->b_transposed. Rounds as g->rounding says. */
void xd_pack_a(const xd_gemm *, const float *a, uint8_t *out);
void xd_pack_b(const xd_gemm *, const float *b, uint8_t *out);
/* For i4 (-8..7) and ternary (-1..1): b as above. */
void xd_pack_weights(const xd_gemm *, const int8_t *b, uint8_t *out);
/* Scaled weights: b is f32, code times scale, as above. TW_NO_MEMORY without memory. */
tw_status xd_pack_scaled_weights(const xd_gemm *, const float *b, uint8_t *out, tw_error *);
/* What the core makes of them before it rounds to bfp16: in place, scales become bf16. */
tw_status xd_round_scales(const xd_gemm *, float *b, tw_error *);
/* To row-major f32, m x n. */
void xd_unpack_c(const xd_gemm *, const uint8_t *c, float *out);

/* ---- for the files of packing ---- */

/* The source of tile p of column j of tiles of B: its first column and depth; B counts as zero before `first`. */
typedef struct xd_b_origin {
  int64_t column, depth, first;
} xd_b_origin;
xd_b_origin xd_b_origin_of(const xd_gemm *, const xd_gemm_shape *, int64_t j, int64_t p);

#endif
