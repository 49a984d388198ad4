/* levers.c - see levers.h. The levers follow the paper's menu (Autocomp, figure 16) in this machine's terms. */
#include "target/gemmini/schedule/levers.h"

#include <stdio.h>
#include <string.h>

/* ---- values ---- */

static bool read_bank_list(const char *text, int bank[GM_BANKS_MAX], int *n) {
  char copy[TW_STEP_MAX], *rest = copy;
  snprintf(copy, sizeof copy, "%s", text);
  *n = 0;
  for (char *word; (word = strsep(&rest, ","));) {
    int64_t number;
    if (*n == GM_BANKS_MAX || !tw_read_number(word, 0, 255, &number)) return false;
    bank[(*n)++] = (int)number;
  }
  for (int i = 2; i < *n; i++)
    if (bank[i] - bank[i - 1] != bank[1] - bank[0]) return false;
  return *n == 1 || bank[0] != bank[1];
}

bool gm_read_banks(const void *context, const tw_argument *argument, const char *text, void *operand) {
  gm_operand_plan *p = operand;
  (void)context, (void)argument;
  return read_bank_list(text, p->bank, &p->n_banks);
}

bool gm_read_split(const void *context, const tw_argument *argument, const char *text, void *is_split) {
  int bank[GM_BANKS_MAX] = {0}, n = 0;
  (void)context, (void)argument;
  const bool good = read_bank_list(text, bank, &n);
  *(bool *)is_split = n > 1;
  return good;
}

bool gm_read_blocks(const gm_config *config, const char *text, int most, int *blocks) {
  int64_t elements;
  if (!tw_read_number(text, 1, 1 << 24, &elements)) return false;
  *blocks = gm_min(gm_ceil_div(elements, config->dim), most);
  return true;
}

bool gm_read_width(const void *context, const tw_argument *argument, const char *text, void *width) {
  const gm_lever_context *c = context;
  const bool stores = *argument->name == 'c';
  return gm_read_blocks(c->config, text, stores ? c->widest_store : gm_widest_load(c->config), width);
}

gm_levers gm_levers_plain(const gm_config *config) {
  const gm_operand_plan streamed = {.hold = GM_STREAM, .buffers = 1, .width = gm_widest_load(config)};
  return (gm_levers){.a = streamed, .b = streamed, .c_buffers = 1, .store_width = 1};
}

/* Levers that only pay together: prefetching needs a second buffer. A second buffer without prefetching gains little.
 * Loads into the bank that is being read cost as much as they save. */
void gm_pipeline(const void *context, void *levers) {
  const gm_lever_context *c = context;
  gm_levers *l = levers;
  gm_operand_plan *const operand[] = {&l->a, &l->b};
  for (int o = 0; o < 2; o++) {
    operand[o]->buffers = gm_max(operand[o]->buffers, 2);
    operand[o]->n_banks = 2;
    for (int i = 0; i < 2; i++) operand[o]->bank[i] = 2 * i + o;
  }
  l->c_buffers = 2;
  l->c_split = c->config->acc_banks > 1;
  l->prefetch = 1;
  l->overwrite = !c->has_bias;
  l->fill_ahead = c->has_bias;
  l->store_width = c->widest_store;
  l->hoist[GM_CONFIGS] = l->hoist[GM_ADDRESSES] = true;
  l->spread_loads = l->spread_stores = 16;
}

tw_status gm_then_four_banks(const void *context, void *plan, unsigned given, tw_error *error) {
  const gm_lever_context *c = context;
  (void)plan, (void)given;
  return c->config->spad_banks >= 4 ? TW_OK : tw_fail(error, TW_USAGE, "requires four scratchpad banks");
}

tw_status gm_levers_check(const gm_lever_context *c, const gm_levers *l, tw_error *error) {
  if (l->spread_loads > 0 && l->prefetch == 0)
    return tw_fail(error, TW_USAGE, "spread loads require a prefetch; use 'prefetch 1'");
  if (l->spread_stores > 0 && l->c_buffers < 2 && !l->early_stores)
    return tw_fail(error, TW_USAGE, "spread stores require two buffers of C; use 'buffers c=2'");
  if (gm_fills_ahead(l) && (l->spread_stores == 0 || l->c_buffers < 2))
    return tw_fail(
        error, TW_USAGE,
        "'fill prefetch' requires two buffers of C and spread stores; use 'buffers c=2' and 'spread stores=16'");
  if (l->overwrite && c->has_bias)
    return tw_fail(error, TW_USAGE,
                   "overwrite cannot be combined with a bias, which initializes the accumulator; remove it");
  if (l->store_width < 1 || l->store_width > c->widest_store)
    return tw_fail(error, TW_USAGE, "an mvout moves %d to %d columns", c->config->dim,
                   c->config->dim * c->widest_store);
  return TW_OK;
}

char *gm_levers_print(const gm_levers *l, char buffer[120]) {
  snprintf(buffer, 120, "A %s (%d), B %s (%d), C in %d buffer%s; loads %d step%s ahead", gm_hold_name(l->a.hold),
           l->a.buffers, gm_hold_name(l->b.hold), l->b.buffers, l->c_buffers, l->c_buffers == 1 ? "" : "s", l->prefetch,
           l->prefetch == 1 ? "" : "s");
  return buffer;
}

/* ---- offers ---- */

static void offer_buffers(tw_menu_builder *m) {
  static const char why[] = "while one buffer is read the other is loaded";
  static const tw_offer offers[] = {
      {"buffers", "buffers a=2", why},
      {"buffers", "buffers b=2", why},
      {"buffers", "buffers a=2 b=2", why},
      {"buffers", "buffers c=2", "a tile is stored while the next one is computed"},
      {"buffers", "buffers a=3 b=3", "room to load two steps ahead"},
      {"buffers", "buffers a=1 b=1 c=1", "one buffer leaves room for larger tiles"},
  };
  tw_menu_offer_all(m, sizeof offers / sizeof *offers, offers);
}

static void offer_banks(tw_menu_builder *m, const gm_config *config) {
  static const char why[] = "a bank has one port: keep A, B and loads in different banks";
  const int last = config->spad_banks - 1;
  if (last < 1) return;
  const char *c = config->acc_banks > 1 ? " c=0,1" : "";
  tw_menu_offer(m, "banks", why, "banks a=0 b=1%s", c);
  if (last < 3) return;
  tw_menu_offer(m, "banks", why, "banks a=0,2 b=1,3%s", c);
  tw_menu_offer(m, "banks", "A across three banks, B in one", "banks a=0,1,2 b=3%s", c);
  tw_menu_offer(m, "banks", "B across three banks, A in one", "banks a=3 b=0,1,2%s", c);
  tw_menu_offer(m, "banks", "A across two banks, B in one", "banks a=0,1 b=2%s", c);
  tw_menu_offer(m, "banks", "B across two banks, A in one", "banks a=0 b=1,2%s", c);
}

static void offer_widths(tw_menu_builder *m, int dim, int load, int store) {
  tw_menu_offer(m, "width", "wide mvouts write whole lines, which the L2 need not read first", "width c=%d", store);
  tw_menu_offer(m, "width", "wide mvins move a row of blocks with one command", "width a=%d b=%d", load, load);
  tw_menu_offer(m, "width", "narrow mvouts complete sooner", "width c=%d", dim);
  tw_menu_offer(m, "width", "narrow mvins complete sooner", "width a=%d b=%d", load / 2, load / 2);
}

static void offer_spread(tw_menu_builder *m, bool loads, bool stores) {
  static const char why[] = "spread loads and stores among the computes, so that no full queue blocks the array";
  for (int pairs = 4; pairs <= 64; pairs *= 2) {
    if (stores) tw_menu_offer(m, "spread", why, "spread loads=%d", pairs);
    if (loads) tw_menu_offer(m, "spread", why, "spread stores=%d", pairs);
    tw_menu_offer(m, "spread", why, "spread loads=%d stores=%d", pairs, pairs);
  }
}

void gm_offer_levers(tw_menu_builder *m, const gm_lever_context *c, const gm_levers *l) {
  const int dim = c->config->dim;
  offer_buffers(m);
  offer_banks(m, c->config);
  offer_widths(m, dim, gm_widest_load(c->config) * dim, c->widest_store * dim);
  tw_menu_offer_language(m);
  if (!l->overwrite)
    tw_menu_offer(m, "fill", "load zeros or bias during the previous tile, not between two tiles", "fill prefetch");
  offer_spread(m, l->spread_loads > 0, l->spread_stores > 0);
}
