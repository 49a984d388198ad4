/* merge.h - small instructions of several iterations of a loop, as one. */
#ifndef TW_TRAINIUM_MERGE_H
#define TW_TRAINIUM_MERGE_H

#include "target/trainium/timing/hazards.h"

/* Gives `order`, `leader` and `members` of a program whose hazards are known, at most `at_most` instructions in one. */
tw_status trn_merge_iterations(trn_compiled *, const trn_hazards *, int at_most, tw_error *);

#endif
