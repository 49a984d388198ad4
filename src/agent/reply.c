/* reply.c - see reply.h. */
#define _GNU_SOURCE
#include "agent/reply.h"

#include <ctype.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/strings.h"

/* ---- lines ---- */

typedef struct line {
  const char *text;
  size_t length; /* without the newline */
} line;

static line first_line(const char *text) { return (line){text, strcspn(text, "\n")}; }

/* False behind the last. */
static bool next_line(line *l) {
  const char *next = l->text + l->length;
  if (*next == '\0' || next[1] == '\0') return false;
  *l = first_line(next + 1);
  return true;
}

static size_t trimmed(line l) {
  while (l.length > 0 && isspace((unsigned char)l.text[l.length - 1])) l.length--;
  return l.length;
}

static bool begins(line l, const char *mark) {
  size_t n = strlen(mark);
  return l.length >= n && !strncmp(l.text, mark, n);
}

/* ---- edits ---- */

/* Where the lines of `search` stand in `text`: the beginning and the end of the place; how many places there are. */
static int find_lines(const char *text, const char *search, size_t length, size_t *begin, size_t *end) {
  int found = 0;
  for (line at = first_line(text);;) {
    line t = at, s = first_line(search);
    bool same = true, more = true;
    for (; same && more && s.text < search + length;) {
      same = trimmed(t) == trimmed(s) && !strncmp(t.text, s.text, trimmed(s));
      if (!next_line(&s) || s.text >= search + length) break;
      more = next_line(&t);
    }
    if (same && more && found++ == 0) {
      *begin = (size_t)(at.text - text);
      *end = (size_t)(t.text + t.length - text);
    }
    if (!next_line(&at)) return found;
  }
}

typedef struct edit {
  const char *search, *replace; /* whole lines */
  size_t search_length, replace_length;
} edit;

/* The next edit from *at on. 0: there is none; 1: there is; -1: it does not end. */
static int next_edit(line *at, bool *more, edit *out) {
  enum { OUTSIDE, SEARCH, REPLACE } where = OUTSIDE;
  while (*more) {
    line l = *at;
    *more = next_line(at);
    if (where == OUTSIDE && begins(l, "<<<<<<<")) {
      where = SEARCH;
      out->search = *more ? at->text : l.text + l.length;
    } else if (where == SEARCH && begins(l, "=======")) {
      where = REPLACE;
      out->search_length = (size_t)(l.text - out->search);
      out->replace = *more ? at->text : l.text + l.length;
    } else if (where == REPLACE && begins(l, ">>>>>>>")) {
      out->replace_length = (size_t)(l.text - out->replace);
      return 1;
    }
  }
  return where == OUTSIDE ? 0 : -1;
}

static tw_status apply(char **source, const edit *e, int number, tw_error *error) {
  size_t begin = 0, end = 0, blank = strspn(e->search, " \t\r\n");
  if (blank >= e->search_length)
    return tw_fail(error, TW_FAILED, "edit %d searches for nothing: give the lines that it replaces", number);
  int found = find_lines(*source, e->search, e->search_length, &begin, &end);
  if (found != 1)
    return tw_fail(error, TW_FAILED,
                   "edit %d: its SEARCH lines stand in %s of the kernel: copy them exactly, with more lines around%s",
                   number, found ? "several places" : "no place", found ? "" : " if need be");
  size_t replace = e->replace_length;
  if (replace > 0 && e->replace[replace - 1] == '\n') replace--; /* the searched lines' own newline stays */
  if (e->replace_length == 0 && (*source)[end] == '\n') end++;   /* lines that go, go whole */
  tw_text t = {0};
  tw_text_add_bytes(&t, *source, begin);
  tw_text_add_bytes(&t, e->replace, replace);
  tw_text_add_string(&t, *source + end);
  char *edited = tw_text_take(&t);
  if (!edited) return tw_fail(error, TW_MISSING, "no memory for an edited kernel");
  free(*source);
  *source = edited;
  return TW_OK;
}

/* *any is false if the reply has no edit. */
static tw_status apply_edits(const char *reply, const char *parent, bool *any, char **source, tw_error *error) {
  line at = first_line(reply);
  bool more = *reply != '\0';
  edit e = {0};
  tw_status status = TW_OK;
  *source = NULL;
  *any = false;
  for (int number = 1, what; status == TW_OK && (what = next_edit(&at, &more, &e)) != 0; number++) {
    *any = true;
    if (!*source && !(*source = strdup(parent))) return tw_fail(error, TW_MISSING, "no memory for a kernel");
    status = what > 0 ? apply(source, &e, number, error)
                      : tw_fail(error, TW_FAILED, "edit %d has no end: it is SEARCH, =======, >>>>>>> REPLACE", number);
  }
  if (status != TW_OK) {
    free(*source);
    *source = NULL;
  }
  return status;
}

/* ---- the whole file ---- */

/* The length of a fence at the beginning of a line, up to three blanks before it; 0 if there is none. */
static size_t fence_of(line l, char *mark) {
  size_t blanks = 0, n = 0;
  while (blanks < 3 && blanks < l.length && l.text[blanks] == ' ') blanks++;
  *mark = blanks < l.length ? l.text[blanks] : '\0';
  if (*mark != '`' && *mark != '~') return 0;
  while (blanks + n < l.length && l.text[blanks + n] == *mark) n++;
  return n >= 3 ? n : 0;
}

/* Does it close the fence? The same mark, as often, and nothing behind it. */
static bool closes(line l, char mark, size_t n) {
  char own;
  size_t length = fence_of(l, &own), end = trimmed(l);
  return length >= n && own == mark && end > 0 && l.text[end - 1] == mark &&
         memchr(l.text, mark, end) == l.text + end - length;
}

static bool begins_like_c(const char *text) {
  static const char *const words[] = {"//",      "/*",     "#",        "static ", "void ",
                                      "extern ", "const ", "typedef ", "struct ", "enum "};
  text += strspn(text, " \t\r\n");
  for (size_t i = 0; i < sizeof words / sizeof words[0]; i++)
    if (!strncmp(text, words[i], strlen(words[i])) && (words[i][0] != '#' || isalpha((unsigned char)text[1])))
      return true;
  return false;
}

static tw_status find_file(const char *reply, char **source, tw_error *error) {
  const char *best = NULL, *open = NULL;
  size_t best_length = 0, n = 0;
  char mark = 0;
  line l = first_line(reply);
  for (bool more = *reply != '\0'; more;) {
    line now = l;
    more = next_line(&l);
    if (open && closes(now, mark, n)) {
      size_t length = (size_t)(now.text - open);
      if (length >= best_length) best = open, best_length = length;
      open = NULL;
    } else if (!open && (n = fence_of(now, &mark)) > 0) {
      open = more ? l.text : now.text + now.length;
    }
  }
  if (open)
    return tw_fail(error, TW_FAILED, "the reply ends inside its code: give the whole kernel and close the block");
  if (!best && begins_like_c(reply)) best = reply, best_length = strlen(reply);
  if (!best)
    return tw_fail(error, TW_FAILED, "the reply has no code; give the kernel in one block between ``` and ```");
  if (strspn(best, " \t\r\n") >= best_length)
    return tw_fail(error, TW_FAILED, "the block of code in the reply is empty");
  *source = strndup(best, best_length);
  return *source ? TW_OK : tw_fail(error, TW_MISSING, "no memory for a kernel");
}

tw_status tw_reply_source(const char *reply, const char *parent, char **source, tw_error *error) {
  bool any;
  tw_status status = apply_edits(reply, parent, &any, source, error);
  return status == TW_OK && !any ? find_file(reply, source, error) : status;
}
