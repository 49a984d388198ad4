/* confine.h - takes all rights from a process except the right to compute. */
#ifndef TW_NATIVE_RUNNER_CONFINE_H
#define TW_NATIVE_RUNNER_CONFINE_H

#include "native/arena.h"

/* From now on, threads of this process can compute, use their memory and the arena, get more memory up to the limit,
 * wait for each other, stop and end. They have no access to files, network, processes, new threads or signals to
 * others. Any other call, and any fault, ends the process and is noted in *results. Works for any user, without
 * namespaces: limits (setrlimit), Landlock if the kernel has it, a filter of system calls. Returns NULL, or the
 * missing mechanism. */
const char *tw_confine_computing(const tw_arena_orders *, tw_arena_results *);

#endif
