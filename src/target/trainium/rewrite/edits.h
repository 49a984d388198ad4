/* edits.h - changes of a kernel's text that may make it faster. Whether a change is right, and whether it pays, is for others to
 * find out: each is one line of words, which can be applied again.
 *
 *   set TILE=256 line 7         a constant is doubled or halved
 *   engine vector line 23       an instruction runs on another engine
 *   exchange loops line 12      a loop and the loop that is its whole body change places
 *   hoist line 15               a load, with its tile, moves out of its loop */
#ifndef TW_TRAINIUM_REWRITE_EDITS_H
#define TW_TRAINIUM_REWRITE_EDITS_H

#include <stddef.h>

#include "tilewright/schedule.h"

typedef struct trn_edit {
  char step[TW_STEP_MAX];
  const char *lever, *why; /* static text */
} trn_edit;

/* The changes of a source, at most `room`; returns how many there are. */
size_t trn_edits_find(const char *source, size_t room, trn_edit out[]);
/* A malloc'ed text. TW_USAGE with the step if the source has no place for it. */
tw_status trn_edit_apply(const char *source, const char *step, char **out, tw_error *);

#endif
