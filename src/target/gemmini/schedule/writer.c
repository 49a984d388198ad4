/* writer.c - see writer.h. */
#include "target/gemmini/schedule/writer.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool continues_factor(const char *after) { return *after && strchr(" */%", *after) && strchr("*/%", after[1]); }
static bool continues_number(char c) {
  return c == '.' || c == '_' || (c >= '0' && c <= '9') || (c >= 'A' && c <= 'z');
}

/* Drops the terms that templates leave where a size is 0 or 1: " + 0", " - 0", " * 1", " / 1", and "1 * " of a
 * factor. */
static void drop_neutral(char *line) {
  for (char *at = line; *at; at++) {
    const bool operation = at[0] == ' ' && at[1] && at[2] == ' ' && at[3] && !continues_number(at[4]);
    const bool sum = operation && strchr("+-", at[1]) && at[3] == '0' && !continues_factor(at + 4);
    const bool product = operation && strchr("*/", at[1]) && at[3] == '1';
    const bool factor =
        at > line && strchr(" (", at[-1]) && strncmp(at, "1 * ", 4) == 0 && (at - line < 2 || !strchr("*/%", at[-2]));
    if (sum || product || factor) {
      memmove(at, at + 4, strlen(at + 4) + 1);
      at -= at > line;
    }
  }
}

void gm_write_list(gm_writer *w, const char *format, va_list arguments) {
  va_list again;
  va_copy(again, arguments);
  const int length = vsnprintf(NULL, 0, format, again);
  va_end(again);
  char *line = tw_new((size_t)length + 1, 1);
  if (!line) {
    w->text.failed = true;
    return;
  }
  vsnprintf(line, (size_t)length + 1, format, arguments);
  drop_neutral(line);
  if (line[0] == '}') w->depth--;
  tw_text_add(&w->text, "%*s%s\n", 2 * w->depth, "", line);
  const char *brace = strrchr(line, '{');
  if (brace && !strchr(brace, '}')) w->depth++;
  free(line);
}

void gm_write(gm_writer *w, const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  gm_write_list(w, format, arguments);
  va_end(arguments);
}

void gm_float_text(double value, char *out, size_t size) {
  snprintf(out, size, "%.9g", value);
  snprintf(out + strlen(out), size - strlen(out), "%s", strpbrk(out, ".e") ? "f" : ".0f");
}
