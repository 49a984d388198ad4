/* stated.h - the problem that a kernel's own first comment states. */
#ifndef TW_EVALUATE_STATED_H
#define TW_EVALUATE_STATED_H

#include "evaluate/trial.h"

/* If the first comment ("gemm m=64 n=64 k=64 on TARGET ...", as emitted kernels have it) states another problem than the trial's,
 * puts that in front of the error: the fault that follows from it is no news about the kernel. */
void tw_stated_explain(const tw_trial *, tw_error *);

#endif
