/* clock.h - the current time, and whether a time limit has passed. */
#ifndef TW_BASE_CLOCK_H
#define TW_BASE_CLOCK_H

#include <stdbool.h>

#include "tilewright/status.h"

/* Seconds of a clock that never goes back (CLOCK_MONOTONIC). */
double tw_now(void);

/* Seconds after which a search with this time limit has ended, unless its baseline alone takes longer. */
static inline double tw_seconds_allowed(double limit) { return limit + 2 > 1.2 * limit ? limit + 2 : 1.2 * limit; }

/* True if the deadline has passed or an interrupt was requested. NULL never stops. A call takes tens of nanoseconds,
 * so do not call it in each iteration of a short loop. */
bool tw_is_stopped(const tw_stop *);

/* A flag that a signal's handler or another thread sets; NULL is never set. */
static inline bool tw_is_set(const volatile int *flag) { return flag && __atomic_load_n(flag, __ATOMIC_RELAXED); }

#endif
