/* sandbox.h - runs a compiled kernel that nobody trusts in a process that can do nothing but compute (runner/).
 *
 * The kernel sees its operands and nothing else: expected results, the clock and whether its work is looked at are in
 * this process. It is stopped whenever this side reads outputs, writes inputs or reads the clock, so that nothing
 * can be done late; the time of a run ends when the stop is confirmed. */
#ifndef TW_X86_SANDBOX_H
#define TW_X86_SANDBOX_H

#include "target/x86/runner/arena.h"
#include "tilewright/op.h"

typedef struct x86_sandbox x86_sandbox;

typedef struct x86_confined {
  tw_gemm_spec spec;
  const tw_operand *operand; /* A, B, [D,] C as the op lists them */
  size_t n_operands;
  void *const *buffer; /* B and D are copied */
  const char *kernel;  /* a shared object */
  size_t kernel_bytes;
  uint32_t sets;      /* of A and C, at most ARENA_SETS_MAX */
  uint32_t copies;    /* of packed weights */
  double seconds;     /* to load and pack */
  double cpu_seconds; /* of processor time in all */
} x86_confined;

/* Starts the process and waits until it has loaded the kernel and packed B. TW_FAILED if the kernel is to blame, TW_MISSING
 * if this system cannot confine it. */
tw_status x86_sandbox_open(const x86_confined *, x86_sandbox **out, tw_error *);
void x86_sandbox_close(x86_sandbox *); /* NULL is fine */

void *x86_sandbox_a(const x86_sandbox *, uint32_t set); /* to be written */
void *x86_sandbox_c(const x86_sandbox *, uint32_t set);
/* Fills C of the first sets, and what lies around it, with TW_POISON. */
void x86_sandbox_poison(x86_sandbox *, uint32_t sets);
/* TW_FAILED if what lies around C is not as it was. */
tw_status x86_sandbox_margins(const x86_sandbox *, uint32_t sets, tw_error *);

/* Computes the first sets, one after the other; *seconds is what all of them took: with one thread the processor time of
 * the process, which others on the machine do not change, else the time on the wall. Killed after `limit` seconds. */
tw_status x86_sandbox_run(x86_sandbox *, uint32_t sets, double limit, double *seconds, tw_error *);

#endif
