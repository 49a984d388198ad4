/* apply.h - makes a plan with a kernel and blocks that a search found. */
#ifndef TW_X86_APPLY_H
#define TW_X86_APPLY_H

#include "target/x86/plan.h"
#include "target/x86/runtime/tuned.h"

typedef struct x86_tuned {
  const x86_kernel *kernel; /* a kernel that computes the description's types on this CPU */
  x86_blocks blocks;
} x86_tuned;

/* tw_gemm_plan_create with the kernel and blocks of `tuned`; NULL: with the choices of x86_choose_*. */
tw_status x86_plan(const tw_gemm_spec *, const x86_tuned *, tw_gemm_plan **out, tw_error *);

/* The same plan in the caller's memory, without workspaces: for x86_run_part with workspaces of bytes_per_thread of the
 * caller's. With X86_B_STORED execution is x86_run_part_on. */
tw_status x86_describe(const tw_gemm_spec *, const x86_tuned *, x86_b_mode, tw_gemm_plan *, tw_error *);

/* Units of k in a block; `chosen` is the result of x86_choose_block for the plan. */
int64_t x86_tuned_block(const x86_tuned *, const tw_gemm_plan *, int64_t chosen);
/* Sets the blocks in a plan that has all of x86_choose_blocks; blocks that do not fit the plan are left unchanged. */
void x86_tune_blocks(tw_gemm_plan *, const x86_blocks *);

/* The numbers of rows for which execution calls the kernel's functions: bit r - 1. A kernel that was emitted for the
 * plan has only these functions. */
typedef struct x86_heights {
  unsigned packed, direct, wide_packed, wide_direct, coded;
} x86_heights;
x86_heights x86_heights_of(const tw_gemm_plan *);
/* True if the kernel has these functions, or none at all: then it is about to be emitted. */
bool x86_has_heights(const tw_gemm_plan *);

#endif
