/* sandbox.h - runs an untrusted compiled kernel in a process that can only compute (runner/).
 *
 * The kernel sees only its operands: expected results and the clock are in this process. It is stopped whenever this
 * side reads outputs, writes inputs or reads the clock, so that late work is impossible; the time of a run ends when
 * the stop is confirmed. */
#ifndef TW_NATIVE_SANDBOX_H
#define TW_NATIVE_SANDBOX_H

#include "native/arena.h"

typedef struct tw_sandbox tw_sandbox;

typedef struct tw_sandboxed {
  const char *runner, *variable; /* tilewright-RUNNER is the program; the environment variable that says where it is */
  const tw_operand *operand;     /* as the op lists them */
  size_t n_operands;
  void *const *buffer; /* inputs are copied; what outputs are given is read whenever they are poisoned */
  uint32_t sets;       /* of outputs, at most TW_ARENA_SETS_MAX */
  unsigned varies;     /* bit i: input i has as many sets, which the caller writes before each run */
  const void *task;    /* for the runner: at most TW_ARENA_TASK bytes */
  size_t task_bytes;
  const char *kernel; /* a shared object */
  size_t kernel_bytes;
  int threads;
  uint64_t workspace; /* bytes that the runner and the kernel may need beside the operands */
  double seconds;     /* to load and prepare */
  double cpu_seconds; /* of processor time in all */
} tw_sandboxed;

/* Starts the process and waits until it has loaded the kernel and prepared what it needs. TW_FAILED if the kernel is to
 * blame, TW_MISSING if this system cannot confine it. */
tw_status tw_sandbox_open(const tw_sandboxed *, tw_sandbox **out, tw_error *);
void tw_sandbox_close(tw_sandbox *); /* NULL is fine */

/* An operand of one set: inputs to be written, outputs to be read. */
void *tw_sandbox_operand(const tw_sandbox *, size_t operand, uint32_t set);
/* Fills the outputs of the first sets, and what lies around them, with TW_POISON, but for what outputs are given. */
void tw_sandbox_poison(tw_sandbox *, uint32_t sets);
/* TW_FAILED if what lies around the outputs is not as it was. */
tw_status tw_sandbox_margins(const tw_sandbox *, uint32_t sets, tw_error *);

/* Has the runner prepare a set of what the inputs hold now: its machine's own business. Not timed. */
tw_status tw_sandbox_prepare(tw_sandbox *, uint32_t set, double limit, tw_error *);
/* Nothing of the process's data is in the caches afterwards: reads `bytes` of other data on the processors that it ran on,
 * from outside, so that no kernel can keep them from it. */
void tw_sandbox_cool(const tw_sandbox *, size_t bytes);

/* Computes the first sets, one after the other; *seconds is what all of them took: with one thread the processor time of
 * the process, which others on the machine do not change, else the time on the wall. Killed after `limit` seconds, in which its threads had
 * a processor or slept; at the time `until` (of tw_now; HUGE_VAL: never) in any case. */
tw_status tw_sandbox_run(tw_sandbox *, uint32_t sets, double limit, double until, double *seconds, tw_error *);

#endif
