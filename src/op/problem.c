/* problem.c - `key=value` words into a problem, and back.
 *
 * A value is parsed by the kind of its key; each error names the key, the allowed values and an example. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/strings.h"
#include "op/numerics.h"
#include "op/ops.h"
#include "tilewright/extend/op.h"

const tw_key *tw_problem_key(const tw_problem *p, size_t i, const tw_value **value) {
  const size_t n = p->op->n_keys, option = i < n ? 0 : i - n;
  if (option >= p->n_options && i >= n) return NULL;
  if (value) *value = i < n ? &p->value[i] : &p->option[option];
  return i < n ? &p->op->keys[i] : &p->options[option];
}

/* ---- old names: read everywhere, written nowhere ---- */

static const struct {
  const char *op, *old, *now; /* `now`: each of these words has the value */
} old_keys[] = {{"conv2d", "images", "image_layout"}, {"conv2d", "layout", "weight_layout"},
                {"conv3d", "images", "image_layout"}, {"conv3d", "layout", "weight_layout"},
                {"gemm", "rule", "scale_rule"},       {"pool", "pool", "r s"}};
static const struct {
  const char *op, *key, *old, *now;
} old_choices[] = {{"gemm", "arithmetic", "fast8", "fast_accum"}};

static bool is_word(const char *text, size_t length, const char *word) {
  return length > 0 && *text == *word && strncmp(text, word, length) == 0 && !word[length];
}

/* The current name of a key, or NULL if it has no other. */
static const char *current_key(const char *op, size_t op_length, const char *name, size_t length) {
  for (size_t i = 0; i < sizeof old_keys / sizeof *old_keys; i++)
    if (is_word(op, op_length, old_keys[i].op) && is_word(name, length, old_keys[i].old)) return old_keys[i].now;
  return NULL;
}

static const char *current_choice(const char *op, size_t op_length, const char *key, size_t key_length,
                                  const char *text, size_t length) {
  for (size_t i = 0; i < sizeof old_choices / sizeof *old_choices; i++)
    if (is_word(op, op_length, old_choices[i].op) && is_word(key, key_length, old_choices[i].key) &&
        is_word(text, length, old_choices[i].old))
      return old_choices[i].now;
  return NULL;
}

char *tw_problem_renamed(const char *text) {
  char name[64];
  snprintf(name, sizeof name, "%.*s", (int)strcspn(text, " "), text);
  const tw_op *known = tw_op_find(name);
  const char *op = known ? known->name : name;
  const size_t op_length = strlen(op);
  tw_text out = {0};
  tw_text_add(&out, "%s", op);
  for (const char *at = text + strcspn(text, " "); *at;) {
    const size_t blanks = strspn(at, " "), length = strcspn(at + blanks, " "), key = strcspn(at + blanks, " =");
    const char *word = at + blanks, *value = word + key + (key < length);
    const size_t value_length = length - (size_t)(value - word);
    const char *new_key = current_key(op, op_length, word, key),
               *choice = current_choice(op, op_length, word, key, value, value_length),
               *left = new_key ? new_key : word;
    size_t end = new_key ? strlen(new_key) : key;
    do {
      const size_t blank = strcspn(left, " "), n = blank < end ? blank : end;
      tw_text_add(&out, "%.*s%.*s", (int)blanks, at, (int)n, left);
      if (key < length)
        tw_text_add(&out, "=%.*s", choice ? (int)strlen(choice) : (int)value_length, choice ? choice : value);
      left += n + (n < end);
      end -= n + (n < end);
    } while (end);
    at = word + length;
  }
  return tw_text_take(&out);
}

/* ---- keys ---- */

static const tw_key *find_current_key(const tw_problem *p, const char *name, size_t length, const tw_value **value) {
  const tw_key *key;
  for (size_t i = 0; (key = tw_problem_key(p, i, value)); i++)
    if (is_word(name, length, key->name)) return key;
  return NULL;
}

static const tw_key *find_key(const tw_problem *p, const char *name, size_t length, const tw_value **value) {
  const tw_key *key = find_current_key(p, name, length, value);
  const char *now = key ? NULL : current_key(p->op->name, strlen(p->op->name), name, length);
  return now ? find_current_key(p, now, strcspn(now, " "), value) : key;
}

/* "row" in "none|row|full": 1; -1 if it is not one of them. */
static int64_t find_choice(const char *choices, const char *text) {
  size_t length = strlen(text);
  for (int64_t i = 0;; i++) {
    size_t word = strcspn(choices, "|");
    if (word == length && strncmp(choices, text, word) == 0) return i;
    if (!choices[word]) return -1;
    choices += word + 1;
  }
}

static int64_t example_of(const tw_key *key) {
  if (key->example) return key->example;
  return key->min > 512 || key->max < 512 ? key->min : 512;
}

static tw_status parse_int(const tw_key *key, const char *text, tw_value *out, tw_error *error) {
  if (!tw_parse_int(text, &out->i))
    return tw_fail(error, TW_USAGE,
                   "%s='%s' is not a whole number from %" PRId64 " to %" PRId64 "; write for instance %s=%" PRId64,
                   key->name, text, key->min, key->max, key->name, example_of(key));
  if (out->i < key->min || out->i > key->max)
    return tw_fail(error, TW_USAGE, "%s=%s is out of range; %s must be between %" PRId64 " and %" PRId64, key->name,
                   text, key->name, key->min, key->max);
  return TW_OK;
}

static tw_status parse_type(const tw_key *key, const char *text, tw_value *out, tw_error *error) {
  tw_type type = TW_TYPE_NONE;
  if ((*text || out->given) && !tw_type_parse(text, &type)) { /* no word was given: the default depends on other keys */
    char names[256] = "";
    for (int i = TW_TYPE_NONE + 1; i < TW_TYPE_COUNT; i++)
      snprintf(names + strlen(names), sizeof names - strlen(names), "%s%s", *names ? " " : "",
               tw_type_name((tw_type)i));
    return tw_fail(error, TW_USAGE, "%s='%s' is not an element type; expected one of %s", key->name, text, names);
  }
  out->i = type;
  return TW_OK;
}

static tw_status parse_value(const tw_key *key, const char *text, tw_value *out, tw_error *error) {
  switch (key->kind) {
  case TW_KEY_INT: return parse_int(key, text, out, error);
  case TW_KEY_BOOL:
    if (strcmp(text, "0") != 0 && strcmp(text, "1") != 0)
      return tw_fail(error, TW_USAGE, "%s='%s' is neither 0 (no) nor 1 (yes)", key->name, text);
    out->i = *text == '1';
    return TW_OK;
  case TW_KEY_REAL:
    if (!tw_parse_real(text, &out->r))
      return tw_fail(error, TW_USAGE, "%s='%s' is not a number; write for instance %s=0.5", key->name, text, key->name);
    return TW_OK;
  case TW_KEY_TYPE: return parse_type(key, text, out, error);
  case TW_KEY_CHOICE:
    out->i = find_choice(key->choices, text);
    if (out->i < 0) return tw_fail(error, TW_USAGE, "%s='%s' is not one of %s", key->name, text, key->choices);
    return TW_OK;
  }
  return tw_fail(error, TW_USAGE, "%s has an unknown kind of value", key->name);
}

static tw_status unknown_key(const tw_problem *p, const char *key, tw_error *error) {
  const char *names[TW_KEYS_MAX + TW_OPTIONS_MAX], *op = p->op->name;
  char all[512] = "";
  size_t n = 0;
  for (const tw_key *k; (k = tw_problem_key(p, n, NULL)); n++) {
    names[n] = k->name;
    snprintf(all + strlen(all), sizeof all - strlen(all), "%s%s", n ? " " : "", k->name);
  }
  const char *near = tw_nearest_word(key, names, n);
  if (near) return tw_fail(error, TW_USAGE, "%s has no key '%s'; did you mean '%s'?", op, key, near);
  return tw_fail(error, TW_USAGE, "%s has no key '%s'; its keys are %s", op, key, all);
}

static tw_status set_current(tw_problem *problem, const tw_key *found, const tw_value *at, const char *text,
                             tw_error *error) {
  tw_value value = {.given = true};
  const char *op = problem->op->name,
             *choice = current_choice(op, strlen(op), found->name, strlen(found->name), text, strlen(text));
  tw_status status = parse_value(found, choice ? choice : text, &value, error);
  if (status == TW_OK) *(tw_value *)(uintptr_t)at = value; /* `at` is in this problem, which is not constant */
  return status;
}

/* Sets a key by any of its names; `once`: it must not have been given before. */
static tw_status set(tw_problem *problem, const char *key, const char *text, bool once, tw_error *error) {
  const char *op = problem->op->name, *now = current_key(op, strlen(op), key, strlen(key));
  tw_status status = TW_OK;
  size_t n;
  for (const char *name = now ? now : key; status == TW_OK && *name; name += n + (name[n] == ' ')) {
    const tw_value *at;
    n = now ? strcspn(name, " ") : strlen(name);
    const tw_key *found = find_current_key(problem, name, n, &at);
    if (!found) return unknown_key(problem, key, error);
    if (once && at->given) return tw_fail(error, TW_USAGE, "%s is given twice", found->name);
    status = set_current(problem, found, at, text, error);
  }
  return status;
}

tw_status tw_problem_set(tw_problem *problem, const char *key, const char *text, tw_error *error) {
  if (!problem->op) return tw_fail(error, TW_USAGE, "the problem has no operation; fill it with tw_problem_parse");
  if (!key || !*key || !text) return tw_fail(error, TW_USAGE, "%s: a key and a value are needed", problem->op->name);
  return set(problem, key, text, false, error);
}

static tw_status unknown_op(const char *name, tw_error *error) {
  const char *names[64];
  size_t n = 0;
  for (const tw_op *op; n < 64 && (op = tw_op_at(n)); n++) names[n] = op->name;
  const char *near = tw_nearest_word(name, names, n);
  if (near) return tw_fail(error, TW_USAGE, "unknown op '%s'; did you mean '%s'?", name, near);
  return tw_fail(error, TW_USAGE, "unknown op '%s'; `tilewright ops` lists them", name);
}

static tw_status parse_word(tw_problem *problem, const char *word, tw_error *error) {
  const char *equals = strchr(word, '=');
  if (!equals || equals == word)
    return tw_fail(error, TW_USAGE, "'%.80s' is not key=value; write for instance %s=%" PRId64, word,
                   problem->op->keys[0].name, example_of(&problem->op->keys[0]));
  char key[64];
  size_t length = (size_t)(equals - word);
  if (length >= sizeof key) return tw_fail(error, TW_USAGE, "%s has no key '%.80s...'", problem->op->name, word);
  memcpy(key, word, length);
  key[length] = '\0';
  return set(problem, key, equals + 1, true, error);
}

/* An example of all keys that must be given: "m=512 n=512 k=512". */
static void print_example(const tw_op *op, char *buffer, size_t size) {
  *buffer = '\0';
  for (size_t i = 0; i < op->n_keys; i++) {
    size_t at = strlen(buffer);
    if (!op->keys[i].fallback)
      snprintf(buffer + at, size - at, "%s%s=%" PRId64, at ? " " : "", op->keys[i].name, example_of(&op->keys[i]));
  }
}

static tw_status fill_defaults(tw_problem *problem, tw_error *error) {
  const tw_op *op = problem->op;
  const tw_value *value;
  const tw_key *key;
  for (size_t i = 0; (key = tw_problem_key(problem, i, &value)); i++) {
    if (value->given) continue;
    if (!key->fallback) {
      char example[256];
      print_example(op, example, sizeof example);
      return tw_fail(error, TW_USAGE, "%s requires %s=...; write for instance `%s %s`", op->name, key->name, op->name,
                     example);
    }
    tw_status status = parse_value(key, key->fallback, (tw_value *)(uintptr_t)value, error);
    if (status != TW_OK) return status;
  }
  return TW_OK;
}

tw_status tw_problem_read_words(const tw_key *options, size_t n, const char *op, size_t n_words,
                                const char *const words[], tw_problem *out, tw_error *error) {
  tw_problem problem = {.op = tw_op_find(op), .options = options, .n_options = n};
  if (!problem.op) return unknown_op(op, error);
  for (size_t i = 0; i < n_words; i++) {
    tw_status status = parse_word(&problem, words[i], error);
    if (status != TW_OK) return status;
  }
  tw_status status = fill_defaults(&problem, error);
  if (status == TW_OK) *out = problem;
  return status;
}

tw_status tw_problem_split(const char *text, tw_problem_reader *read, const void *context, tw_problem *out,
                           tw_error *error) {
  const char *word[TW_KEYS_MAX + TW_OPTIONS_MAX];
  char *copy = strdup(text ? text : ""), *rest = NULL;
  size_t n = 0;
  if (!copy) return tw_no_memory(error, "a problem");
  const char *op = strtok_r(copy, " ", &rest);
  tw_status status =
      op ? TW_OK
         : tw_fail(error, TW_USAGE, "the problem is missing; write an op and its keys, as in gemm m=512 n=512 k=512");
  for (char *w; status == TW_OK && (w = strtok_r(NULL, " ", &rest));) {
    if (n == sizeof word / sizeof *word)
      status = tw_fail(error, TW_USAGE, "more than %zu keys in '%.60s...'", n, text);
    else
      word[n++] = w;
  }
  if (status == TW_OK) status = read(context, op, n, word, out, error);
  free(copy);
  return status;
}

/* The key must exist. An unknown name is a mistake in this program and reads as zero. */
static tw_value value_of(const tw_problem *problem, const char *key) {
  const tw_value *value;
  return find_key(problem, key, strlen(key), &value) ? *value : (tw_value){0};
}

int64_t tw_problem_int(const tw_problem *problem, const char *key) { return value_of(problem, key).i; }
double tw_problem_real(const tw_problem *problem, const char *key) { return value_of(problem, key).r; }
size_t tw_problem_operands(const tw_problem *p) {
  tw_operand operand[TW_OPERANDS_MAX];
  return p->op->operands(p, operand);
}

tw_type tw_problem_type(const tw_problem *problem, const char *key) { return (tw_type)value_of(problem, key).i; }
bool tw_problem_given(const tw_problem *problem, const char *key) { return value_of(problem, key).given; }

static void print_value(const tw_key *key, const tw_value *value, char *buffer, size_t size) {
  char real[32];
  switch (key->kind) {
  case TW_KEY_INT:
  case TW_KEY_BOOL: snprintf(buffer, size, "%" PRId64, value->i); break;
  case TW_KEY_REAL: snprintf(buffer, size, "%s", tw_print_real(value->r, real)); break;
  case TW_KEY_TYPE: snprintf(buffer, size, "%s", value->i ? tw_type_name((tw_type)value->i) : ""); break;
  case TW_KEY_CHOICE: {
    const char *word = key->choices;
    for (int64_t i = 0; i < value->i; i++) word += strcspn(word, "|") + 1;
    snprintf(buffer, size, "%.*s", (int)strcspn(word, "|"), word);
    break;
  }
  }
}

bool tw_problem_is_default(const tw_problem *problem, size_t i) {
  const tw_value *value;
  const tw_key *k = tw_problem_key(problem, i, &value);
  tw_value fallback = {0};
  return k->fallback && parse_value(k, k->fallback, &fallback, NULL) == TW_OK && fallback.i == value->i &&
         fallback.r == value->r;
}

size_t tw_problem_print(const tw_problem *problem, char *buffer, size_t size) {
  const tw_value *value;
  const tw_key *key;
  int length = snprintf(buffer, size, "%s", problem->op->name);
  size_t at = length < 0 ? 0 : (size_t)length;
  for (size_t i = 0; (key = tw_problem_key(problem, i, &value)); i++) {
    char text[64];
    if (tw_problem_is_default(problem, i)) continue;
    print_value(key, value, text, sizeof text);
    length = snprintf(at < size ? buffer + at : NULL, at < size ? size - at : 0, " %s=%s", key->name, text);
    at += length < 0 ? 0 : (size_t)length;
  }
  return at;
}

char *tw_problem_text(const tw_problem *problem) {
  char none[1];
  const size_t length = tw_problem_print(problem, none, sizeof none);
  char *text = malloc(length + 1);
  if (text) tw_problem_print(problem, text, length + 1);
  return text;
}

char *tw_problem_stated(const tw_problem *problem, const char *target) {
  tw_text text = {0};
  char *words = tw_problem_text(problem);
  if (!words) return NULL;
  tw_text_add(&text, "%s on %s", words, target);
  free(words);
  return tw_text_take(&text);
}

tw_status tw_expect_real(const tw_problem *p, tw_error *error) {
  const tw_type a = tw_problem_type(p, "a");
  if (tw_is_real(a)) return TW_OK;
  return tw_fail(error, TW_UNSUPPORTED, "%s does not support a=%s; expected f32, f16 or bf16", p->op->name,
                 tw_type_name(a));
}
