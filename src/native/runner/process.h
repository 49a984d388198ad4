/* process.h - a process that runs untrusted kernels, from within: the main function of a machine's runner is
 *
 *   tw_native p;
 *   if (!tw_native_open(&p)) return 2;      map the arena; no capabilities
 *   ... make all threads that there will ever be
 *   tw_native_confine(&p);
 *   void *object = tw_native_load(&p);
 *   ... preparations
 *   tw_native_serve(&p, &(tw_native_work){.compute = ..., .context = ...});
 *
 * It is a separate program and not a fork: its memory holds nothing useful to a kernel. The library measures and checks
 * all of its statements from outside, while it is stopped (native/sandbox.h). */
#ifndef TW_NATIVE_RUNNER_PROCESS_H
#define TW_NATIVE_RUNNER_PROCESS_H

#include "native/arena.h"

typedef struct tw_native {
  const tw_arena_orders *orders;
  tw_arena_results *results;
} tw_native;

bool tw_native_open(tw_native *); /* false: not started by the library */
void tw_native_confine(tw_native *);
void *tw_native_load(tw_native *); /* for dlsym */
/* An operand of a set; NULL if it has no bytes. */
void *tw_native_operand(const tw_native *, size_t operand, uint32_t set);
/* Gives up if a page after an operand has become accessible. */
void tw_native_check_guards(tw_native *);
/* Reports the reason to the library, which ends the process. */
_Noreturn void tw_native_give_up(tw_native *, const char *why);
/* Stops. For each order: computes the first sets, or prepares one, and stops again. */
typedef struct tw_native_work {
  void (*compute)(void *context, uint32_t set);
  void (*prepare)(void *context, uint32_t set); /* NULL: no set is ever prepared */
  void *context;
} tw_native_work;
_Noreturn void tw_native_serve(tw_native *, const tw_native_work *);

#endif
