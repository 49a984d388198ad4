/* view.h - how a view of a machine is described, for authors of targets. ../target.h has tw_view_show for users. */
#ifndef TILEWRIGHT_EXTEND_VIEW_H
#define TILEWRIGHT_EXTEND_VIEW_H

#include "tilewright/target.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { TW_VIEW_KEYS_MAX = 16 };

typedef struct tw_view_key {
  /* Name of the key: "tile". */
  const char *name;
  /* Default of the key; NULL: the key is required. */
  const char *usual;
  const char *help;
} tw_view_key;

typedef struct tw_view {
  const char *name, *summary;
  /* Keys of the view, at most TW_VIEW_KEYS_MAX; the list ends with a NULL name. */
  const tw_view_key *keys;
  /* value[i] is the value of keys[i]. *out gets lines of text, one SVG or one JSON object, malloc'ed. */
  tw_status (*show)(const tw_target *, const char *const value[], tw_view_form, char **out, tw_error *);
} tw_view;

/* NULL if the target has no such view; *error then lists its views. */
TW_API const tw_view *tw_view_find(const tw_target *, const char *name, tw_error *);
#ifdef __cplusplus
}
#endif
#endif
