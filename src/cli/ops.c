/* ops.c - `tilewright ops [NAME]`: what can be computed, and its keys. */
#include <inttypes.h>
#include <string.h>

#include "base/strings.h"
#include "cli/cli.h"

/* What may stand behind `key=`. */
static const char *values_of(const tw_key *key, char *buffer, size_t size) {
  switch (key->kind) {
  case TW_KEY_INT: snprintf(buffer, size, "%" PRId64 "..%" PRId64, key->min, key->max); return buffer;
  case TW_KEY_BOOL: return "0|1";
  case TW_KEY_REAL: return "number";
  case TW_KEY_TYPE: return "type";
  case TW_KEY_CHOICE: return key->choices;
  }
  return "";
}

static json_t *as_json(const tw_op *op) {
  json_t *keys = json_array();
  for (size_t i = 0; i < op->n_keys; i++) {
    char buffer[64];
    const tw_key *key = &op->keys[i];
    json_t *object = json_object();
    json_object_set_new(object, "name", tw_json_text(key->name));
    json_object_set_new(object, "values", tw_json_text(values_of(key, buffer, sizeof buffer)));
    json_object_set_new(object, "default", key->fallback ? tw_json_text(key->fallback) : json_null());
    json_object_set_new(object, "help", tw_json_text(key->help));
    json_array_append_new(keys, object);
  }
  return json_pack("{s:s, s:s, s:o}", "name", op->name, "summary", op->summary, "keys", keys);
}

static void print_keys(const tw_op *op) {
  for (size_t i = 0; i < op->n_keys; i++) {
    char buffer[64];
    const tw_key *key = &op->keys[i];
    const char *fallback = !key->fallback ? "must be given" : *key->fallback ? key->fallback : "the target's";
    printf("  %-14s %-16s %-14s %s\n", key->name, values_of(key, buffer, sizeof buffer), fallback, key->help);
  }
}

static tw_status find(const char *name, const tw_op **out, tw_error *error) {
  tw_problem problem; /* for its message about unknown names */
  *out = tw_op_find(name);
  return *out ? TW_OK : tw_problem_parse(name, 0, NULL, &problem, error);
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
