/* team.h - threads that stay between calls, for products of microseconds.
 *
 * One call at a time has the team, and member i of a call is always the same thread, so that its core's caches keep
 * what it used. A call never waits for a thread that has not joined it: the caller does that member's work. After fork the
 * child has no threads, and starts its own. */
#ifndef TW_BASE_TEAM_H
#define TW_BASE_TEAM_H

enum { TW_TEAM_MOST = 256 }; /* members */

/* Calls work(context, i) once for each i < members: 0 on the calling thread, other members concurrently on helper
 * threads, or on the calling thread after 0. Returns when all have returned: the number of helpers that joined. -1, with no call
 * made: another call has the team, or the system does not start the threads. */
typedef void tw_team_work(void *context, int member);
int tw_team_run(int members, tw_team_work *, void *context);

/* Each helper thread calls begin(i) when it starts. Must be set before the first call. */
typedef void tw_team_begin(int member);
void tw_team_begin_with(tw_team_begin *);

#endif
