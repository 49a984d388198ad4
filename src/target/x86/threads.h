/* threads.h - the threads that execute plans: the team's, or OpenMP's. */
#ifndef TW_X86_THREADS_H
#define TW_X86_THREADS_H

#include <stdatomic.h>
#include <stdbool.h>

#include "base/team.h"

/* Calls work(context, i) for each i < threads. */
void x86_run_on_threads(int threads, tw_team_work *, void *context);
/* From now on the team has all calls, however late, and no clock is read: for a process that may not. */
void x86_keep_team(void);

/* Which of the two has been late, in calls in succession. Set to zero: the team. */
typedef struct x86_lateness {
  atomic_bool openmp;   /* the team gave way to OpenMP */
  atomic_int calls;     /* late ones */
  atomic_int doublings; /* of the time after which the team gives way */
  _Atomic double since; /* time of the first late call, seconds */
  atomic_int regions;   /* of OpenMP since the team gave way */
  atomic_bool trial;    /* the team is tried again: OpenMP's threads are known to be in time */
} x86_lateness;

/* Regions of OpenMP after which the team is tried again, for some hundred calls if its helpers are still late. */
enum { X86_REGIONS_UNTIL_TRIAL = 1 << 16 };

/* After a call of the team at time `now`: did its helpers come in time? */
void x86_note_team(x86_lateness *, bool in_time, double now);
/* After a region of OpenMP that took `all` seconds, of which the caller itself worked for `own`. */
void x86_note_openmp(x86_lateness *, double own, double all);

#endif
