/* template.c - see template.h. */
#include "base/template.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/embedded.h"

enum { DEPTH = 8, INCLUDES = 4, BUCKETS = 512 };

void (*tw_template_watch)(const char *file);

/* Slots by name, hashed with open addressing: a kernel has hundreds of marks and up to TW_SLOTS_MAX slots. */
typedef struct lookup {
  tw_slot slot[BUCKETS];
} lookup;

/* The slot of a name that need not end with '\0', or the free place for it, whose name is NULL. */
static tw_slot *slot_at(lookup *l, const char *name, size_t length) {
  unsigned at = 2166136261u; /* FNV-1a */
  for (size_t i = 0; i < length; i++) at = (at ^ (unsigned char)name[i]) * 16777619u;
  for (at = (at ^ at >> 16) % BUCKETS; l->slot[at].name; at = (at + 1) % BUCKETS)
    if (!strncmp(l->slot[at].name, name, length) && !l->slot[at].name[length]) break;
  return &l->slot[at];
}

/* Returns false if the name has a slot already. */
static bool add_slot(lookup *l, const char *name, const char *text) {
  tw_slot *slot = slot_at(l, name, strlen(name));
  if (slot->name) return false;
  *slot = (tw_slot){name, text ? text : ""};
  return true;
}

/* {{...}} in a template. */
typedef struct mark {
  char kind; /* '#', '^', '/', '>', '!', 'e' of else, or 0: a slot */
  const char *at, *end;
  const char *name; /* in the template; not ended by '\0' */
  int length;
} mark;

typedef struct filler {
  const char *file; /* name of the library's file; NULL: a text without a file */
  const char *template;
  lookup *slots;
  tw_text *out;
  int includes; /* templates that include this one */
  size_t depth, shown;
  struct {
    mark begin;
    bool on, other; /* its text is shown; {{else}} was seen */
  } open[DEPTH];    /* open sections; the first `shown` of them are shown */
} filler;

static int line_of(const filler *f, const char *at) {
  int line = 1;
  for (const char *c = f->template; c < at; c++) line += *c == '\n';
  return line;
}

static bool is_of_name(char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_'; }

/* The mark at `at`; false if there is none. */
static bool read_mark(const char *at, mark *m) {
  const char *begin = at + 2;
  *m = (mark){.at = at, .kind = *begin && strchr("#^/>!", *begin) ? *begin : '\0'};
  begin += m->kind != '\0';
  if (m->kind == '!') {
    const char *close = strstr(begin, "}}");
    m->end = close ? close + 2 : NULL;
    return close;
  }
  if (m->kind == '>') begin += strspn(begin, " ");
  m->name = begin;
  while (is_of_name(*begin) || (m->kind == '>' && (*begin == '.' || *begin == '/'))) begin++;
  m->length = (int)(begin - m->name);
  m->end = begin + 2;
  if (!m->kind && m->length == 4 && !memcmp(m->name, "else", 4)) m->kind = 'e';
  return m->length > 0 && begin[0] == '}' && begin[1] == '}';
}

/* The next mark; NULL if there is none. */
static const char *next_mark(const char *at) {
  const char *found = strstr(at, "{{");
  while (found && found[2] >= '0' && found[2] <= '9') found = strstr(found + 2, "{{");
  return found;
}

/* A mark alone on its line: the text before it without the blanks, and after it without the newline. */
static void take_line(const filler *f, const char **begin, const char **end) {
  const char *b = *begin, *e = *end + strspn(*end, " \t");
  while (b > f->template && (b[-1] == ' ' || b[-1] == '\t')) b--;
  if ((b == f->template || b[-1] == '\n') && (*e == '\n' || *e == '\0')) *begin = b, *end = e + (*e == '\n');
}

/* Counts the open sections that are shown, from the outermost on. */
static void count_shown(filler *f) {
  for (f->shown = 0; f->shown < f->depth && f->open[f->shown].on;) f->shown++;
}

static tw_status section(filler *f, const mark *m, const char *text, tw_error *error) {
  const size_t last = f->depth - 1;
  if (m->kind == '/') {
    if (f->depth == 0 || f->open[last].begin.length != m->length ||
        memcmp(f->open[last].begin.name, m->name, (size_t)m->length) != 0)
      return tw_fail(error, TW_USAGE, "line %d: {{/%.*s}} closes a section that is not open", line_of(f, m->at),
                     m->length, m->name);
    f->depth--;
  } else if (m->kind == 'e') {
    if (f->depth == 0 || f->open[last].other)
      return tw_fail(error, TW_USAGE, "line %d: {{else}} is outside of a section, or is the section's second",
                     line_of(f, m->at));
    f->open[last].other = true;
    f->open[last].on = !f->open[last].on;
  } else {
    if (f->depth == DEPTH)
      return tw_fail(error, TW_USAGE, "line %d: sections nest deeper than %d", line_of(f, m->at), DEPTH);
    f->open[f->depth].begin = *m;
    f->open[f->depth].on = (m->kind == '#') == (*text != '\0');
    f->open[f->depth++].other = false;
  }
  count_shown(f);
  return TW_OK;
}

static tw_status fill_template(filler *f, tw_error *error);

/* Another template: of the same folder, or of any by its whole name. Also rendered in omitted sections, because its
 * marks are checked; that text is dropped. */
static tw_status include(const filler *f, const mark *m, tw_error *error) {
  char file[200];
  const bool whole = memchr(m->name, '/', (size_t)m->length);
  const char *slash = f->file && !whole ? strrchr(f->file, '/') : NULL;
  snprintf(file, sizeof file, "%.*s%.*s", slash ? (int)(slash + 1 - f->file) : 0, f->file ? f->file : "", m->length,
           m->name);
  const tw_embedded *other = f->file ? tw_embedded_find(file) : NULL;
  if (!other)
    return tw_fail(error, TW_USAGE, "line %d: unknown template '%.*s' to include", line_of(f, m->at), m->length,
                   m->name);
  if (f->includes == INCLUDES)
    return tw_fail(error, TW_USAGE, "line %d: templates include each other deeper than %d", line_of(f, m->at),
                   INCLUDES);
  tw_text dropped = {0};
  tw_error why = {0};
  const bool shown = f->shown == f->depth;
  filler inner = {.file = other->name,
                  .template = (const char *)other->data,
                  .slots = f->slots,
                  .out = shown ? f->out : &dropped,
                  .includes = f->includes + 1};
  if (shown && tw_template_watch) tw_template_watch(other->name);
  const tw_status status = fill_template(&inner, &why);
  tw_text_free(&dropped);
  return status == TW_OK ? status : tw_fail(error, status, "%.*s: %s", m->length, m->name, why.text);
}

static tw_status fill_template(filler *f, tw_error *error) {
  for (const char *at = f->template;;) {
    const char *next = next_mark(at);
    mark m;
    if (!next) {
      tw_text_add_string(f->out, at);
      if (f->depth == 0) return TW_OK;
      const mark *open = &f->open[f->depth - 1].begin;
      return tw_fail(error, TW_USAGE, "section {{#%.*s}} does not close", open->length, open->name);
    }
    if (!read_mark(next, &m)) return tw_fail(error, TW_USAGE, "line %d: {{ does not begin a slot", line_of(f, next));
    const bool names_slot = m.kind != '!' && m.kind != '>' && m.kind != 'e';
    const tw_slot *slot = names_slot ? slot_at(f->slots, m.name, (size_t)m.length) : NULL;
    if (slot && !slot->name)
      return tw_fail(error, TW_USAGE, "line %d: unknown slot '%.*s'", line_of(f, next), m.length, m.name);
    const char *begin = next, *end = m.end;
    if (m.kind) take_line(f, &begin, &end);
    const bool shown = f->shown == f->depth;
    if (shown) tw_text_add_bytes(f->out, at, (size_t)(begin - at));
    if (shown && slot && !m.kind) tw_text_add_string(f->out, slot->text);
    tw_status status = TW_OK;
    if (m.kind == '>') status = include(f, &m, error);
    if (m.kind && m.kind != '>' && m.kind != '!') status = section(f, &m, slot ? slot->text : "", error);
    if (status != TW_OK) return status;
    at = end;
  }
}

tw_status tw_template_fill(const char *template, size_t n, const tw_slot slot[], char **out, tw_error *error) {
  tw_text text = {0};
  lookup slots = {0};
  *out = NULL;
  if (n > TW_SLOTS_MAX) return tw_fail(error, TW_USAGE, "%zu slots exceed %d", n, TW_SLOTS_MAX);
  for (size_t i = 0; i < n; i++)
    if (!add_slot(&slots, slot[i].name, slot[i].text))
      return tw_fail(error, TW_USAGE, "slot '%s' is set twice", slot[i].name);
  filler f = {.template = template, .slots = &slots, .out = &text};
  tw_status status = fill_template(&f, error);
  *out = status == TW_OK ? tw_text_take(&text) : NULL;
  tw_text_free(&text);
  if (status == TW_OK && !*out) return tw_no_memory(error, "the text");
  return status;
}

/* ---- slots with their own texts ---- */

/* Begins a slot: its text consists of the next additions to `texts`, and a '\0'. */
static tw_text *begin_slot(tw_slots *s, const char *name) {
  if (s->n < TW_SLOTS_MAX) {
    s->slot[s->n].name = name;
    s->slot[s->n++].at = s->texts.length;
  } else {
    s->failed = true;
  }
  return &s->texts;
}

void tw_slots_text(tw_slots *s, const char *name, const char *text) {
  tw_text_add_bytes(begin_slot(s, name), text ? text : "", text ? strlen(text) + 1 : 1);
}

void tw_slots_format(tw_slots *s, const char *name, const char *format, ...) {
  char text[256];
  va_list arguments;
  va_start(arguments, format);
  const int length = vsnprintf(text, sizeof text, format, arguments);
  va_end(arguments);
  s->failed |= length < 0 || length >= (int)sizeof text;
  tw_slots_text(s, name, text);
}

void tw_slots_number(tw_slots *s, const char *name, int64_t number) {
  char text[24], *at = text + sizeof text; /* by hand: most slots are numbers, and printf takes as long as the rest */
  uint64_t rest = number < 0 ? -(uint64_t)number : (uint64_t)number;
  *--at = '\0';
  do *--at = (char)('0' + rest % 10);
  while ((rest /= 10) > 0);
  if (number < 0) *--at = '-';
  tw_slots_text(s, name, at);
}

void tw_slots_number_or_empty(tw_slots *s, const char *name, int64_t number) {
  if (number)
    tw_slots_number(s, name, number);
  else
    tw_slots_text(s, name, NULL);
}

void tw_slots_flag(tw_slots *s, const char *name, bool on) { tw_slots_text(s, name, on ? "1" : NULL); }

void tw_slots_take(tw_slots *s, const char *name, tw_text *text) {
  s->texts.failed |= text->failed;
  const bool is_line = text->length && text->data[text->length - 1] == '\n';
  tw_text_add_bytes(begin_slot(s, name), text->data, text->length - is_line);
  tw_text_add_bytes(&s->texts, "", 1);
  tw_text_free(text);
}

void tw_slots_free(tw_slots *s) {
  tw_text_free(&s->texts);
  s->n = 0;
}

tw_status tw_template_add(tw_text *out, const char *file, const tw_slots *s, tw_error *error) {
  const tw_embedded *found = tw_embedded_find(file);
  if (!found) return tw_fail(error, TW_MISSING, "template %s: it is not part of this build", file);
  if (s->texts.failed) return tw_fail(error, TW_NO_MEMORY, "template %s: no memory for its slots", file);
  if (s->failed)
    return tw_fail(error, TW_USAGE, "template %s: a slot is too long, or more than %d are set", file, TW_SLOTS_MAX);
  lookup slots = {0};
  for (size_t i = 0; i < s->n; i++)
    if (!add_slot(&slots, s->slot[i].name, s->texts.data + s->slot[i].at))
      return tw_fail(error, TW_USAGE, "template %s: slot '%s' is set twice", file, s->slot[i].name);
  filler f = {.file = found->name, .template = (const char *)found->data, .slots = &slots, .out = out};
  tw_error why = {0};
  if (tw_template_watch) tw_template_watch(found->name);
  const tw_status status = fill_template(&f, &why);
  return status == TW_OK ? status : tw_fail(error, status, "template %s: %s", file, why.text);
}
