/* template.c - see template.h. */
#include "base/template.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/strings.h"

enum { DEPTH = 8, NAME = 32 };

typedef struct filler {
  const char *template;
  size_t n;
  const tw_slot *slot;
  tw_text out;
  size_t depth, hidden; /* sections that are open; of them those from the first that is left out */
  char open[DEPTH][NAME];
} filler;

static int line_of(const filler *f, const char *at) {
  int line = 1;
  for (const char *c = f->template; c < at; c++) line += *c == '\n';
  return line;
}

/* The slot's text, "" if it is empty; NULL if there is no such slot. */
static const char *find(const filler *f, const char *name) {
  for (size_t i = 0; i < f->n; i++)
    if (!strcmp(f->slot[i].name, name)) return f->slot[i].text ? f->slot[i].text : "";
  return NULL;
}

/* A mark {{...}} at `at`: its kind ('#', '^', '/' or 0), its name, and where it ends; false if it is none. */
static bool read_mark(const char *at, char *kind, char name[NAME], const char **end) {
  const char *begin = at + 2, *close = strstr(begin, "}}");
  *kind = strchr("#^/", *begin) && *begin ? *begin : '\0';
  begin += *kind != '\0';
  size_t length = close ? (size_t)(close - begin) : 0;
  if (length == 0 || length >= NAME || strspn(begin, "abcdefghijklmnopqrstuvwxyz_") != length) return false;
  memcpy(name, begin, length);
  name[length] = '\0';
  *end = close + 2;
  return true;
}

/* A section's mark alone on its line: the text up to it without the blanks before, and behind it without the newline. */
static void take_line(const filler *f, const char **begin, const char **end) {
  const char *b = *begin, *e = *end + strspn(*end, " \t");
  while (b > f->template && (b[-1] == ' ' || b[-1] == '\t')) b--;
  if ((b == f->template || b[-1] == '\n') && (*e == '\n' || *e == '\0')) *begin = b, *end = e + (*e == '\n');
}

static tw_status section(filler *f, const char *at, char kind, const char *name, const char *text, tw_error *error) {
  if (kind == '/') {
    if (f->depth == 0 || strcmp(f->open[f->depth - 1], name) != 0)
      return tw_fail(error, TW_USAGE, "line %d: {{/%s}} closes what is not open", line_of(f, at), name);
    f->depth--;
    if (f->hidden > 0) f->hidden--;
    return TW_OK;
  }
  if (f->depth == DEPTH)
    return tw_fail(error, TW_USAGE, "line %d: sections nest deeper than %d", line_of(f, at), DEPTH);
  strcpy(f->open[f->depth++], name);
  if (f->hidden > 0 || (kind == '#') == (*text == '\0')) f->hidden++;
  return TW_OK;
}

static tw_status fill(filler *f, tw_error *error) {
  for (const char *at = f->template;;) {
    const char *mark = strstr(at, "{{"), *end, *begin = mark;
    char kind, name[NAME];
    if (!mark) {
      tw_text_add_string(&f->out, at);
      return f->depth == 0 ? TW_OK : tw_fail(error, TW_USAGE, "section {{#%s}} does not close", f->open[f->depth - 1]);
    }
    if (!read_mark(mark, &kind, name, &end))
      return tw_fail(error, TW_USAGE, "line %d: {{ begins no slot", line_of(f, mark));
    const char *text = find(f, name);
    if (!text) return tw_fail(error, TW_USAGE, "line %d: unknown slot '%s'", line_of(f, mark), name);
    if (kind) take_line(f, &begin, &end);
    if (f->hidden == 0) tw_text_add_bytes(&f->out, at, (size_t)(begin - at));
    if (kind) {
      tw_status status = section(f, mark, kind, name, text, error);
      if (status != TW_OK) return status;
    } else if (f->hidden == 0) {
      tw_text_add_string(&f->out, text);
    }
    at = end;
  }
}

tw_status tw_template_fill(const char *template, size_t n, const tw_slot slot[], char **out, tw_error *error) {
  filler f = {.template = template, .n = n, .slot = slot};
  tw_status status = fill(&f, error);
  *out = status == TW_OK ? tw_text_take(&f.out) : NULL;
  tw_text_free(&f.out);
  if (status == TW_OK && !*out) return tw_fail(error, TW_MISSING, "no memory for the text");
  return status;
}
