/* kernel.h - the kernels of cores: functions on buffers in L1, bit-exact. Their table is in kernel.c.
 *
 * Tiles in L1 are rows of 8x8 blocks as the vector unit reads them: an m x k tile of A as blocks (m/8) x (k/8), a tile
 * of B as (k/8) x (n/8), C as (m/8) x (n/8), each block row-major. bfp16 blocks are 8 rows of 9 bytes: along k for A,
 * transposed for B (a row is a column of B), along n for C; their order follows the clusters of the call's cover, which
 * must be given (kernel_bfp.h). matmul_i8_turned takes blocks of B column by column. With int4 on B's side blocks have
 * the sizes of 4x16x16: 4x16 for A, 16x16 for B, 4x16 for C; matmul_i16 has 4x4x8, matmul_bf16_lanes 4x8x8. */
#ifndef TW_XDNA2_ARRAY_KERNEL_H
#define TW_XDNA2_ARRAY_KERNEL_H

#include "target/xdna2/array/program.h"

enum { XD_READS = 1, XD_WRITES = 2 };

struct xd_function {
  const char *name;
  int n_arguments;
  int access[XD_ARGUMENTS]; /* XD_READS, XD_WRITES or both */
  /* bytes of argument i that a call touches */
  int64_t (*bytes)(const xd_call *, int argument);
  void (*run)(const xd_call *, uint8_t *const arguments[]);
};

const xd_function *xd_function_find(const char *name); /* NULL: no such function */

#endif
