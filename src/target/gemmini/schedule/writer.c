/* writer.c - see writer.h. */
#include "target/gemmini/schedule/writer.h"

#include <stdio.h>
#include <string.h>

void gm_write_list(gm_writer *w, const char *format, va_list arguments) {
  char line[1024];
  vsnprintf(line, sizeof line, format, arguments);
  if (line[0] == '}') w->depth--;
  tw_text_add(&w->text, "%*s%s\n", 2 * w->depth, "", line);
  const char *brace = strrchr(line, '{');
  if (brace && !strchr(brace, '}')) w->depth++;
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
