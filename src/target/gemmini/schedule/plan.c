/* plan.c - replays the steps of a schedule.
 *
 *   tile m=128 n=64 k=64        elements; clipped to the problem, rounded up to whole blocks
 *   order ij|ji                 which tile loop is outside
 *   hold a=stream|panel|whole b=...
 *   buffers a=2 b=2 c=2
 *   banks a=0,2 b=1,3 c=0,1     c=0,1: the two accumulator buffers in different banks; c=0: side by side
 *   width a=64 b=64 c=64        columns of an mvin of A, of B, of an mvout
 *   overwrite                   the first step along k overwrites C: no fill with zeros
 *   prefetch 1                  steps that loads are ahead of their use
 *   spread loads=16 stores=16   pairs between two loads, two stores
 *   loops kij                   order of the loops inside a step
 *   unroll 2                    innermost loops that are unrolled; 'unroll 2 ikj' sets their order too
 *   reuse weights               B stays in the array while i runs
 *   hoist configs|addresses|all
 *   taper                       the last tiles halve in height
 *   pipeline m=128 n=64 k=64 loads=16 stores=16
 *                               two buffers of everything in banks of their own, loads one step ahead, loads and stores
 *                               spread, in tiles small enough for that
 *   hardware_loop               gemmini_loop_ws
 *
 * A step changes fields of the plan and nothing else, so that any order of steps that stays legal gives the same
 * plan as the last value of each field. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "target/gemmini/schedule/plan.h"

void gm_plan_plain(const gm_config *config, const gm_gemm *g, gm_plan *plan)
{
  const int wide = gm_widest_load(config);
  *plan = (gm_plan){
    .tile_m = 1, .tile_n = gm_min(wide, g->nb), .tile_k = gm_min(wide, g->kb),
    .outer_is_i = true,
    .a = { .hold = GM_STREAM, .buffers = 1, .width = wide },
    .b = { .hold = GM_STREAM, .buffers = 1, .width = wide },
    .c_buffers = 1, .store_width = 1,
    .loops = "kij",
  };
}

/* The words of a step, parsed: verb, then bare words and key=value pairs. */
typedef struct words {
  char text[TW_STEP_MAX];
  const char *verb;
  int n;
  const char *key[8], *value[8]; /* value NULL: a bare word */
} words;

static tw_status split(const char *step, words *w, tw_error *error)
{
  *w = (words){0};
  snprintf(w->text, sizeof w->text, "%s", step);
  char *rest = w->text;
  w->verb = strsep(&rest, " ");
  for (char *word; (word = strsep(&rest, " "));) {
    if (w->n == 8)
      return tw_fail(error, TW_USAGE, "step '%s': too many arguments", step);
    char *equals = strchr(word, '=');
    if (equals)
      *equals++ = '\0';
    w->key[w->n] = word;
    w->value[w->n++] = equals;
  }
  return TW_OK;
}

typedef struct context {
  const gm_config *config;
  const gm_gemm *gemm;
  const words *words;
  gm_plan *plan;
} context;

static bool number(const char *text, int min, int max, int *out)
{
  if (!text || *text < '0' || *text > '9')
    return false;
  char *end;
  const long value = strtol(text, &end, 10);
  if (*end || value < min || value > max)
    return false;
  *out = (int)value;
  return true;
}

static bool set_blocks(const context *c, const char *text, int most, int *out)
{
  int elements;
  if (!number(text, 1, 1 << 24, &elements))
    return false;
  *out = gm_min(gm_ceil_div(elements, c->config->dim), most);
  return true;
}

/* m=, n= or k= */
static bool set_tile(const context *c, const char *key, const char *value)
{
  if (strcmp(key, "m") == 0)
    return set_blocks(c, value, c->gemm->mb, &c->plan->tile_m);
  if (strcmp(key, "n") == 0)
    return set_blocks(c, value, c->gemm->nb, &c->plan->tile_n);
  return strcmp(key, "k") == 0 && set_blocks(c, value, c->gemm->kb, &c->plan->tile_k);
}

static bool do_tile(const context *c)
{
  const words *w = c->words;
  for (int i = 0; i < w->n; i++)
    if (!set_tile(c, w->key[i], w->value[i]))
      return false;
  return w->n > 0;
}

static bool one_bare_word(const words *w)
{
  return w->n == 1 && !w->value[0];
}

static bool do_order(const context *c)
{
  const words *w = c->words;
  if (!one_bare_word(w) || (strcmp(w->key[0], "ij") != 0 && strcmp(w->key[0], "ji") != 0))
    return false;
  c->plan->outer_is_i = w->key[0][0] == 'i';
  /* What was held along the old outer loop cannot be held along the new one. */
  gm_operand_plan *inner = c->plan->outer_is_i ? &c->plan->b : &c->plan->a;
  if (inner->hold == GM_PANEL)
    inner->hold = GM_STREAM;
  return true;
}

static gm_operand_plan *operand(const context *c, const char *key)
{
  return strcmp(key, "a") == 0 ? &c->plan->a : strcmp(key, "b") == 0 ? &c->plan->b : NULL;
}

static bool do_hold(const context *c)
{
  static const char *const how[] = { "stream", "panel", "whole" };
  const words *w = c->words;
  for (int i = 0; i < w->n; i++) {
    gm_operand_plan *p = operand(c, w->key[i]);
    int h = 0;
    while (p && w->value[i] && h < 3 && strcmp(w->value[i], how[h]) != 0)
      h++;
    if (!p || !w->value[i] || h == 3)
      return false;
    p->hold = (gm_hold)h;
  }
  return w->n > 0;
}

static bool do_buffers(const context *c)
{
  const words *w = c->words;
  for (int i = 0; i < w->n; i++) {
    gm_operand_plan *p = operand(c, w->key[i]);
    const bool is_c = strcmp(w->key[i], "c") == 0;
    if ((!p && !is_c) || !number(w->value[i], 1, is_c ? 2 : 3, p ? &p->buffers : &c->plan->c_buffers))
      return false;
  }
  return w->n > 0;
}

static bool bank_list(const char *text, int bank[GM_BANKS_MAX], int *n)
{
  char copy[TW_STEP_MAX];
  snprintf(copy, sizeof copy, "%s", text ? text : "");
  char *rest = copy;
  *n = 0;
  for (char *word; (word = strsep(&rest, ","));)
    if (*n == GM_BANKS_MAX || !number(word, 0, 255, &bank[(*n)++]))
      return false;
  for (int i = 2; i < *n; i++)
    if (bank[i] - bank[i - 1] != bank[1] - bank[0])
      return false;
  return *n == 1 || bank[0] != bank[1];
}

static bool do_banks(const context *c)
{
  const words *w = c->words;
  for (int i = 0; i < w->n; i++) {
    gm_operand_plan *p = operand(c, w->key[i]);
    int bank[GM_BANKS_MAX], n;
    if (!bank_list(w->value[i], p ? p->bank : bank, p ? &p->n_banks : &n))
      return false;
    if (!p && strcmp(w->key[i], "c") != 0)
      return false;
    if (!p)
      c->plan->c_split = n > 1;
  }
  return w->n > 0 && (c->plan->a.n_banks == 0) == (c->plan->b.n_banks == 0);
}

static bool do_width(const context *c)
{
  const words *w = c->words;
  for (int i = 0; i < w->n; i++) {
    gm_operand_plan *p = operand(c, w->key[i]);
    if (!p && strcmp(w->key[i], "c") != 0)
      return false;
    const int most = p ? gm_widest_load(c->config) : gm_widest_store(c->config, c->gemm);
    if (!set_blocks(c, w->value[i], most, p ? &p->width : &c->plan->store_width))
      return false;
  }
  return w->n > 0;
}

static bool do_overwrite(const context *c)
{
  c->plan->overwrite = true;
  return c->words->n == 0;
}

static bool do_prefetch(const context *c)
{
  return one_bare_word(c->words) && number(c->words->key[0], 0, 2, &c->plan->prefetch);
}

/* loads= or stores= */
static bool set_spread(const context *c, const char *key, const char *value)
{
  if (strcmp(key, "loads") == 0)
    return number(value, 0, 4096, &c->plan->spread_loads);
  return strcmp(key, "stores") == 0 && number(value, 0, 4096, &c->plan->spread_stores);
}

static bool do_spread(const context *c)
{
  const words *w = c->words;
  for (int i = 0; i < w->n; i++)
    if (!set_spread(c, w->key[i], w->value[i]))
      return false;
  return w->n > 0;
}

static bool set_loops(gm_plan *plan, const char *loops)
{
  if (strlen(loops) != 3 || !strchr(loops, 'i') || !strchr(loops, 'j') || !strchr(loops, 'k'))
    return false;
  memcpy(plan->loops, loops, 4);
  if (loops[2] != 'i')
    plan->reuse_weights = false;
  return true;
}

static bool do_loops(const context *c)
{
  return one_bare_word(c->words) && set_loops(c->plan, c->words->key[0]);
}

static bool do_unroll(const context *c)
{
  const words *w = c->words;
  if (w->n < 1 || w->n > 2 || w->value[0] || (w->n == 2 && (w->value[1] || !set_loops(c->plan, w->key[1]))))
    return false;
  return number(w->key[0], 0, 3, &c->plan->unroll);
}

static bool do_reuse(const context *c)
{
  c->plan->reuse_weights = true;
  return one_bare_word(c->words) && strcmp(c->words->key[0], "weights") == 0;
}

static bool do_hoist(const context *c)
{
  if (!one_bare_word(c->words))
    return false;
  const char *what = c->words->key[0];
  const bool all = strcmp(what, "all") == 0, configs = strcmp(what, "configs") == 0, addresses = strcmp(what, "addresses") == 0;
  c->plan->hoist_configs |= all || configs;
  c->plan->hoist_addresses |= all || addresses;
  return all || configs || addresses;
}

static bool do_taper(const context *c)
{
  c->plan->taper = true;
  return c->words->n == 0;
}

/* Levers that only pay together: without a second buffer there is nothing to prefetch into, without prefetching a
 * second buffer is of little use, and loads into the bank that is being read cost what they save. */
static bool do_pipeline(const context *c)
{
  gm_plan *p = c->plan;
  const int banks = c->config->spad_banks;
  if (banks < 4)
    return false;
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
  p->store_width = gm_widest_store(c->config, c->gemm);
  p->hoist_configs = p->hoist_addresses = true;
  p->spread_loads = p->spread_stores = 16;
  const words *w = c->words;
  for (int i = 0; i < w->n; i++)
    if (!set_tile(c, w->key[i], w->value[i]) && !set_spread(c, w->key[i], w->value[i]))
      return false;
  return true;
}

static bool do_hardware_loop(const context *c)
{
  c->plan->hardware_loop = true;
  return c->words->n == 0;
}

static const struct verb {
  const char *name;
  bool (*apply)(const context *);
  const char *usage;
} verbs[] = {
  { "tile", do_tile, "tile m=128 n=64 k=64" },
  { "order", do_order, "order ij, order ji" },
  { "hold", do_hold, "hold a=panel, hold b=whole, hold a=stream" },
  { "buffers", do_buffers, "buffers a=2 b=2 c=2" },
  { "banks", do_banks, "banks a=0,2 b=1,3 c=0,1" },
  { "width", do_width, "width a=64 b=64 c=64" },
  { "overwrite", do_overwrite, "overwrite" },
  { "prefetch", do_prefetch, "prefetch 1" },
  { "spread", do_spread, "spread loads=16 stores=16" },
  { "loops", do_loops, "loops kij" },
  { "unroll", do_unroll, "unroll 2, unroll 2 ikj" },
  { "reuse", do_reuse, "reuse weights" },
  { "hoist", do_hoist, "hoist configs, hoist addresses, hoist all" },
  { "taper", do_taper, "taper" },
  { "pipeline", do_pipeline, "pipeline m=128 n=64 k=64 loads=16 stores=16 (needs four scratchpad banks)" },
  { "hardware_loop", do_hardware_loop, "hardware_loop" },
};

tw_status gm_plan_step(const gm_config *config, const gm_gemm *gemm, const char *step, gm_plan *plan, tw_error *error)
{
  words w;
  const tw_status status = split(step, &w, error);
  if (status != TW_OK)
    return status;
  for (size_t i = 0; i < sizeof verbs / sizeof *verbs; i++)
    if (strcmp(w.verb, verbs[i].name) == 0)
      return verbs[i].apply(&(context){ config, gemm, &w, plan })
               ? TW_OK
               : tw_fail(error, TW_USAGE, "step '%s' is malformed: write %s", step, verbs[i].usage);
  return tw_fail(error, TW_USAGE, "step '%s': there is no such step for Gemmini; one is '%s'", step, verbs[0].usage);
}

tw_status gm_plan_from(const gm_config *config, const gm_gemm *gemm, const tw_schedule *schedule, gm_plan *plan,
                       gm_layout *layout, tw_error *error)
{
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

static const char *hold_name(gm_hold hold)
{
  return hold == GM_STREAM ? "streamed" : hold == GM_PANEL ? "held as a panel" : "held whole";
}

char *gm_plan_print(const gm_config *config, const gm_plan *p, char *buffer, size_t size)
{
  const int d = config->dim;
  if (p->hardware_loop)
    snprintf(buffer, size, "hardware loop over %d x %d x %d tiles (m x n x k), order %s", p->tile_m * d, p->tile_n * d,
             p->tile_k * d, p->outer_is_i ? "ij" : "ji");
  else
    snprintf(buffer, size, "%d x %d x %d tiles (m x n x k), order %s; A %s (%d), B %s (%d), C in %d buffer%s; loads %d step%s ahead",
             p->tile_m * d, p->tile_n * d, p->tile_k * d, p->outer_is_i ? "ij" : "ji", hold_name(p->a.hold), p->a.buffers,
             hold_name(p->b.hold), p->b.buffers, p->c_buffers, p->c_buffers == 1 ? "" : "s", p->prefetch,
             p->prefetch == 1 ? "" : "s");
  return buffer;
}
