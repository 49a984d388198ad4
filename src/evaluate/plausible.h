/* plausible.h - a cost below what the machine can do is never a result: the kernel, or whoever tells of it, has cheated. */
#ifndef TW_EVALUATE_PLAUSIBLE_H
#define TW_EVALUATE_PLAUSIBLE_H

#include "tilewright/target.h"

/* TW_FAILED with a line that begins "faster than the machine can be". */
tw_status tw_plausible(const tw_target *, const tw_bound *, double cost, tw_error *);

/* The same of a problem in words, as wisdom has it. TW_OK too for targets and problems that are not known here: nothing
 * is used of those. */
tw_status tw_plausible_entry(const char *target, const char *problem, double cost, tw_error *);

#endif
