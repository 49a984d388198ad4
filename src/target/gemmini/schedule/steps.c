/* steps.c - the menu: the possible next steps of a schedule, with the model's prediction. The levers follow the
 * paper's menu (Autocomp, figure 16) for this machine. */
#include "target/gemmini/schedule/family.h"
#include "target/gemmini/schedule/plan.h"

typedef struct menu {
  tw_menu_builder base;
  const gm_config *config;
  const gm_gemm *g;
  const gm_plan *plan;
} menu;

static double judge(const void *context, const void *plan) {
  const gm_plan_context *c = context;
  return gm_plan_layout(c, plan, NULL) == TW_OK ? gm_plan_predict(c->levers.config, c->gemm, plan, c->layout) : 0;
}

/* A problem so small that the cycles before the first compute are several percent. */
static bool is_small(const gm_gemm *g) {
  enum { PAIRS = 1024 };
  return (int64_t)g->mb * g->nb * g->kb <= PAIRS;
}

/* Blocks of the shortest step along k: if the problem is small, the first step has little to load. */
static int least_k(const gm_gemm *g) {
  const int widest = 4; /* one mvin */
  return is_small(g) && g->kb > widest ? widest / 2 : widest;
}

/* The tile size nearest to `tile` blocks that divides `blocks` evenly, so that no small tile remains. */
static int even(int blocks, int tile) { return gm_ceil_div(blocks, gm_ceil_div(blocks, tile)); }

/* All sizes of a tile in powers of two, wide enough for one mvin. */
static void offer_sizes(menu *m, const char *lever, const char *why, const char *verb, int shortest) {
  const int d = m->config->dim;
  for (int mt = 1; mt <= 32; mt *= 2)
    for (int nt = 1; nt <= 32; nt *= 2)
      for (int kt = 1; kt <= 32; kt *= 2)
        if (nt >= gm_min(4, m->g->nb) && kt >= gm_min(shortest, m->g->kb))
          tw_menu_offer(&m->base, lever, why, "%s m=%d n=%d k=%d", verb, even(m->g->mb, mt) * d, even(m->g->nb, nt) * d,
                        even(m->g->kb, kt) * d);
}

static void tiles(menu *m) {
  static const char why[] =
      "larger tiles need fewer loads for each compute; scratchpad and accumulator limit their size";
  const int d = m->config->dim, m0 = m->plan->tile_m * d, n0 = m->plan->tile_n * d, k0 = m->plan->tile_k * d;
  offer_sizes(m, "tile", why, "tile", least_k(m->g));
  tw_menu_offer(&m->base, "tile", why, "tile m=%d n=%d k=%d", m0, n0, m->g->kb * d);
  tw_menu_offer(&m->base, "tile", why, "tile m=%d n=%d k=%d", m0, m->g->nb * d, k0);
}

/* Dependences on the outer tile loop. */
static void order(menu *m) {
  static const char panel[] = "a panel stays in the scratchpad during the inner tile loop",
                    both[] = "one panel stays, the other operand is loaded once";
  const bool i = m->plan->outer_is_i;
  tw_menu_offer(&m->base, "order", "the operand of the outer loop is reused; the other operand streams", "order %s",
                i ? "ji" : "ij");
  if (m->plan->levers.hardware_loop) return;
  tw_menu_offer(&m->base, "keep_resident", panel, "keep_resident %s=panel", i ? "a" : "b");
  tw_menu_offer(&m->base, "keep_resident", both, "keep_resident %s=panel %s=whole", i ? "a" : "b", i ? "b" : "a");
}

static void pipeline(menu *m) {
  static const char why[] =
      "double buffers in separate banks; loads one step early; loads and stores spread among the computes";
  const int d = m->config->dim, blocks = gm_acc_rows(m->config) / 2 / d; /* of a tile of C */
  for (int pairs = 8; pairs <= 32; pairs *= 2)
    tw_menu_offer(&m->base, "pipeline", why, "pipeline loads=%d stores=%d", pairs, pairs);
  for (int nt = 4; nt <= 32; nt *= 2)
    for (int mt = 1; mt <= blocks / nt; mt *= 2)
      for (int kt = least_k(m->g); kt <= 16; kt *= 2)
        for (int pairs = 8; pairs <= 16; pairs *= 2)
          tw_menu_offer(&m->base, "pipeline", why, "pipeline m=%d n=%d k=%d loads=%d stores=%d", even(m->g->mb, mt) * d,
                        even(m->g->nb, nt) * d, even(m->g->kb, kt) * d, pairs, pairs);
}

/* One tile may fill the whole accumulator. */
static void row_pipeline(menu *m) {
  static const char why[] =
      "rows of C are stored as they are completed, from accumulator banks in turn: one buffer of C "
      "suffices, and little is left to store at the end";
  const int d = m->config->dim, blocks = gm_acc_rows(m->config) / d;
  for (int nt = 4; nt <= 32; nt *= 2)
    for (int mt = 2; mt <= blocks / nt; mt *= 2)
      for (int kt = least_k(m->g); kt <= 8; kt *= 2)
        tw_menu_offer(&m->base, "row pipeline", why, "row_pipeline m=%d n=%d k=%d loads=8 stores=8",
                      even(m->g->mb, mt) * d, even(m->g->nb, nt) * d, even(m->g->kb, kt) * d);
}

/* Its tiles use half of the scratchpad and of the accumulator: it loads one tile while it computes another. */
static void hardware_loop(menu *m) {
  static const char why[] =
      "one command for a tile instead of two for each compute; the hardware overlaps loads, computes and stores";
  if (!m->config->has_loop_matmul) return;
  tw_menu_offer(&m->base, "hardware loop", why, "hardware_loop");
  offer_sizes(m, "hardware loop", why, "hardware_loop", 4);
}

static void offer_others(menu *m) {
  static const char whole[] = "the whole matrix is loaded once and stays",
                    reuse[] =
                        "B stays in the array while i runs: fewer reads of its bank; a transposed B is transposed once";
  static const tw_offer offers[] = {
      {"keep_resident", "keep_resident b=whole", whole},
      {"keep_resident", "keep_resident a=whole", whole},
      {"keep_resident", "keep_resident a=stream b=stream",
       "no operand stays, which leaves scratchpad for larger tiles"},
      {"weight reuse", "reuse weights", reuse},
      {"weight reuse", "reuse weights kji", reuse},
      {"weight reuse", "reuse weights jki", reuse},
  };
  tw_menu_offer_all(&m->base, sizeof offers / sizeof *offers, offers);
  if (is_small(m->g))
    tw_menu_offer(&m->base, "quick start", "less code and fewer loads before the first compute", "quick_start");
  gm_offer_levers(&m->base, m->base.context, &m->plan->levers);
}

tw_status gm_gemm_steps(const tw_target *target, const tw_problem *problem, const tw_schedule *schedule, tw_menu *out,
                        tw_error *error) {
  const gm_config *config = gm_config_of(target);
  *out = (tw_menu){0};
  gm_gemm g;
  gm_plan plan, next;
  gm_layout layout;
  tw_status status = gm_gemm_from(config, problem, &g, error);
  if (status == TW_OK) status = gm_plan_from(config, &g, schedule, &plan, &layout, error);
  if (status != TW_OK) return status;
  gm_plan_context context = gm_plan_context_of(config, &g, &layout);
  menu m = {.base = {.language = &gm_plan_language,
                     .context = &context,
                     .schedule = schedule,
                     .now = &plan,
                     .next = &next,
                     .plan_size = sizeof plan,
                     .judge = judge,
                     .now_cost = gm_plan_predict(config, &g, &plan, &layout)},
            .config = config,
            .g = &g,
            .plan = &plan};
  tiles(&m);
  order(&m);
  if (!plan.levers.hardware_loop) offer_others(&m), hardware_loop(&m);
  /* the two exclude each other: the later one would undo the steps after the earlier one */
  if (!plan.levers.hardware_loop && !plan.levers.early_stores) pipeline(&m);
  if (!plan.levers.hardware_loop && (plan.levers.early_stores || plan.levers.prefetch == 0)) row_pipeline(&m);
  return tw_menu_finish(&m.base, out, error);
}
