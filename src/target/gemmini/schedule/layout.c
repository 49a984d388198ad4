/* layout.c - checks a plan and places its data. A and B as in operand.h; a tile of C must fit its accumulator
 * buffer. */
#include <stdio.h>

#include "target/gemmini/schedule/plan.h"

int gm_plan_tile_rows(const gm_plan *plan, int left, bool last) {
  if (plan->taper && last && left < 2 * plan->tile_m) return (left + 1) / 2;
  return gm_min(plan->tile_m, left);
}

gm_slots gm_plan_slots(const gm_plan *plan, int spread) {
  const int bound[3] = {plan->tile_m, plan->tile_n, plan->tile_k};
  const int trips[3] = {bound[plan->loops[0] - 'i'], bound[plan->loops[1] - 'i'], bound[plan->loops[2] - 'i']};
  return gm_slots_find(trips, 3, plan->unroll, spread);
}

static int count_row_tiles(const gm_plan *plan, int blocks) {
  int tiles = 0;
  for (int left = blocks; left > 0; tiles++) left -= gm_plan_tile_rows(plan, left, plan->outer_is_i);
  return tiles;
}

static gm_operand operand_of(const gm_plan *plan, gm_layout *l, char name) {
  const bool is_a = name == 'A';
  return (gm_operand){
      .plan = is_a ? &plan->levers.a : &plan->levers.b,
      .layout = is_a ? &l->a : &l->b,
      .name = name,
      .outer = is_a == plan->outer_is_i,
      .outer_step = is_a ? "order ij" : "order ji",
      .tiles = is_a ? l->tiles_m : l->tiles_n,
      .steps = l->tiles_k,
      .prefetch = plan->levers.prefetch,
  };
}

static tw_status place_accumulator(const gm_config *config, const gm_plan *plan, gm_layout *l, tw_error *error) {
  const bool alternate = gm_rows_alternate(&plan->levers);
  const int bank = gm_acc_bank_rows(config), parts = alternate ? 2 : plan->levers.c_buffers;
  l->c_rows = (alternate ? gm_ceil_div(plan->tile_m, 2) : plan->tile_m) * plan->tile_n * config->dim;
  l->c_stride = plan->levers.c_split ? bank : l->c_rows;
  l->acc_bytes = (size_t)l->c_rows * parts * config->dim * gm_acc_bytes(config);
  if (plan->levers.c_split && config->acc_banks < 2)
    return tw_fail(error, TW_USAGE, "%s has one accumulator bank", config->name);
  if (alternate && (bank & (bank - 1)))
    return tw_fail(error, TW_USAGE, "rows in alternate banks require banks of 2^x rows (found %d)", bank);
  const int room = plan->levers.c_split && parts > 1 ? bank : gm_acc_rows(config) / parts;
  if (l->c_rows > room)
    return tw_fail(error, TW_USAGE,
                   "a tile of C needs %d accumulator rows, but each of the %d %s has %d; use smaller tiles", l->c_rows,
                   parts, alternate ? "banks" : "buffers", room);
  return TW_OK;
}

static tw_status check_hardware_loop(const gm_config *config, const gm_gemm *g, const gm_plan *plan, tw_error *error) {
  if (!config->has_loop_matmul)
    return tw_fail(error, TW_USAGE, "%s has no hardware loop of products (has_loop_matmul = 0)", config->name);
  /* LoopMatmulLdB does not apply the padding of B's rows: it reads past the end of B. */
  if ((g->b_transposed ? g->n : g->k) % config->dim)
    return tw_fail(error, TW_USAGE, "the hardware loop reads B in whole blocks of rows: %s must be a multiple of %d",
                   g->b_transposed ? "n" : "k", config->dim);
  const int spad = gm_spad_rows(config) / 2, acc = gm_acc_rows(config) / 2;
  if ((plan->tile_m + plan->tile_n) * plan->tile_k * config->dim > spad ||
      plan->tile_m * plan->tile_n * config->dim > acc)
    return tw_fail(
        error, TW_USAGE,
        "a tile of the hardware loop may fill half of the scratchpad and of the accumulator; use smaller tiles");
  return TW_OK;
}

/* The rules of gemm's own steps. */
static tw_status check_loops(const gm_plan *plan, tw_error *error) {
  const int bound[3] = {plan->tile_m, plan->tile_n, plan->tile_k};
  int body = 1;
  bool i_unrolled = false;
  for (int l = 3 - plan->unroll; l < 3; l++) {
    body *= bound[plan->loops[l] - 'i'];
    i_unrolled |= plan->loops[l] == 'i';
  }
  if (body > 512)
    return tw_fail(error, TW_USAGE, "%d unrolled pairs exceed the instruction cache; unroll fewer loops", body);
  if (plan->taper && i_unrolled)
    return tw_fail(error, TW_USAGE, "tiles of decreasing height require a rolled loop over i; unroll fewer loops");
  if (plan->reuse_weights && plan->loops[2] != 'i')
    return tw_fail(error, TW_USAGE,
                   "weights are reused only when i is the innermost loop; use 'loops kji' or 'loops jki'");
  if (plan->quick_start && !(plan->levers.prefetch == 1 && plan->levers.hoist[GM_ADDRESSES]))
    return tw_fail(error, TW_USAGE,
                   "a quick start requires loads one step ahead and hoisted addresses; use 'pipeline' before it");
  if (plan->levers.early_stores && (plan->loops[0] != 'i' || plan->levers.spread_stores == 0))
    return tw_fail(error, TW_USAGE,
                   "a row pipeline requires i as the outermost loop and spread stores; use 'loops ikj' and 'spread "
                   "stores=16'");
  if (plan->taper && plan->levers.a.hold == GM_WHOLE && !plan->outer_is_i)
    return tw_fail(error, TW_USAGE, "taper cannot be combined with 'order ji' and a resident A; remove one");
  return TW_OK;
}

tw_status gm_plan_layout(const void *context, const void *checked, tw_error *error) {
  const gm_plan_context *c = context;
  const gm_config *config = c->levers.config;
  const gm_gemm *g = c->gemm;
  const gm_plan *plan = checked;
  gm_layout *l = c->layout;
  *l = (gm_layout){
      .tiles_m = count_row_tiles(plan, g->mb),
      .tiles_n = gm_ceil_div(g->nb, plan->tile_n),
      .tiles_k = gm_ceil_div(g->kb, plan->tile_k),
      .a.chunk_rows = plan->tile_m * plan->tile_k * config->dim,
      .b.chunk_rows = plan->tile_k * plan->tile_n * config->dim,
  };
  if (plan->levers.hardware_loop) return check_hardware_loop(config, g, plan, error);
  const gm_operand a = operand_of(plan, l, 'A'), b = operand_of(plan, l, 'B');
  tw_status status = check_loops(plan, error);
  if (status == TW_OK) status = gm_levers_check(&c->levers, &plan->levers, error);
  if (status == TW_OK) status = gm_operands_place(config, &a, &b, &l->spad_bytes, error);
  return status != TW_OK ? status : place_accumulator(config, plan, l, error);
}
