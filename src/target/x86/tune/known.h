/* known.h - the best kernels that searches found, for tw_gemm_plan_create: a registry that wisdom fills (tw_wisdom_apply). */
#ifndef TW_X86_KNOWN_H
#define TW_X86_KNOWN_H

#include "target/x86/tune/apply.h"
#include "tilewright/extend/target.h"

/* The entry for exactly this description; NULL if none. The time grows only with the number of entries. */
const x86_tuned *x86_known(const tw_gemm_spec *);
/* Inserts an entry at the front: later entries take precedence. */
tw_status x86_know(const tw_gemm_spec *, const x86_tuned *, tw_error *);

/* learn.c; tw_library.learn: adds a schedule to the registry. Its kernel is part of the library, or is loaded from
 * the cache, or is compiled, which needs a compiler and a second. */
tw_status x86_learn(const tw_target *, const tw_problem *, const tw_schedule *, tw_error *);

#endif
