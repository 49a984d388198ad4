/* edits.h - changes of a program that a reply lists: pairs of a text to find and its replacement. */
#ifndef TW_AGENT_EDITS_H
#define TW_AGENT_EDITS_H

#include <stdbool.h>
#include <stddef.h>

#include "tilewright/status.h"

/* Texts of whole lines, malloc'ed. */
typedef struct tw_edit {
  char *search, *replace;
} tw_edit;

typedef struct tw_edits {
  size_t n, room;
  tw_edit *edit;
} tw_edits;

/* Finds all edits in a reply, in the first of these forms that it has:
 *
 *   <<<<<<< SEARCH       [{"search": "...", "replace": "..."}]     @@ -3,2 +3,2 @@
 *   old lines            or an object with such a list, or one      context
 *   =======              of them, as the reply or in a fence;      -old line
 *   new lines            also old/new, old_string/new_string       +new line
 *   >>>>>>> REPLACE
 *
 * n = 0 without any. TW_FAILED with a line for an edit that has no end. */
tw_status tw_edits_read(const char *reply, tw_edits *out, tw_error *);

/* Applies the edits in order. Each must match exactly one place: the same lines except for trailing blanks; else the
 * same lines except for all white space; else the same text within lines. TW_FAILED with the number of the edit that
 * does not match, and the reason. */
tw_status tw_edits_apply(const tw_edits *, const char *source, char **edited, tw_error *);

void tw_edits_free(tw_edits *);

#endif
