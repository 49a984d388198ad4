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
 * caller's own is one of them), and returns when all are done. Threads are made per call (tens of microseconds), so
 * use it for work of milliseconds. If the system starts fewer threads, these do all of the work. Calls may nest. */
void tw_parallel_for(int jobs, size_t n, tw_parallel_function *function, void *context);

/* The condition on which long computations of this thread end early: simulations, references, compilers. NULL:
 * never. Threads of tw_parallel_for inherit it. tw_stop_by sets it and returns the previous one. */
const tw_stop *tw_stop_by(const tw_stop *);
const tw_stop *tw_stop_of_thread(void);
bool tw_is_stop_asked(void);

/* After tw_is_stopped returns true, loops of this thread and loops inside them begin no further index (NULL: never).
 * Their result is then incomplete, so the caller must check the condition, too. Returns the previous one. */
const tw_stop *tw_parallel_until(const tw_stop *);

/* A pause between two reads of a variable that another thread will write. */
static inline void tw_relax(void) {
#if defined __x86_64__
  __builtin_ia32_pause();
#endif
}

/* The same for a wait that may last. After `most` reads, counted in *looks, other threads may run on this core. */
static inline void tw_look_again(int *looks, int most) {
  if (*looks < most) {
    ++*looks;
    tw_relax();
  } else {
    sched_yield();
  }
}

#endif
