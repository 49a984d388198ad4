/* edits.c - see edits.h. */
#define _GNU_SOURCE
#include "agent/edits.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "agent/lines.h"
#include "base/strings.h"

static const char NO_MEMORY[] = "no memory for an edited kernel";

void tw_edits_free(tw_edits *e) {
  for (size_t i = 0; i < e->n; i++) {
    free(e->edit[i].search);
    free(e->edit[i].replace);
  }
  free(e->edit);
  *e = (tw_edits){0};
}

/* Takes both texts over. */
static tw_status add(tw_edits *e, char *search, char *replace, tw_error *error) {
  if (e->n == e->room) {
    const size_t room = e->room ? 2 * e->room : 8;
    tw_edit *larger = tw_resize(e->edit, room, sizeof *larger);
    if (larger) e->edit = larger, e->room = room;
  }
  if (search && replace && e->n < e->room) {
    e->edit[e->n++] = (tw_edit){search, replace};
    return TW_OK;
  }
  free(search);
  free(replace);
  return tw_fail(error, TW_NO_MEMORY, "%s", NO_MEMORY);
}

/* ---- SEARCH and REPLACE ---- */

static tw_status read_marked(const char *reply, tw_edits *out, tw_error *error) {
  enum { OUTSIDE, SEARCH, REPLACE } where = OUTSIDE;
  const char *search = NULL, *replace = NULL;
  size_t length = 0;
  tw_status status = TW_OK;
  tw_line next = tw_line_first(reply);
  for (bool more = *reply != '\0'; more && status == TW_OK;) {
    const tw_line l = next;
    more = tw_line_next(&next);
    const char *after = more ? next.text : l.text + l.length;
    if (where == OUTSIDE && tw_line_begins(l, "<<<<<<<")) {
      where = SEARCH;
      search = after;
    } else if (where == SEARCH && tw_line_begins(l, "=======")) {
      where = REPLACE;
      length = (size_t)(l.text - search);
      replace = after;
    } else if (where == REPLACE && tw_line_begins(l, ">>>>>>>")) {
      where = OUTSIDE;
      status = add(out, strndup(search, length), strndup(replace, (size_t)(l.text - replace)), error);
    }
  }
  if (status == TW_OK && where != OUTSIDE)
    return tw_fail(error, TW_FAILED, "edit %zu has no end; write SEARCH, =======, >>>>>>> REPLACE", out->n + 1);
  return status;
}

/* ---- JSON ---- */

static const char *text_of(const json_t *object, const char *const key[], size_t n) {
  for (size_t i = 0; i < n; i++)
    if (json_is_string(json_object_get(object, key[i]))) return json_string_value(json_object_get(object, key[i]));
  return NULL;
}

static tw_status add_object(const json_t *object, tw_edits *out, tw_error *error) {
  static const char *const old[] = {"search", "old", "old_string", "old_str", "find", "SEARCH"},
                           *const new[] = {"replace", "new", "new_string", "new_str", "replacement", "REPLACE"};
  const char *search = text_of(object, old, sizeof old / sizeof *old);
  const char *replace = text_of(object, new, sizeof new / sizeof *new);
  return search && replace ? add(out, strdup(search), strdup(replace), error) : TW_OK;
}

static tw_status read_json(const char *text, size_t length, tw_edits *out, tw_error *error) {
  json_t *root = json_loadb(text, length, JSON_DISABLE_EOF_CHECK, NULL), *list = root, *member;
  const char *name;
  tw_status status = TW_OK;
  if (json_is_object(root) && (status = add_object(root, out, error)) == TW_OK && out->n == 0)
    json_object_foreach(root, name, member) if (json_is_array(member)) list = member;
  for (size_t i = 0; status == TW_OK && i < json_array_size(list); i++)
    status = add_object(json_array_get(list, i), out, error);
  json_decref(root);
  return status;
}

/* JSON begins the reply, or a fenced block of it. */
static tw_status read_all_json(const char *reply, tw_edits *out, tw_error *error) {
  const char *end = reply + strlen(reply);
  bool at_begin = true;
  tw_status status = TW_OK;
  tw_line l = tw_line_first(reply);
  for (bool more = *reply != '\0'; more && status == TW_OK && out->n == 0; more = tw_line_next(&l)) {
    const char *text = l.text + strspn(l.text, " \t");
    char mark;
    if (at_begin && (*text == '{' || *text == '[')) status = read_json(text, (size_t)(end - text), out, error);
    if (tw_line_trimmed(l) > 0) at_begin = tw_line_fence(l, &mark) > 0;
  }
  return status;
}

/* ---- unified diffs ---- */

static bool is_header(tw_line l) {
  return tw_line_begins(l, "--- ") && l.text[l.length] && !strncmp(l.text + l.length + 1, "+++ ", 4);
}

/* The kind of a line in a hunk: ' ', '-', '+', '\\' (about the previous line), or '\0': outside of the hunk. Editors
 * trim blank context. */
static char kind_of(tw_line l) {
  char mark;
  if (tw_line_trimmed(l) == 0) return ' ';
  if (is_header(l) || tw_line_fence(l, &mark)) return '\0';
  return strchr(" -+\\", l.text[0]) ? l.text[0] : '\0';
}

static tw_status end_hunk(tw_text *search, tw_text *replace, tw_edits *out, tw_error *error) {
  if (search->length + replace->length == 0) return TW_OK;
  char *old = tw_text_take(search), *new = tw_text_take(replace);
  return add(out, old, new, error);
}

static tw_status read_diff(const char *reply, tw_edits *out, tw_error *error) {
  tw_text search = {0}, replace = {0};
  bool inside = false;
  tw_status status = TW_OK;
  tw_line l = tw_line_first(reply);
  for (bool more = *reply != '\0'; more && status == TW_OK; more = tw_line_next(&l)) {
    const char kind = kind_of(l);
    if (tw_line_begins(l, "@@") || kind == '\0') {
      if (inside) status = end_hunk(&search, &replace, out, error);
      inside = tw_line_begins(l, "@@");
    } else if (inside && kind != '\\') {
      const size_t mark = l.length > 0;
      if (kind != '+') tw_text_add(&search, "%.*s\n", (int)(l.length - mark), l.text + mark);
      if (kind != '-') tw_text_add(&replace, "%.*s\n", (int)(l.length - mark), l.text + mark);
    }
  }
  if (inside && status == TW_OK) status = end_hunk(&search, &replace, out, error);
  tw_text_free(&search);
  tw_text_free(&replace);
  return status;
}

tw_status tw_edits_read(const char *reply, tw_edits *out, tw_error *error) {
  *out = (tw_edits){0};
  tw_status status = read_marked(reply, out, error);
  if (status == TW_OK && out->n == 0) status = read_all_json(reply, out, error);
  if (status == TW_OK && out->n == 0) status = read_diff(reply, out, error);
  if (status != TW_OK) tw_edits_free(out);
  return status;
}

/* ---- where an edit fits ---- */

typedef bool same_line(tw_line, tw_line);

static bool is_same(tw_line a, tw_line b) {
  return tw_line_trimmed(a) == tw_line_trimmed(b) && !strncmp(a.text, b.text, tw_line_trimmed(a));
}

/* Ignores all white space. */
static bool is_alike(tw_line a, tw_line b) {
  size_t i = 0, k = 0;
  for (;; i++, k++) {
    while (i < a.length && isspace((unsigned char)a.text[i])) i++;
    while (k < b.length && isspace((unsigned char)b.text[k])) k++;
    if (i == a.length || k == b.length) return i == a.length && k == b.length;
    if (a.text[i] != b.text[k]) return false;
  }
}

typedef struct span {
  size_t begin, end;
} span;

/* The places of these lines; the first of them. */
static int find_lines(const char *text, const char *search, same_line *same, span *out) {
  int found = 0;
  for (tw_line at = tw_line_first(text);;) {
    tw_line t = at, s = tw_line_first(search);
    bool fits = true, more = true;
    while ((fits = same(t, s)) && tw_line_next(&s) && (more = tw_line_next(&t))) continue;
    if (fits && more && found++ == 0) *out = (span){(size_t)(at.text - text), (size_t)(t.text + t.length - text)};
    if (!tw_line_next(&at)) return found;
  }
}

static int find_text(const char *text, const char *search, span *out) {
  int found = 0;
  const size_t n = strlen(search);
  for (const char *at = text; (at = strstr(at, search)); at++)
    if (found++ == 0) *out = (span){(size_t)(at - text), (size_t)(at - text) + n};
  return found;
}

/* Without empty lines at both ends. */
static char *without_empty_lines(const char *text) {
  size_t begin = strspn(text, " \t\r\n"), end = strlen(text);
  while (begin > 0 && text[begin - 1] != '\n') begin--;
  while (end > begin && isspace((unsigned char)text[end - 1])) end--;
  return strndup(text + begin, end - begin);
}

static char *without_blanks(const char *text) {
  size_t begin = strspn(text, " \t\r\n"), end = strlen(text);
  while (end > begin && isspace((unsigned char)text[end - 1])) end--;
  return strndup(text + begin, end - begin);
}

/* The number of the first search line that the source lacks; 0 if it has all. */
static int find_strange_line(const char *source, const char *search, tw_line *out) {
  int number = 1;
  for (tw_line s = tw_line_first(search);; number++) {
    bool found = false;
    tw_line t = tw_line_first(source);
    for (bool more = true; more && !found; more = tw_line_next(&t)) found = is_alike(s, t);
    *out = s;
    if (!found) return number;
    if (!tw_line_next(&s)) return 0;
  }
}

static tw_status misfit(size_t number, int found, const char *source, const char *search, tw_error *error) {
  tw_line l;
  const int strange = found ? 0 : find_strange_line(source, search, &l);
  if (strange)
    return tw_fail(error, TW_FAILED,
                   "edit %zu: SEARCH text not found: its line %d, '%.*s', is not in the kernel; copy lines exactly",
                   number, strange, l.length < 80 ? (int)l.length : 80, l.text);
  return tw_fail(error, TW_FAILED,
                 "edit %zu: SEARCH lines match %s of the kernel; copy them exactly, with more lines around%s", number,
                 found ? "several places" : "no place", found ? "" : " if need be");
}

/* ---- making edits ---- */

static char *splice(const char *source, span where, const char *replace, size_t length) {
  tw_text t = {0};
  tw_text_add_bytes(&t, source, where.begin);
  tw_text_add_bytes(&t, replace, length);
  tw_text_add_string(&t, source + where.end);
  return tw_text_take(&t);
}

static char *replace_lines(const char *source, span where, const char *replace) {
  size_t length = strlen(replace);
  /* NOLINTNEXTLINE(clang-analyzer-core.NullDereference): `where` was found in the source */
  if (length == 0 && source[where.end] == '\n') where.end++; /* a deleted line is deleted with its newline */
  if (length > 0 && replace[length - 1] == '\n') length--;   /* keeps the newline of the searched lines */
  return splice(source, where, replace, length);
}

static char *replace_text(const char *source, span where, const char *replace) {
  char *text = without_blanks(replace), *edited = text ? splice(source, where, text, strlen(text)) : NULL;
  free(text);
  return edited;
}

static tw_status apply(char **source, const tw_edit *e, size_t number, tw_error *error) {
  if (e->search[strspn(e->search, " \t\r\n")] == '\0')
    return tw_fail(error, TW_FAILED, "edit %zu: SEARCH is empty; give the lines to replace", number);
  span where = {0};
  char *lines = without_empty_lines(e->search), *text = without_blanks(e->search), *edited = NULL;
  tw_status status = lines && text ? TW_OK : tw_fail(error, TW_NO_MEMORY, "%s", NO_MEMORY);
  int found = status == TW_OK ? find_lines(*source, e->search, is_same, &where) : 0;
  if (status == TW_OK && found == 0) found = find_lines(*source, lines, is_alike, &where);
  if (found == 1) {
    edited = replace_lines(*source, where, e->replace);
  } else if (status == TW_OK && found == 0 && (found = find_text(*source, text, &where)) == 1) {
    edited = replace_text(*source, where, e->replace);
  }
  if (status == TW_OK && found != 1)
    status = misfit(number, found, *source, lines, error);
  else if (status == TW_OK && !edited)
    status = tw_fail(error, TW_NO_MEMORY, "%s", NO_MEMORY);
  free(lines);
  free(text);
  if (status != TW_OK) return status;
  free(*source);
  *source = edited;
  return TW_OK;
}

tw_status tw_edits_apply(const tw_edits *e, const char *source, char **edited, tw_error *error) {
  *edited = strdup(source);
  tw_status status = *edited ? TW_OK : tw_fail(error, TW_NO_MEMORY, "%s", NO_MEMORY);
  for (size_t i = 0; i < e->n && status == TW_OK; i++) status = apply(edited, &e->edit[i], i + 1, error);
  if (status == TW_OK) return TW_OK;
  free(*edited);
  *edited = NULL;
  return status;
}
