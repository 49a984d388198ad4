/* known.h - the best kernels that searches found, for tw_gemm_plan_create: a registry that wisdom fills (tw_wisdom_apply). */
#ifndef TW_X86_KNOWN_H
#define TW_X86_KNOWN_H

#include "target/x86/tune/apply.h"
#include "tilewright/extend/target.h"

/* The known entry for exactly this description; NULL if none. Constant time except for the number of entries. */
const x86_tuned *x86_known(const tw_gemm_spec *);
/* Inserts it at the front: later entries take precedence. */
tw_status x86_know(const tw_gemm_spec *, const x86_tuned *, tw_error *);

/* learn.c; tw_library.learn: adds a schedule to the registry. Its kernel is in the library, or comes from the cache, or
 * is compiled: that needs a compiler and a second. */
tw_status x86_learn(const tw_target *, const tw_problem *, const tw_schedule *, tw_error *);

#endif
