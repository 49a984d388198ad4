/* loops.h - computes one part of a planned gemm. */
#ifndef TW_X86_LOOPS_H
#define TW_X86_LOOPS_H

#include <stdatomic.h>

#include "target/x86/plan.h"

/* Computes part `part` of parts_m x parts_n of C. Parts do not overlap. `workspace`: bytes_per_thread of the calling
 * thread, aligned to TW_GEMM_ALIGNMENT. */
void x86_run_part(const tw_gemm_plan *, const tw_gemm_operands *, char *workspace, int part);

/* As above for plans that pack B (`packs_b`): B unpacked, and the factor of its elements (x86_pack_panels). */
void x86_run_part_on(const tw_gemm_plan *, const tw_gemm_operands *, const void *b, float scale, char *workspace,
                     int part);

/* The assignment of parts to threads. Each thread begins with the same parts in each call: the operands are in its
 * core's caches if the program computes the product again. A thread without remaining parts takes parts of other
 * threads, which may be slower: cores differ by their kind, or because another process or virtual machine uses the same
 * core. A single part of each thread is its own. */
typedef struct x86_deal {
  int threads, parts;
  int apart; /* distance in `taken` from thread to thread: a line, unless there are too many threads */
  atomic_int taken[X86_THREADS_MOST]; /* number of parts taken from each thread */
} x86_deal;

void x86_deal_parts(x86_deal *, const tw_gemm_plan *);
/* The next part for a thread; -1: none. `*from`, initially 0, is how far the thread has looked. All parts are
 * computed when each thread has been told -1. */
int x86_next_part(x86_deal *, int thread, int *from);

#endif
