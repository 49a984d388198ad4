/* locate.c - finds the line for a message about the program that does not name a place in the text. */
#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "mlir_aie/reader.h"

void xd_note_line(xd_reader *r, const char *label, int line) {
  xd_mlir_line l = {.line = line};
  snprintf(l.label, sizeof l.label, "%s", label);
  xd_append(&r->design->lines, sizeof l, &l, &r->failed);
}

/* The first or last place of a label, as a word ("a_0" must not match the buffer a_0_1). */
static const char *mention(const char *text, const char *label, bool last) {
  const size_t length = strlen(label);
  const char *found = NULL;
  for (const char *at = strstr(text, label); at && (last || !found); at = strstr(at + 1, label)) {
    const bool begins = at == text || !(isalnum((unsigned char)at[-1]) || at[-1] == '_');
    if (begins && !isalnum((unsigned char)at[length])) found = at;
  }
  return found;
}

void xd_mlir_locate(const xd_mlir_design *d, tw_error *error) {
  const bool last = strncmp(error->text, "deadlock", strlen("deadlock")) == 0;
  const char *best = NULL;
  size_t best_length = 0;
  int line = 0;
  if (!strncmp(error->text, "line ", strlen("line "))) return;
  for (size_t i = 0; i < d->lines.n; i++) {
    const xd_mlir_line *l = &d->lines.at[i];
    const char *at = mention(error->text, l->label, last);
    const size_t length = strlen(l->label);
    if (!at) continue;
    const bool longer = length > best_length;
    const bool better =
        !best || (last ? at + length > best + best_length || (at + length == best + best_length && longer)
                       : at < best || (at == best && longer));
    if (!better) continue;
    best = at;
    best_length = length;
    line = l->line;
  }
  if (!line) return;
  char text[sizeof error->text];
  snprintf(text, sizeof text, "line %d: %.*s", line, (int)sizeof text - 20, error->text);
  memcpy(error->text, text, sizeof text);
}
