/* tuning.h - a schedule of the target x86: its text as a struct, its steps, its source.
 *
 *   isa avx512            instruction set of the kernel (`tilewright targets x86` lists this CPU's)
 *   tile rows=14 vectors=2   sums in registers
 *   unroll k=4            steps of k in the body of the innermost loop
 *   prefetch bytes=512    prefetch distance of packed A; 0: left to the hardware
 *   chains n=4            independent parts of each sum of a tile on codes (few rows, or A rounded)
 *   ahead bytes=8192      prefetch distance of packed B if there is one strip of rows
 *   block m=252, block n=2048, block k=512   elements [default: chosen from the caches]
 *   atb rho=2             the buffer of A is rho times lower than the block of C
 *   a packed, a in_place
 *   panels n=2            lower tiles on two panels at once; otherwise the tile is that of `tile`
 *   threads m=2 n=1       parts of C
 *
 * Steps may be in any order; of two equal verbs the later one counts. The empty schedule is a kernel in plain C. */
#ifndef TW_X86_TUNING_H
#define TW_X86_TUNING_H

#include "target/x86/plan.h"
#include "target/x86/runtime/tuned.h"
#include "target/x86/variant.h"
#include "tilewright/extend/target.h"
#include "tilewright/gemm.h"

typedef struct x86_tuning {
  x86_variant kernel; /* isa, arithmetic, rows, vectors, unroll, prefetch */
  x86_blocks blocks;
  bool tiled; /* the tile comes from a step; otherwise from x86_settle_tile */
} x86_tuning;

extern const tw_language x86_language; /* its functions expect a tw_gemm_spec */

/* TW_USAGE with the step that is not legal for the problem on this CPU, and the reason. */
tw_status x86_tuning_of(const tw_problem *, const tw_schedule *, x86_tuning *out, tw_error *);
/* True if legal; otherwise names the illegal value. */
tw_status x86_tuning_check(const tw_gemm_spec *, const x86_tuning *, tw_error *);
/* Sets the tile of a schedule without one: 4 rows, and the fewest vectors that lines of the weights' codes allow. */
void x86_settle_tile(const tw_gemm_spec *, x86_tuning *);
/* The arithmetic in which a set computes the types. */
x86_arithmetic x86_arithmetic_of(const tw_gemm_spec *, x86_isa);

/* The plan of the schedule's kernel before the kernel is emitted. The plan points to `kernel`, which is filled with
 * the properties that a plan depends on. */
tw_status x86_tuning_plan(const tw_gemm_spec *, const x86_tuning *, x86_kernel *kernel, tw_gemm_plan *, tw_error *);

/* tw_family.steps, emit, baseline, predict. */
tw_status x86_steps(const tw_target *, const tw_problem *, const tw_schedule *, tw_menu *, tw_error *);
tw_status x86_emit(const tw_target *, const tw_problem *, const tw_schedule *, char **source, tw_error *);
tw_status x86_baseline(const tw_target *, const tw_problem *, tw_schedule *, tw_error *);
tw_status x86_predict(const tw_target *, const tw_problem *, const tw_schedule *, double *cost, tw_error *);

/* model.c: a rough estimate in seconds, good enough to order kernels. */
double x86_model_seconds(const tw_gemm_spec *, const x86_tuning *);

#endif
