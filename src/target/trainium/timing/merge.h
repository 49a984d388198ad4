/* merge.h - merges small instructions of several iterations of a loop. */
#ifndef TW_TRAINIUM_MERGE_H
#define TW_TRAINIUM_MERGE_H

#include "target/trainium/timing/hazards.h"

/* Sets `order`, `leader` and `members` of a program whose hazards are known, with at most `at_most` instructions in
 * a group. */
tw_status trn_merge_iterations(trn_compiled *, const trn_hazards *, int at_most, tw_error *);

#endif
