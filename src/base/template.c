/* template.c - see template.h. */
#include "base/template.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/embedded.h"

enum { DEPTH = 8, NAME = 64, INCLUDES = 4, BUCKETS = 256 };

void (*tw_template_watch)(const char *file);

/* Slots by name, hashed with open addressing: a kernel has hundreds of marks and up to TW_SLOTS_MAX slots. */
typedef struct lookup {
  tw_slot slot[BUCKETS];
} lookup;

static unsigned bucket_of(const char *name, size_t length) {
  unsigned hash = 2166136261u; /* FNV-1a */
  for (size_t i = 0; i < length; i++) hash = (hash ^ (unsigned char)name[i]) * 16777619u;
  return hash % BUCKETS;
}

/* false: the name has a slot already. */
static bool add_slot(lookup *l, const char *name, const char *text) {
  unsigned at = bucket_of(name, strlen(name));
  for (; l->slot[at].name; at = (at + 1) % BUCKETS)
    if (!strcmp(l->slot[at].name, name)) return false;
  l->slot[at] = (tw_slot){name, text ? text : ""};
  return true;
}

typedef struct filler {
  const char *file; /* of the library; NULL: a text that is in no file */
  const char *template;
  const lookup *slots;
  tw_text *out;
  int includes; /* templates that include this one */
  size_t depth, shown;
  struct {
    char name[NAME];
    bool on, other; /* its text is shown; {{else}} was seen */
  } open[DEPTH];    /* sections; `shown`: the first of them are on */
} filler;

static int line_of(const filler *f, const char *at) {
  int line = 1;
  for (const char *c = f->template; c < at; c++) line += *c == '\n';
  return line;
}

/* The slot's text, "" if it is empty; NULL if there is no such slot. */
static const char *find(const filler *f, const char *name) {
  const tw_slot *slot = f->slots->slot;
  unsigned at = bucket_of(name, strlen(name));
  while (slot[at].name && strcmp(slot[at].name, name) != 0) at = (at + 1) % BUCKETS;
  return slot[at].name ? slot[at].text : NULL;
}

static bool is_of_name(char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_'; }

/* A mark {{...}} at `at`: its kind ('#', '^', '/', '>', '!' or 0), its name, and where it ends; false if it is none. */
static bool read_mark(const char *at, char *kind, char name[NAME], const char **end) {
  const char *begin = at + 2;
  *kind = *begin && strchr("#^/>!", *begin) ? *begin : '\0';
  begin += *kind != '\0';
  if (*kind == '!') {
    const char *close = strstr(begin, "}}");
    *name = '\0';
    *end = close ? close + 2 : NULL;
    return close;
  }
  if (*kind == '>') begin += strspn(begin, " ");
  size_t length = 0;
  while (is_of_name(begin[length]) || (*kind == '>' && begin[length] == '.')) length++;
  if (length == 0 || length >= NAME || strncmp(begin + length, "}}", 2) != 0) return false;
  memcpy(name, begin, length);
  name[length] = '\0';
  *end = begin + length + 2;
  return true;
}

/* The next mark; NULL if there is none. */
static const char *next_mark(const char *at) {
  const char *mark = strstr(at, "{{");
  while (mark && mark[2] >= '0' && mark[2] <= '9') mark = strstr(mark + 2, "{{");
  return mark;
}

/* A mark alone on its line: the text before it without the blanks, and after it without the newline. */
static void take_line(const filler *f, const char **begin, const char **end) {
  const char *b = *begin, *e = *end + strspn(*end, " \t");
  while (b > f->template && (b[-1] == ' ' || b[-1] == '\t')) b--;
  if ((b == f->template || b[-1] == '\n') && (*e == '\n' || *e == '\0')) *begin = b, *end = e + (*e == '\n');
}

/* Counts the sections from the outermost on that are on. */
static void count_shown(filler *f) {
  for (f->shown = 0; f->shown < f->depth && f->open[f->shown].on;) f->shown++;
}

static tw_status section(filler *f, const char *at, char kind, const char *name, const char *text, tw_error *error) {
  if (kind == '/') {
    if (f->depth == 0 || strcmp(f->open[f->depth - 1].name, name) != 0)
      return tw_fail(error, TW_USAGE, "line %d: {{/%s}} closes what is not open", line_of(f, at), name);
    f->depth--;
  } else if (!kind) { /* else */
    if (f->depth == 0 || f->open[f->depth - 1].other)
      return tw_fail(error, TW_USAGE, "line %d: {{else}} is in no section, or the section's second", line_of(f, at));
    f->open[f->depth - 1].other = true;
    f->open[f->depth - 1].on = !f->open[f->depth - 1].on;
  } else {
    if (f->depth == DEPTH)
      return tw_fail(error, TW_USAGE, "line %d: sections nest deeper than %d", line_of(f, at), DEPTH);
    strcpy(f->open[f->depth].name, name);
    f->open[f->depth].on = (kind == '#') == (*text != '\0');
    f->open[f->depth++].other = false;
  }
  count_shown(f);
  return TW_OK;
}

static tw_status fill(filler *f, tw_error *error);

/* Another template of the same folder. Included where it is left out, too, as its marks are checked; that text is dropped. */
static tw_status include(const filler *f, const char *at, const char *name, tw_error *error) {
  char file[128];
  const char *slash = f->file ? strrchr(f->file, '/') : NULL;
  snprintf(file, sizeof file, "%.*s%s", slash ? (int)(slash + 1 - f->file) : 0, f->file ? f->file : "", name);
  const tw_embedded *other = f->file ? tw_embedded_find(file) : NULL;
  if (!other) return tw_fail(error, TW_USAGE, "line %d: unknown template '%s' to include", line_of(f, at), name);
  if (f->includes == INCLUDES)
    return tw_fail(error, TW_USAGE, "line %d: templates include each other deeper than %d", line_of(f, at), INCLUDES);
  tw_text dropped = {0};
  tw_error why = {0};
  const bool shown = f->shown == f->depth;
  filler inner = {.file = other->name,
                  .template = (const char *)other->data,
                  .slots = f->slots,
                  .out = shown ? f->out : &dropped,
                  .includes = f->includes + 1};
  if (shown && tw_template_watch) tw_template_watch(other->name);
  const tw_status status = fill(&inner, &why);
  tw_text_free(&dropped);
  return status == TW_OK ? status : tw_fail(error, status, "%s: %s", name, why.text);
}

static tw_status fill(filler *f, tw_error *error) {
  for (const char *at = f->template;;) {
    const char *mark = next_mark(at), *end, *begin = mark;
    char kind, name[NAME];
    if (!mark) {
      tw_text_add_string(f->out, at);
      return f->depth == 0 ? TW_OK
                           : tw_fail(error, TW_USAGE, "section {{#%s}} does not close", f->open[f->depth - 1].name);
    }
    if (!read_mark(mark, &kind, name, &end))
      return tw_fail(error, TW_USAGE, "line %d: {{ begins no slot", line_of(f, mark));
    const bool other = !kind && !strcmp(name, "else");
    const bool is_slot = !other && kind != '>' && kind != '!';
    const char *text = is_slot ? find(f, name) : "";
    if (!text) return tw_fail(error, TW_USAGE, "line %d: unknown slot '%s'", line_of(f, mark), name);
    if (kind || other) take_line(f, &begin, &end);
    if (f->shown == f->depth) tw_text_add_bytes(f->out, at, (size_t)(begin - at));
    tw_status status = TW_OK;
    if (kind == '>')
      status = include(f, mark, name, error);
    else if (other || (kind && kind != '!'))
      status = section(f, mark, kind, name, text, error);
    else if (!kind && f->shown == f->depth)
      tw_text_add_string(f->out, text);
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
  tw_status status = fill(&f, error);
  *out = status == TW_OK ? tw_text_take(&text) : NULL;
  tw_text_free(&text);
  if (status == TW_OK && !*out) return tw_fail(error, TW_MISSING, "no memory for the text");
  return status;
}

/* ---- slots with texts of their own ---- */

/* Begins a slot: its text is what is added to `texts` next, and a '\0'. */
static tw_text *begin_slot(tw_slots *s, const char *name) {
  if (s->n < TW_SLOTS_MAX) {
    s->slot[s->n].name = name;
    s->slot[s->n++].at = s->texts.length;
  } else {
    s->failed = true;
  }
  return &s->texts;
}

static void end_slot(tw_slots *s) { tw_text_add_bytes(&s->texts, "", 1); }

void tw_slots_text(tw_slots *s, const char *name, const char *text) {
  tw_text_add_string(begin_slot(s, name), text ? text : "");
  end_slot(s);
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
  end_slot(s);
  tw_text_free(text);
}

void tw_slots_free(tw_slots *s) {
  tw_text_free(&s->texts);
  s->n = 0;
}

tw_status tw_template_add(tw_text *out, const char *file, const tw_slots *s, tw_error *error) {
  const tw_embedded *found = tw_embedded_find(file);
  if (!found) return tw_fail(error, TW_MISSING, "template %s: it is not part of this build", file);
  if (s->texts.failed) return tw_fail(error, TW_MISSING, "template %s: no memory for its slots", file);
  if (s->failed)
    return tw_fail(error, TW_USAGE, "template %s: a slot is too long, or more than %d are set", file, TW_SLOTS_MAX);
  lookup slots = {0};
  for (size_t i = 0; i < s->n; i++)
    if (!add_slot(&slots, s->slot[i].name, s->texts.data + s->slot[i].at))
      return tw_fail(error, TW_USAGE, "template %s: slot '%s' is set twice", file, s->slot[i].name);
  filler f = {.file = found->name, .template = (const char *)found->data, .slots = &slots, .out = out};
  tw_error why = {0};
  if (tw_template_watch) tw_template_watch(found->name);
  const tw_status status = fill(&f, &why);
  return status == TW_OK ? status : tw_fail(error, status, "template %s: %s", file, why.text);
}
