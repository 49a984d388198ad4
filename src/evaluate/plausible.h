/* plausible.h - a cost below what the machine can do is never a result: the kernel, or whoever tells of it, has cheated. */
#ifndef TW_EVALUATE_PLAUSIBLE_H
#define TW_EVALUATE_PLAUSIBLE_H

#include "evaluate/trial.h"

/* TW_FAILED with a line that begins "faster than the machine can be". */
tw_status tw_plausible(const tw_target *, const tw_bound *, double cost, tw_error *);

/* The same of a problem in words, as wisdom has it. TW_OK too for targets and problems that are not known here: nothing
 * is used of those. */
tw_status tw_plausible_entry(const char *target, const char *problem, double cost, tw_error *);

/* Is this an outcome that `tilewright evaluate` can give for the trial? For outcomes of another process, which may lie: the
 * verdict is one of an evaluation, what it requires is there, its numbers agree, and its cost is possible. `bound`: of the
 * problem; NULL: the target is asked. TW_FAILED with the reason. */
tw_status tw_plausible_outcome(const tw_trial *, const tw_bound *, const tw_outcome *, tw_error *);

#endif
