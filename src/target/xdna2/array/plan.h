/* plan.h - schedules of a GEMM on the array: steps of text into the choices of gemm_array.h, and back.
 *
 *   tile m=128 k=64 n=128 rho=4   of a core; rho: A is buffered in sub-tiles of m / rho rows
 *   cores rows=4 columns=8        cores in use
 *   buffers a=2 b=2 c=1           copies in L1
 *   depth 4                       steps of K that a tile of A in L2 holds
 *   kernel NAME                   a kernel of the same types; with its own cover, unless later steps change it
 *   cluster rows=2 columns=2      accumulators that a micro-kernel keeps
 *   unroll 4                      clusters in straight-line code
 *   layout rows                   bfp16 operands are stored in DDR as rows of the matrix, or as tiles
 *   trace 4                       cores that the emitted design records
 *   await_groups                  rows of macro-tiles are awaited before the next ones begin
 *   runtime_sizes                 numbers of tiles and steps of K are read at run time
 *
 * A later step replaces an earlier one of the same verb. The text of a design has one line for each verb, so it is
 * complete. */
#ifndef TW_XDNA2_ARRAY_PLAN_H
#define TW_XDNA2_ARRAY_PLAN_H

#include "target/xdna2/array/gemm_array.h"
#include "tilewright/extend/target.h"

/* The plainest design of the problem: small tiles on all cores for which its sizes suffice. The problem's types must
 * be settled. */
tw_status xd_plan_start(const xd_config *, const tw_problem *, xd_gemm *out, tw_error *);
/* The steps, as a table; its functions take the configuration. */
extern const tw_language xd_plan_language;
/* Do all buffers fit L1 and L2? */
tw_status xd_plan_fits(const xd_config *, const xd_gemm *, tw_error *);
/* The start and all steps; TW_USAGE names the illegal step or why the result is not legal. */
tw_status xd_plan_of(const xd_config *, const tw_problem *, const tw_schedule *, xd_gemm *out, tw_error *);
/* malloc'ed; NULL without memory. Reads back by tw_schedule_parse and xd_plan_of. */
char *xd_plan_print(const xd_gemm *);

/* predict.c: seconds by simple bounds: the cores' computation (cost.h's constants), the transfers of DDR and streams,
 * and the parts that do not overlap. */
double xd_plan_predict(const xd_config *, const xd_gemm *);
/* A lower bound of the simulated seconds of the design. */
double xd_plan_least(const xd_config *, const xd_gemm *);

/* menu.c: the next steps. */
tw_status xd_plan_menu(const xd_config *, const tw_problem *, const tw_schedule *, tw_menu *out, tw_error *);

#endif
