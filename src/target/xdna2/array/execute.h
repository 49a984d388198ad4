/* execute.h - a design on the operands of a case: does it compute what it should, and how long does it take? */
#ifndef TW_XDNA2_ARRAY_EXECUTE_H
#define TW_XDNA2_ARRAY_EXECUTE_H

#include "target/xdna2/array/gemm.h"
#include "target/xdna2/array/run.h"
#include "tilewright/target.h"

/* Moves and computes every byte of the case, or, of problems of more than XD_CHECK_MACS multiply-accumulates, of a part
 * of it: a macro-tile and what is left over of each of m and n, and likewise two steps of K. The op's reference says
 * what is right. */
#define XD_CHECK_MACS 1.5e8
tw_status xd_execute_check(const xd_config *, const xd_gemm *, const tw_case *, tw_error *);

/* The whole problem in timing mode. `trace`: see tw_target.measure; may be NULL. */
tw_status xd_execute_measure(const xd_config *, const xd_gemm *, const char *trace, tw_measurement *out, tw_error *);

#endif
