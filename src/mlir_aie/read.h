/* read.h - reads MLIR-AIE text, with object FIFOs or below them, into an array program: the output of write.h, and GEMM
 * designs by others.
 *
 * docs/reference/mlir-aie.md lists the supported ops. All others are rejected by name and line. Names must be defined
 * above their use, as aie-opt prints them. Kernels are recognized by name: the names of symbol.h, and matmul_*,
 * matvec_* and zero_* as in mlir-aie's aie_kernels (call.c). */
#ifndef TW_MLIR_AIE_READ_H
#define TW_MLIR_AIE_READ_H

#include "target/xdna2/mlir/module.h"

/* TW_USAGE with "line N: ..." for wrong or unsupported text. */
tw_status xd_mlir_read(const xd_config *, const char *text, const xd_mlir_options *, xd_mlir_design *out, tw_error *);
void xd_mlir_free(xd_mlir_design *);

/* Prepends the line to a message about the design: the line of its first subject, or, for a deadlock, its last. */
void xd_mlir_locate(const xd_mlir_design *, tw_error *);

#endif
