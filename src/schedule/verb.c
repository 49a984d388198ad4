/* verb.c - one parser for the steps of every machine: it walks the words of a step and the cells of a verb's row. */
#include "tilewright/verb.h"

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

static void put(void *plan, tw_field f, int64_t value) { /* little-endian, like every machine that this runs on */
  memcpy((char *)plan + f.at, &value, f.size);
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

/* ---- values ---- */

bool tw_read_choice(const char *choices, const char *text, int64_t *out) {
  const size_t length = strlen(text);
  for (int64_t i = 0; *choices; i++) {
    const size_t n = strcspn(choices, "|");
    if (n == length && memcmp(choices, text, n) == 0) return *out = i, true;
    choices += n + (choices[n] == '|');
  }
  return false;
}

static bool read_value(const void *context, const tw_argument *a, const char *text, void *plan) {
  int64_t value;
  if (a->read) return a->read(context, a, text, (char *)plan + a->into.at);
  if (a->choices ? !tw_read_choice(a->choices, text, &value) : !tw_read_number(text, a->least, a->most, &value))
    return false;
  put(plan, a->into, a->choices ? a->least + value : value);
  return true;
}

/* ---- steps ---- */

static tw_status wrong_value(const tw_verb *v, const tw_argument *a, const char *step, const char *text,
                             tw_error *error) {
  char allowed[200] = "";
  if (a->choices)
    snprintf(allowed, sizeof allowed, "one of %s", a->choices);
  else if (!a->read)
    snprintf(allowed, sizeof allowed, "from %lld to %lld", (long long)a->least, (long long)a->most);
  return tw_fail(error, TW_USAGE, "step '%s': '%s%s%s' is not %s; write %s", step, a->name, *a->name ? "=" : "", text,
                 *allowed ? allowed : "possible", v->usage);
}

static tw_status no_such_step(const tw_language *l, const char *step, const char *name, tw_error *error) {
  enum { MOST = 64 };
  const char *names[MOST];
  char known[400] = "";
  for (size_t i = 0, used = 0; i < l->n && used < sizeof known; i++)
    used += (size_t)snprintf(known + used, sizeof known - used, "%s%s", i ? ", " : "", l->verb[i].name);
  for (size_t i = 0; i < l->n && i < MOST; i++) names[i] = l->verb[i].name;
  const char *near = tw_nearest_word(name, names, l->n < MOST ? l->n : MOST);
  if (near)
    return tw_fail(error, TW_USAGE, "step '%s': there is no '%s' for %s: did you mean '%s'?", step, name, l->of, near);
  return tw_fail(error, TW_USAGE, "step '%s': there is no such step for %s; there are %s", step, l->of, known);
}

/* The cell that a word belongs to: of its name, or the next one of a bare word. NULL: there is none. */
static const tw_argument *cell_of(const tw_verb *v, const char *name, unsigned given) {
  for (int i = 0; i < TW_ARGUMENTS_MAX && v->argument[i].name; i++)
    if (strcmp(v->argument[i].name, name) == 0 && (*name || !(given >> i & 1))) return &v->argument[i];
  return NULL;
}

static tw_status read_words(const tw_verb *v, const void *context, const char *step, char *words, void *plan,
                            unsigned *given, tw_error *error) {
  int n = 0;
  for (char *word; (word = strsep(&words, " ")); n++) {
    char *value = strchr(word, '=');
    if (value) *value++ = '\0';
    const tw_argument *a = cell_of(v, value ? word : "", *given);
    if (!a || (value && !*word))
      return tw_fail(error, TW_USAGE, "step '%s': '%s' does not belong there; write %s", step, word, v->usage);
    const unsigned bit = 1u << (a - v->argument);
    if (*given & bit) return tw_fail(error, TW_USAGE, "step '%s': '%s' is given twice", step, word);
    *given |= bit;
    if (!read_value(context, a, value ? value : word, plan))
      return error ? wrong_value(v, a, step, value ? value : word, error) : TW_USAGE;
  }
  return n >= v->needs ? TW_OK : tw_fail(error, TW_USAGE, "step '%s' is not complete; write %s", step, v->usage);
}

tw_status tw_step_apply(const tw_language *l, const void *context, const char *step, void *plan, tw_error *error) {
  char copy[TW_STEP_MAX], *words = copy;
  snprintf(copy, sizeof copy, "%s", step);
  const char *name = strsep(&words, " ");
  const tw_verb *v = l->verb;
  while (v < l->verb + l->n && strcmp(v->name, name) != 0) v++;
  if (v == l->verb + l->n) return no_such_step(l, step, name, error);
  unsigned given = 0;
  tw_error why = {0};
  if (v->first) v->first(context, plan);
  put(plan, v->sets, 1);
  tw_status status = read_words(v, context, step, words, plan, &given, error);
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
