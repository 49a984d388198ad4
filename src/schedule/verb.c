/* verb.c - the parser of schedule steps for every machine. It matches the words of a step with the cells of a verb's
 * row. */
#include "tilewright/extend/verb.h"

#include <stdio.h>
#include <string.h>

#include "base/strings.h"

bool tw_read_number(const char *text, int64_t least, int64_t most, int64_t *out) {
  int64_t value;
  if (*text < '0' || *text > '9' || !tw_parse_int(text, &value) || value < least || value > most) return false;
  *out = value;
  return true;
}

/* ---- fields ---- */

static void set_field(void *plan, tw_field f, int64_t value) { /* little-endian, like every supported host */
  memcpy((char *)plan + f.at, &value, f.size);
}

static bool is_zero(const void *plan, tw_field f) {
  static const char zeros[sizeof(int64_t)];
  return memcmp((const char *)plan + f.at, zeros, f.size) == 0;
}

static bool same_field(const void *plan, const void *other, tw_field f) {
  return memcmp((const char *)plan + f.at, (const char *)other + f.at, f.size) == 0;
}

bool tw_plan_same(const tw_language *l, const void *plan, const void *other) {
  for (const tw_verb *v = l->verb; v < l->verb + l->n; v++) {
    if (!same_field(plan, other, v->sets)) return false;
    for (const tw_argument *a = v->argument; a < v->argument + TW_ARGUMENTS_MAX && a->name; a++)
      if (!same_field(plan, other, a->into)) return false;
  }
  return true;
}

/* ---- names, and their old names ---- */

static bool is_word(const char *text, size_t length, const char *word) {
  return strlen(word) == length && memcmp(text, word, length) == 0;
}

/* The length of the current name in "name|old|older". */
static size_t name_length(const char *names) { return strcspn(names, "|"); }

static bool is_name(const char *names, const char *word) { return is_word(names, name_length(names), word); }

/* True if the word is the name, or one of the old names after it. */
static bool is_known_as(const char *names, const char *word) {
  for (;;) {
    const size_t n = strcspn(names, "|");
    if (is_word(names, n, word)) return true;
    if (!names[n]) return false;
    names += n + 1;
  }
}

/* ---- values ---- */

/* The index of `text` in "word=old|word"; `length` is that of the current word, which begins at *word. */
static bool find_choice(const char *choices, const char *text, int64_t *index, const char **word, size_t *length) {
  for (*index = 0; *choices; ++*index) {
    const size_t all = strcspn(choices, "|"), old = strcspn(choices, "=|");
    *word = choices, *length = old;
    if (is_word(choices, old, text) || (old < all && is_word(choices + old + 1, all - old - 1, text))) return true;
    choices += all + (choices[all] == '|');
  }
  return false;
}

bool tw_read_choice(const char *choices, const char *text, int64_t *out) {
  const char *word;
  size_t length;
  int64_t index;
  const bool found = find_choice(choices, text, &index, &word, &length);
  if (found) *out = index;
  return found;
}

static bool read_value(const void *context, const tw_argument *a, const char *text, void *plan) {
  int64_t value;
  if (a->read) return a->read(context, a, text, (char *)plan + a->into.at);
  if (a->choices ? !tw_read_choice(a->choices, text, &value) : !tw_read_number(text, a->least, a->most, &value))
    return false;
  set_field(plan, a->into, a->choices ? a->least + value : value);
  return true;
}

/* ---- messages ---- */

/* "word=old|word" as "word|word". */
static void print_choices(const char *choices, char *out, size_t size) {
  size_t used = 0;
  for (bool is_old = false; *choices && used + 1 < size; choices++) {
    is_old = *choices == '=' || (is_old && *choices != '|');
    if (!is_old) out[used++] = *choices;
  }
  out[used] = '\0';
}

static tw_status wrong_value(const tw_verb *v, const tw_argument *a, const char *step, const char *text,
                             tw_error *error) {
  char expected[200] = "", choices[160];
  if (a->choices) {
    print_choices(a->choices, choices, sizeof choices);
    snprintf(expected, sizeof expected, "; expected one of %s", choices);
  } else if (!a->read) {
    snprintf(expected, sizeof expected, "; expected a number from %lld to %lld", (long long)a->least,
             (long long)a->most);
  }
  return tw_fail(error, TW_USAGE, "step '%s': unsupported value '%.*s%s%s'%s; usage: %s", step,
                 (int)name_length(a->name), a->name, *a->name ? "=" : "", text, expected, v->usage);
}

/* The verb that has `name` as the name or as a word of an argument; NULL: none has. */
static const tw_verb *verb_with_argument(const tw_language *l, const char *name) {
  for (size_t i = 0; i < l->n; i++)
    for (const tw_argument *a = l->verb[i].argument; a < l->verb[i].argument + TW_ARGUMENTS_MAX && a->name; a++) {
      int64_t unused;
      if (*a->name ? is_word(a->name, name_length(a->name), name)
                   : a->choices && tw_read_choice(a->choices, name, &unused))
        return &l->verb[i];
    }
  return NULL;
}

static tw_status unknown_step(const tw_language *l, const char *step, const char *name, tw_error *error) {
  enum { MOST = 64, NAME = 40 };
  char current[MOST][NAME];
  const char *names[MOST];
  const size_t n = l->n < MOST ? l->n : MOST;
  char known[400] = "";
  for (size_t i = 0, used = 0; i < n; i++) {
    names[i] = current[i];
    snprintf(current[i], NAME, "%.*s", (int)name_length(l->verb[i].name), l->verb[i].name);
    if (used < sizeof known)
      used += (size_t)snprintf(known + used, sizeof known - used, "%s%s", i ? ", " : "", current[i]);
  }
  const tw_verb *owner = verb_with_argument(l, name);
  if (owner)
    return tw_fail(error, TW_USAGE, "step '%s': '%s' is an argument of the step '%.*s' for %s; usage: %s", step, name,
                   (int)name_length(owner->name), owner->name, l->of, owner->usage);
  const char *near = tw_nearest_word(name, names, n);
  if (near)
    return tw_fail(error, TW_USAGE, "step '%s': unknown step '%s' for %s; did you mean '%s'?", step, name, l->of, near);
  return tw_fail(error, TW_USAGE, "step '%s': unknown step for %s; expected one of %s", step, l->of, known);
}

/* ---- steps ---- */

/* Looks for a current name first, because an old name may now be the name of another step. NULL: unknown. */
static const tw_verb *verb_of(const tw_language *l, const char *name) {
  for (const tw_verb *v = l->verb; v < l->verb + l->n; v++)
    if (is_name(v->name, name)) return v;
  for (const tw_verb *v = l->verb; v < l->verb + l->n; v++)
    if (is_known_as(v->name, name)) return v;
  return NULL;
}

/* The cell that a word belongs to: the one of that name, or the next one for a bare word. NULL: there is none. */
static const tw_argument *cell_of(const tw_verb *v, const char *name, unsigned given) {
  for (int i = 0; i < TW_ARGUMENTS_MAX && v->argument[i].name; i++)
    if (is_name(v->argument[i].name, name) && (*name || !(given >> i & 1))) return &v->argument[i];
  for (int i = 0; *name && i < TW_ARGUMENTS_MAX && v->argument[i].name; i++)
    if (is_known_as(v->argument[i].name, name)) return &v->argument[i];
  return NULL;
}

bool tw_step_is(const tw_verb *v, const char *step) {
  char name[TW_STEP_MAX];
  snprintf(name, sizeof name, "%.*s", (int)strcspn(step, " "), step);
  return is_known_as(v->name, name);
}

/* Appends one word of a step to `out`, with its current names. */
static void rename_word(const tw_verb *v, char *word, unsigned *given, char *out, size_t size) {
  char *value = strchr(word, '=');
  if (value) *value++ = '\0';
  const tw_argument *a = cell_of(v, value ? word : "", *given);
  const char *text = value ? value : word, *choice;
  size_t length = strlen(text), used = strlen(out);
  int64_t index;
  if (a) *given |= 1u << (a - v->argument);
  if (a && a->choices && !a->read && find_choice(a->choices, text, &index, &choice, &length)) text = choice;
  if (!value)
    snprintf(out + used, size - used, " %.*s", (int)length, text);
  else
    snprintf(out + used, size - used, " %.*s=%.*s", a ? (int)name_length(a->name) : (int)strlen(word),
             a ? a->name : word, (int)length, text);
}

bool tw_step_rename(const tw_language *l, const char *step, char out[TW_STEP_MAX]) {
  char copy[TW_STEP_MAX], renamed[4 * TW_STEP_MAX], *words = copy;
  snprintf(copy, sizeof copy, "%s", step);
  const char *name = strsep(&words, " ");
  const tw_verb *v = verb_of(l, name);
  unsigned given = 0;
  snprintf(out, TW_STEP_MAX, "%s", step);
  if (!v) return false;
  snprintf(renamed, sizeof renamed, "%.*s", (int)name_length(v->name), v->name);
  for (char *word; (word = strsep(&words, " "));) rename_word(v, word, &given, renamed, sizeof renamed);
  if (strlen(renamed) >= TW_STEP_MAX || strcmp(renamed, step) == 0) return false;
  snprintf(out, TW_STEP_MAX, "%s", renamed);
  return true;
}

static tw_status read_words(const tw_verb *v, const void *context, const char *step, char *words, void *plan,
                            unsigned *given, tw_error *error) {
  int n = 0;
  for (char *word; (word = strsep(&words, " ")); n++) {
    char *value = strchr(word, '=');
    if (value) *value++ = '\0';
    const tw_argument *a = cell_of(v, value ? word : "", *given);
    if (!a || (value && !*word))
      return tw_fail(error, TW_USAGE, "step '%s': unexpected '%s'; usage: %s", step, word, v->usage);
    const unsigned bit = 1u << (a - v->argument);
    if (*given & bit) return tw_fail(error, TW_USAGE, "step '%s': '%s' is given twice; remove one", step, word);
    *given |= bit;
    if (!read_value(context, a, value ? value : word, plan))
      return error ? wrong_value(v, a, step, value ? value : word, error) : TW_USAGE;
  }
  return n >= v->needs ? TW_OK : tw_fail(error, TW_USAGE, "step '%s' is incomplete; usage: %s", step, v->usage);
}

tw_status tw_step_apply(const tw_language *l, const void *context, const char *step, void *plan, tw_error *error) {
  char copy[TW_STEP_MAX], *words = copy;
  snprintf(copy, sizeof copy, "%s", step);
  const char *name = strsep(&words, " ");
  const tw_verb *v = verb_of(l, name);
  if (!v) return unknown_step(l, step, name, error);
  unsigned given = 0;
  tw_error why = {0};
  if (v->first) v->first(context, plan);
  set_field(plan, v->sets, 1);
  tw_status status = read_words(v, context, step, words, plan, &given, error);
  if (status == TW_OK && l->begun.size && is_zero(plan, l->begun))
    return tw_fail(error, TW_USAGE, "step '%s' requires '%.*s' before it", step, (int)strcspn(l->verb->usage, ","),
                   l->verb->usage);
  if (status == TW_OK && v->then && (status = v->then(context, plan, given, error ? &why : NULL)) != TW_OK)
    tw_fail(error, status, "step '%s' %.1800s", step, why.text);
  return status;
}

tw_status tw_steps_apply(const tw_language *l, const void *context, const tw_schedule *s, void *plan,
                         tw_status (*legal)(const void *context, const void *plan, tw_error *), tw_error *error) {
  tw_status status = legal ? legal(context, plan, error) : TW_OK;
  for (size_t i = 0; i < s->n && status == TW_OK; i++) {
    tw_error why = {0};
    status = tw_step_apply(l, context, s->step[i], plan, error);
    if (status == TW_OK && legal && (status = legal(context, plan, &why)) != TW_OK)
      tw_fail(error, status, "step %zu, '%s', is not possible here: %.1700s", i + 1, s->step[i], why.text);
  }
  return status;
}
