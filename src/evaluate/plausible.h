/* plausible.h - rejects impossible results: a cost below the hard bound means that the kernel, or its reporter, has
 * cheated. */
#ifndef TW_EVALUATE_PLAUSIBLE_H
#define TW_EVALUATE_PLAUSIBLE_H

#include "evaluate/trial.h"

/* TW_FAILED with a line that begins "faster than the machine can be". */
tw_status tw_plausible(const tw_target *, const tw_bound *, double cost, tw_error *);

/* The same for a problem as text, as in wisdom. TW_OK also for unknown targets and problems: their entries are not
 * used. */
tw_status tw_plausible_entry(const char *target, const char *problem, double cost, tw_error *);

/* Can `tilewright evaluate` give this outcome for the trial? For outcomes of another process, which may be false.
 * The verdict must be known, its required fields present, its numbers consistent and its cost possible. `bound`: the
 * problem's; NULL: taken from the target. TW_FAILED with the reason. */
tw_status tw_plausible_outcome(const tw_trial *, const tw_bound *, const tw_outcome *, tw_error *);

#endif
