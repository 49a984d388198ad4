/* lines.h - reads a text line by line. */
#ifndef TW_AGENT_LINES_H
#define TW_AGENT_LINES_H

#include <ctype.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>

typedef struct tw_line {
  const char *text;
  size_t length; /* without the newline */
} tw_line;

static inline tw_line tw_line_first(const char *text) { return (tw_line){text, strcspn(text, "\n")}; }

/* False after the last line. */
static inline bool tw_line_next(tw_line *l) {
  const char *next = l->text + l->length;
  if (*next == '\0' || next[1] == '\0') return false;
  *l = tw_line_first(next + 1);
  return true;
}

/* The line's length without trailing white space. */
static inline size_t tw_line_trimmed(tw_line l) {
  while (l.length > 0 && isspace((unsigned char)l.text[l.length - 1])) l.length--;
  return l.length;
}

static inline bool tw_line_begins(tw_line l, const char *mark) {
  size_t n = strlen(mark);
  return l.length >= n && !strncmp(l.text, mark, n);
}

/* The length of the fence at the beginning of a line, after up to three blanks; 0 if the line has none. */
static inline size_t tw_line_fence(tw_line l, char *mark) {
  size_t blanks = 0, n = 0;
  while (blanks < 3 && blanks < l.length && l.text[blanks] == ' ') blanks++;
  *mark = blanks < l.length ? l.text[blanks] : '\0';
  if (*mark != '`' && *mark != '~') return 0;
  while (blanks + n < l.length && l.text[blanks + n] == *mark) n++;
  return n >= 3 ? n : 0;
}

/* After a byte order mark, if the text begins with one. */
static inline const char *tw_skip_byte_order_mark(const char *text) {
  return strncmp(text, "\xef\xbb\xbf", 3) ? text : text + 3;
}

#endif
