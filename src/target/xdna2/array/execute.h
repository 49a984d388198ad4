/* execute.h - runs a design on the operands of a case: its result and its time. */
#ifndef TW_XDNA2_ARRAY_EXECUTE_H
#define TW_XDNA2_ARRAY_EXECUTE_H

#include "target/xdna2/array/gemm_array.h"
#include "target/xdna2/array/run.h"
#include "tilewright/extend/target.h"

/* Moves and computes every byte of the case. For problems of more than XD_CHECK_MACS multiply-accumulates only a part:
 * a macro-tile and the remainder of each of m and n, and likewise two steps of K. The op's reference defines the
 * expected result. */
#define XD_CHECK_MACS 1.5e8
tw_status xd_execute_check(const xd_config *, const xd_gemm *, const tw_case *, tw_error *);
/* Describes the checked part of a problem. */
void xd_execute_coverage(const xd_gemm *, const tw_problem *, char *text, size_t size);

/* Runs the whole problem in timing mode. `trace`: see tw_evaluation.trace; may be NULL. */
tw_status xd_execute_measure(const xd_config *, const xd_gemm *, const char *trace, tw_measurement *out, tw_error *);

/* ---- of any program ---- */

/* A program's useful multiply-accumulates, and the maximum per cycle of a core. */
typedef struct xd_work {
  double macs, peak;
} xd_work;
/* Measures a run with data: the bytes of the external buffers (run.h). */
tw_status xd_measure_run(const xd_config *, const xd_program *, const xd_work *, void *const external[],
                         const char *trace, tw_measurement *out, tw_error *);
/* True if scalar code of its cores loads values: then its time may depend on data. */
bool xd_has_scalars(const xd_program *);
/* Measures a program without data, or with zeros if it has scalar code. */
tw_status xd_measure_program(const xd_config *, const xd_program *, const xd_work *, const char *trace,
                             tw_measurement *out, tw_error *);

/* Converts between the op's format (bfp16 and scaled weights as f32, narrow weights as int8; dense) and the bytes in DDR. `operand`: A, B,
 * C. */
tw_status xd_operands_to_device(const xd_gemm *, const tw_operand operand[], void *const host[], void *const device[],
                                tw_error *);
void xd_result_from_device(const xd_gemm *, const tw_operand *c, const void *device, void *host);

/* Kernels of bf16 and bfp16 round sums while they compute, so the op's comparison must have a wide tolerance. This
 * function compares bit by bit with the definition in reference.h. The last of the n operands is C. `row`: the
 * problem's row for each row here, for messages; NULL: the first rows. */
tw_status xd_check_bits(const xd_gemm *, size_t n, const tw_operand operand[], const int64_t *row, void *const host[],
                        tw_error *);

#endif
