/* bench.h - `tilewright bench gemm ... -t x86`: checks and times the library on one problem. */
#ifndef TW_X86_BENCH_H
#define TW_X86_BENCH_H

#include "tilewright/extend/target.h"
#include "tilewright/gemm.h"

/* The problem as the library takes it. */
tw_gemm_spec x86_spec_of(const tw_problem *);

tw_status x86_bench(const tw_target *, const tw_problem *, uint64_t seed, tw_bench *, tw_error *);

#endif
