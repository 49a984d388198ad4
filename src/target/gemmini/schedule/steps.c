/* steps.c - the menu: what may come next in a schedule, and what the model thinks of it.
 *
 * One function a lever proposes steps as text; a step stays on the menu if it is legal here and changes the plan. The
 * levers are those of the paper's menu (Autocomp, figure 16) in this machine's terms. */
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/strings.h"
#include "target/gemmini/schedule/plan.h"
#include "target/gemmini/schedule/family.h"

typedef struct menu {
  const gm_config *config;
  const gm_gemm *g;
  const gm_plan *plan;
  double now;          /* predicted for the plan as it is */
  tw_menu *out;
  size_t capacity;
  bool failed;         /* out of memory */
} menu;

static double peak_cycles(const menu *m)
{
  return (double)m->g->m * m->g->n * m->g->k / m->config->dim / m->config->dim;
}

static tw_menu_item *append(menu *m)
{
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

/* Puts a step on the menu if it is legal and changes something. */
static void offer(menu *m, const char *lever, const char *why, const char *format, ...) __attribute__((format(printf, 4, 5)));
static void offer(menu *m, const char *lever, const char *why, const char *format, ...)
{
  char step[TW_STEP_MAX];
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(step, sizeof step, format, arguments);
  va_end(arguments);
  gm_plan plan = *m->plan;
  gm_layout layout;
  if (gm_plan_step(m->config, m->g, step, &plan, NULL) != TW_OK || memcmp(&plan, m->plan, sizeof plan) == 0 ||
      gm_plan_layout(m->config, m->g, &plan, &layout, NULL) != TW_OK)
    return;
  const double cycles = gm_plan_predict(m->config, m->g, &plan, &layout);
  tw_menu_item *item = append(m);
  if (!item)
    return;
  memset(item, 0, sizeof *item);
  snprintf(item->step, sizeof item->step, "%s", step);
  snprintf(item->lever, sizeof item->lever, "%s", lever);
  snprintf(item->why, sizeof item->why, "%s; model: %.1f%% of peak, now %.1f%%", why, 100 * peak_cycles(m) / cycles,
           100 * peak_cycles(m) / m->now);
  item->predicted_cost = cycles;
}

/* The tile nearest to `tile` blocks that cuts `blocks` evenly: no small tile is left at the end. */
static int even(int blocks, int tile)
{
  return gm_ceil_div(blocks, gm_ceil_div(blocks, tile));
}

static void tiles(menu *m)
{
  static const char why[] = "larger tiles load less for each pair, as far as scratchpad and accumulator hold them";
  const int d = m->config->dim, m0 = m->plan->tile_m * d, n0 = m->plan->tile_n * d, k0 = m->plan->tile_k * d;
  for (int mt = 1; mt <= 32; mt *= 2)
    for (int nt = 1; nt <= 32; nt *= 2)
      for (int kt = 1; kt <= 32; kt *= 2)
        if (nt >= gm_min(4, m->g->nb) && kt >= gm_min(4, m->g->kb))
          offer(m, "tile", why, "tile m=%d n=%d k=%d", even(m->g->mb, mt) * d, even(m->g->nb, nt) * d, even(m->g->kb, kt) * d);
  offer(m, "tile", why, "tile m=%d n=%d k=%d", m0, n0, m->g->kb * d);
  offer(m, "tile", why, "tile m=%d n=%d k=%d", m0, m->g->nb * d, k0);
}

static void order(menu *m)
{
  offer(m, "loop order", "the operand of the outer loop stays while the other streams", "order %s", m->plan->outer_is_i ? "ji" : "ij");
}

static void hold(menu *m)
{
  static const char whole[] = "the whole matrix is loaded once and stays", panel[] = "a panel stays while the inner tile loop runs";
  const bool i = m->plan->outer_is_i;
  offer(m, "hold", whole, "hold b=whole");
  offer(m, "hold", whole, "hold a=whole");
  offer(m, "hold", panel, "hold %s=panel", i ? "a" : "b");
  offer(m, "hold", "one panel stays, the other operand is loaded once", "hold %s=panel %s=whole", i ? "a" : "b", i ? "b" : "a");
  offer(m, "hold", "neither stays: scratchpad for larger chunks", "hold a=stream b=stream");
}

static void buffers(menu *m)
{
  static const char why[] = "while one buffer is read the other is loaded";
  offer(m, "buffers", why, "buffers a=2");
  offer(m, "buffers", why, "buffers b=2");
  offer(m, "buffers", why, "buffers a=2 b=2");
  offer(m, "buffers", "a tile is stored while the next one is computed", "buffers c=2");
  offer(m, "buffers", "room to load two steps ahead", "buffers a=3 b=3");
  offer(m, "buffers", "one buffer leaves room for larger tiles", "buffers a=1 b=1 c=1");
}

static void banks(menu *m)
{
  static const char why[] = "a bank has one port: A, B and what is being loaded in different banks";
  const int last = m->config->spad_banks - 1;
  if (last < 1)
    return;
  const char *c = m->config->acc_banks > 1 ? " c=0,1" : "";
  offer(m, "banks", why, "banks a=0 b=1%s", c);
  if (last < 3)
    return;
  offer(m, "banks", why, "banks a=0,2 b=1,3%s", c);
  offer(m, "banks", "A across three banks, B in one", "banks a=0,1,2 b=3%s", c);
  offer(m, "banks", "B across three banks, A in one", "banks a=3 b=0,1,2%s", c);
  offer(m, "banks", "A across two banks, B in one", "banks a=0,1 b=2%s", c);
  offer(m, "banks", "B across two banks, A in one", "banks a=0 b=1,2%s", c);
}

static void widths(menu *m)
{
  const int load = gm_widest_load(m->config) * m->config->dim, store = gm_widest_store(m->config, m->g) * m->config->dim;
  offer(m, "width", "wide mvouts write whole lines, which the L2 need not read first", "width c=%d", store);
  offer(m, "width", "wide mvins move a row of blocks with one command", "width a=%d b=%d", load, load);
  offer(m, "width", "narrow mvouts come apart sooner", "width c=%d", m->config->dim);
  offer(m, "width", "narrow mvins arrive sooner", "width a=%d b=%d", load / 2, load / 2);
}

static void overwrite(menu *m)
{
  offer(m, "overwrite", "the first step along k overwrites the accumulator: no zeros to move in", "overwrite");
}

static void prefetch(menu *m)
{
  offer(m, "prefetch", "loads one step ahead of their use are hidden behind the pairs", "prefetch 1");
  offer(m, "prefetch", "two steps ahead hide longer waits", "prefetch 2");
}

static void spread(menu *m)
{
  static const char why[] = "loads and stores stand among the pairs, so that no queue fills and blocks the array";
  for (int pairs = 4; pairs <= 64; pairs *= 2) {
    if (m->plan->spread_stores)
      offer(m, "spread", why, "spread loads=%d", pairs);
    if (m->plan->spread_loads)
      offer(m, "spread", why, "spread stores=%d", pairs);
    offer(m, "spread", why, "spread loads=%d stores=%d", pairs, pairs);
  }
}

static void loops(menu *m)
{
  static const char *const orders[] = { "ijk", "ikj", "jik", "jki", "kij", "kji" };
  static const char why[] = "the order of pairs decides what is needed first, and what is complete first";
  for (size_t i = 0; i < sizeof orders / sizeof *orders; i++)
    offer(m, "loops", why, "loops %s", orders[i]);
}

static void unroll(menu *m)
{
  static const char *const orders[] = { "ijk", "ikj", "jik", "jki", "kij", "kji" };
  static const char why[] = "unrolled pairs cost the core two commands and few additions; but code is fetched cold once";
  for (int n = 0; n <= 3; n++)
    offer(m, "unroll", why, "unroll %d", n);
  for (size_t i = 0; i < sizeof orders / sizeof *orders; i++)
    for (int n = 1; n <= 2; n++)
      offer(m, "unroll", why, "unroll %d %s", n, orders[i]);
}

static void reuse(menu *m)
{
  offer(m, "weight reuse", "B stays in the array while i runs: fewer reads of its bank", "reuse weights");
}

static void hoist(menu *m)
{
  offer(m, "hoist", "configuration once, not for every tile", "hoist configs");
  offer(m, "hoist", "operands are made once; a pair adds small constants", "hoist addresses");
  offer(m, "hoist", "configuration and operands are made once", "hoist all");
}

static void taper(menu *m)
{
  offer(m, "taper", "lower tiles at the end leave less to store when the array is done", "taper");
}

static void pipeline(menu *m)
{
  static const char why[] = "two buffers of everything in banks of their own, loads a step ahead, loads and stores among the pairs";
  const int d = m->config->dim, blocks = gm_acc_rows(m->config) / 2 / d; /* of a tile of C */
  for (int pairs = 8; pairs <= 32; pairs *= 2)
    offer(m, "pipeline", why, "pipeline loads=%d stores=%d", pairs, pairs);
  for (int nt = 4; nt <= 32; nt *= 2)
    for (int mt = 1; mt <= blocks / nt; mt *= 2)
      for (int kt = 4; kt <= 16; kt *= 2)
        for (int pairs = 8; pairs <= 16; pairs *= 2)
          offer(m, "pipeline", why, "pipeline m=%d n=%d k=%d loads=%d stores=%d", even(m->g->mb, mt) * d, even(m->g->nb, nt) * d,
                even(m->g->kb, kt) * d, pairs, pairs);
}

static void hardware_loop(menu *m)
{
  if (!m->plan->overwrite && m->plan->prefetch == 0)
    offer(m, "hardware loop", "one command sequence for each tile; the machine unrolls it by itself", "hardware_loop");
}

static int by_prediction(const void *a, const void *b)
{
  const tw_menu_item *x = a, *y = b;
  if (x->predicted_cost != y->predicted_cost)
    return x->predicted_cost < y->predicted_cost ? -1 : 1;
  return strcmp(x->step, y->step);
}

/* The same plan may be reached by two steps: the first one stays. */
static void drop_repeated(tw_menu *out)
{
  size_t kept = 0;
  for (size_t i = 0; i < out->n; i++)
    if (kept == 0 || strcmp(out->item[i].step, out->item[kept - 1].step) != 0)
      out->item[kept++] = out->item[i];
  out->n = kept;
}

tw_status gm_gemm_steps(const gm_config *config, const tw_problem *problem, const tw_schedule *schedule, tw_menu *out, tw_error *error)
{
  static void (*const levers[])(menu *) = { pipeline, tiles, order, hold, buffers, banks, widths, overwrite, prefetch,
                                            spread, loops, unroll, reuse, hoist, taper, hardware_loop };
  static void (*const hardware_levers[])(menu *) = { tiles, order };
  *out = (tw_menu){0};
  gm_gemm g;
  gm_plan plan;
  gm_layout layout;
  tw_status status = gm_gemm_from(config, problem, &g, error);
  if (status == TW_OK)
    status = gm_plan_from(config, &g, schedule, &plan, &layout, error);
  if (status != TW_OK)
    return status;
  menu m = { .config = config, .g = &g, .plan = &plan, .out = out };
  m.now = gm_plan_predict(config, &g, &plan, &layout);
  if (schedule->n < TW_STEPS_MAX) {
    const bool hardware = plan.hardware_loop;
    const size_t n = hardware ? sizeof hardware_levers / sizeof *hardware_levers : sizeof levers / sizeof *levers;
    for (size_t i = 0; i < n; i++)
      (hardware ? hardware_levers : levers)[i](&m);
  }
  if (m.failed) {
    tw_menu_free(out);
    return tw_fail(error, TW_MISSING, "out of memory for the menu");
  }
  qsort(out->item, out->n, sizeof *out->item, by_prediction);
  drop_repeated(out);
  return TW_OK;
}
