/* stated.h - the problem that a kernel's own first comment states. */
#ifndef TW_EVALUATE_STATED_H
#define TW_EVALUATE_STATED_H

#include "evaluate/trial.h"

/* If the first comment ("// gemm m=4 ...", as in emitted kernels) states another problem than the trial's, puts this
 * fact before the error: the error then follows from it and says nothing about the kernel. */
void tw_stated_explain(const tw_trial *, tw_error *);

/* A kernel for the user's files: with a first comment that states the problem, unless it has one. Emitted text has none on
 * GPUs and x86, where one program serves many problems and is built once for them. Malloc'ed; NULL: no memory. */
char *tw_stated_text(const tw_target *, const tw_problem *, const char *source);

#endif
