/* ops.c - `tilewright ops [NAME]`: lists the ops, their keys, and the options that machines add. */
#include <inttypes.h>
#include <string.h>

#include "base/strings.h"
#include "cli/cli.h"
#include "target/parse.h"

const char *cli_key_values(const tw_key *key, char *buffer, size_t size) {
  switch (key->kind) {
  case TW_KEY_INT: snprintf(buffer, size, "%" PRId64 "..%" PRId64, key->min, key->max); return buffer;
  case TW_KEY_BOOL: return "0|1";
  case TW_KEY_REAL: return "number";
  case TW_KEY_TYPE: return "type";
  case TW_KEY_CHOICE: return key->choices;
  }
  return "";
}

static void add_json(json_t *keys, const tw_key *key, const char *target) {
  char buffer[64];
  json_t *object = json_object();
  json_object_set_new(object, "name", tw_json_text(key->name));
  if (target) json_object_set_new(object, "target", tw_json_text(target));
  json_object_set_new(object, "values", tw_json_text(cli_key_values(key, buffer, sizeof buffer)));
  json_object_set_new(object, "default", key->fallback ? tw_json_text(key->fallback) : json_null());
  json_object_set_new(object, "help", tw_json_text(key->help));
  json_array_append_new(keys, object);
}

static json_t *as_json(const tw_op *op) {
  json_t *keys = json_array(), *options = json_array();
  const tw_target *t;
  for (size_t i = 0; i < op->n_keys; i++) add_json(keys, &op->keys[i], NULL);
  for (size_t i = 0; (t = tw_target_at(i)); i++) {
    const tw_family *f = tw_family_of(t, op);
    for (size_t j = 0; f && j < f->n_options; j++) add_json(options, &f->options[j], t->name);
  }
  return json_pack("{s:s, s:s, s:o, s:o}", "name", op->name, "summary", op->summary, "keys", keys, "options", options);
}

static const char *fallback_of(const tw_key *key) {
  return !key->fallback ? "required" : *key->fallback ? key->fallback : "target's choice";
}

/* Columns of the table of keys. */
typedef struct widths {
  int name, values, fallback;
} widths;

static void widen(int *width, const char *text) {
  const int length = (int)strlen(text);
  if (length > *width) *width = length;
}

static void widen_all(widths *w, const tw_key *key, size_t n) {
  char buffer[64];
  for (size_t i = 0; i < n; i++) {
    widen(&w->name, key[i].name); /* NOLINT(clang-analyzer-core.NullDereference): there are n keys */
    widen(&w->values, cli_key_values(&key[i], buffer, sizeof buffer));
    widen(&w->fallback, fallback_of(&key[i]));
  }
}

static void print_row(const widths *w, const char *name, const char *values, const char *fallback, const char *help) {
  printf("  %-*s  %-*s  %-*s  %s\n", w->name, name, w->values, values, w->fallback, fallback, help);
}

static void print_rows(const widths *w, const tw_key *key, size_t n) {
  char buffer[64];
  for (size_t i = 0; i < n; i++)
    print_row(w, key[i].name, cli_key_values(&key[i], buffer, sizeof buffer), fallback_of(&key[i]), key[i].help);
}

static const tw_key *options_of(const tw_target *t, const tw_op *op) {
  const tw_family *f = tw_family_of(t, op);
  return f ? f->options : NULL;
}

const tw_family *cli_options_of(const tw_op *op, size_t index, const char *between, tw_text *targets) {
  const tw_target *t = tw_target_at(index), *other;
  const tw_key *options = options_of(t, op);
  size_t first = 0;
  while (options_of(tw_target_at(first), op) != options) first++;
  if (!options || first < index) return NULL;
  tw_text_add(targets, "%s", t->name);
  for (size_t i = index + 1; (other = tw_target_at(i)); i++)
    if (options_of(other, op) == options) tw_text_add(targets, "%s%s", between, other->name);
  return tw_family_of(t, op);
}

static void print_keys(const tw_op *op) {
  widths w = {.name = sizeof "key", .values = sizeof "values", .fallback = sizeof "default"};
  widen_all(&w, op->keys, op->n_keys);
  print_row(&w, "key", "values", "default", "meaning");
  print_rows(&w, op->keys, op->n_keys);
  for (size_t i = 0; tw_target_at(i); i++) {
    tw_text targets = {0};
    const tw_family *f = cli_options_of(op, i, ", ", &targets);
    if (f) {
      widths own = {0};
      printf(" only on %s\n", targets.data ? targets.data : "");
      widen_all(&own, f->options, f->n_options);
      print_rows(&own, f->options, f->n_options);
    }
    tw_text_free(&targets);
  }
}

static tw_status find(const char *name, const tw_op **out, tw_error *error) {
  tw_problem problem; /* only for the error about unknown names */
  *out = tw_op_find(name);
  return *out ? TW_OK : tw_problem_parse_words(NULL, name, 0, NULL, &problem, error);
}

tw_status cli_ops(const cli *c, tw_error *error) {
  const tw_op *op = NULL, *one = NULL;
  tw_status status = cli_no_words(c, 1, error);
  if (status == TW_OK && c->n_words) status = find(c->words[0], &one, error);
  if (status != TW_OK) return status;
  json_t *all = c->options.json ? json_array() : NULL;
  for (size_t i = 0; (op = tw_op_at(i)); i++) {
    if (one && op != one) continue;
    if (all) {
      json_array_append_new(all, as_json(op));
      continue;
    }
    printf("%-16s %s\n", op->name, op->summary);
    if (one) print_keys(op);
  }
  return all ? cli_print_json(c, json_pack("{s:o}", "ops", all), error) : TW_OK;
}
