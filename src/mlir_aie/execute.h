/* execute.h - runs a design from a file on the operands of a case. */
#ifndef TW_MLIR_AIE_EXECUTE_H
#define TW_MLIR_AIE_EXECUTE_H

#include "mlir_aie/read.h"

/* TW_USAGE if the design is no GEMM of the problem's sizes and types. */
tw_status xd_mlir_work_of(const xd_config *, const xd_mlir_design *, const tw_problem *, xd_mlir_work *out, tw_error *);

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
