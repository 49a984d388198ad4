/* rewrite.h - a search that starts at a user's kernel: where its time goes, and which changes of its text pay.
 *
 * The simulator times each change (edits.h) before it is offered, so a menu has only changes that make the kernel
 * faster. The search checks their results. */
#ifndef TW_TRAINIUM_REWRITE_REWRITE_H
#define TW_TRAINIUM_REWRITE_REWRITE_H

#include "tilewright/extend/target.h"

extern const tw_rewriter trn_rewriter;

#endif
