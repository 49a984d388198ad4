/* view.h - what can be asked about a machine itself, without a problem or a kernel: which register holds an element,
 * which banks conflict, what an order of the grid finds in caches. Answered as text, as a picture, or as data.
 *
 *   char *text;
 *   tw_view_show(tw_target_find("cdna4"), "banks", 1, (const char *[]){"tile=16x32"}, TW_VIEW_TEXT, &text, &error);
 */
#ifndef TILEWRIGHT_VIEW_H
#define TILEWRIGHT_VIEW_H

#include <stddef.h>

#include "tilewright/status.h"

#ifdef __cplusplus
extern "C" {
#endif

struct tw_target;

typedef enum tw_view_form { TW_VIEW_TEXT, TW_VIEW_SVG, TW_VIEW_JSON } tw_view_form;

enum { TW_VIEW_KEYS_MAX = 16 };

typedef struct tw_view_key {
  const char *name;  /* "tile" */
  const char *usual; /* its value where it is not given; NULL: it must be */
  const char *help;
} tw_view_key;

typedef struct tw_view {
  const char *name, *summary;
  const tw_view_key *keys; /* at most TW_VIEW_KEYS_MAX, ended by a NULL name */
  /* value[i] belongs to keys[i]. Text in lines, one SVG, or one JSON object, to a malloc'ed string. */
  tw_status (*show)(const struct tw_target *, const char *const value[], tw_view_form, char **out, tw_error *);
} tw_view;

/* NULL if the target has no such view; *error then lists its views. */
TW_API const tw_view *tw_view_find(const struct tw_target *, const char *name, tw_error *);
/* Words are "key=value", each key at most once. */
TW_API tw_status tw_view_show(const struct tw_target *, const char *name, size_t n_words, const char *const words[],
                              tw_view_form, char **out, tw_error *);

#ifdef __cplusplus
}
#endif
#endif
