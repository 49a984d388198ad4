/* plan.c - replays the steps of a schedule.
 *
 *   tile m=128 n=64 k=64        elements; clipped to the problem, rounded up to whole blocks
 *   order ij|ji                 which tile loop is outside
 *   hold, buffers, banks, width, overwrite, prefetch, spread: see words.h
 *   loops kij                   order of the loops inside a step
 *   unroll 2                    innermost loops that are unrolled; 'unroll 2 ikj' sets their order too
 *   reuse weights               B stays in the array while i runs; 'reuse weights kji' sets the order of the loops too
 *   fill ahead                  zeros or bias move in during the tile before, behind the stores
 *   hoist configs|addresses|all
 *   peel first|last|both        the first, the last step along k has code of its own: the first overwrites without
 *                               asking, in the last rows of blocks are stored as they are completed
 *   taper                       the last tiles halve in height
 *   pipeline m=128 n=64 k=64 loads=16 stores=16
 *                               two buffers of everything in banks of their own, loads one step ahead, loads and stores
 *                               spread, in tiles small enough for that
 *   hardware_loop m= n= k=      gemmini_loop_ws */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "target/gemmini/schedule/plan.h"
#include "target/gemmini/schedule/words.h"

bool gm_plan_same(const gm_plan *x, const gm_plan *y) {
  return x->tile_m == y->tile_m && x->tile_n == y->tile_n && x->tile_k == y->tile_k && x->outer_is_i == y->outer_is_i &&
         gm_operand_same(&x->a, &y->a) && gm_operand_same(&x->b, &y->b) && x->c_buffers == y->c_buffers &&
         x->c_split == y->c_split && x->store_width == y->store_width && x->overwrite == y->overwrite &&
         x->fill_ahead == y->fill_ahead && x->prefetch == y->prefetch && x->spread_loads == y->spread_loads &&
         x->spread_stores == y->spread_stores && strcmp(x->loops, y->loops) == 0 && x->unroll == y->unroll &&
         x->reuse_weights == y->reuse_weights && x->hoist_configs == y->hoist_configs &&
         x->hoist_addresses == y->hoist_addresses && x->peel_first == y->peel_first && x->peel_last == y->peel_last &&
         x->taper == y->taper && x->hardware_loop == y->hardware_loop;
}

void gm_plan_plain(const gm_config *config, const gm_gemm *g, gm_plan *plan) {
  const int wide = gm_widest_load(config);
  *plan = (gm_plan){
      .tile_m = 1,
      .tile_n = gm_min(wide, g->nb),
      .tile_k = gm_min(wide, g->kb),
      .outer_is_i = true,
      .a = {.hold = GM_STREAM, .buffers = 1, .width = wide},
      .b = {.hold = GM_STREAM, .buffers = 1, .width = wide},
      .c_buffers = 1,
      .store_width = 1,
      .loops = "kij",
  };
}

typedef struct context {
  const gm_config *config;
  const gm_gemm *gemm;
  const gm_words *words;
  gm_levers levers;
  gm_plan *plan;
} context;

static bool set_blocks(const context *c, const char *text, int most, int *out) {
  return gm_word_blocks(text, c->config->dim, most, out);
}

/* m=, n= or k= */
static bool set_tile(const context *c, const char *key, const char *value) {
  if (strcmp(key, "m") == 0) return set_blocks(c, value, c->gemm->mb, &c->plan->tile_m);
  if (strcmp(key, "n") == 0) return set_blocks(c, value, c->gemm->nb, &c->plan->tile_n);
  return strcmp(key, "k") == 0 && set_blocks(c, value, c->gemm->kb, &c->plan->tile_k);
}

static bool do_tile(const context *c) {
  const gm_words *w = c->words;
  for (int i = 0; i < w->n; i++)
    if (!set_tile(c, w->key[i], w->value[i])) return false;
  return w->n > 0;
}

static bool do_order(const context *c) {
  const gm_words *w = c->words;
  if (!gm_words_single(w) || (strcmp(w->key[0], "ij") != 0 && strcmp(w->key[0], "ji") != 0)) return false;
  c->plan->outer_is_i = w->key[0][0] == 'i';
  /* What was held along the old outer loop cannot be held along the new one. */
  gm_operand_plan *inner = c->plan->outer_is_i ? &c->plan->b : &c->plan->a;
  if (inner->hold == GM_PANEL) inner->hold = GM_STREAM;
  return true;
}

static bool set_loops(gm_plan *plan, const char *loops) {
  if (strlen(loops) != 3 || !strchr(loops, 'i') || !strchr(loops, 'j') || !strchr(loops, 'k')) return false;
  memcpy(plan->loops, loops, 4);
  if (loops[2] != 'i') plan->reuse_weights = false;
  return true;
}

static bool do_loops(const context *c) { return gm_words_single(c->words) && set_loops(c->plan, c->words->key[0]); }

static bool do_unroll(const context *c) {
  const gm_words *w = c->words;
  if (w->n < 1 || w->n > 2 || w->value[0] || (w->n == 2 && (w->value[1] || !set_loops(c->plan, w->key[1]))))
    return false;
  return gm_word_number(w->key[0], 0, 3, &c->plan->unroll);
}

static bool do_reuse(const context *c) {
  const gm_words *w = c->words;
  if (w->n < 1 || w->n > 2 || w->value[0] || strcmp(w->key[0], "weights") != 0) return false;
  if (w->n == 2 && (w->value[1] || !set_loops(c->plan, w->key[1]))) return false;
  c->plan->reuse_weights = true;
  return true;
}

static bool do_fill(const context *c) {
  c->plan->fill_ahead = true;
  return gm_words_single(c->words) && strcmp(c->words->key[0], "ahead") == 0;
}

static bool do_hoist(const context *c) {
  if (!gm_words_single(c->words)) return false;
  const char *what = c->words->key[0];
  const bool all = strcmp(what, "all") == 0, configs = strcmp(what, "configs") == 0,
             addresses = strcmp(what, "addresses") == 0;
  c->plan->hoist_configs |= all || configs;
  c->plan->hoist_addresses |= all || addresses;
  return all || configs || addresses;
}

static bool do_peel(const context *c) {
  if (!gm_words_single(c->words)) return false;
  const char *what = c->words->key[0];
  const bool both = strcmp(what, "both") == 0, first = strcmp(what, "first") == 0, last = strcmp(what, "last") == 0;
  c->plan->peel_first |= both || first;
  c->plan->peel_last |= both || last;
  return both || first || last;
}

static bool do_taper(const context *c) {
  c->plan->taper = true;
  return c->words->n == 0;
}

/* Levers that only pay together: without a second buffer there is nothing to prefetch into, without prefetching a
 * second buffer is of little use, and loads into the bank that is being read cost what they save. */
static bool do_pipeline(const context *c) {
  gm_plan *p = c->plan;
  const int banks = c->config->spad_banks;
  if (banks < 4) return false;
  p->a.buffers = gm_max(p->a.buffers, 2);
  p->b.buffers = gm_max(p->b.buffers, 2);
  p->a.n_banks = p->b.n_banks = 2;
  for (int i = 0; i < 2; i++) {
    p->a.bank[i] = 2 * i;
    p->b.bank[i] = 2 * i + 1;
  }
  p->c_buffers = 2;
  p->c_split = c->config->acc_banks > 1;
  p->prefetch = 1;
  p->overwrite = c->gemm->bias == TW_GEMM_BIAS_NONE;
  p->fill_ahead = !p->overwrite;
  p->store_width = gm_widest_store(c->config, c->gemm);
  p->hoist_configs = p->hoist_addresses = true;
  p->spread_loads = p->spread_stores = 16;
  const gm_words *w = c->words;
  for (int i = 0; i < w->n; i++)
    if (!set_tile(c, w->key[i], w->value[i]) && !gm_levers_spread(&c->levers, w->key[i], w->value[i])) return false;
  return true;
}

static bool do_hardware_loop(const context *c) {
  const gm_words *w = c->words;
  c->plan->hardware_loop = true;
  for (int i = 0; i < w->n; i++)
    if (!set_tile(c, w->key[i], w->value[i])) return false;
  return true;
}

static const struct verb {
  const char *name;
  bool (*apply)(const context *);
  const char *usage;
} verbs[] = {
    {"tile", do_tile, "tile m=128 n=64 k=64"},
    {"order", do_order, "order ij, order ji"},
    {"loops", do_loops, "loops kij"},
    {"unroll", do_unroll, "unroll 2, unroll 2 ikj"},
    {"reuse", do_reuse, "reuse weights, reuse weights kji"},
    {"fill", do_fill, "fill ahead"},
    {"hoist", do_hoist, "hoist configs, hoist addresses, hoist all"},
    {"peel", do_peel, "peel first, peel last, peel both"},
    {"taper", do_taper, "taper"},
    {"pipeline", do_pipeline, "pipeline m=128 n=64 k=64 loads=16 stores=16 (needs four scratchpad banks)"},
    {"hardware_loop", do_hardware_loop, "hardware_loop"},
};

static gm_levers levers_of(const gm_config *config, const gm_gemm *gemm, gm_plan *p) {
  return (gm_levers){
      .dim = config->dim,
      .widest_load = gm_widest_load(config),
      .widest_store = gm_widest_store(config, gemm),
      .a = &p->a,
      .b = &p->b,
      .c_buffers = &p->c_buffers,
      .c_split = &p->c_split,
      .store_width = &p->store_width,
      .overwrite = &p->overwrite,
      .prefetch = &p->prefetch,
      .spread_loads = &p->spread_loads,
      .spread_stores = &p->spread_stores,
  };
}

tw_status gm_plan_step(const gm_config *config, const gm_gemm *gemm, const char *step, gm_plan *plan, tw_error *error) {
  gm_words w;
  const tw_status status = gm_words_split(step, &w, error);
  if (status != TW_OK) return status;
  const context c = {config, gemm, &w, levers_of(config, gemm, plan), plan};
  const char *usage = verbs[0].usage;
  bool known, good = gm_levers_step(&c.levers, &w, &known, &usage);
  for (size_t i = 0; i < sizeof verbs / sizeof *verbs && !known; i++)
    if (strcmp(w.verb, verbs[i].name) == 0) {
      known = true;
      usage = verbs[i].usage;
      good = verbs[i].apply(&c);
    }
  if (!known) return tw_fail(error, TW_USAGE, "step '%s': there is no such step for Gemmini; one is '%s'", step, usage);
  return good ? TW_OK : tw_fail(error, TW_USAGE, "step '%s' is malformed: write %s", step, usage);
}

tw_status gm_plan_from(const gm_config *config, const gm_gemm *gemm, const tw_schedule *schedule, gm_plan *plan,
                       gm_layout *layout, tw_error *error) {
  gm_plan_plain(config, gemm, plan);
  tw_status status = gm_plan_layout(config, gemm, plan, layout, error);
  for (size_t i = 0; i < schedule->n && status == TW_OK; i++) {
    status = gm_plan_step(config, gemm, schedule->step[i], plan, error);
    tw_error why = {0};
    if (status == TW_OK && (status = gm_plan_layout(config, gemm, plan, layout, &why)) != TW_OK)
      tw_fail(error, status, "step %zu, '%s', is not possible here: %s", i + 1, schedule->step[i], why.text);
  }
  return status;
}

char *gm_plan_print(const gm_config *config, const gm_plan *p, char *buffer, size_t size) {
  const int d = config->dim;
  if (p->hardware_loop)
    snprintf(buffer, size, "hardware loop over %d x %d x %d tiles (m x n x k), order %s", p->tile_m * d, p->tile_n * d,
             p->tile_k * d, p->outer_is_i ? "ij" : "ji");
  else
    snprintf(buffer, size,
             "%d x %d x %d tiles (m x n x k), order %s; A %s (%d), B %s (%d), C in %d buffer%s; loads %d step%s ahead",
             p->tile_m * d, p->tile_n * d, p->tile_k * d, p->outer_is_i ? "ij" : "ji", gm_hold_name(p->a.hold),
             p->a.buffers, gm_hold_name(p->b.hold), p->b.buffers, p->c_buffers, p->c_buffers == 1 ? "" : "s",
             p->prefetch, p->prefetch == 1 ? "" : "s");
  return buffer;
}
