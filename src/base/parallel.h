/* parallel.h - the same function on 0..n-1, on several threads. */
#ifndef TW_BASE_PARALLEL_H
#define TW_BASE_PARALLEL_H

#include <sched.h>
#include <stdbool.h>
#include <stddef.h>

#include "base/cores.h"

typedef void tw_parallel_function(void *context, size_t index);

/* Calls function(context, i) once for each i < n, in any order, on at most `jobs` threads (0 = tw_cores(), the
 * caller's own is one of them), and returns when all are done. Threads are made per call (tens of microseconds):
 * give it work of milliseconds. If the system gives fewer threads, those do it all. Calls may nest. */
void tw_parallel_for(int jobs, size_t n, tw_parallel_function *function, void *context);

/* The flag that asks for an end of what this thread computes; NULL: none. Threads of tw_parallel_for do not inherit it.
 * tw_interrupt_by sets the flag and returns the previous one. */
const volatile int *tw_interrupt_by(const volatile int *flag);
const volatile int *tw_interrupt(void);
bool tw_is_interrupted(void);

/* From now on, loops of this thread and the loops in them begin no further index once *interrupt is set (NULL: never). Their
 * result is incomplete then, so the caller must look at the flag. Returns the previous flag. */
const volatile int *tw_parallel_until(const volatile int *interrupt);

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
