/* known.h - what wisdom has for a problem, as the start of a search or as its result. */
#ifndef TW_SEARCH_KNOWN_H
#define TW_SEARCH_KNOWN_H

#include "tilewright/extend/target.h"

/* A schedule that is legal for the problem, of this problem (is_exact) or of a similar shape, and a source of this very problem if
 * that is better. */
typedef struct tw_known {
  bool has_schedule, is_exact;
  tw_schedule schedule;
  tw_schedule recording; /* of a similar shape, with steps that are illegal here; without steps: none */
  char *source;          /* malloc'ed; NULL if there is none */
  /* Of the better of `source` and an exact `schedule`; tw_wisdom_entry. 0: there is none. */
  double cost, utilization;
  uint64_t machine;
} tw_known;

/* `path` as in wisdom.h. On failure *out is empty. Free `source`. */
tw_status tw_known_find(const char *path, const tw_target *, const tw_problem *, tw_known *out, tw_error *);

#endif
