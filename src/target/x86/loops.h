/* loops.h - what a thread does of a planned gemm. */
#ifndef TW_X86_LOOPS_H
#define TW_X86_LOOPS_H

#include "target/x86/plan.h"

/* The part of thread `thread` of threads_m x threads_n: nobody else writes there. `workspace`: bytes_per_thread of its own,
 * aligned to TW_GEMM_ALIGNMENT. */
void x86_run_thread(const tw_gemm_planned *, const tw_gemm_operands *, char *workspace, int thread);

#endif
