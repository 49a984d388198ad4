/* steps.c - the menu for conv2d: what may come next in a schedule, and what the model thinks of it. */
#include <stdio.h>

#include "target/gemmini/schedule/conv/conv.h"
#include "target/gemmini/schedule/family.h"
#include "target/gemmini/schedule/menu.h"

typedef struct menu {
  gm_menu base;
  const gm_config *config;
  const gm_conv *v;
  const gm_conv_plan *plan;
} menu;

static bool try(void *context, const char *step, double *cycles) {
  const menu *m = context;
  gm_conv_plan plan = *m->plan;
  gm_conv_layout layout;
  if (gm_conv_step(m->config, m->v, step, &plan, NULL) != TW_OK || gm_conv_plan_same(&plan, m->plan) ||
      gm_conv_layout_of(m->config, m->v, &plan, &layout, NULL) != TW_OK)
    return false;
  *cycles = gm_conv_predict_plan(m->config, m->v, &plan, &layout);
  return true;
}

/* The tile nearest to `tile` that cuts `length` evenly: no small tile is left at the end. */
static int even(int length, int tile) { return gm_ceil_div(length, gm_max(1, gm_ceil_div(length, tile))); }

/* Columns of a tile: an image of one row is cut into full blocks of pixels. */
static int columns(const menu *m, int tile) {
  const int d = m->config->dim, q = even(m->v->out_w, tile);
  return m->v->out_h == 1 && q > d ? gm_min(m->v->out_w, gm_ceil_div(q, d) * d) : q;
}

/* Calls `offer` for tiles of pixels: whole rows where they fit, as many as the accumulator has room for. */
static void for_tiles(menu *m, int c_buffers, void (*offer)(menu *, int p, int q, int k)) {
  const gm_conv *v = m->v;
  const int d = m->config->dim, rows = gm_acc_rows(m->config) / c_buffers;
  for (int kt = 1; kt <= v->kb && kt <= 32; kt *= 2) {
    int last_q = 0;
    for (int qt = v->out_w;; qt = columns(m, gm_max(1, qt / 2))) {
      if (qt == last_q) break;
      last_q = qt;
      const int blocks = gm_ceil_div(v->pool ? qt * v->pool_stride : qt, d), most = rows / (d * blocks * kt);
      int last_p = 0;
      for (int pt = gm_min(v->out_h, gm_max(1, most / v->pool_stride)); pt >= 1; pt = pt * 2 / 3) {
        const int p = even(v->out_h, pt);
        if (p != last_p && most > 0) offer(m, p, qt, kt);
        last_p = p;
        if (pt == 1) break;
      }
      if (qt <= d) break;
    }
  }
}

static const char tile_why[] = "larger tiles load less for each pair, and keep their weights for longer in the array";

/* Are rows of results so short that pairs are low however they are cut? Such images are small. */
static bool low(const menu *m) {
  const int w = m->v->out_w, d = m->config->dim;
  return 2 * gm_ceil_div(w, gm_ceil_div(w, d)) <= d;
}

/* Small images may go several to a tile, which gives weights more pixels to stay for. */
static int most_images(const menu *m, int p, int q) {
  const int d = m->config->dim, rows = p * gm_ceil_div(q, d) * d;
  if (!low(m)) return 1;
  return p == m->v->out_h && q == m->v->out_w && !m->v->pool ? gm_min(m->v->n, gm_acc_rows(m->config) / rows) : 1;
}

/* "n=2 ", where tiles may have several images. */
static const char *images_text(const menu *m, int n, int most, char text[16]) {
  text[0] = '\0';
  if (most > 1 || m->plan->tile_n > 1) snprintf(text, 16, "n=%d ", n);
  return text;
}

static void offer_tile(menu *m, int p, int q, int k) {
  const int d = m->config->dim, most = most_images(m, p, q);
  char images[16];
  for (int n = 1; n <= most; n *= 2)
    for (int ct = 1; ct < 2 * m->v->cb; ct *= 2)
      gm_offer(&m->base, "tile", tile_why, "tile %sp=%d q=%d k=%d c=%d r=%d", images_text(m, n, most, images), p, q,
               even(m->v->kb, k) * d, even(m->v->cb, gm_min(ct, m->v->cb)) * d, m->v->r);
}

static void tiles(menu *m) {
  for_tiles(m, m->plan->c_buffers, offer_tile);
  gm_offer(&m->base, "tile", "steps of all rows of the kernel load each pixel once", "tile r=%d", m->v->r);
  gm_offer(&m->base, "tile", "steps of one row of the kernel take less room", "tile r=1");
}

static const char pipeline_why[] =
    "two buffers of everything in banks of their own, loads a step ahead, loads and stores among the pairs";

static void offer_pipeline(menu *m, int p, int q, int k) {
  const int d = m->config->dim, most = most_images(m, p, q);
  char images[16];
  for (int n = 1; n <= most; n *= 2)
    for (int ct = 1; ct < 2 * m->v->cb; ct *= 2)
      for (int pairs = 8; pairs <= 32; pairs *= 2)
        gm_offer(&m->base, "pipeline", pipeline_why, "pipeline %sp=%d q=%d k=%d c=%d r=%d loads=%d stores=%d",
                 images_text(m, n, most, images), p, q, even(m->v->kb, k) * d, even(m->v->cb, gm_min(ct, m->v->cb)) * d,
                 m->v->r, pairs, pairs);
}

static void pipeline(menu *m) {
  for (int pairs = 8; pairs <= 32; pairs *= 2)
    gm_offer(&m->base, "pipeline", pipeline_why, "pipeline loads=%d stores=%d", pairs, pairs);
  for_tiles(m, 2, offer_pipeline);
}

static const char unfold_why[] = "rows of results that are no whole blocks join: pairs are higher, but pixels are "
                                 "loaded once for each column of the kernel";

/* Tiles of whole images, or of an even part of the rows of one, whose results are one row. */
static void unfold(menu *m) {
  const gm_conv *v = m->v;
  const int d = m->config->dim, rows = gm_acc_rows(m->config) / 2;
  gm_offer(&m->base, "unfolding", unfold_why, "unfold %s", m->plan->unfold ? "nothing" : "columns");
  if (!low(m)) return; /* little to gain */
  int p = v->out_h;
  while (p > 1 && (v->out_h % p || gm_ceil_div(p * v->out_w, d) * d > rows)) p--;
  const int r = v->stride > 1 ? 1 : v->r, each = gm_ceil_div(p * v->out_w, d) * d;
  for (int n = 1; n <= (p == v->out_h ? v->n : 1) && n * each <= rows; n *= 2)
    for (int kt = 1; kt <= v->kb && n * each * kt <= rows; kt *= 2)
      for (int ct = 1; ct < 2 * v->cb; ct *= 2)
        for (int pairs = 8; pairs <= 16; pairs *= 2)
          gm_offer(&m->base, "unfolding", unfold_why,
                   "pipeline n=%d p=%d q=%d k=%d c=%d r=%d unfold=columns loads=%d stores=%d", n, p, v->out_w,
                   even(v->kb, kt) * d, even(v->cb, gm_min(ct, v->cb)) * d, r, pairs, pairs);
}

static void order(menu *m) {
  gm_offer(&m->base, "loop order", "the operand of the outer loop stays while the other streams", "order %s",
           m->plan->pixels_outer ? "kp" : "pk");
}

static void hold(menu *m) {
  static const char panel[] = "what the outer tile needs stays while the inner tile loop runs";
  const bool outer = m->plan->pixels_outer;
  gm_offer(&m->base, "hold", "all weights are loaded once and stay", "hold b=whole");
  gm_offer(&m->base, "hold", "all pixels are loaded once and stay", "hold a=whole");
  gm_offer(&m->base, "hold", panel, "hold %s=panel", outer ? "a" : "b");
  gm_offer(&m->base, "hold", "one panel stays, the other operand is loaded once", "hold %s=panel %s=whole",
           outer ? "a" : "b", outer ? "b" : "a");
  gm_offer(&m->base, "hold", "neither stays: scratchpad for larger chunks", "hold a=stream b=stream");
}

/* The levers that every kernel has. */
static void common(menu *m) {
  const int d = m->config->dim;
  gm_offer_buffers(&m->base);
  gm_offer_banks(&m->base, m->config);
  gm_offer_widths(&m->base, d, gm_widest_load(m->config) * d, gm_conv_widest_store(m->config, m->v) * d);
  gm_offer_overwrite(&m->base);
  gm_offer_prefetch(&m->base);
  gm_offer_spread(&m->base, m->plan->spread_loads > 0, m->plan->spread_stores > 0);
}

static void blocks(menu *m) {
  gm_offer(&m->base, "pixel blocks", "blocks of equal height: the last pair of a run is lower, but none is very low",
           "blocks even");
  gm_offer(&m->base, "pixel blocks",
           "full blocks, what is left over first: the pair that brings the next weights loses nothing", "blocks full");
}

/* As many columns of the kernel as fit, and as many as make blocks of equal height. */
static void pack(menu *m) {
  const gm_conv *v = m->v;
  const int most = gm_min(v->s, m->config->dim / gm_max(1, gm_min(v->c, m->config->dim)));
  static const char why[] =
      "channels are few: columns of the kernel share a block of weights, rows hold several pixels";
  gm_offer(&m->base, "packing", why, "pack s=%d", most);
  gm_offer(&m->base, "packing", why, "pack s=%d", even(v->s, most));
}

static void loops(menu *m) {
  static const char *const orders[] = {"rsck", "rskc", "crsk", "ckrs", "krsc", "kcrs"};
  for (size_t i = 0; i < sizeof orders / sizeof *orders; i++)
    gm_offer(&m->base, "loops", "the order of runs decides which weights and channels are needed first", "loops %s",
             orders[i]);
}

static void unroll(menu *m) {
  gm_offer(&m->base, "unroll", "pairs of a whole run as straight code: a few instructions less for each row",
           "unroll runs");
  gm_offer(&m->base, "unroll", "rows of pixels in a loop: less code to fetch", "unroll rows");
}

static void fill(menu *m) {
  if (!m->plan->overwrite)
    gm_offer(&m->base, "fill", "zeros or bias move in during the tile before, not between two tiles", "fill ahead");
}

static void hoist(menu *m) { gm_offer(&m->base, "hoist", "configuration once, not for every tile", "hoist configs"); }

static void turn(menu *m) {
  gm_offer(&m->base, "turn", "the array turns all weights once; not every block, at the price of low pairs",
           "turn weights");
}

static const char hardware_why[] =
    "one command a tile instead of two a pair; loads, pairs and stores overlap by themselves";

/* Tiles have half of both memories: the loop loads one while it computes another. Small images go several to a tile. */
static void offer_hardware_loop(menu *m, int p, int q, int k) {
  const int d = m->config->dim, whole = p == m->v->out_h && q == m->v->out_w;
  for (int n = 1; n <= (whole ? m->v->n : 1); n *= 2)
    for (int ct = 1; ct < 2 * m->v->cb; ct *= 2)
      gm_offer(&m->base, "hardware loop", hardware_why, "hardware_loop n=%d p=%d q=%d k=%d c=%d r=%d", n, p, q,
               even(m->v->kb, k) * d, even(m->v->cb, gm_min(ct, m->v->cb)) * d, m->v->r);
}

static void hardware_loop(menu *m) { for_tiles(m, 2, offer_hardware_loop); }

tw_status gm_conv2d_steps(const gm_config *config, const tw_problem *problem, const tw_schedule *schedule, tw_menu *out,
                          tw_error *error) {
  static void (*const levers[])(menu *) = {pipeline, tiles, order,  hold, common, blocks, pack,
                                           unfold,   loops, unroll, fill, hoist,  turn,   hardware_loop};
  static void (*const hardware_levers[])(menu *) = {hardware_loop};
  *out = (tw_menu){0};
  gm_conv v;
  gm_conv_plan plan;
  gm_conv_layout layout;
  tw_status status = gm_conv_from(config, problem, &v, error);
  if (status == TW_OK) status = gm_conv_replay(config, &v, schedule, &plan, &layout, error);
  if (status != TW_OK) return status;
  menu m = {.config = config, .v = &v, .plan = &plan};
  m.base = (gm_menu){.try = try, .context = &m, .out = out};
  m.base.now = gm_conv_predict_plan(config, &v, &plan, &layout);
  m.base.peak = problem->op->operations(problem) / config->dim / config->dim;
  if (schedule->n < TW_STEPS_MAX) {
    const bool hardware = plan.hardware_loop;
    const size_t n = hardware ? sizeof hardware_levers / sizeof *hardware_levers : sizeof levers / sizeof *levers;
    for (size_t i = 0; i < n; i++) (hardware ? hardware_levers : levers)[i](&m);
  }
  return gm_menu_finish(&m.base, error);
}
