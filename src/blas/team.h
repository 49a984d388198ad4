/* team.h - threads that stay between calls, and share the tasks of one call.
 *
 * A call never waits for a thread that has not begun; if necessary it does all of the work alone. One call at a time
 * has the team. Calls of other threads at the same time run alone. After fork the child has no threads, and starts
 * its own. */
#ifndef TW_BLAS_TEAM_H
#define TW_BLAS_TEAM_H

/* Runs on the calling thread as member 0, and concurrently on up to `members` - 1 other threads, each with its own
 * number below `members`. Returns when all threads that have begun have returned. */
typedef void blas_work(void *context, int member);
void blas_team_run(int members, blas_work *, void *context);

/* The number of the calling thread in the team, the same in each call; a caller has 0. */
int blas_team_thread(void);

/* Threads for a call: TILEWRIGHT_NUM_THREADS. Otherwise the number of cores that the process may use, limited by
 * OMP_NUM_THREADS. Read once. */
int blas_threads(void);

#endif
