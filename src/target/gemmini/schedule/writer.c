/* writer.c - see writer.h. */
#include "target/gemmini/schedule/writer.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "op/ops.h"

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

void gm_write(gm_writer *w, const char *format, ...) {
  va_list arguments, again;
  va_start(arguments, format);
  va_copy(again, arguments);
  const int length = vsnprintf(NULL, 0, format, again);
  va_end(again);
  char *line = tw_new((size_t)length + 1, 1);
  w->text.failed |= !line;
  if (line) {
    vsnprintf(line, (size_t)length + 1, format, arguments);
    drop_neutral(line);
    if (line[0] == '}') w->depth--;
    tw_text_add(&w->text, "%*s%s\n", 2 * w->depth, "", line);
    const char *brace = strrchr(line, '{');
    if (brace && !strchr(brace, '}')) w->depth++;
  }
  va_end(arguments);
  free(line);
}

void gm_write_schedule(gm_writer *w, const gm_config *config, const tw_problem *problem, const tw_schedule *schedule) {
  char *statement = tw_problem_stated(problem, config->name);
  w->text.failed |= !statement;
  if (statement) tw_text_add(&w->text, "/* %s, from the schedule\n", statement);
  free(statement);
  if (schedule->n == 0) tw_text_add_string(&w->text, " *     (empty: the plain kernel)\n");
  for (size_t i = 0; i < schedule->n; i++) tw_text_add(&w->text, " *     %s\n", schedule->step[i]);
}

void gm_write_config_st(gm_writer *w, long pitch, bool relu, double scale) {
  char text[40];
  gm_float_text(scale, text, sizeof text);
  if (relu || scale != 1.0)
    gm_write(w, "gemmini_extended_config_st(%ld, %s, %s);", pitch, relu ? "RELU" : "NO_ACTIVATION", text);
  else
    gm_write(w, "config_st(%ld);", pitch);
}

void gm_float_text(double value, char *out, size_t size) {
  snprintf(out, size, "%.9g", value);
  snprintf(out + strlen(out), size - strlen(out), "%s", strpbrk(out, ".e") ? "f" : ".0f");
}
