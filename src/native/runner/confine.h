/* confine.h - takes away from a process all that computing does not need. */
#ifndef TW_NATIVE_RUNNER_CONFINE_H
#define TW_NATIVE_RUNNER_CONFINE_H

#include "native/arena.h"

/* From now on every thread of this process can compute, use its memory and that of the arena, get more up to the limit,
 * wait for its own threads, stop and end itself: no files, network, processes, new threads, signals to others. Anything
 * else ends it, with the system call noted in *results; faults likewise. Works for any user, without namespaces:
 * limits (setrlimit), Landlock where the kernel has it, a filter of system calls. NULL, or what cannot be done here. */
const char *tw_confine_computing(const tw_arena_orders *, tw_arena_results *);

#endif
