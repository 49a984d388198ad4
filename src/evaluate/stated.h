/* stated.h - the problem that a kernel's own first comment states. */
#ifndef TW_EVALUATE_STATED_H
#define TW_EVALUATE_STATED_H

#include "evaluate/trial.h"

/* If the first comment ("// gemm m=4 ...", as in emitted kernels) states another problem than the trial's, puts this
 * fact before the error: the error then follows from it and says nothing about the kernel. */
void tw_stated_explain(const tw_trial *, tw_error *);

#endif
