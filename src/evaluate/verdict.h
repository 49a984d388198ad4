/* verdict.h - the verdict on a kernel: one word for the search, for people and for the journal. A new class of
 * failure is a value here and a row of the table in verdict.c. */
#ifndef TW_EVALUATE_VERDICT_H
#define TW_EVALUATE_VERDICT_H

#include <stdbool.h>

typedef enum tw_verdict {
  TW_PENDING,     /* not evaluated yet */
  TW_CORRECT,     /* built, checked, measured */
  TW_ILLEGAL,     /* the target refused to emit its schedule */
  TW_NO_KERNEL,   /* the author gave no source */
  TW_UNBUILDABLE, /* does not compile */
  TW_WRONG,       /* wrong result, fault, or no end */
  TW_UNMEASURED,  /* correct, but measuring failed */
  TW_UNCONFIRMED, /* correct on the search's inputs, wrong on fresh ones */
  TW_IMPOSSIBLE,  /* the measured cost is below the hard bound: the measurement was fooled */
  TW_SLOWER,      /* slower than its limit, as measured or by a bound; not checked */
  TW_UNAVAILABLE, /* a resource was missing here (disk space, compiler): says nothing about the kernel */
  TW_DUPLICATE,   /* the kernel equals its `twin` */
  TW_SKIPPED,     /* the search was stopped before its turn */
  TW_VERDICT_COUNT
} tw_verdict;

const char *tw_verdict_name(tw_verdict);
bool tw_verdict_parse(const char *name, tw_verdict *out);
/* Whether the verdict is a fact about the kernel, so that it holds for the same source later. */
bool tw_verdict_is_final(tw_verdict);
/* Is there a measured cost? */
bool tw_verdict_has_cost(tw_verdict);
/* True if it is the kernel's own fault, so that its author may try to repair it. */
bool tw_verdict_is_failure(tw_verdict);

#endif
