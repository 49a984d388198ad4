/* view.c - finds a machine's view and parses its words. */
#include "tilewright/extend/view.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/strings.h"
#include "tilewright/extend/target.h"

const tw_view *tw_view_find(const tw_target *t, const char *name, tw_error *error) {
  const char *names[TW_VIEW_KEYS_MAX] = {NULL};
  size_t n = 0;
  tw_text all = {0};
  for (const tw_view *v = t->machine_views; v && v->name; v++) {
    if (!strcmp(v->name, name)) {
      tw_text_free(&all);
      return v;
    }
    if (n < TW_VIEW_KEYS_MAX) names[n++] = v->name;
    tw_text_add(&all, "%s%s", n > 1 ? ", " : "", v->name);
  }
  const char *near = tw_nearest_word(name, names, n);
  char *list = tw_text_take(&all);
  if (!n)
    tw_fail(error, TW_UNSUPPORTED, "%s has no views", t->name);
  else if (near)
    tw_fail(error, TW_USAGE, "%s has no view '%s'; did you mean '%s'?", t->name, name, near);
  else
    tw_fail(error, TW_USAGE, "%s has no view '%s'; it has %s", t->name, name, list ? list : "others");
  free(list);
  return NULL;
}

/* key=value, or a step of a schedule: its verb is the key, its arguments are the value. */
static tw_status take_word(const tw_view *v, const char *word, const char *value[], tw_error *error) {
  const size_t length = strcspn(word, "= ");
  const char *names[TW_VIEW_KEYS_MAX];
  char name[40];
  size_t n = 0;
  for (; v->keys[n].name; n++) {
    const char *key = names[n] = v->keys[n].name;
    if (!word[length] || strlen(key) != length || strncmp(key, word, length) != 0) continue;
    if (value[n]) return tw_fail(error, TW_USAGE, "%s is given twice", key);
    value[n] = word + length + 1;
    return TW_OK;
  }
  snprintf(name, sizeof name, "%.*s", (int)length, word);
  const char *near = tw_nearest_word(name, names, n);
  if (!word[length]) return tw_fail(error, TW_USAGE, "'%s' is not key=value", word);
  if (near) return tw_fail(error, TW_USAGE, "view %s has no key '%s'; did you mean '%s'?", v->name, name, near);
  return tw_fail(error, TW_USAGE, "view %s has no key '%s'; `tilewright view` lists them", v->name, name);
}

tw_status tw_view_show(const tw_target *t, const char *name, size_t n_words, const char *const words[],
                       tw_view_form form, char **out, tw_error *error) {
  const char *value[TW_VIEW_KEYS_MAX] = {NULL};
  tw_error why;
  const tw_view *v = tw_view_find(t, name, &why);
  if (!v) return tw_fail(error, why.status, "%s", why.text);
  for (size_t i = 0; i < n_words; i++) {
    const tw_status status = take_word(v, words[i], value, error);
    if (status != TW_OK) return status;
  }
  for (size_t i = 0; v->keys[i].name; i++) {
    const tw_view_key *key = &v->keys[i];
    if (!value[i]) value[i] = key->usual;
    if (!value[i]) return tw_fail(error, TW_USAGE, "view %s requires %s=: %s", v->name, key->name, key->help);
  }
  return v->show(t, value, form, out, error);
}
