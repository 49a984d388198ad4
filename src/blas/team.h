/* team.h - threads that stay between calls, and share the tasks of one call.
 *
 * A call never waits for a thread that has not begun: it does the work alone if it must. One call at a time has the
 * team; calls of other threads meanwhile run alone. After fork the child has no threads, and starts its own. */
#ifndef TW_BLAS_TEAM_H
#define TW_BLAS_TEAM_H

/* Runs on the calling thread as member 0, and at the same time on up to `members` - 1 others, each with a number of its
 * own below `members`. Returns when all that have begun have returned. */
typedef void blas_work(void *context, int member);
void blas_team_run(int members, blas_work *, void *context);

/* The number of the calling thread in the team, the same in each call; a caller has 0. */
int blas_team_thread(void);

/* Threads for a call: TILEWRIGHT_NUM_THREADS, or else OMP_NUM_THREADS as far as there are cores that the process may
 * use, or else these cores. Read once. */
int blas_threads(void);

#endif
