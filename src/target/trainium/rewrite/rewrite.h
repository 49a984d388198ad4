/* rewrite.h - a user's kernel as the start of a search: where its time goes, and which changes of its text pay.
 *
 * Each change (edits.h) is timed by the simulator before it is offered, so a menu has changes alone that make the kernel faster.
 * The search checks their results. */
#ifndef TW_TRAINIUM_REWRITE_REWRITE_H
#define TW_TRAINIUM_REWRITE_REWRITE_H

#include "tilewright/extend/target.h"

extern const tw_rewriter trn_rewriter;

#endif
