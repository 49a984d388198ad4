/* kernel_blocked.h - matrix products of any blocking, for the table in kernel.c: C += A B, where the call gives the
 * blocking of the matrices: A as (m/r) x (k/s) blocks of r x s, B as (k/s) x (n/t) of s x t, C as (m/r) x (n/t) of r x
 * t, each block row-major (call.block = r, s, t). One block is a row-major matrix.
 *
 * Integers wrap in 32 bits. Products of bf16 are summed in f32, in the order of k, as the AIE API's products of elements
 * are, and C is read and rounded once per call. */
#ifndef TW_XDNA2_ARRAY_KERNEL_BLOCKED_H
#define TW_XDNA2_ARRAY_KERNEL_BLOCKED_H

#include "target/xdna2/array/kernel.h"

int64_t xd_blocked_i8_i32_bytes(const xd_call *, int argument);
void xd_blocked_i8_i32(const xd_call *, uint8_t *const arguments[]);
int64_t xd_blocked_i16_i32_bytes(const xd_call *, int argument);
void xd_blocked_i16_i32(const xd_call *, uint8_t *const arguments[]);
/* C of 16 bits: widened by the shift to sums of 64 bits, added to, narrowed again. */
int64_t xd_blocked_i16_i16_bytes(const xd_call *, int argument);
void xd_blocked_i16_i16(const xd_call *, uint8_t *const arguments[]);
int64_t xd_blocked_bf16_bf16_bytes(const xd_call *, int argument);
void xd_blocked_bf16_bf16(const xd_call *, uint8_t *const arguments[]);
/* Each float is three parts of bf16, and a product nine products of parts, exact in f32 and added one by one: as AIE API
 * emulates f32 with the accuracy "safe". */
int64_t xd_blocked_f32_f32_bytes(const xd_call *, int argument);
void xd_blocked_f32_f32(const xd_call *, uint8_t *const arguments[]);
int64_t xd_blocked_bf16_f32_bytes(const xd_call *, int argument);
void xd_blocked_bf16_f32(const xd_call *, uint8_t *const arguments[]);

/* As VST.SRS narrows: shifted right, rounded, saturated to [-most - 1, most]. */
int64_t xd_narrowed(int64_t x, int shift, tw_rounding, int64_t most);

#endif
