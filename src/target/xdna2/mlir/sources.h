/* sources.h - the files that `--out` writes for a machine with the NPU: design.mlir, README.md with the commands,
 * run.py and operands.bin. */
#ifndef TW_XDNA2_MLIR_SOURCES_H
#define TW_XDNA2_MLIR_SOURCES_H

#include "target/xdna2/array/gemm_array.h"
#include "tilewright/extend/target.h"

/* Appends the files. A design that object FIFOs cannot express has a README.md with the reason, and neither
 * design.mlir nor run.py. On failure the caller frees the files. */
tw_status xd_mlir_sources(const xd_config *, const tw_problem *, const xd_gemm *, tw_files *, tw_error *);

#endif
