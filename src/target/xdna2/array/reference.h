/* reference.h - the bit-exact result of a GEMM of bf16 and bfp16, defined without tiles of C, blocks, DMA or locks.
 *
 * For every step of T_K: A and B are rounded to bfp16, by eights along k. Products of eight are added exactly, and
 * their sum is added in f32 to C's last value and rounded to the type of the sums (bf16; bfp16 by eights of a row). At
 * the end C is rounded to its type. Kernels that multiply elements of bf16 round neither A nor B, and add one product at
 * a time. Where A is row-major and k is not a multiple of a step in L2, the last step is
 * moved back and B is zero where it overlaps. */
#ifndef TW_XDNA2_ARRAY_REFERENCE_H
#define TW_XDNA2_ARRAY_REFERENCE_H

#include "target/xdna2/array/gemm_array.h"

/* a: m x k, b: k x n (n x k if g->b_transposed), c: m x n, row-major f32. TW_NO_MEMORY without memory. */
/* Sums of 8 and 16 bits (xd_gemm_narrow_sums): after each step of K rounded to a multiple of 2^shift and saturated. */
tw_status xd_gemm_narrow_reference(const xd_gemm *, const float *a, const float *b, float *c, tw_error *);
tw_status xd_gemm_reference(const xd_gemm *, const float *a, const float *b, float *c, tw_error *);

#endif
