/* wrap.c - standard output for people: no line is wider than the terminal, or than 80 columns without a terminal.
 *
 * A wider line continues in the next line, below the column where its last part begins: after the last gap of two
 * blanks, as in tables. Words are never cut. A line that does not begin with a word (a picture in text) is
 * unchanged. */
#define _GNU_SOURCE /* fopencookie */
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/strings.h"
#include "cli/cli.h"

/* LEAST_ROOM: columns that must remain after an indent. FALLBACK: the indent otherwise. HANGING: texts from this
 * column on are the right column of a table. */
enum { LEAST_ROOM = 24, FALLBACK = 4, HANGING = 8 };

static tw_text line; /* begun, and not written yet */

static bool write_all(const char *text, size_t size) {
  while (size) {
    const ssize_t n = write(STDOUT_FILENO, text, size);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return false;
    text += n, size -= (size_t)n;
  }
  return true;
}

/* Of UTF-8. */
static size_t columns(const char *text, size_t size) {
  size_t n = 0;
  for (size_t i = 0; i < size; i++) n += ((unsigned char)text[i] & 0xc0) != 0x80;
  return n;
}

/* The beginning of the last part of a line: after a gap, as long as there is room. */
static size_t indent_of(const char *text, size_t size, size_t width) {
  size_t indent = strspn(text, " ");
  for (size_t i = indent; i + 1 < size && columns(text, i) + LEAST_ROOM <= width; i++)
    if (text[i] != ' ' && text[i - (i > 0)] == ' ' && i >= 2 && text[i - 2] == ' ') indent = columns(text, i);
  return indent + LEAST_ROOM <= width ? indent : FALLBACK;
}

static bool put_wrapped(const char *text, size_t size) {
  const size_t width = cli_width();
  while (size && text[size - 1] == ' ') size--;
  if (columns(text, size) <= width) return write_all(text, size);
  const size_t leading = strspn(text, " ");
  size_t indent = indent_of(text, size, width);
  if (indent == leading && leading < HANGING) indent = leading + 2; /* a sentence */
  tw_text out = {0};
  size_t column = 0;
  for (size_t i = 0; i < size;) {
    const size_t gap = strspn(text + i, " "), word = strcspn(text + i + gap, " ");
    const size_t wide = columns(text + i + gap, word);
    if (i && column + gap + wide > width && column > indent) {
      tw_text_add(&out, "\n%*s", (int)indent, "");
      column = indent;
    } else {
      tw_text_add(&out, "%*s", (int)gap, "");
      column += gap;
    }
    tw_text_add(&out, "%.*s", (int)word, text + i + gap);
    column += wide;
    i += gap + word;
  }
  char *all = tw_text_take(&out);
  const bool written = all ? write_all(all, strlen(all)) : write_all(text, size);
  free(all);
  return written;
}

static ssize_t write_lines(void *cookie, const char *data, size_t size) {
  (void)cookie;
  for (size_t at = 0; at < size;) {
    const char *end = memchr(data + at, '\n', size - at);
    const size_t part = end ? (size_t)(end - data) - at : size - at;
    tw_text_add_bytes(&line, data + at, part);
    at += part;
    if (!end) break;
    at++;
    char *whole = tw_text_take(&line);
    const bool written = whole && put_wrapped(whole, strlen(whole)) && write_all("\n", 1);
    free(whole);
    if (!written) return 0;
  }
  return (ssize_t)size;
}

static void finish(void) {
  fflush(stdout);
  char *rest = tw_text_take(&line);
  if (rest) put_wrapped(rest, strlen(rest));
  free(rest);
}

void cli_wrap_output(void) {
  static bool done;
  FILE *wrapped = done ? NULL : fopencookie(NULL, "w", (cookie_io_functions_t){.write = write_lines});
  if (!wrapped) return;
  done = true;
  fflush(stdout);
  if (isatty(STDOUT_FILENO)) setvbuf(wrapped, NULL, _IOLBF, BUFSIZ);
  stdout = wrapped;
  atexit(finish);
}
