/* words.c - see words.h. A lever changes fields of the plan and nothing else, so that any order of steps that stays legal
 * gives the same plan as the last value of each field. */
#include "target/gemmini/schedule/words.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

tw_status gm_words_split(const char *step, gm_words *w, tw_error *error) {
  *w = (gm_words){0};
  snprintf(w->text, sizeof w->text, "%s", step);
  char *rest = w->text;
  w->verb = strsep(&rest, " ");
  for (char *word; (word = strsep(&rest, " "));) {
    if (w->n == GM_WORDS_MAX) return tw_fail(error, TW_USAGE, "step '%s': too many arguments", step);
    char *equals = strchr(word, '=');
    if (equals) *equals++ = '\0';
    w->key[w->n] = word;
    w->value[w->n++] = equals;
  }
  return TW_OK;
}

bool gm_word_number(const char *text, int min, int max, int *out) {
  if (!text || *text < '0' || *text > '9') return false;
  char *end;
  const long value = strtol(text, &end, 10);
  if (*end || value < min || value > max) return false;
  *out = (int)value;
  return true;
}

bool gm_word_blocks(const char *text, int dim, int most, int *out) {
  int elements;
  if (!gm_word_number(text, 1, 1 << 24, &elements)) return false;
  *out = gm_min(gm_ceil_div(elements, dim), most);
  return true;
}

bool gm_words_single(const gm_words *w) { return w->n == 1 && !w->value[0]; }

static gm_operand_plan *operand(const gm_levers *l, const char *key) {
  return strcmp(key, "a") == 0 ? l->a : strcmp(key, "b") == 0 ? l->b : NULL;
}

static bool do_hold(const gm_levers *l, const gm_words *w) {
  static const char *const how[] = {"stream", "panel", "whole"};
  for (int i = 0; i < w->n; i++) {
    gm_operand_plan *p = operand(l, w->key[i]);
    int h = 0;
    while (p && w->value[i] && h < 3 && strcmp(w->value[i], how[h]) != 0) h++;
    if (!p || !w->value[i] || h == 3) return false;
    p->hold = (gm_hold)h;
  }
  return w->n > 0;
}

static bool do_buffers(const gm_levers *l, const gm_words *w) {
  for (int i = 0; i < w->n; i++) {
    gm_operand_plan *p = operand(l, w->key[i]);
    const bool is_c = strcmp(w->key[i], "c") == 0;
    if ((!p && !is_c) || !gm_word_number(w->value[i], 1, is_c ? 2 : 3, p ? &p->buffers : l->c_buffers)) return false;
  }
  return w->n > 0;
}

static bool bank_list(const char *text, int bank[GM_BANKS_MAX], int *n) {
  char copy[TW_STEP_MAX];
  snprintf(copy, sizeof copy, "%s", text ? text : "");
  char *rest = copy;
  *n = 0;
  for (char *word; (word = strsep(&rest, ","));)
    if (*n == GM_BANKS_MAX || !gm_word_number(word, 0, 255, &bank[(*n)++])) return false;
  for (int i = 2; i < *n; i++)
    if (bank[i] - bank[i - 1] != bank[1] - bank[0]) return false;
  return *n == 1 || bank[0] != bank[1];
}

static bool set_banks(gm_operand_plan *p, const char *text) { return bank_list(text, p->bank, &p->n_banks); }

static bool do_banks(const gm_levers *l, const gm_words *w) {
  for (int i = 0; i < w->n; i++) {
    const char *key = w->key[i];
    int bank[GM_BANKS_MAX] = {0}, n = 0;
    if (strcmp(key, "a") == 0 && set_banks(l->a, w->value[i])) continue;
    if (strcmp(key, "b") == 0 && set_banks(l->b, w->value[i])) continue;
    if (strcmp(key, "c") != 0 || !bank_list(w->value[i], bank, &n)) return false;
    *l->c_split = n > 1;
  }
  return w->n > 0 && (l->a->n_banks == 0) == (l->b->n_banks == 0);
}

static bool do_width(const gm_levers *l, const gm_words *w) {
  for (int i = 0; i < w->n; i++) {
    gm_operand_plan *p = operand(l, w->key[i]);
    if (!p && strcmp(w->key[i], "c") != 0) return false;
    if (!gm_word_blocks(w->value[i], l->dim, p ? l->widest_load : l->widest_store, p ? &p->width : l->store_width))
      return false;
  }
  return w->n > 0;
}

static bool do_overwrite(const gm_levers *l, const gm_words *w) {
  *l->overwrite = true;
  return w->n == 0;
}

static bool do_prefetch(const gm_levers *l, const gm_words *w) {
  return gm_words_single(w) && gm_word_number(w->key[0], 0, 2, l->prefetch);
}

bool gm_levers_spread(const gm_levers *l, const char *key, const char *value) {
  if (strcmp(key, "loads") == 0) return gm_word_number(value, 0, 4096, l->spread_loads);
  return strcmp(key, "stores") == 0 && gm_word_number(value, 0, 4096, l->spread_stores);
}

static bool do_spread(const gm_levers *l, const gm_words *w) {
  for (int i = 0; i < w->n; i++)
    if (!gm_levers_spread(l, w->key[i], w->value[i])) return false;
  return w->n > 0;
}

static const struct verb {
  const char *name;
  bool (*apply)(const gm_levers *, const gm_words *);
  const char *usage;
} verbs[] = {
    {"hold", do_hold, "hold a=panel, hold b=whole, hold a=stream"},
    {"buffers", do_buffers, "buffers a=2 b=2 c=2"},
    {"banks", do_banks, "banks a=0,2 b=1,3 c=0,1"},
    {"width", do_width, "width a=64 b=64 c=64"},
    {"overwrite", do_overwrite, "overwrite"},
    {"prefetch", do_prefetch, "prefetch 1"},
    {"spread", do_spread, "spread loads=16 stores=16"},
};

bool gm_levers_step(const gm_levers *l, const gm_words *w, bool *known, const char **usage) {
  *known = false;
  for (size_t i = 0; i < sizeof verbs / sizeof *verbs; i++)
    if (strcmp(w->verb, verbs[i].name) == 0) {
      *known = true;
      *usage = verbs[i].usage;
      return verbs[i].apply(l, w);
    }
  return false;
}
