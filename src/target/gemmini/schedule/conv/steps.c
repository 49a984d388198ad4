/* steps.c - the menu for conv2d: the possible next steps of a schedule, with the model's prediction. */
#include <stdio.h>

#include "target/gemmini/schedule/conv/conv.h"
#include "target/gemmini/schedule/family.h"

typedef struct menu {
  tw_menu_builder base;
  const gm_config *config;
  const gm_conv *v;
  const gm_conv_plan *plan;
} menu;

static double judge(const void *context, const void *plan) {
  const gm_conv_context *c = context;
  return gm_conv_layout_of(c, plan, NULL) == TW_OK ? gm_conv_predict_plan(c->levers.config, c->conv, plan, c->layout)
                                                   : 0;
}

/* The tile size nearest to `tile` that divides `length` evenly, so that no small tile remains. */
static int even(int length, int tile) { return gm_ceil_div(length, gm_max(1, gm_ceil_div(length, tile))); }

/* Columns of a tile: an image of one row is cut into full blocks of pixels. */
static int columns(const menu *m, int tile) {
  const int d = m->config->dim, q = even(m->v->out_w, tile);
  return m->v->out_h == 1 && q > d ? gm_min(m->v->out_w, gm_ceil_div(q, d) * d) : q;
}

/* Calls `offer` for tiles of pixels: whole rows where they fit, up to the accumulator's capacity. */
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

static const char tile_why[] = "larger tiles need fewer loads for each compute and keep weights longer in the array";

/* Are rows of results so short that pairs are low for any division? Such images are small. */
static bool low(const menu *m) {
  const int w = m->v->out_w, d = m->config->dim;
  return 2 * gm_ceil_div(w, gm_ceil_div(w, d)) <= d;
}

/* Small images may share a tile, so that weights are used for more pixels. */
static int most_images(const menu *m, int p, int q) {
  const int d = m->config->dim, rows = p * gm_ceil_div(q, d) * d;
  if (!low(m)) return 1;
  return p == m->v->out_h && q == m->v->out_w && !m->v->pool ? gm_min(m->v->n, gm_acc_rows(m->config) / rows) : 1;
}

/* "n=2 " if tiles may have several images. */
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
      tw_menu_offer(&m->base, "tile", tile_why, "tile %sp=%d q=%d k=%d c=%d r=%d", images_text(m, n, most, images), p,
                    q, even(m->v->kb, k) * d, even(m->v->cb, gm_min(ct, m->v->cb)) * d, m->v->r);
}

static void tiles(menu *m) {
  for_tiles(m, m->plan->levers.c_buffers, offer_tile);
  tw_menu_offer(&m->base, "tile", "steps of all kernel rows load each pixel once", "tile r=%d", m->v->r);
  tw_menu_offer(&m->base, "tile", "steps of one kernel row need less scratchpad", "tile r=1");
}

static const char pipeline_why[] =
    "double buffers in separate banks; loads one step early; loads and stores spread among the computes";

static void offer_pipeline(menu *m, int p, int q, int k) {
  const int d = m->config->dim, most = most_images(m, p, q);
  char images[16];
  for (int n = 1; n <= most; n *= 2)
    for (int ct = 1; ct < 2 * m->v->cb; ct *= 2)
      for (int pairs = 8; pairs <= 32; pairs *= 2)
        tw_menu_offer(&m->base, "pipeline", pipeline_why, "pipeline %sp=%d q=%d k=%d c=%d r=%d loads=%d stores=%d",
                      images_text(m, n, most, images), p, q, even(m->v->kb, k) * d,
                      even(m->v->cb, gm_min(ct, m->v->cb)) * d, m->v->r, pairs, pairs);
}

static void pipeline(menu *m) {
  for (int pairs = 8; pairs <= 32; pairs *= 2)
    tw_menu_offer(&m->base, "pipeline", pipeline_why, "pipeline loads=%d stores=%d", pairs, pairs);
  for_tiles(m, 2, offer_pipeline);
}

static const char unfold_why[] = "joined rows of results fill whole blocks: computes are higher, but pixels are "
                                 "loaded once for each kernel column";

/* Tiles of whole images, or of an even part of the rows of one image. Their results are one row. */
static void unfold(menu *m) {
  const gm_conv *v = m->v;
  const int d = m->config->dim, rows = gm_acc_rows(m->config) / 2;
  tw_menu_offer(&m->base, "unfolding", unfold_why, "unfold %s", m->plan->unfold ? "nothing" : "columns");
  if (!low(m)) return; /* little to gain */
  int p = v->out_h;
  while (p > 1 && (v->out_h % p || gm_ceil_div(p * v->out_w, d) * d > rows)) p--;
  const int r = v->stride > 1 ? 1 : v->r, each = gm_ceil_div(p * v->out_w, d) * d;
  for (int n = 1; n <= (p == v->out_h ? v->n : 1) && n * each <= rows; n *= 2)
    for (int kt = 1; kt <= v->kb && n * each * kt <= rows; kt *= 2)
      for (int ct = 1; ct < 2 * v->cb; ct *= 2)
        for (int pairs = 8; pairs <= 16; pairs *= 2)
          tw_menu_offer(&m->base, "unfolding", unfold_why,
                        "pipeline n=%d p=%d q=%d k=%d c=%d r=%d unfold=columns loads=%d stores=%d", n, p, v->out_w,
                        even(v->kb, kt) * d, even(v->cb, gm_min(ct, v->cb)) * d, r, pairs, pairs);
}

/* Dependences on the outer tile loop. */
static void order(menu *m) {
  static const char panel[] = "operands of the outer tile stay during the inner tile loop",
                    both[] = "one panel stays, the other operand is loaded once";
  const bool outer = m->plan->pixels_outer;
  tw_menu_offer(&m->base, "order", "the operand of the outer loop is reused; the other operand streams", "order %s",
                outer ? "kp" : "pk");
  tw_menu_offer(&m->base, "keep_resident", panel, "keep_resident %s=panel", outer ? "a" : "b");
  tw_menu_offer(&m->base, "keep_resident", both, "keep_resident %s=panel %s=whole", outer ? "a" : "b",
                outer ? "b" : "a");
}

/* As many columns of the kernel as fit, or as many as give blocks of equal height. */
static void pack(menu *m) {
  const gm_conv *v = m->v;
  if (!m->config->has_pixel_repeats) return;
  const int most = gm_min(v->s, m->config->dim / gm_max(1, gm_min(v->c, m->config->dim)));
  static const char why[] = "for few channels: kernel columns share a block of weights, and rows hold several pixels";
  tw_menu_offer(&m->base, "packing", why, "pack s=%d", most);
  tw_menu_offer(&m->base, "packing", why, "pack s=%d", even(v->s, most));
}

static void offer_others(menu *m) {
  static const tw_offer offers[] = {
      {"keep_resident", "keep_resident b=whole", "all weights are loaded once and stay"},
      {"keep_resident", "keep_resident a=whole", "all pixels are loaded once and stay"},
      {"keep_resident", "keep_resident a=stream b=stream",
       "no operand stays, which leaves scratchpad for larger tiles"},
      {"pixel blocks", "blocks even", "blocks of equal height: no compute is very low"},
      {"pixel blocks", "blocks full",
       "full blocks, with the remainder first: the compute that loads the next weights is full"},
      {"unroll", "unroll runs", "straight-line code for a whole run: fewer instructions for each row"},
      {"unroll", "unroll rows", "a loop over rows of pixels: less code to fetch"},
  };
  tw_menu_offer_all(&m->base, sizeof offers / sizeof *offers, offers);
  gm_offer_levers(&m->base, m->base.context, &m->plan->levers);
}

static const char hardware_why[] =
    "one command for a tile instead of two for each compute; the hardware overlaps loads, computes and stores";

/* Tiles use half of both memories: the loop loads one tile while it computes another. Small images share a tile. */
static void offer_hardware_loop(menu *m, int p, int q, int k) {
  const int d = m->config->dim, whole = p == m->v->out_h && q == m->v->out_w;
  for (int n = 1; n <= (whole ? m->v->n : 1); n *= 2)
    for (int ct = 1; ct < 2 * m->v->cb; ct *= 2)
      tw_menu_offer(&m->base, "hardware loop", hardware_why, "hardware_loop n=%d p=%d q=%d k=%d c=%d r=%d", n, p, q,
                    even(m->v->kb, k) * d, even(m->v->cb, gm_min(ct, m->v->cb)) * d, m->v->r);
}

static void hardware_loop(menu *m) {
  if (m->config->has_loop_conv) for_tiles(m, 2, offer_hardware_loop);
}

tw_status gm_conv2d_steps(const tw_target *target, const tw_problem *problem, const tw_schedule *schedule, tw_menu *out,
                          tw_error *error) {
  const gm_config *config = gm_config_of(target);
  *out = (tw_menu){0};
  gm_conv v;
  gm_conv_plan plan, next;
  gm_conv_layout layout;
  tw_status status = gm_conv_from(config, problem, &v, error);
  if (status == TW_OK) status = gm_conv_replay(config, &v, schedule, &plan, &layout, error);
  if (status != TW_OK) return status;
  gm_conv_context context = gm_conv_context_of(config, &v, &layout);
  menu m = {.base = {.language = &gm_conv_language,
                     .context = &context,
                     .schedule = schedule,
                     .now = &plan,
                     .next = &next,
                     .plan_size = sizeof plan,
                     .judge = judge,
                     .now_cost = gm_conv_predict_plan(config, &v, &plan, &layout)},
            .config = config,
            .v = &v,
            .plan = &plan};
  hardware_loop(&m);
  if (!plan.levers.hardware_loop) pipeline(&m), tiles(&m), order(&m), pack(&m), unfold(&m), offer_others(&m);
  return tw_menu_finish(&m.base, out, error);
}
