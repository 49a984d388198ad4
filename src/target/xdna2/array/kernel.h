/* kernel.h - what cores compute: functions on buffers in L1, to the bit. The table stands in kernel.c.
 *
 * Tiles in L1 are rows of 8x8 blocks as the vector unit reads them: an m x k tile of A as blocks (m/8) x (k/8), a tile
 * of B as (k/8) x (n/8), C as (m/8) x (n/8), each block row-major. bfp16 blocks are 8 rows of 9 bytes, of A along k, of
 * B transposed (a row is a column of B), of C along n; their order follows the clusters of the call's cover, which must be
 * given (kernel_bfp.h). matmul_i8_turned takes blocks of B column by column. With int4 on B's side blocks are those of
 * 4x16x16: of A 4x16, of B 16x16, of C 4x16. */
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

const xd_function *xd_function_find(const char *name); /* NULL if there is none */

#endif
