/* config.c - see config.h. */
#include "base/config.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/strings.h"
#include "tilewright/type.h"

#define AT "%s:%d: "
#define PLACE(at) (at).origin, (at).line

static bool is_integer(const tw_config_key *k) { return k->kind != TW_CONFIG_REAL; }

static tw_status parse_number(const tw_config_key *k, const char *text, double *out, tw_config_place at,
                              tw_error *error) {
  int64_t integer = 0;
  if (is_integer(k) ? !tw_parse_int(text, &integer) : !tw_parse_real(text, out))
    return tw_fail(error, TW_USAGE, AT "%s = %s: not %s from %.15g to %.15g", PLACE(at), k->name, text,
                   is_integer(k) ? "an integer" : "a number", k->low, k->high);
  if (is_integer(k)) *out = (double)integer;
  if (*out < k->low || *out > k->high)
    return tw_fail(error, TW_USAGE, AT "%s = %s: must be from %.15g to %.15g", PLACE(at), k->name, text, k->low,
                   k->high);
  if (k->kind == TW_CONFIG_POWER && (integer & (integer - 1)))
    return tw_fail(error, TW_USAGE, AT "%s = %s: must be a power of two", PLACE(at), k->name, text);
  return TW_OK;
}

static tw_status parse_numbers(const tw_config_key *k, char *value, int *out, tw_config_place at, tw_error *error) {
  const bool product = k->kind == TW_CONFIG_PRODUCT;
  char *rest = value;
  for (int i = 0; i < k->count; i++) {
    double number;
    char *word = strtok_r(i ? NULL : value, product ? "x" : " ", &rest);
    if (!word)
      return tw_fail(error, TW_USAGE, AT "%s needs %d numbers, as in %s", PLACE(at), k->name, k->count,
                     product ? "8x8x8" : "2 2 1");
    tw_status status = parse_number(k, word, &number, at, error);
    if (status != TW_OK) return status;
    out[i] = (int)number;
  }
  if (*rest) return tw_fail(error, TW_USAGE, AT "%s has more than %d numbers", PLACE(at), k->name, k->count);
  return TW_OK;
}

/* The i-th word of a list with blanks between the words. Its length is 0 past the last word. */
static const char *word_at(const char *words, int i, size_t *length) {
  for (words += strspn(words, " "); i > 0 && *words; i--) words += strcspn(words, " "), words += strspn(words, " ");
  *length = strcspn(words, " ");
  return words;
}

static tw_status parse_choice(const tw_config_key *k, const char *value, int *out, tw_config_place at,
                              tw_error *error) {
  const char *word;
  size_t length;
  for (int i = 0; (word = word_at(k->expected, i, &length)), length; i++)
    if (strlen(value) == length && memcmp(value, word, length) == 0) return *out = i, TW_OK;
  return tw_fail(error, TW_USAGE, AT "%s = %s: expected one of %s", PLACE(at), k->name, value, k->expected);
}

static tw_status parse_value(const tw_config_key *k, char *value, void *out, tw_config_place at, tw_error *error) {
  void *field = (char *)out + k->offset;
  double number = 0;
  tw_status status = TW_OK;
  switch (k->kind) {
  case TW_CONFIG_TEXT:
    if (strlen(value) >= (size_t)k->high)
      return tw_fail(error, TW_USAGE, AT "%s: longer than %.0f characters", PLACE(at), k->name, k->high - 1);
    memcpy(field, value, strlen(value) + 1);
    return TW_OK;
  case TW_CONFIG_TYPE:
    if (tw_type_parse(value, field)) return TW_OK;
    return tw_fail(error, TW_USAGE, AT "%s = %s: unknown type; expected a name such as f32, bf16 or i8", PLACE(at),
                   k->name, value);
  case TW_CONFIG_NO_TYPE:
    *(tw_type *)field = TW_TYPE_NONE;
    if (strcmp(value, "none") == 0 || tw_type_parse(value, field)) return TW_OK;
    return tw_fail(error, TW_USAGE, AT "%s = %s: expected a type or none", PLACE(at), k->name, value);
  case TW_CONFIG_OTHER:
    if (k->parse(value, field, out)) return TW_OK;
    return tw_fail(error, TW_USAGE, AT "%s = %s: not %s", PLACE(at), k->name, value, k->expected);
  case TW_CONFIG_CHOICE: return parse_choice(k, value, field, at, error);
  case TW_CONFIG_LIST:
  case TW_CONFIG_PRODUCT: return parse_numbers(k, value, field, at, error);
  default: status = parse_number(k, value, &number, at, error);
  }
  if (status != TW_OK) return status;
  switch (k->kind) {
  case TW_CONFIG_REAL: *(double *)field = number; break;
  case TW_CONFIG_BOOL: *(bool *)field = number != 0; break;
  case TW_CONFIG_INT64: *(int64_t *)field = (int64_t)number; break; /* limits are below 2^53 */
  default: *(int *)field = (int)number;
  }
  return TW_OK;
}

tw_status tw_config_split(char *line, const char **key, char **value, tw_config_place at, tw_error *error) {
  char *equals = strchr(line, '=');
  if (!equals) return tw_fail(error, TW_USAGE, AT "expected \"key = value\"", PLACE(at));
  *equals = '\0';
  *key = tw_strip(line);
  *value = tw_strip(equals + 1);
  return TW_OK;
}

tw_status tw_config_set(tw_config_record *r, const char *key, char *value, tw_config_place at, tw_error *error) {
  for (size_t i = 0; i < r->n; i++) {
    if (strcmp(key, r->key[i].name) != 0) continue;
    if (r->line[i]) return tw_fail(error, TW_USAGE, AT "%s is given twice", PLACE(at), key);
    if (!*value) return tw_fail(error, TW_USAGE, AT "%s has no value", PLACE(at), key);
    const tw_status status = parse_value(&r->key[i], value, r->out, at, error);
    r->line[i] = status == TW_OK ? at.line : -at.line;
    return status;
  }
  const char *names[TW_CONFIG_KEYS_MAX];
  for (size_t i = 0; i < r->n; i++) names[i] = r->key[i].name;
  const char *near = tw_nearest_word(key, names, r->n);
  return tw_fail(error, TW_USAGE, AT "unknown key \"%.60s\" of a %s; %s%s%s", PLACE(at), key, r->what,
                 near ? "did you mean \"" : "`tilewright targets --write NAME` lists the keys", near ? near : "",
                 near ? "\"?" : "");
}

tw_status tw_config_complete(const tw_config_record *r, tw_config_place at, tw_error *error) {
  for (size_t i = 0; i < r->n; i++)
    if (!r->line[i])
      return tw_fail(error, TW_USAGE, AT "the %s above lacks the key %s", PLACE(at), r->what, r->key[i].name);
  return TW_OK;
}

tw_status tw_config_lines(const char *text, const char *origin,
                          tw_status (*line)(void *context, char *line, tw_config_place, tw_error *), void *context,
                          tw_error *error) {
  char *copy = strdup(text), *rest = copy, *next;
  tw_status status = copy ? TW_OK : tw_fail(error, TW_NO_MEMORY, "%s: no memory", origin);
  tw_config_place at = {origin, 0};
  while (status == TW_OK && (next = strsep(&rest, "\n"))) {
    at.line++;
    next = tw_strip(next);
    if (*next) status = line(context, next, at, error);
  }
  free(copy);
  return status;
}

void tw_config_print_value(const tw_config_key *k, const void *record, tw_text *out) {
  const void *field = (const char *)record + k->offset;
  const char *word;
  size_t length;
  char real[32];
  switch (k->kind) {
  case TW_CONFIG_OTHER: return;
  case TW_CONFIG_TEXT: tw_text_add(out, "%s", (const char *)field); return;
  case TW_CONFIG_NO_TYPE:
  case TW_CONFIG_TYPE:
    tw_text_add(out, "%s", *(const tw_type *)field == TW_TYPE_NONE ? "none" : tw_type_name(*(const tw_type *)field));
    return;
  case TW_CONFIG_CHOICE:
    word = word_at(k->expected, *(const int *)field, &length);
    tw_text_add(out, "%.*s", (int)length, word);
    return;
  case TW_CONFIG_LIST:
  case TW_CONFIG_PRODUCT:
    for (int i = 0; i < k->count; i++)
      tw_text_add(out, "%s%d", !i ? "" : k->kind == TW_CONFIG_LIST ? " " : "x", ((const int *)field)[i]);
    return;
  case TW_CONFIG_REAL: tw_text_add(out, "%s", tw_print_real(*(const double *)field, real)); return;
  case TW_CONFIG_BOOL: tw_text_add(out, "%d", *(const bool *)field); return;
  case TW_CONFIG_INT64: tw_text_add(out, "%lld", (long long)*(const int64_t *)field); return;
  case TW_CONFIG_INT:
  case TW_CONFIG_POWER: tw_text_add(out, "%d", *(const int *)field); return;
  }
}
