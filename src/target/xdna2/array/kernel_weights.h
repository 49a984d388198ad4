/* kernel_weights.h - kernels of weights of 4 and 2 bits, for the table in kernel.c. Layouts: pack.h. */
#ifndef TW_XDNA2_ARRAY_KERNEL_WEIGHTS_H
#define TW_XDNA2_ARRAY_KERNEL_WEIGHTS_H

#include "target/xdna2/array/kernel.h"

/* A int8 in blocks of 4x16, B int4 in blocks of 16x16, C += A B in int32, blocks of 4x16, wrapping. */
int64_t xd_matmul_i8_i4_bytes(const xd_call *, int argument);
void xd_matmul_i8_i4(const xd_call *, uint8_t *const arguments[]);

/* k x n codes of 2 bits, 256 at a time, to int8 and to int4. m is 1. */
int64_t xd_unpack_i8_bytes(const xd_call *, int argument);
void xd_unpack_i8(const xd_call *, uint8_t *const arguments[]);
int64_t xd_unpack_i4_bytes(const xd_call *, int argument);
void xd_unpack_i4(const xd_call *, uint8_t *const arguments[]);

/* Vectors of codes of the next tile of B that the call unpacks, which is its share of the rows of C; 0: none. */
int xd_vectors_beside(const xd_call *);
/* C += A B with B in int8, or in int4. The further arguments are codes of 2 bits of B's next tile, and where they go
 * unpacked. */
int64_t xd_matmul_unpack_bytes(const xd_call *, int argument);
void xd_matmul_unpack(const xd_call *, uint8_t *const arguments[]);
int64_t xd_matmul_i4_unpack_bytes(const xd_call *, int argument);
void xd_matmul_i4_unpack(const xd_call *, uint8_t *const arguments[]);

/* A int8 in blocks of 8x8, B codes of 2 bits, which are converted to int8 between load and multiplication; C += A B
 * in int32. */
int64_t xd_matmul_codes_bytes(const xd_call *, int argument);
void xd_matmul_codes(const xd_call *, uint8_t *const arguments[]);

#endif
