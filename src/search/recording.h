/* recording.h - steps and plans of an earlier search, for reuse on another shape.
 *
 * Method: schedule reuse of Autocomp (C. Hong et al., section 3.5). A recording is a file of steps, or the journal
 * of a search. The kernel with the least cost counts: its schedule gives the steps. If its source has no schedule,
 * language models are offered the plans that led from the last schedule to it, in order. */
#ifndef TW_SEARCH_RECORDING_H
#define TW_SEARCH_RECORDING_H

#include "tilewright/extend/target.h"
#include "tilewright/schedule.h"

enum { TW_RECORDINGS_MOST = 8, TW_RECORDED_PLANS_MOST = 64 };

typedef struct tw_recordings {
  size_t n; /* schedules with steps */
  tw_schedule schedule[TW_RECORDINGS_MOST];
  size_t n_plans;
  char *plan[TW_RECORDED_PLANS_MOST]; /* replies of models to planning prompts; malloc'ed */
} tw_recordings;

/* Adds a recording: the output directory of `tune --out`, its journal, or a file of steps. TW_USAGE if it has another
 * target or op, or no steps and no plans. */
tw_status tw_recordings_read(const char *path, const tw_target *, const tw_problem *, tw_recordings *, tw_error *);
/* Adds steps; TW_USAGE beyond TW_RECORDINGS_MOST. */
tw_status tw_recordings_add(tw_recordings *, const tw_schedule *, tw_error *);
void tw_recordings_free(tw_recordings *);

#endif
