/* plan.c - replays the steps of a schedule for conv2d.
 *
 *   tile p=2 q=56 k=64 c=64 r=3   rows and columns of the output, channels out and in, rows of the kernel in a step;
 *                                 clipped to the problem, channels rounded up to whole blocks
 *   tile n=2                      several images in a tile that has all of their pixels
 *   order pk|kp                   which tile loop is outside: pixels or channels k
 *   hold, buffers, banks, width, overwrite, prefetch, spread: see words.h
 *   blocks full|even              the blocks of pixels of a row: dim high, or of equal height
 *   pack s=5                      columns of the kernel that share a block, where channels are few; s=1: none do
 *   unfold columns                a plane of pixels for each column of the kernel: rows of a tile join to one
 *   fill ahead                    zeros or bias move in during the tile before, behind the stores
 *   loops rsck                    order of the blocks of weights of a step
 *   unroll rows|runs              straight code for the pairs of a row of pixels, of a run
 *   hoist configs                 configuration once, not for every tile
 *   turn weights                  those of layout=krsc are turned once, before everything
 *   pipeline p=2 q=56 k=64 c=64 loads=16 stores=16
 *                                 two buffers of everything in banks of their own, loads one step ahead, loads and
 *                                 stores spread, in tiles small enough for that
 *   hardware_loop n=1 p=14 q=14 k=32 c=64 r=3
 *                                 the hardware loop in tiles of n images; no other lever but `tile` matters then */
#include <stdio.h>
#include <string.h>

#include "target/gemmini/schedule/conv/conv.h"
#include "target/gemmini/schedule/words.h"

bool gm_conv_plan_same(const gm_conv_plan *x, const gm_conv_plan *y) {
  return x->tile_p == y->tile_p && x->tile_q == y->tile_q && x->tile_k == y->tile_k && x->tile_c == y->tile_c &&
         x->tile_r == y->tile_r && x->pack == y->pack && x->unfold == y->unfold && x->pixels_outer == y->pixels_outer &&
         gm_operand_same(&x->a, &y->a) && gm_operand_same(&x->b, &y->b) && x->c_buffers == y->c_buffers &&
         x->c_split == y->c_split && x->store_width == y->store_width && x->overwrite == y->overwrite &&
         x->fill_ahead == y->fill_ahead && x->prefetch == y->prefetch && x->spread_loads == y->spread_loads &&
         x->spread_stores == y->spread_stores && x->even == y->even && strcmp(x->loops, y->loops) == 0 &&
         x->unroll == y->unroll && x->hoist_configs == y->hoist_configs && x->turn == y->turn &&
         x->hardware_loop == y->hardware_loop && x->tile_n == y->tile_n;
}

/* The largest chunks of one row of the kernel that fit half of the scratchpad, four blocks of channels at most. */
void gm_conv_plain(const gm_config *config, const gm_conv *v, gm_conv_plan *plan) {
  const int wide = gm_widest_load(config), half = gm_spad_rows(config) / 2, d = config->dim;
  *plan = (gm_conv_plan){
      .tile_p = 1,
      .tile_q = gm_min(v->out_w, d),
      .tile_k = gm_min(wide, v->kb),
      .tile_c = gm_min(wide, v->cb),
      .tile_r = 1,
      .pack = 1,
      .pixels_outer = true,
      .a = {.hold = GM_STREAM, .buffers = 1, .width = wide},
      .b = {.hold = GM_STREAM, .buffers = 1, .width = wide},
      .c_buffers = 1,
      .store_width = 1,
      .loops = "rsck",
      .unroll = 1,
      .tile_n = 1,
  };
  if (v->pool) plan->tile_q = gm_min(v->out_w, 4), plan->tile_k = 1;
  const int columns = v->pool ? gm_min(v->q, (plan->tile_q - 1) * v->pool_stride + v->pool) : plan->tile_q;
  const int rows = v->pool ? v->pool : 1;
  while (plan->tile_c > 1 && (rows * ((columns - 1) * v->stride + v->s) * plan->tile_c > half ||
                              v->s * plan->tile_c * plan->tile_k * d > half))
    plan->tile_c--;
}

typedef struct context {
  const gm_config *config;
  const gm_conv *conv;
  const gm_words *words;
  gm_levers levers;
  gm_conv_plan *plan;
} context;

static bool set_pixels(const char *text, int most, int *out) {
  int value;
  if (!gm_word_number(text, 1, 1 << 24, &value)) return false;
  *out = gm_min(value, most);
  return true;
}

static bool set_unfolding(const char *what, gm_conv_plan *p) {
  p->unfold = strcmp(what, "columns") == 0;
  return p->unfold || strcmp(what, "nothing") == 0;
}

static bool set_tile(const context *c, const char *key, const char *value) {
  const gm_conv *v = c->conv;
  gm_conv_plan *p = c->plan;
  if (strcmp(key, "unfold") == 0) return set_unfolding(value, p);
  if (strlen(key) != 1) return false;
  switch (*key) {
  case 'n': return set_pixels(value, v->n, &p->tile_n);
  case 'p': return set_pixels(value, v->out_h, &p->tile_p);
  case 'q': return set_pixels(value, v->out_w, &p->tile_q);
  case 'r': return set_pixels(value, v->r, &p->tile_r);
  case 'k': return gm_word_blocks(value, c->config->dim, v->kb, &p->tile_k);
  case 'c': return gm_word_blocks(value, c->config->dim, v->cb, &p->tile_c);
  default: return false;
  }
}

static bool do_tile(const context *c) {
  const gm_words *w = c->words;
  for (int i = 0; i < w->n; i++)
    if (!set_tile(c, w->key[i], w->value[i])) return false;
  return w->n > 0;
}

/* The index of the step's only word in a list, or -1. */
static int one_of(const gm_words *w, const char *const words[], int n) {
  for (int i = 0; gm_words_single(w) && i < n; i++)
    if (strcmp(w->key[0], words[i]) == 0) return i;
  return -1;
}

static bool do_order(const context *c) {
  static const char *const orders[] = {"kp", "pk"};
  const int order = one_of(c->words, orders, 2);
  if (order < 0) return false;
  c->plan->pixels_outer = order == 1;
  /* What was held along the old outer loop cannot be held along the new one. */
  gm_operand_plan *inner = c->plan->pixels_outer ? &c->plan->b : &c->plan->a;
  if (inner->hold == GM_PANEL) inner->hold = GM_STREAM;
  return true;
}

static bool do_blocks(const context *c) {
  static const char *const how[] = {"full", "even"};
  const int i = one_of(c->words, how, 2);
  c->plan->even = i == 1;
  return i >= 0;
}

static bool do_pack(const context *c) {
  const gm_words *w = c->words;
  return w->n == 1 && strcmp(w->key[0], "s") == 0 && set_pixels(w->value[0], c->conv->s, &c->plan->pack);
}

static bool do_unfold(const context *c) {
  return gm_words_single(c->words) && set_unfolding(c->words->key[0], c->plan);
}

static bool do_fill(const context *c) {
  static const char *const when[] = {"ahead"};
  c->plan->fill_ahead = true;
  return one_of(c->words, when, 1) == 0;
}

static bool do_loops(const context *c) {
  const char *loops = c->words->key[0];
  if (!gm_words_single(c->words) || strlen(loops) != 4) return false;
  for (const char *x = "rsck"; *x; x++)
    if (!strchr(loops, *x)) return false;
  memcpy(c->plan->loops, loops, 5);
  return true;
}

static bool do_unroll(const context *c) {
  static const char *const how[] = {"rows", "runs"};
  const int i = one_of(c->words, how, 2);
  c->plan->unroll = i + 1;
  return i >= 0;
}

static bool do_hoist(const context *c) {
  static const char *const what[] = {"configs"};
  c->plan->hoist_configs = true;
  return one_of(c->words, what, 1) == 0;
}

/* Levers that only pay together: see the same step for gemm. */
static bool do_pipeline(const context *c) {
  gm_conv_plan *p = c->plan;
  if (c->config->spad_banks < 4) return false;
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
  p->overwrite = !c->conv->bias;
  p->fill_ahead = !p->overwrite;
  p->store_width = gm_conv_widest_store(c->config, c->conv);
  p->hoist_configs = true;
  p->spread_loads = p->spread_stores = 16;
  const gm_words *w = c->words;
  for (int i = 0; i < w->n; i++)
    if (!set_tile(c, w->key[i], w->value[i]) && !gm_levers_spread(&c->levers, w->key[i], w->value[i])) return false;
  return true;
}

static bool do_turn(const context *c) {
  static const char *const what[] = {"weights"};
  c->plan->turn = true;
  return one_of(c->words, what, 1) == 0;
}

static bool do_hardware_loop(const context *c) {
  const gm_words *w = c->words;
  c->plan->hardware_loop = true;
  for (int i = 0; i < w->n; i++)
    if (!w->value[i] || !set_tile(c, w->key[i], w->value[i])) return false;
  return true;
}

static const struct verb {
  const char *name;
  bool (*apply)(const context *);
  const char *usage;
} verbs[] = {
    {"tile", do_tile, "tile n=1 p=2 q=56 k=64 c=64 r=3 unfold=columns"},
    {"order", do_order, "order pk, order kp"},
    {"blocks", do_blocks, "blocks full, blocks even"},
    {"pack", do_pack, "pack s=5"},
    {"unfold", do_unfold, "unfold columns, unfold nothing"},
    {"fill", do_fill, "fill ahead"},
    {"loops", do_loops, "loops rsck"},
    {"unroll", do_unroll, "unroll rows, unroll runs"},
    {"hoist", do_hoist, "hoist configs"},
    {"pipeline", do_pipeline,
     "pipeline n=1 p=2 q=56 k=64 c=64 r=3 unfold=columns loads=16 stores=16 (needs four scratchpad banks)"},
    {"turn", do_turn, "turn weights"},
    {"hardware_loop", do_hardware_loop, "hardware_loop n=1 p=14 q=14 k=32 c=64 r=3"},
};

static gm_levers levers_of(const gm_config *config, const gm_conv *v, gm_conv_plan *p) {
  return (gm_levers){
      .dim = config->dim,
      .widest_load = gm_widest_load(config),
      .widest_store = gm_conv_widest_store(config, v),
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

tw_status gm_conv_step(const gm_config *config, const gm_conv *v, const char *step, gm_conv_plan *plan,
                       tw_error *error) {
  gm_words w;
  const tw_status status = gm_words_split(step, &w, error);
  if (status != TW_OK) return status;
  const context c = {config, v, &w, levers_of(config, v, plan), plan};
  const char *usage = verbs[0].usage;
  bool known, good = gm_levers_step(&c.levers, &w, &known, &usage);
  for (size_t i = 0; i < sizeof verbs / sizeof *verbs && !known; i++)
    if (strcmp(w.verb, verbs[i].name) == 0) {
      known = true;
      usage = verbs[i].usage;
      good = verbs[i].apply(&c);
    }
  if (!known)
    return tw_fail(error, TW_USAGE, "step '%s': there is no such step for conv2d on Gemmini; one is '%s'", step, usage);
  return good ? TW_OK : tw_fail(error, TW_USAGE, "step '%s' is malformed: write %s", step, usage);
}

tw_status gm_conv_replay(const gm_config *config, const gm_conv *v, const tw_schedule *schedule, gm_conv_plan *plan,
                         gm_conv_layout *layout, tw_error *error) {
  gm_conv_plain(config, v, plan);
  tw_status status = gm_conv_layout_of(config, v, plan, layout, error);
  for (size_t i = 0; i < schedule->n && status == TW_OK; i++) {
    status = gm_conv_step(config, v, schedule->step[i], plan, error);
    tw_error why = {0};
    if (status == TW_OK && (status = gm_conv_layout_of(config, v, plan, layout, &why)) != TW_OK)
      tw_fail(error, status, "step %zu, '%s', is not possible here: %s", i + 1, schedule->step[i], why.text);
  }
  return status;
}

char *gm_conv_print(const gm_config *config, const gm_conv_plan *p, char *buffer, size_t size) {
  const int d = config->dim;
  if (p->hardware_loop) {
    snprintf(buffer, size,
             "hardware loop over tiles of %d image%s x %d x %d pixels x %d channels, steps of %d channels x %d rows of "
             "the kernel",
             p->tile_n, p->tile_n == 1 ? "" : "s", p->tile_p, p->tile_q, p->tile_k * d, p->tile_c * d, p->tile_r);
    return buffer;
  }
  char images[32] = "";
  if (p->tile_n > 1) snprintf(images, sizeof images, "%d images x ", p->tile_n);
  snprintf(
      buffer, size,
      "tiles of %s%d x %d pixels x %d channels, steps of %d channels x %d rows of the kernel, order %s; A %s (%d), "
      "B %s (%d), C in %d buffer%s; loads %d step%s ahead",
      images, p->tile_p, p->tile_q, p->tile_k * d, p->tile_c * d, p->tile_r, p->pixels_outer ? "pk" : "kp",
      gm_hold_name(p->a.hold), p->a.buffers, gm_hold_name(p->b.hold), p->b.buffers, p->c_buffers,
      p->c_buffers == 1 ? "" : "s", p->prefetch, p->prefetch == 1 ? "" : "s");
  return buffer;
}
