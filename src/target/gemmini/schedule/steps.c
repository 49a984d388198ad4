/* steps.c - the menu: what may come next in a schedule, and what the model thinks of it.
 *
 * One function a lever proposes steps as text; a step stays on the menu if it is legal here and changes the plan. The
 * levers are those of the paper's menu (Autocomp, figure 16) in this machine's terms. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "target/gemmini/schedule/family.h"
#include "target/gemmini/schedule/menu.h"
#include "target/gemmini/schedule/plan.h"

typedef struct menu {
  gm_menu base;
  const gm_config *config;
  const gm_gemm *g;
  const gm_plan *plan;
} menu;

static bool try(void *context, const char *step, double *cycles) {
  const menu *m = context;
  gm_plan plan = *m->plan;
  gm_layout layout;
  if (gm_plan_step(m->config, m->g, step, &plan, NULL) != TW_OK || gm_plan_same(&plan, m->plan) ||
      gm_plan_layout(m->config, m->g, &plan, &layout, NULL) != TW_OK)
    return false;
  *cycles = gm_plan_predict(m->config, m->g, &plan, &layout);
  return true;
}

/* The tile nearest to `tile` blocks that cuts `blocks` evenly: no small tile is left at the end. */
static int even(int blocks, int tile) { return gm_ceil_div(blocks, gm_ceil_div(blocks, tile)); }

static void tiles(menu *m) {
  static const char why[] = "larger tiles load less for each pair, as far as scratchpad and accumulator hold them";
  const int d = m->config->dim, m0 = m->plan->tile_m * d, n0 = m->plan->tile_n * d, k0 = m->plan->tile_k * d;
  for (int mt = 1; mt <= 32; mt *= 2)
    for (int nt = 1; nt <= 32; nt *= 2)
      for (int kt = 1; kt <= 32; kt *= 2)
        if (nt >= gm_min(4, m->g->nb) && kt >= gm_min(4, m->g->kb))
          gm_offer(&m->base, "tile", why, "tile m=%d n=%d k=%d", even(m->g->mb, mt) * d, even(m->g->nb, nt) * d,
                   even(m->g->kb, kt) * d);
  gm_offer(&m->base, "tile", why, "tile m=%d n=%d k=%d", m0, n0, m->g->kb * d);
  gm_offer(&m->base, "tile", why, "tile m=%d n=%d k=%d", m0, m->g->nb * d, k0);
}

static void order(menu *m) {
  gm_offer(&m->base, "loop order", "the operand of the outer loop stays while the other streams", "order %s",
           m->plan->outer_is_i ? "ji" : "ij");
}

static void hold(menu *m) {
  static const char whole[] = "the whole matrix is loaded once and stays",
                    panel[] = "a panel stays while the inner tile loop runs";
  const bool i = m->plan->outer_is_i;
  gm_offer(&m->base, "hold", whole, "hold b=whole");
  gm_offer(&m->base, "hold", whole, "hold a=whole");
  gm_offer(&m->base, "hold", panel, "hold %s=panel", i ? "a" : "b");
  gm_offer(&m->base, "hold", "one panel stays, the other operand is loaded once", "hold %s=panel %s=whole",
           i ? "a" : "b", i ? "b" : "a");
  gm_offer(&m->base, "hold", "neither stays: scratchpad for larger chunks", "hold a=stream b=stream");
}

static void loops(menu *m) {
  static const char *const orders[] = {"ijk", "ikj", "jik", "jki", "kij", "kji"};
  static const char why[] = "the order of pairs decides what is needed first, and what is complete first";
  for (size_t i = 0; i < sizeof orders / sizeof *orders; i++) gm_offer(&m->base, "loops", why, "loops %s", orders[i]);
}

static void unroll(menu *m) {
  static const char *const orders[] = {"ijk", "ikj", "jik", "jki", "kij", "kji"};
  static const char why[] =
      "unrolled pairs cost the core two commands and few additions; but code is fetched cold once";
  for (int n = 0; n <= 3; n++) gm_offer(&m->base, "unroll", why, "unroll %d", n);
  for (size_t i = 0; i < sizeof orders / sizeof *orders; i++)
    for (int n = 1; n <= 2; n++) gm_offer(&m->base, "unroll", why, "unroll %d %s", n, orders[i]);
}

static void reuse(menu *m) {
  static const char why[] =
      "B stays in the array while i runs: fewer reads of its bank, and a transposed B is turned once";
  gm_offer(&m->base, "weight reuse", why, "reuse weights");
  gm_offer(&m->base, "weight reuse", why, "reuse weights kji");
  gm_offer(&m->base, "weight reuse", why, "reuse weights jki");
}

static void fill(menu *m) {
  if (!m->plan->overwrite)
    gm_offer(&m->base, "fill", "zeros or bias move in during the tile before, not between two tiles", "fill ahead");
}

static void hoist(menu *m) {
  gm_offer(&m->base, "hoist", "configuration once, not for every tile", "hoist configs");
  gm_offer(&m->base, "hoist", "operands are made once; a pair adds small constants", "hoist addresses");
  gm_offer(&m->base, "hoist", "configuration and operands are made once", "hoist all");
}

static void peel(menu *m) {
  gm_offer(&m->base, "peel", "the first step along k overwrites without asking, in code of its own", "peel first");
  gm_offer(&m->base, "peel", "rows of C are stored as the last step along k completes them, in code of its own",
           "peel last");
}

static void taper(menu *m) {
  gm_offer(&m->base, "taper", "lower tiles at the end leave less to store when the array is done", "taper");
}

static void pipeline(menu *m) {
  static const char why[] =
      "two buffers of everything in banks of their own, loads a step ahead, loads and stores among the pairs";
  const int d = m->config->dim, blocks = gm_acc_rows(m->config) / 2 / d; /* of a tile of C */
  for (int pairs = 8; pairs <= 32; pairs *= 2)
    gm_offer(&m->base, "pipeline", why, "pipeline loads=%d stores=%d", pairs, pairs);
  for (int nt = 4; nt <= 32; nt *= 2)
    for (int mt = 1; mt <= blocks / nt; mt *= 2)
      for (int kt = 4; kt <= 16; kt *= 2)
        for (int pairs = 8; pairs <= 16; pairs *= 2)
          gm_offer(&m->base, "pipeline", why, "pipeline m=%d n=%d k=%d loads=%d stores=%d", even(m->g->mb, mt) * d,
                   even(m->g->nb, nt) * d, even(m->g->kb, kt) * d, pairs, pairs);
}

/* Its tiles have half of the scratchpad and of the accumulator: it loads one while it computes another. */
static void hardware_loop(menu *m) {
  static const char why[] = "one command a tile instead of two a pair; loads, pairs and stores overlap by themselves";
  const int d = m->config->dim;
  gm_offer(&m->base, "hardware loop", why, "hardware_loop");
  for (int mt = 1; mt <= 32; mt *= 2)
    for (int nt = 1; nt <= 32; nt *= 2)
      for (int kt = 1; kt <= 32; kt *= 2)
        if (nt >= gm_min(4, m->g->nb) && kt >= gm_min(4, m->g->kb))
          gm_offer(&m->base, "hardware loop", why, "hardware_loop m=%d n=%d k=%d", even(m->g->mb, mt) * d,
                   even(m->g->nb, nt) * d, even(m->g->kb, kt) * d);
}

/* The levers that every kernel has. */
static void common(menu *m) {
  gm_offer_buffers(&m->base);
  gm_offer_banks(&m->base, m->config);
  gm_offer_widths(&m->base, m->config->dim, gm_widest_load(m->config) * m->config->dim,
                  gm_widest_store(m->config, m->g) * m->config->dim);
  gm_offer_overwrite(&m->base);
  gm_offer_prefetch(&m->base);
  gm_offer_spread(&m->base, m->plan->spread_loads > 0, m->plan->spread_stores > 0);
}

tw_status gm_gemm_steps(const gm_config *config, const tw_problem *problem, const tw_schedule *schedule, tw_menu *out,
                        tw_error *error) {
  static void (*const levers[])(menu *) = {pipeline, tiles, order, hold, common, loops,        unroll,
                                           reuse,    fill,  hoist, peel, taper,  hardware_loop};
  static void (*const hardware_levers[])(menu *) = {tiles, order};
  *out = (tw_menu){0};
  gm_gemm g;
  gm_plan plan;
  gm_layout layout;
  tw_status status = gm_gemm_from(config, problem, &g, error);
  if (status == TW_OK) status = gm_plan_from(config, &g, schedule, &plan, &layout, error);
  if (status != TW_OK) return status;
  menu m = {.config = config, .g = &g, .plan = &plan};
  m.base = (gm_menu){.try = try, .context = &m, .out = out};
  m.base.now = gm_plan_predict(config, &g, &plan, &layout);
  m.base.peak = (double)g.m * g.n * g.k / config->dim / config->dim;
  if (schedule->n < TW_STEPS_MAX) {
    const bool hardware = plan.hardware_loop;
    const size_t n = hardware ? sizeof hardware_levers / sizeof *hardware_levers : sizeof levers / sizeof *levers;
    for (size_t i = 0; i < n; i++) (hardware ? hardware_levers : levers)[i](&m);
  }
  return gm_menu_finish(&m.base, error);
}
