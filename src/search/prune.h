/* prune.h - schedules without their dead steps. */
#ifndef TW_SEARCH_PRUNE_H
#define TW_SEARCH_PRUNE_H

#include "tilewright/extend/target.h"

/* Removes dead steps: steps without effect on the emitted code (except comments) and on the predicted cost. A
 * later step overrides them, or they state a default. Does nothing to a schedule that is illegal for the problem. */
void tw_prune_schedule(const tw_target *, const tw_problem *, tw_schedule *);
/* The same, but the first `kept` steps stay. */
void tw_prune_schedule_after(const tw_target *, const tw_problem *, size_t kept, tw_schedule *);
/* The schedule without one of its steps. */
tw_schedule tw_schedule_without(const tw_schedule *, size_t step);

#endif
