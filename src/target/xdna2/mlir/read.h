/* read.h - reads MLIR-AIE text, with object FIFOs or below them, into an array program: the output of write.h, and GEMM
 * designs by others.
 *
 * docs/reference/mlir-aie.md lists the supported ops. All others are rejected by name and line. Names must be defined
 * above their use, as aie-opt prints them. Kernels are recognized by name: the names of symbol.h, and matmul_*,
 * matvec_* and zero_* as in mlir-aie's aie_kernels (call.c). */
#ifndef TW_XDNA2_MLIR_READ_H
#define TW_XDNA2_MLIR_READ_H

#include "target/xdna2/array/program.h"

/* Properties that kernel.cc fixes and the text lacks. */
typedef struct xd_mlir_options {
  tw_rounding rounding;
  int shift; /* for narrowing kernels */
  bool
      /* run without an op: cores may use locks and buffers without restrictions, and functions with a given time */
      raw;
  size_t n_values; /* values of the runtime sequence's numeric arguments */
  const int64_t *value;
} xd_mlir_options;

/* The line in the text of a subject that messages name by this label: a FIFO, a channel, a tile, a command. */
typedef struct xd_mlir_line {
  char label[64];
  int line;
} xd_mlir_line;

typedef struct xd_mlir_design {
  xd_program program; /* lowered and checked; external buffers are the arguments of the runtime sequence */
  char device[16];    /* npu2, npu1_4col, ... */
  bool runs;          /* the design has a runtime sequence */
  int devices;        /* number of other devices in the text, which are ignored */
  int skipped;        /* number of trace ops, which are not simulated */
  int unknown;        /* number of calls of functions of which only the time is known */
  XD_LIST(xd_mlir_line) lines;
} xd_mlir_design;

/* True if a text is MLIR (and not a schedule): its first word is `module` or begins with `aie`. */
bool xd_mlir_is(const char *text);

/* TW_USAGE with "line N: ..." for wrong or unsupported text. */
tw_status xd_mlir_read(const xd_config *, const char *text, const xd_mlir_options *, xd_mlir_design *out, tw_error *);
void xd_mlir_free(xd_mlir_design *);

/* Prepends the line to a message about the design: the line of its first subject, or, for a deadlock, its last. */
void xd_mlir_locate(const xd_mlir_design *, tw_error *);

#endif
