/* sandbox.h - runs an untrusted compiled kernel in a process that can only compute (runner/).
 *
 * The kernel sees only its operands. Expected results and the clock are in this process. The kernel is stopped while
 * this process reads outputs, writes inputs or reads the clock, so late work is impossible. The time of a run ends when
 * the stop is confirmed. */
#ifndef TW_NATIVE_SANDBOX_H
#define TW_NATIVE_SANDBOX_H

#include "native/arena.h"

typedef struct tw_sandbox tw_sandbox;

typedef struct tw_sandboxed {
  const char *runner, *variable; /* tilewright-RUNNER is the program; environment variable with its path */
  const tw_operand *operand;     /* operands in the order of the op */
  size_t n_operands;
  void *const *buffer; /* inputs are copied; initial contents of outputs are read each time outputs are poisoned */
  uint32_t sets;       /* number of sets of outputs, at most TW_ARENA_SETS_MAX */
  unsigned varies;     /* bit i: input i also has as many sets; the caller writes them before each run */
  const void *task;    /* for the runner: at most TW_ARENA_TASK bytes */
  size_t task_bytes;
  const char *kernel; /* a shared object */
  size_t kernel_bytes;
  int threads;
  uint64_t workspace; /* bytes for the runner and the kernel, in addition to the operands */
  double seconds;     /* time limit for loading and preparing */
  double cpu_seconds; /* limit of processor time in total */
} tw_sandboxed;

/* Starts the process and waits until it has loaded the kernel and is ready. TW_FAILED if the kernel fails, TW_MISSING
 * if this system cannot confine it. */
tw_status tw_sandbox_open(const tw_sandboxed *, tw_sandbox **out, tw_error *);
void tw_sandbox_close(tw_sandbox *); /* NULL is fine */

/* An operand of one set: inputs to be written, outputs to be read. */
void *tw_sandbox_operand(const tw_sandbox *, size_t operand, uint32_t set);
/* Fills the outputs of the first sets, and the memory around them, with TW_POISON. Given contents of outputs are
 * kept. */
void tw_sandbox_poison(tw_sandbox *, uint32_t sets);
/* TW_FAILED if the memory around the outputs has changed. */
tw_status tw_sandbox_margins(const tw_sandbox *, uint32_t sets, tw_error *);

/* Lets the runner prepare a set from the current inputs, in a way that depends on the machine. Not timed. */
tw_status tw_sandbox_prepare(tw_sandbox *, uint32_t set, double limit, tw_error *);
/* Evicts the process's data from the caches: reads `bytes` of other data on the processors that it ran on. This process
 * reads them, so no kernel can prevent it. */
void tw_sandbox_cool(const tw_sandbox *, size_t bytes);

/* Computes the first sets, one after the other. *seconds is their total time: processor time for one thread, because
 * other processes do not change it, else wall-clock time. The process is killed after `limit` seconds in which its
 * threads ran or slept, or at the time `until` (tw_now; HUGE_VAL: never). */
tw_status tw_sandbox_run(tw_sandbox *, uint32_t sets, double limit, double until, double *seconds, tw_error *);

#endif
