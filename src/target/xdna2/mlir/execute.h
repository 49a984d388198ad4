/* execute.h - runs a design from a file on the operands of a case. */
#ifndef TW_XDNA2_MLIR_EXECUTE_H
#define TW_XDNA2_MLIR_EXECUTE_H

#include "target/xdna2/array/gemm_array.h"
#include "target/xdna2/mlir/read.h"
#include "tilewright/extend/target.h"

/* The computation of a design, and the layout of its operands in DDR. */
typedef struct xd_mlir_work {
  bool packed; /* an operand is stored in tiles, as gemm_array.h describes for `gemm`; false: all are row-major */
  /* for designs with kernels of symbol.h: the choices from which it was made, recovered; kernel NULL for others */
  xd_gemm gemm;
  double peak; /* multiply-accumulates per cycle of a core */
  int step;    /* sums of bf16 are rounded to bf16 after this depth (kernel_blocked.h); 0: they are not rounded */
} xd_mlir_work;

/* TW_USAGE if the design is no GEMM of the problem's sizes and types. */
tw_status xd_mlir_work_of(const xd_config *, const xd_mlir_design *, const tw_problem *, xd_mlir_work *out, tw_error *);

/* True if designs with these types can be read even if no kernel of the machine has them. */
bool xd_mlir_knows_types(tw_type a, tw_type b, tw_type c);

/* Moves and computes every byte of the case. C is compared with the op's reference completely; for problems of more
 * than XD_COMPARE_MACS multiply-accumulates, by a sample that is drawn after the run and a survey of all elements. */
#define XD_COMPARE_MACS 5e8
tw_status xd_mlir_check(const xd_config *, const xd_mlir_design *, const xd_mlir_work *, const tw_case *, tw_error *);
/* The compared part of a problem, in words. */
void xd_mlir_coverage(const xd_mlir_work *, const tw_problem *, char *text, size_t size);
/* Without an op. */
tw_status xd_mlir_launch(const xd_config *, const char *text, tw_raw_launch *, tw_measurement *, tw_error *);
tw_status xd_mlir_measure(const xd_config *, const xd_mlir_design *, const xd_mlir_work *, const tw_case *,
                          const char *trace, tw_measurement *, tw_error *);

#endif
