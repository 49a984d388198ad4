/* template.h - text with named slots. Prompts and kernels are such files: to improve one is to edit its text, not code.
 *
 *   {{name}}                        the slot's text
 *   {{#name}} ... {{/name}}         the text between the marks, if the slot is not empty
 *   {{^name}} ... {{/name}}         the text between the marks, if the slot is empty
 *   {{#name}} ... {{else}} ... {{/name}}
 *                                   one text or the other; also with ^
 *   {{> file}}                      another template, filled with the same slots: of the same folder, or by its whole name
 *   {{! text }}                     a comment, which may have more lines
 *
 * Sections nest. A mark that is alone on its line removes the line with it; a slot's mark does not. Names consist of
 * a-z, 0-9 and _ and begin with a letter. "{{" before a digit is text, as in initializers of C++. Every mark is
 * checked, in omitted sections, too: one rendering shows whether a template uses unknown slots. */
#ifndef TW_BASE_TEMPLATE_H
#define TW_BASE_TEMPLATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/strings.h"
#include "tilewright/status.h"

typedef struct tw_slot {
  const char *name, *text; /* text may be NULL: empty */
} tw_slot;

/* malloc'ed. TW_USAGE with the line of the template: a name that is no slot, a section that does not close. */
tw_status tw_template_fill(const char *template, size_t n, const tw_slot slot[], char **out, tw_error *);

/* ---- slots with their own texts ----
 *
 * Begin with `tw_slots s = {0}`; end with tw_slots_free. The functions copy their arguments, and may run out of memory:
 * the rendering reports it. A name is a string constant and is set once. */
enum { TW_SLOTS_MAX = 160 };

typedef struct tw_slots {
  size_t n;
  tw_text texts;
  bool failed; /* too many slots, or a text that is too long */
  struct {
    const char *name;
    size_t at; /* offset of its text, in `texts` */
  } slot[TW_SLOTS_MAX];
} tw_slots;

void tw_slots_text(tw_slots *, const char *name, const char *text); /* NULL: empty */
void tw_slots_format(tw_slots *, const char *name, const char *format, ...) __attribute__((format(printf, 3, 4)));
void tw_slots_number(tw_slots *, const char *name, int64_t);
void tw_slots_number_or_empty(tw_slots *, const char *name, int64_t); /* 0 is empty: for sections */
void tw_slots_flag(tw_slots *, const char *name, bool);               /* for sections */
/* Takes the text without its last newline, because the line of the mark has one. Empties the text. */
void tw_slots_take(tw_slots *, const char *name, tw_text *);
void tw_slots_free(tw_slots *);

/* Adds the embedded template `file` ("gpu/common/kernels/rotary.cuh.in"), filled. The error names the file and the
 * line. */
tw_status tw_template_add(tw_text *, const char *file, const tw_slots *, tw_error *);

/* For tests: called with the name of each embedded template that is filled. */
extern void (*tw_template_watch)(const char *file);

#endif
