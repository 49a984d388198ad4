/* kernel_bfp.h - kernels of bf16 and bfp16, for the table in kernel.c. Layouts: kernel.h. */
#ifndef TW_XDNA2_ARRAY_KERNEL_BFP_H
#define TW_XDNA2_ARRAY_KERNEL_BFP_H

#include "target/xdna2/array/kernel.h"

/* A bf16, B bfp16, C bf16, read and rounded once a call; A converted to bfp16 along k in a scratch. */
int64_t xd_matmul_bf16_bytes(const xd_call *, int argument);
void xd_matmul_bf16(const xd_call *, uint8_t *const arguments[]);
/* The same without a scratch: A is converted on the way to the multiplier. k <= 4096. */
void xd_matmul_bf16_registers(const xd_call *, uint8_t *const arguments[]);
/* A, B, C: all bfp16; C is read and rounded to bfp16 once a call. */
int64_t xd_matmul_bfp16_bytes(const xd_call *, int argument);
void xd_matmul_bfp16(const xd_call *, uint8_t *const arguments[]);
/* A and B bfp16, sums in bf16, read and rounded once a call. C (whole, of `rows` rows, the call's are from `row` on)
 * will be bfp16 in the end and takes 9/8 bytes an element; the sums take 2. The first half of them lies in `staging`,
 * of a byte an element, the other half at the end of C. */
int64_t xd_matmul_staged_bytes(const xd_call *, int argument);
void xd_matmul_staged(const xd_call *, uint8_t *const arguments[]);
/* staging, C: the sums become bfp16, in place. */
int64_t xd_round_bfp16_bytes(const xd_call *, int argument);
void xd_round_bfp16(const xd_call *, uint8_t *const arguments[]);

/* Where the 72 bytes of block (k8, n8) of a tile of B begin: pairs of block columns one after the other, each by rows
 * of blocks (the order of the published ATB kernels: a 2x2 cluster reads it in sequence). n8 blocks must be even. */
static inline int64_t xd_bfp16_b_at(int k8, int n8, int depth8) {
  return 72 * (((int64_t)(n8 / 2) * depth8 + k8) * 2 + n8 % 2);
}

#endif
