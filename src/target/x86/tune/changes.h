/* changes.h - small changes of operands between timed calls.
 *
 * A kernel that keeps weights or results of earlier calls, and recognizes operands by their addresses or by some of
 * their elements, computes with old ones and is found. Each change begins with a random number of elements and grows
 * until it visibly changes the right result. */
#ifndef TW_X86_CHANGES_H
#define TW_X86_CHANGES_H

#include "base/random.h"
#include "target/x86/tune/verify.h"

/* Elements of C that a change affects: of `row`, in one or two columns. */
typedef struct x86_change {
  int64_t row, column[2];
  enum { X86_OF_ROW, X86_OF_COLUMNS } of; /* other elements that change: the rest of the row; the rest of the columns */
} x86_change;

/* Changes the signs in a part of a row of A. */
tw_status x86_change_a(const x86_verifier *, tw_random *, void *a, x86_change *, tw_error *);
/* Exchanges parts of two columns of op(B): whole groups if groups share a scale. The verifier's sums are updated.
 * Needs two columns. */
tw_status x86_change_b(x86_verifier *, tw_random *, const void *a, x86_change *, tw_error *);
/* TW_FAILED if C does not follow the change. */
tw_status x86_verify_change(const x86_verifier *, const x86_change *, tw_random *, const void *a, const void *c,
                            tw_error *);

#endif
