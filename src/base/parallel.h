/* parallel.h - the same function on 0..n-1, on several threads. */
#ifndef TW_BASE_PARALLEL_H
#define TW_BASE_PARALLEL_H

#include <stddef.h>

typedef void tw_parallel_function(void *context, size_t index);

/* Calls function(context, i) once for each i < n, in any order, on at most `jobs` threads (0 = all cores, the
 * caller's own is one of them), and returns when all are done. Threads are made per call (tens of microseconds):
 * give it work of milliseconds. If the system gives fewer threads, those do it all. Calls may nest. */
void tw_parallel_for(int jobs, size_t n, tw_parallel_function *function, void *context);

/* Cores that this process may use, at least 1. */
int tw_cores(void);

#endif
