/* known.h - what wisdom has for a problem, as the start of a search or as its result. */
#ifndef TW_SEARCH_KNOWN_H
#define TW_SEARCH_KNOWN_H

#include "tilewright/extend/target.h"

/* A legal schedule for the problem, from this problem (is_exact) or from a similar shape. Also a source for this
 * very problem, if that is better. */
typedef struct tw_known {
  bool has_schedule, is_exact;
  tw_schedule schedule;
  /* a schedule of this problem or of a similar shape, with steps that are illegal now; no steps: no recording */
  tw_schedule recording;
  /* the reason, if it is the schedule of this very problem, as after a step was removed; otherwise without a text */
  tw_error illegal;
  char *source; /* malloc'ed; NULL if there is none */
  /* Of the better one of `source` and an exact `schedule`; tw_wisdom_entry. 0: neither exists. */
  double cost, utilization;
  uint64_t machine;
} tw_known;

/* `path` as in wisdom.h. On failure *out is empty. Free `source`. */
tw_status tw_known_find(const char *path, const tw_target *, const tw_problem *, tw_known *out, tw_error *);

#endif
