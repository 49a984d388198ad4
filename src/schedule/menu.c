/* menu.c - tries steps and keeps those steps that the language accepts, that change the plan and that the model can
 * price. Equal predictions are ordered by their text, so that a menu does not depend on the order of its offers. */
#include "tilewright/extend/menu.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/strings.h"

static tw_menu_item *append(tw_menu_builder *m) {
  if (m->menu.n == m->capacity) {
    const size_t capacity = m->capacity ? 2 * m->capacity : 64;
    tw_menu_item *item = tw_resize(m->menu.item, capacity, sizeof *item);
    if (!item) {
      m->failed = true;
      return NULL;
    }
    m->menu.item = item;
    m->capacity = capacity;
  }
  return memset(&m->menu.item[m->menu.n++], 0, sizeof(tw_menu_item));
}

static void offer(tw_menu_builder *m, const char *lever, const char *why, const char *step) {
  if (m->schedule->n >= TW_STEPS_MAX) return;
  memcpy(m->next, m->now, m->plan_size);
  if (tw_step_apply(m->language, m->context, step, m->next, NULL) != TW_OK ||
      tw_plan_same(m->language, m->next, m->now))
    return;
  const double cost = m->judge(m->context, m->next);
  tw_menu_item *item = cost > 0 ? append(m) : NULL;
  if (!item) return;
  snprintf(item->step, sizeof item->step, "%s", step);
  snprintf(item->lever, sizeof item->lever, "%s", lever);
  if (m->now_cost > 0)
    snprintf(item->why, sizeof item->why, "%s; model: %.2fx as fast", why, m->now_cost / cost);
  else
    snprintf(item->why, sizeof item->why, "%s", why);
  item->predicted_cost = cost;
}

void tw_menu_offer(tw_menu_builder *m, const char *lever, const char *why, const char *format, ...) {
  char step[TW_STEP_MAX];
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(step, sizeof step, format, arguments);
  va_end(arguments);
  offer(m, lever, why, step);
}

void tw_menu_offer_all(tw_menu_builder *m, size_t n, const tw_offer row[]) {
  for (size_t i = 0; i < n; i++) offer(m, row[i].lever, row[i].why, row[i].step);
}

void tw_menu_offer_language(tw_menu_builder *m) {
  for (const tw_verb *v = m->language->verb; v < m->language->verb + m->language->n; v++) {
    char name[TW_STEP_MAX];
    snprintf(name, sizeof name, "%s", v->name);
    name[strcspn(name, "|")] = '\0';
    if (v->why && !v->offers) offer(m, name, v->why, name);
    for (const char *at = v->why ? v->offers : NULL; at && *at; at += strspn(at, ", ")) {
      const int length = (int)strcspn(at, ",");
      tw_menu_offer(m, name, v->why, "%s %.*s", name, length, at);
      at += length;
    }
  }
}

static int by_prediction(const void *a, const void *b) {
  const tw_menu_item *x = a, *y = b;
  if (x->predicted_cost != y->predicted_cost) return x->predicted_cost < y->predicted_cost ? -1 : 1;
  return strcmp(x->step, y->step);
}

tw_status tw_menu_finish(tw_menu_builder *m, tw_menu *out, tw_error *error) {
  tw_menu *menu = &m->menu;
  *out = (tw_menu){0};
  if (m->failed) {
    tw_menu_free(menu);
    return tw_no_memory(error, "the menu");
  }
  if (menu->n) qsort(menu->item, menu->n, sizeof *menu->item, by_prediction);
  for (size_t i = 0; i < menu->n; i++)
    if (i == 0 || strcmp(menu->item[i].step, menu->item[out->n - 1].step) != 0) menu->item[out->n++] = menu->item[i];
  out->item = menu->item;
  return TW_OK;
}

tw_status tw_menu_join(tw_menu *menu, tw_menu *more, tw_error *error) {
  tw_menu_item *item = more->n ? tw_resize(menu->item, menu->n + more->n, sizeof *item) : menu->item;
  if (item && more->n) {
    memcpy(item + menu->n, more->item, more->n * sizeof *item);
    menu->item = item;
    menu->n += more->n;
    qsort(item, menu->n, sizeof *item, by_prediction);
  }
  const bool failed = more->n && !item;
  tw_menu_free(more);
  return failed ? tw_no_memory(error, "the menu") : TW_OK;
}

void tw_menu_free(tw_menu *menu) {
  free(menu->item);
  *menu = (tw_menu){0};
}
