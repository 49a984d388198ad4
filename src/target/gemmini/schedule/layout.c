/* layout.c - is a plan legal, and where does everything lie?
 *
 * Rules and their reasons:
 *  - a slot must not be loaded before its last reader stands in the program: the reservation station sees program
 *    order only, so `prefetch` steps ahead need prefetch + 1 buffers (facts: who waits for whom);
 *  - a chunk never straddles two banks: banks are what reads and writes collide in;
 *  - everything fits the scratchpad and the accumulator. */
#include <stdio.h>
#include <string.h>

#include "target/gemmini/schedule/plan.h"

int gm_plan_tile_rows(const gm_plan *plan, int left, bool last)
{
  if (plan->taper && last && left < 2 * plan->tile_m)
    return (left + 1) / 2;
  return gm_min(plan->tile_m, left);
}

gm_slots gm_plan_slots(const gm_plan *plan, int spread)
{
  const int bound[3] = { plan->tile_m, plan->tile_n, plan->tile_k };
  int pairs = 1, level = 3;
  for (; level > 3 - plan->unroll; level--)
    pairs *= bound[plan->loops[level - 1] - 'i'];
  if (spread > 0 && plan->unroll > 0 && spread < pairs)
    return (gm_slots){ 3, spread, spread };
  while (spread > 0 && --level >= 0) {
    const int trips = bound[plan->loops[level] - 'i'];
    int every = 1; /* a power of two, which costs no division */
    while (2 * every * pairs <= spread && 2 * every <= trips)
      every *= 2;
    if (2 * every * pairs > spread || level == 0)
      return (gm_slots){ level, every, every * pairs };
    pairs *= trips;
  }
  return (gm_slots){ -1, 1, 0 };
}

static int count_row_tiles(const gm_plan *plan, int blocks)
{
  if (!plan->taper || !plan->outer_is_i)
    return gm_ceil_div(blocks, plan->tile_m);
  int tiles = 0;
  for (int left = blocks; left > 0; tiles++)
    left -= gm_plan_tile_rows(plan, left, true);
  return tiles;
}

static tw_status check_operand(const gm_config *config, const gm_plan *plan, const gm_operand_plan *p, char name,
                               const gm_layout *l, tw_error *error)
{
  const bool is_a = name == 'a';
  if (p->width < 1 || p->width > gm_widest_load(config))
    return tw_fail(error, TW_USAGE, "an mvin moves %d to %d columns at a time", config->dim,
                   config->dim * gm_widest_load(config));
  if (p->hold == GM_PANEL && is_a != plan->outer_is_i)
    return tw_fail(error, TW_USAGE, "a panel of %c is only reused when its tile loop is outside: use 'order %s'",
                   is_a ? 'A' : 'B', is_a ? "ij" : "ji");
  if (p->buffers < 1 || p->buffers > 3)
    return tw_fail(error, TW_USAGE, "%c has 1, 2 or 3 buffers", is_a ? 'A' : 'B');
  if (p->hold == GM_STREAM && plan->prefetch >= p->buffers)
    return tw_fail(error, TW_USAGE, "loads %d step%s ahead need %d buffers of %c: use 'buffers %c=%d' first", plan->prefetch,
                   plan->prefetch == 1 ? "" : "s", plan->prefetch + 1, is_a ? 'A' : 'B', name, plan->prefetch + 1);
  if (p->hold == GM_PANEL && plan->prefetch >= p->buffers * l->tiles_k)
    return tw_fail(error, TW_USAGE, "loads %d step%s ahead would overwrite the panel of %c that is in use: use 'buffers %c=2' or "
                   "shorter steps along k", plan->prefetch, plan->prefetch == 1 ? "" : "s", is_a ? 'A' : 'B', name);
  return TW_OK;
}

static int slots_of(const gm_operand_plan *p, int panels, int tiles_k)
{
  switch (p->hold) {
  case GM_STREAM: return p->buffers;
  case GM_PANEL: return gm_min(p->buffers, panels) * tiles_k;
  default: return panels * tiles_k;
  }
}

static tw_status place_in_banks(const gm_config *config, const gm_operand_plan *p, char name, gm_operand_layout *l,
                                tw_error *error)
{
  const int bank_rows = gm_spad_bank_rows(config);
  for (int i = 0; i < p->n_banks; i++)
    if (p->bank[i] < 0 || p->bank[i] >= config->spad_banks)
      return tw_fail(error, TW_USAGE, "there are scratchpad banks 0 to %d, not %d", config->spad_banks - 1, p->bank[i]);
  l->banks = p->n_banks;
  l->base = p->bank[0] * bank_rows;
  l->bank_stride = p->n_banks > 1 ? (p->bank[1] - p->bank[0]) * bank_rows : 0;
  const long per_bank = (long)gm_ceil_div(l->slots, l->banks) * l->chunk_rows;
  if (per_bank > bank_rows)
    return tw_fail(error, TW_USAGE, "%c needs %ld rows in each of its %d bank%s, a bank has %d: use smaller tiles or more banks",
                   name, per_bank, l->banks, l->banks == 1 ? "" : "s", bank_rows);
  return TW_OK;
}

static bool share_a_bank(const gm_operand_plan *a, const gm_operand_plan *b)
{
  for (int i = 0; i < a->n_banks; i++)
    for (int j = 0; j < b->n_banks; j++)
      if (a->bank[i] == b->bank[j])
        return true;
  return false;
}

static tw_status place_scratchpad(const gm_config *config, const gm_plan *plan, gm_layout *l, tw_error *error)
{
  const long need = (long)l->a.slots * l->a.chunk_rows + (long)l->b.slots * l->b.chunk_rows;
  const int rows = gm_spad_rows(config), row_bytes = config->dim * gm_input_bytes(config);
  if (need > rows)
    return tw_fail(error, TW_USAGE, "A and B need %ld KiB of scratchpad, there are %d: use smaller tiles, fewer buffers or hold less",
                   need * row_bytes / 1024, config->spad_bytes / 1024);
  l->spad_bytes = (size_t)need * row_bytes;
  if (plan->a.n_banks == 0) {
    l->a.base = 0;
    l->a.banks = l->b.banks = 1;
    l->b.base = l->a.slots * l->a.chunk_rows;
    return TW_OK;
  }
  if (share_a_bank(&plan->a, &plan->b))
    return tw_fail(error, TW_USAGE, "A and B must be given different banks");
  const tw_status status = place_in_banks(config, &plan->a, 'A', &l->a, error);
  return status != TW_OK ? status : place_in_banks(config, &plan->b, 'B', &l->b, error);
}

static tw_status place_accumulator(const gm_config *config, const gm_plan *plan, gm_layout *l, tw_error *error)
{
  l->c_rows = plan->tile_m * plan->tile_n * config->dim;
  l->c_stride = plan->c_split ? gm_acc_bank_rows(config) : l->c_rows;
  l->acc_bytes = (size_t)l->c_rows * plan->c_buffers * config->dim * gm_acc_bytes(config);
  if (plan->c_split && config->acc_banks < 2)
    return tw_fail(error, TW_USAGE, "%s has one accumulator bank", config->name);
  const int room = plan->c_split && plan->c_buffers > 1 ? gm_acc_bank_rows(config) : gm_acc_rows(config) / plan->c_buffers;
  if (l->c_rows > room)
    return tw_fail(error, TW_USAGE, "a tile of C needs %d accumulator rows, each of %d buffers has %d: use smaller tiles",
                   l->c_rows, plan->c_buffers, room);
  return TW_OK;
}

static tw_status check_hardware_loop(const gm_config *config, const gm_gemm *g, const gm_plan *plan, tw_error *error)
{
  /* LoopMatmulLdB does not apply the padding of B's rows: it reads behind the end of B. */
  if ((g->b_transposed ? g->n : g->k) % config->dim)
    return tw_fail(error, TW_USAGE, "the hardware loop reads B in whole blocks of rows: %s must be a multiple of %d",
                   g->b_transposed ? "n" : "k", config->dim);
  const int spad = gm_spad_rows(config) / 2, acc = gm_acc_rows(config) / 2;
  if ((plan->tile_m + plan->tile_n) * plan->tile_k * config->dim > spad || plan->tile_m * plan->tile_n * config->dim > acc)
    return tw_fail(error, TW_USAGE, "a tile of the hardware loop may fill half of the scratchpad and of the accumulator: "
                   "use smaller tiles");
  return TW_OK;
}

/* Levers that are only legal together with others. */
static tw_status check_levers(const gm_config *config, const gm_gemm *g, const gm_plan *plan, tw_error *error)
{
  const int bound[3] = { plan->tile_m, plan->tile_n, plan->tile_k };
  int body = 1;
  bool i_unrolled = false;
  for (int l = 3 - plan->unroll; l < 3; l++) {
    body *= bound[plan->loops[l] - 'i'];
    i_unrolled |= plan->loops[l] == 'i';
  }
  if (body > 512)
    return tw_fail(error, TW_USAGE, "%d unrolled pairs are far more than the instruction cache holds: unroll fewer loops", body);
  if (plan->taper && i_unrolled)
    return tw_fail(error, TW_USAGE, "tiles that get lower need a rolled loop over i: unroll fewer loops");
  if (plan->reuse_weights && plan->loops[2] != 'i')
    return tw_fail(error, TW_USAGE, "weights are only reused when i is the innermost loop: use 'loops kji' or 'loops jki'");
  if (plan->spread_loads > 0 && plan->prefetch == 0)
    return tw_fail(error, TW_USAGE, "loads can only stand among the pairs when they are ahead of their use: use 'prefetch 1'");
  if (plan->spread_stores > 0 && plan->c_buffers < 2)
    return tw_fail(error, TW_USAGE, "a tile can only be stored during the next one when C has two buffers: use 'buffers c=2'");
  if (plan->overwrite && g->bias != TW_GEMM_BIAS_NONE)
    return tw_fail(error, TW_USAGE, "the bias is filled in first, so that no step may overwrite it");
  if (plan->taper && plan->a.hold == GM_WHOLE && !plan->outer_is_i)
    return tw_fail(error, TW_USAGE, "all of A is held in chunks of full height: no taper with 'order ji'");
  if (plan->store_width < 1 || plan->store_width > gm_widest_store(config, g))
    return tw_fail(error, TW_USAGE, "an mvout moves %d to %d columns at a time", config->dim,
                   config->dim * gm_widest_store(config, g));
  return TW_OK;
}

tw_status gm_plan_layout(const gm_config *config, const gm_gemm *g, const gm_plan *plan, gm_layout *l, tw_error *error)
{
  *l = (gm_layout){
    .tiles_m = count_row_tiles(plan, g->mb),
    .tiles_n = gm_ceil_div(g->nb, plan->tile_n),
    .tiles_k = gm_ceil_div(g->kb, plan->tile_k),
  };
  if (plan->hardware_loop)
    return check_hardware_loop(config, g, plan, error);
  tw_status status = check_levers(config, g, plan, error);
  if (status == TW_OK)
    status = check_operand(config, plan, &plan->a, 'a', l, error);
  if (status == TW_OK)
    status = check_operand(config, plan, &plan->b, 'b', l, error);
  if (status != TW_OK)
    return status;
  l->a.chunk_rows = plan->tile_m * plan->tile_k * config->dim;
  l->b.chunk_rows = plan->tile_k * plan->tile_n * config->dim;
  l->a.slots = slots_of(&plan->a, l->tiles_m, l->tiles_k);
  l->b.slots = slots_of(&plan->b, l->tiles_n, l->tiles_k);
  status = place_scratchpad(config, plan, l, error);
  return status != TW_OK ? status : place_accumulator(config, plan, l, error);
}
