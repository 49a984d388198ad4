/* parallel.h - the same function on 0..n-1, on several threads. */
#ifndef TW_BASE_PARALLEL_H
#define TW_BASE_PARALLEL_H

#include <sched.h>
#include <stdbool.h>
#include <stddef.h>

#include "base/cores.h"
#include "tilewright/status.h"

typedef void tw_parallel_function(void *context, size_t index);

/* Calls function(context, i) once for each i < n, in any order, on at most `jobs` threads (0 = tw_cores(), the
 * caller's own is one of them), and returns when all are done. Threads are made per call (tens of microseconds):
 * give it work of milliseconds. If the system gives fewer threads, those do it all. Calls may nest. */
void tw_parallel_for(int jobs, size_t n, tw_parallel_function *function, void *context);

/* When long computations of this thread end early: simulations, references, compilers. NULL: never. Threads of
 * tw_parallel_for inherit it. tw_stop_by sets it and returns the previous one. */
const tw_stop *tw_stop_by(const tw_stop *);
const tw_stop *tw_stop_of_thread(void);
bool tw_is_stop_asked(void);

/* From now on, loops of this thread and the loops in them begin no further index once tw_is_stopped says so (NULL:
 * never). Their result is incomplete then, so the caller must ask, too. Returns the previous one. */
const tw_stop *tw_parallel_until(const tw_stop *);

/* Between two looks at what another thread will write. */
static inline void tw_relax(void) {
#if defined __x86_64__
  __builtin_ia32_pause();
#endif
}

/* The same for a wait that may last: after `most` looks, counted in *looks, other threads may run on this core. */
static inline void tw_look_again(int *looks, int most) {
  if (*looks < most) {
    ++*looks;
    tw_relax();
  } else {
    sched_yield();
  }
}

#endif
