/* evaluator.h - describes everything that costs depend on, except the kernel: the machine, the compiler, the driver,
 * the version of the simulator.
 *
 * Costs of different machines never mix: journals, wisdom and remote evaluators are compared by this text. */
#ifndef TW_EVALUATE_EVALUATOR_H
#define TW_EVALUATE_EVALUATOR_H

#include "base/hash.h"
#include "tilewright/extend/target.h"

/* Several lines, malloc'ed: tilewright's version, the target's description, its compiler with version. NULL without
 * memory. */
char *tw_evaluator_text(const tw_target *);
/* Its digest; "" without memory. */
void tw_evaluator_digest(const tw_target *, char digest[TW_HASH_TEXT]);

#endif
