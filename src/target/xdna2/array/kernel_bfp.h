/* kernel_bfp.h - kernels of bf16 and bfp16, for the table in kernel.c. Layouts: kernel.h. */
#ifndef TW_XDNA2_ARRAY_KERNEL_BFP_H
#define TW_XDNA2_ARRAY_KERNEL_BFP_H

#include "target/xdna2/array/kernel.h"

/* A bf16, B bfp16, C bf16, which is read and rounded once per call. A is converted to bfp16 along k in a scratch
 * buffer. */
int64_t xd_matmul_bf16_bytes(const xd_call *, int argument);
void xd_matmul_bf16(const xd_call *, uint8_t *const arguments[]);
/* As above without a scratch buffer: A is converted between load and multiplication. k <= 4096. */
void xd_matmul_bf16_registers(const xd_call *, uint8_t *const arguments[]);
/* A, B and C bf16. A and B are rounded to bfp16 along k between load and multiplication; C is read and rounded once
 * per call. k <= 4096. */
void xd_matmul_bf16_emulated(const xd_call *, uint8_t *const arguments[]);
/* k x n codes of 4 bits and their scales (pack.h) to bfp16, in the order of the call's cover. m is 1. */
int64_t xd_unpack_i4_bfp16_bytes(const xd_call *, int argument);
void xd_unpack_i4_bfp16(const xd_call *, uint8_t *const arguments[]);
/* A, B, C: all bfp16; C is read and rounded to bfp16 once a call. */
int64_t xd_matmul_bfp16_bytes(const xd_call *, int argument);
void xd_matmul_bfp16(const xd_call *, uint8_t *const arguments[]);
/* A and B bfp16, sums in bf16, read and rounded once per call. C (whole, of `rows` rows, the call's are from `row` on)
 * becomes bfp16 at the end and takes 9/8 bytes per element; the sums take 2. The first half of them is in `staging`,
 * with a byte per element, the other half at the end of C. */
int64_t xd_matmul_staged_bytes(const xd_call *, int argument);
void xd_matmul_staged(const xd_call *, uint8_t *const arguments[]);
/* staging, C: the sums become bfp16, in place. */
int64_t xd_round_bfp16_bytes(const xd_call *, int argument);
void xd_round_bfp16(const xd_call *, uint8_t *const arguments[]);

/* Rounds as the core does when it stores sums: to nearest even, or down. */
uint16_t xd_to_bf16(float, tw_rounding);

/* Orders of blocks of 72 bytes, by the cluster of the call's cover: each stream of a cluster is then one run, as the
 * two load FIFOs of a core need it (the published ATB kernels have 2x2). Numbers of blocks. */

/* Block (row i, depth p) of a tile of A `depth` blocks deep: groups of `rows` block rows, each by columns. */
static inline int64_t xd_bfp16_a_at(xd_cover c, int64_t i, int64_t p, int64_t depth) {
  return (i / c.rows * depth + p) * c.rows + i % c.rows;
}
/* Block (depth p, column j) of a tile of B: groups of `columns` block columns, each by rows. */
static inline int64_t xd_bfp16_b_at(xd_cover c, int64_t p, int64_t j, int64_t depth) {
  return (j / c.columns * depth + p) * c.columns + j % c.columns;
}
/* Block (i, j) of a tile of C `width` blocks wide: cluster by cluster. */
static inline int64_t xd_bfp16_c_at(xd_cover c, int64_t i, int64_t j, int64_t width) {
  return ((i / c.rows * (width / c.columns) + j / c.columns) * c.rows + i % c.rows) * c.columns + j % c.columns;
}

#endif
