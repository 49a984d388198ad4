/* read.h - MLIR-AIE text, with object FIFOs or below them, as an array program: what write.h writes, and what others
 * wrote for GEMM.
 *
 * docs/reference/mlir-aie.md lists what is taken. Everything else is refused by its name and line. Names must be defined above
 * their use, as aie-opt prints them. Kernels are known by their names: those of symbol.h, and matmul_*, matvec_* and
 * zero_* as mlir-aie's aie_kernels call theirs (call.c). */
#ifndef TW_XDNA2_MLIR_READ_H
#define TW_XDNA2_MLIR_READ_H

#include "target/xdna2/array/program.h"

/* What kernel.cc fixes, and the text does not say. */
typedef struct xd_mlir_options {
  tw_rounding rounding;
  int shift; /* of narrowing kernels */
  bool
      raw; /* run without an op: cores may use locks and buffers as they like, and functions of which the time is given */
  size_t n_values; /* of the runtime sequence's arguments: those that are numbers */
  const int64_t *value;
} xd_mlir_options;

/* Where something stands in the text that messages call by this label: a FIFO, a channel, a tile, a command. */
typedef struct xd_mlir_line {
  char label[64];
  int line;
} xd_mlir_line;

typedef struct xd_mlir_design {
  xd_program program; /* lowered and checked; external buffers are the arguments of the runtime sequence */
  char device[16];    /* npu2, npu1_4col, ... */
  bool runs;          /* it has a runtime sequence */
  int devices;        /* others in the text, which are left out */
  int skipped;        /* ops of traces, which are not simulated */
  int unknown;        /* calls of functions of which only the time is given */
  XD_LIST(xd_mlir_line) lines;
} xd_mlir_design;

/* Whether a text is MLIR at all (and no schedule): its first word is `module` or begins with `aie`. */
bool xd_mlir_is(const char *text);

/* TW_USAGE with "line N: ..." for what is wrong or not taken. */
tw_status xd_mlir_read(const xd_config *, const char *text, const xd_mlir_options *, xd_mlir_design *out, tw_error *);
void xd_mlir_free(xd_mlir_design *);

/* Puts the line in front of a message about the design: of what it names first, or, of a deadlock, last. */
void xd_mlir_locate(const xd_mlir_design *, tw_error *);

#endif
