/* config_file.c - see config_file.h. */
#include "base/config_file.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { NOWHERE = TW_CONFIG_SECTIONS_MAX };

struct tw_config_file {
  const tw_config_schema *schema;
  const char *origin;
  char *whole;
  bool is_derived;
  size_t section;          /* the current section; NOWHERE: an unknown one, whose keys are skipped */
  bool is_partial;         /* its record already has all values, from a base or another record: keys may be absent */
  tw_config_record record; /* of it */
  int line[TW_CONFIG_SECTIONS_MAX][TW_CONFIG_KEYS_MAX]; /* line of each key, in the last record of the section */
  bool was_read[TW_CONFIG_SECTIONS_MAX];
  bool is_incomplete; /* a wrong record of a repeated section, which may lack values */
  tw_text problems;
  size_t n_problems;
  tw_error first;
};

static const tw_config_section *section_of(const tw_config_file *f) { return &f->schema->section[f->section]; }
static size_t *count_of(const tw_config_section *s, char *whole) { return (size_t *)(void *)(whole + s->count); }

static void add_problem(tw_config_file *f, const tw_error *e) {
  if (!f->n_problems++) f->first = *e;
  if (f->section != NOWHERE && section_of(f)->stride) f->is_incomplete = true;
  tw_text_add(&f->problems, "%s\n", e->text);
}

static void note(tw_config_file *f, tw_status status, const tw_error *e) {
  if (status != TW_OK) add_problem(f, e);
}

/* ---- sections ---- */

static void begin_record(tw_config_file *f, size_t section, void *out) {
  const tw_config_section *s = &f->schema->section[section];
  f->section = section;
  f->is_partial = f->is_derived && !s->stride;
  f->was_read[section] = true;
  f->record = (tw_config_record){.what = s->name ? s->name : f->schema->what, .key = s->key, .n = s->n, .out = out};
}

/* Checks that every key of the section was given, unless its record already has all values. */
static void end_record(tw_config_file *f, tw_config_place at) {
  tw_error e = {0};
  if (f->section == NOWHERE) return;
  memcpy(f->line[f->section], f->record.line, sizeof f->record.line);
  if (!f->is_partial) note(f, tw_config_complete(&f->record, at, &e), &e);
}

static void begin_section(tw_config_file *f, const char *line, tw_config_place at) {
  tw_error e = {0};
  const size_t length = strlen(line);
  end_record(f, at);
  f->section = NOWHERE;
  for (size_t i = 1; i < f->schema->n; i++) {
    const tw_config_section *s = &f->schema->section[i];
    if (length != strlen(s->name) + 2 || line[length - 1] != ']' || strncmp(line + 1, s->name, length - 2) != 0)
      continue;
    if (!s->stride && f->was_read[i])
      return note(f, tw_fail(&e, TW_USAGE, "%s:%d: a second %s", at.origin, at.line, line), &e);
    if (!s->stride) return begin_record(f, i, f->whole + s->offset);
    size_t *count = count_of(s, f->whole);
    if (*count == s->most) {
      tw_fail(&e, TW_USAGE, "%s:%d: more than %zu sections named %s", at.origin, at.line, s->most, line);
      return add_problem(f, &e);
    }
    memset(f->whole + s->offset + *count * s->stride, 0, s->stride);
    return begin_record(f, i, f->whole + s->offset + (*count)++ * s->stride);
  }
  tw_fail(&e, TW_USAGE, "%s:%d: unknown section %.60s", at.origin, at.line, line);
  add_problem(f, &e);
}

/* A record of that name other than the current one, or NULL. */
static void *other_record(tw_config_file *f, const char *name) {
  const tw_config_section *s = section_of(f);
  for (size_t i = 0; i < *count_of(s, f->whole); i++) {
    char *record = f->whole + s->offset + i * s->stride;
    if (record != f->record.out && strcmp(record + s->key->offset, name) == 0) return record;
  }
  return NULL;
}

/* Reads the name of a repeated section. A record of the base with that name is changed. */
static void name_record(tw_config_file *f, tw_config_place at) {
  const tw_config_section *s = section_of(f);
  char *own = f->record.out;
  void *known = other_record(f, own + s->key->offset);
  tw_error e = {0};
  if (!known) return;
  if (!f->is_derived)
    return note(
        f, tw_fail(&e, TW_USAGE, "%s:%d: %s %s is defined twice", at.origin, at.line, s->name, own + s->key->offset),
        &e);
  f->record.out = known;
  f->is_partial = true;
  --*count_of(s, f->whole);
}

/* like = NAME, after the name: copies that record, whose values keys below may change. */
static tw_status copy_record(tw_config_file *f, const char *name, tw_config_place at, tw_error *error) {
  const tw_config_section *s = section_of(f);
  char *own = f->record.out;
  for (size_t i = 0; i < f->record.n; i++)
    if (!f->record.line[i] != (i > 0))
      return tw_fail(error, TW_USAGE, "%s:%d: like must follow the %s's name", at.origin, at.line, s->name);
  const void *known = other_record(f, name);
  if (!known)
    return tw_fail(error, TW_USAGE, "%s:%d: like = %.60s: unknown %s; expected one from above", at.origin, at.line,
                   name, s->name);
  const tw_config_key *k = s->key;
  char kept[256];
  snprintf(kept, sizeof kept, "%s", own + k->offset);
  memcpy(own, known, s->stride);
  snprintf(own + k->offset, (size_t)k->high, "%s", kept);
  f->is_partial = true;
  return TW_OK;
}

static tw_status read_line(void *context, char *line, tw_config_place at, tw_error *error) {
  tw_config_file *f = context;
  const char *key = NULL;
  char *value = NULL;
  tw_error e = {0};
  (void)error; /* problems are collected, and reading continues */
  if (line[0] == '[') return begin_section(f, line, at), TW_OK;
  tw_status status = tw_config_split(line, &key, &value, at, &e);
  if (status != TW_OK) return add_problem(f, &e), TW_OK;
  if (f->section == NOWHERE) return TW_OK;
  const tw_config_section *s = section_of(f);
  if (!f->section && f->is_derived && !strcmp(key, "base")) return TW_OK;
  status =
      s->stride && !strcmp(key, "like") ? copy_record(f, value, at, &e) : tw_config_set(&f->record, key, value, at, &e);
  note(f, status, &e);
  if (status == TW_OK && s->stride && !strcmp(key, s->key->name)) name_record(f, at);
  return TW_OK;
}

static void check_sections(tw_config_file *f) {
  tw_error e = {0};
  for (size_t i = 1; i < f->schema->n && !f->is_derived; i++)
    if (!f->was_read[i])
      note(f, tw_fail(&e, TW_USAGE, "%s: section [%s] is missing", f->origin, f->schema->section[i].name), &e);
}

tw_status tw_config_read(const tw_config_schema *schema, const char *text, const char *origin, const void *base,
                         void *out, char **problems, tw_error *error) {
  tw_config_file *f = calloc(1, sizeof *f);
  if (problems) *problems = NULL;
  if (!f) return tw_fail(error, TW_NO_MEMORY, "%s: no memory", origin);
  *f = (tw_config_file){.schema = schema, .origin = origin, .whole = out, .is_derived = base != NULL};
  if (base)
    memcpy(out, base, schema->bytes);
  else
    memset(out, 0, schema->bytes);
  int lines = 1;
  for (const char *p = text; (p = strchr(p, '\n')); p++) lines++;
  begin_record(f, 0, f->whole + schema->section[0].offset);
  tw_status status = tw_config_lines(text, origin, read_line, f, error);
  if (status == TW_OK) {
    end_record(f, (tw_config_place){origin, lines});
    check_sections(f);
    /* A wrong line leaves its key with the base's value, so values that are right can be checked beside it. */
    const bool is_whole = f->is_derived && !f->is_incomplete;
    if ((is_whole || !f->n_problems) && schema->check) schema->check(out, f);
    if (f->n_problems) status = tw_fail(error, TW_USAGE, "%s", f->first.text);
  }
  char *all = tw_text_take(&f->problems);
  if (problems && all && *all)
    *problems = all;
  else
    free(all);
  free(f);
  return status;
}

/* ---- problems of several keys ---- */

static int line_of(const tw_config_file *f, const char *key, size_t length) {
  const char *dot = memchr(key, '.', length);
  const size_t n = dot ? (size_t)(dot - key) : 0;
  for (size_t i = 0; i < f->schema->n; i++) {
    const tw_config_section *s = &f->schema->section[i];
    if (dot ? !s->name || strlen(s->name) != n || memcmp(s->name, key, n) != 0 : s->name != NULL) continue;
    const char *name = dot ? dot + 1 : key;
    const size_t rest = length - (size_t)(name - key);
    for (size_t k = 0; k < s->n; k++)
      if (strlen(s->key[k].name) == rest && !memcmp(s->key[k].name, name, rest)) return f->line[i][k];
  }
  return 0;
}

void tw_config_wrong(tw_config_file *f, const char *keys, const char *format, ...) {
  int line = 0;
  char text[400];
  tw_error e = {0};
  va_list arguments;
  for (; *keys; keys += strspn(keys, " ")) {
    const size_t n = strcspn(keys, " ");
    const int at = line_of(f, keys, n);
    if (at < 0) return; /* said before */
    if (at > line) line = at;
    keys += n;
  }
  va_start(arguments, format);
  vsnprintf(text, sizeof text, format, arguments);
  va_end(arguments);
  if (line)
    tw_fail(&e, TW_USAGE, "%s:%d: %s", f->origin, line, text);
  else
    tw_fail(&e, TW_USAGE, "%s: %s", f->origin, text);
  add_problem(f, &e);
}

/* ---- about texts ---- */

/* The value of `key`. `only_first`: in the first line that is not empty. */
static char *find_value(const char *text, const char *key, bool only_first, int *line) {
  char *copy = strdup(text), *rest = copy, *next, *found = NULL;
  int n = 0;
  while (copy && (next = strsep(&rest, "\n"))) {
    n++;
    next = tw_strip(next);
    if (*next == '[') break;
    char *equals = strchr(next, '=');
    if (equals) {
      *equals = '\0';
      if (strcmp(tw_strip(next), key) == 0) {
        found = strdup(tw_strip(equals + 1));
        break;
      }
    }
    if (*next && only_first) break;
  }
  free(copy);
  if (line) *line = n;
  return found;
}

char *tw_config_base(const char *text, int *line) { return find_value(text, "base", true, line); }

bool tw_config_gives(const char *text, const char *key) {
  char *value = find_value(text, key, false, NULL);
  free(value);
  return value != NULL;
}

/* ---- printing ---- */

static bool is_among(const char *name, const char *words) {
  const size_t length = strlen(name);
  for (; words && *words; words += strspn(words, " ")) {
    const size_t n = strcspn(words, " ");
    if (n == length && memcmp(words, name, n) == 0) return true;
    words += n;
  }
  return false;
}

/* A record. With `base` (may be NULL): only the values that differ from it. */
static char *print_record(const tw_config_section *s, const char *record, const char *base, const char *without) {
  tw_text all = {0};
  for (const tw_config_key *k = s->key; k < s->key + s->n; k++) {
    tw_text value = {0}, old = {0};
    tw_config_print_value(k, record, &value);
    if (base) tw_config_print_value(k, base, &old);
    char *text = tw_text_take(&value), *other = tw_text_take(&old);
    const bool is_name = s->stride && k == s->key;
    if (text && other && !is_among(k->name, without) && (is_name || !base || strcmp(text, other) != 0))
      tw_text_add(&all, "%s = %s\n", k->name, text);
    free(text);
    free(other);
  }
  return tw_text_take(&all);
}

static const char *named(const tw_config_section *s, const char *whole, const char *name) {
  size_t n;
  memcpy(&n, whole + s->count, sizeof n);
  for (size_t i = 0; i < n; i++)
    if (strcmp(whole + s->offset + i * s->stride + s->key->offset, name) == 0) return whole + s->offset + i * s->stride;
  return NULL;
}

static void print_section(const tw_config_section *s, const char *whole, const char *base, const char *without,
                          tw_text *out) {
  size_t n = 1;
  if (s->stride) memcpy(&n, whole + s->count, sizeof n);
  for (size_t i = 0; i < n; i++) {
    const char *record = whole + s->offset + i * s->stride;
    const char *other = !base ? NULL : s->stride ? named(s, base, record + s->key->offset) : base + s->offset;
    char *text = print_record(s, record, other, without);
    /* a record that has only a line with its name has no effect */
    const bool is_empty = !text || !*text || (other && s->stride && !strchr(strchr(text, '\n') + 1, '\n'));
    if (!is_empty && s->name) tw_text_add(out, "[%s]\n", s->name);
    if (!is_empty) tw_text_add_string(out, text);
    free(text);
  }
}

char *tw_config_print(const tw_config_schema *schema, const void *whole, const void *base, bool with_words) {
  tw_text out = {0};
  for (size_t i = 0; i < schema->n; i++)
    print_section(&schema->section[i], whole, base, i || with_words ? NULL : schema->words, &out);
  return tw_text_take(&out);
}

bool tw_config_times_differ(const tw_config_schema *schema, const void *whole, const void *base) {
  tw_text out = {0}, without = {0};
  tw_text_add(&without, "%s %s", schema->words ? schema->words : "", schema->parts ? schema->parts : "");
  char *keys = tw_text_take(&without);
  for (size_t i = 0; i < schema->n; i++) print_section(&schema->section[i], whole, base, i ? NULL : keys, &out);
  char *changes = tw_text_take(&out);
  const bool any = !keys || !changes || *changes;
  free(changes);
  free(keys);
  return any;
}

const char *tw_config_text(const tw_config_schema *schema, const void *whole, const char *key) {
  const tw_config_section *s = &schema->section[0];
  for (size_t i = 0; i < s->n; i++)
    if (strcmp(s->key[i].name, key) == 0) return (const char *)whole + s->offset + s->key[i].offset;
  return NULL;
}
