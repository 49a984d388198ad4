/* changes.h - small changes of operands between timed calls.
 *
 * A kernel that keeps weights or results of earlier calls, and recognizes operands by their addresses or by some of
 * their elements, computes with old ones and is found. Each change begins with a random number of elements and grows
 * until a right result is visibly another one. */
#ifndef TW_X86_CHANGES_H
#define TW_X86_CHANGES_H

#include "base/random.h"
#include "target/x86/tune/verify.h"

/* Elements of C that show it: of `row`, in one or two columns. */
typedef struct x86_change {
  int64_t row, column[2];
  enum { X86_OF_ROW, X86_OF_COLUMNS } of; /* the rest of the row has changed, too; the rest of the columns */
} x86_change;

/* A part of a row of A gets other signs. */
tw_status x86_change_a(const x86_verifier *, tw_random *, void *a, x86_change *, tw_error *);
/* Parts of two columns of op(B) are exchanged: whole groups, where groups share a scale. The sums of the verifier
 * follow. Needs two columns. */
tw_status x86_change_b(x86_verifier *, tw_random *, const void *a, x86_change *, tw_error *);
/* TW_FAILED if C does not follow the change. */
tw_status x86_verify_change(const x86_verifier *, const x86_change *, tw_random *, const void *a, const void *c,
                            tw_error *);

#endif
