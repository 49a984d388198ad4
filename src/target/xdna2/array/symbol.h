/* symbol.h - names and arguments of the functions of kernel.cc: the interface between design.mlir and kernel.cc.
 *
 * A kernel call of the simulator is one function of kernel.cc (extern "C", returns nothing). Its arguments are pointers
 * to whole buffers in L1, in the order of the call's arguments; one that adds to a band of C or of the sums of C has a
 * further argument, an i32, the first row of the band: so each of the rho sub-tiles of a step of K calls the same
 * function.
 *
 *   zero_BYTES                   out
 *   matmul_i8_MxKxN              a, b, sums, row
 *   matmul_i8_i4_MxKxN           a, b, sums, row
 *   matmul_i8_codes_MxKxN        a, b's codes of 2 bits, sums, row
 *   matmul_bf16_bfp16_MxKxN      a, b, c, scratch, row    (M: rows of a sub-tile of A)
 *   matmul_bf16_registers_MxKxN  a, b, c, row
 *   matmul_bfp16_MxKxN           a, b, c, row
 *   matmul_bfp16_staged_MxKxN    a, b, c, staging, row
 *   matmul_i16_MxKxN, matmul_i16_i16_MxKxN   a, b, c, row
 *   matmul_bf16_lanes_MxKxN, matmul_bf16_emulated_MxKxN   a, b, c, row
 *   matmul_bf16_lanes_f32_MxKxN  a, b, sums, row
 *   unpack_i8_KxN, unpack_i4_KxN b's codes of 2 bits, b
 *   unpack_i4_bfp16_KxN          b's codes of 4 bits and their scales, b
 *   narrow_i8_MxN, narrow_i16_MxN, narrow_bf16_MxN, round_bfp16_MxN        as the simulator's functions of these names
 *
 * All other parameters of a call (rounding, shift, rows of C) are equal in all calls of a design, and are constants in
 * its kernel.cc. */
#ifndef TW_XDNA2_ARRAY_SYMBOL_H
#define TW_XDNA2_ARRAY_SYMBOL_H

#include "target/xdna2/array/program.h"

typedef struct xd_symbol {
  char text[64]; /* "" without a function: the simulator's `step` means loops */
} xd_symbol;
xd_symbol xd_symbol_of(const xd_call *);

/* True if the function takes the first row of its band after its pointers. */
bool xd_symbol_takes_row(const xd_call *);

#endif
