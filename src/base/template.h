/* template.h - text with named slots. Prompts and kernels are such files: to improve one is to edit its text, not code.
 *
 *   {{name}}                    the slot's text
 *   {{#name}} ... {{/name}}     what stands between, if the slot is not empty
 *   {{^name}} ... {{/name}}     what stands between, if it is
 *
 * Sections nest. A mark alone on its line takes the line with it. */
#ifndef TW_BASE_TEMPLATE_H
#define TW_BASE_TEMPLATE_H

#include <stddef.h>

#include "tilewright/status.h"

typedef struct tw_slot {
  const char *name, *text; /* text may be NULL: empty */
} tw_slot;

/* malloc'ed. TW_USAGE with the line of the template: a name that is no slot, a section that does not close. */
tw_status tw_template_fill(const char *template, size_t n, const tw_slot slot[], char **out, tw_error *);

#endif
