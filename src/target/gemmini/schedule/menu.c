/* menu.c - see menu.h. The levers are those of the paper's menu (Autocomp, figure 16) in this machine's terms. */
#include "target/gemmini/schedule/menu.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/strings.h"

static tw_menu_item *append(gm_menu *m) {
  if (m->out->n == m->capacity) {
    const size_t capacity = m->capacity ? 2 * m->capacity : 64;
    tw_menu_item *item = tw_resize(m->out->item, capacity, sizeof *item);
    if (!item) {
      m->failed = true;
      return NULL;
    }
    m->out->item = item;
    m->capacity = capacity;
  }
  return &m->out->item[m->out->n++];
}

void gm_offer(gm_menu *m, const char *lever, const char *why, const char *format, ...) {
  char step[TW_STEP_MAX];
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(step, sizeof step, format, arguments);
  va_end(arguments);
  double cycles;
  if (!m->try(m->context, step, &cycles)) return;
  tw_menu_item *item = append(m);
  if (!item) return;
  memset(item, 0, sizeof *item);
  snprintf(item->step, sizeof item->step, "%s", step);
  snprintf(item->lever, sizeof item->lever, "%s", lever);
  snprintf(item->why, sizeof item->why, "%s; model: %.1f%% of peak, now %.1f%%", why, 100 * m->peak / cycles,
           100 * m->peak / m->now);
  item->predicted_cost = cycles;
}

void gm_offer_buffers(gm_menu *m) {
  static const char why[] = "while one buffer is read the other is loaded";
  gm_offer(m, "buffers", why, "buffers a=2");
  gm_offer(m, "buffers", why, "buffers b=2");
  gm_offer(m, "buffers", why, "buffers a=2 b=2");
  gm_offer(m, "buffers", "a tile is stored while the next one is computed", "buffers c=2");
  gm_offer(m, "buffers", "room to load two steps ahead", "buffers a=3 b=3");
  gm_offer(m, "buffers", "one buffer leaves room for larger tiles", "buffers a=1 b=1 c=1");
}

void gm_offer_banks(gm_menu *m, const gm_config *config) {
  static const char why[] = "a bank has one port: A, B and what is being loaded in different banks";
  const int last = config->spad_banks - 1;
  if (last < 1) return;
  const char *c = config->acc_banks > 1 ? " c=0,1" : "";
  gm_offer(m, "banks", why, "banks a=0 b=1%s", c);
  if (last < 3) return;
  gm_offer(m, "banks", why, "banks a=0,2 b=1,3%s", c);
  gm_offer(m, "banks", "A across three banks, B in one", "banks a=0,1,2 b=3%s", c);
  gm_offer(m, "banks", "B across three banks, A in one", "banks a=3 b=0,1,2%s", c);
  gm_offer(m, "banks", "A across two banks, B in one", "banks a=0,1 b=2%s", c);
  gm_offer(m, "banks", "B across two banks, A in one", "banks a=0 b=1,2%s", c);
}

void gm_offer_widths(gm_menu *m, int dim, int load, int store) {
  gm_offer(m, "width", "wide mvouts write whole lines, which the L2 need not read first", "width c=%d", store);
  gm_offer(m, "width", "wide mvins move a row of blocks with one command", "width a=%d b=%d", load, load);
  gm_offer(m, "width", "narrow mvouts come apart sooner", "width c=%d", dim);
  gm_offer(m, "width", "narrow mvins arrive sooner", "width a=%d b=%d", load / 2, load / 2);
}

void gm_offer_overwrite(gm_menu *m) {
  gm_offer(m, "overwrite", "the first step overwrites the accumulator: no zeros to move in", "overwrite");
}

void gm_offer_prefetch(gm_menu *m) {
  gm_offer(m, "prefetch", "loads one step ahead of their use are hidden behind the pairs", "prefetch 1");
  gm_offer(m, "prefetch", "two steps ahead hide longer waits", "prefetch 2");
}

void gm_offer_spread(gm_menu *m, bool loads, bool stores) {
  static const char why[] = "loads and stores stand among the pairs, so that no queue fills and blocks the array";
  for (int pairs = 4; pairs <= 64; pairs *= 2) {
    if (stores) gm_offer(m, "spread", why, "spread loads=%d", pairs);
    if (loads) gm_offer(m, "spread", why, "spread stores=%d", pairs);
    gm_offer(m, "spread", why, "spread loads=%d stores=%d", pairs, pairs);
  }
}

static int by_prediction(const void *a, const void *b) {
  const tw_menu_item *x = a, *y = b;
  if (x->predicted_cost != y->predicted_cost) return x->predicted_cost < y->predicted_cost ? -1 : 1;
  return strcmp(x->step, y->step);
}

tw_status gm_menu_finish(gm_menu *m, tw_error *error) {
  tw_menu *out = m->out;
  if (m->failed) {
    tw_menu_free(out);
    return tw_fail(error, TW_MISSING, "out of memory for the menu");
  }
  if (out->n) qsort(out->item, out->n, sizeof *out->item, by_prediction);
  size_t kept = 0;
  for (size_t i = 0; i < out->n; i++)
    if (kept == 0 || strcmp(out->item[i].step, out->item[kept - 1].step) != 0) out->item[kept++] = out->item[i];
  out->n = kept;
  return TW_OK;
}
