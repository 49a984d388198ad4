/* plan.c - replays the steps of a schedule.
 *
 *   tile m=128 n=64 k=64        elements; clipped to the problem, rounded up to whole blocks
 *   order ij|ji                 which tile loop is outside
 *   hold, buffers, banks, width, overwrite, fill, prefetch, spread: see levers.h
 *   loops kij                   order of the loops inside a step
 *   unroll 2                    innermost loops that are unrolled; 'unroll 2 ikj' sets their order too
 *   reuse weights               B stays in the array while i runs; 'reuse weights kji' sets the order of the loops too
 *   hoist configs|addresses|all
 *   taper                       the last tiles halve in height
 *   quick_start                 a step's loads are prepared before the step, a row of A is loaded first
 *   pipeline m=128 n=64 k=64 loads=16 stores=16
 *                               two buffers of everything in banks of their own, loads one step ahead, loads and stores
 *                               spread, in tiles small enough for that
 *   row_pipeline m= n= k= loads= stores=
 *                               likewise, but one buffer of C, whose rows of blocks alternate between accumulator banks
 *                               and are stored as they are completed
 *   hardware_loop m= n= k=      gemmini_loop_ws */
#include <stdio.h>
#include <string.h>

#include "target/gemmini/schedule/plan.h"

static void plain(const gm_config *config, const gm_gemm *g, gm_plan *plan) {
  const int wide = gm_widest_load(config);
  *plan = (gm_plan){
      .levers = gm_levers_plain(config),
      .tile_m = 1,
      .tile_n = gm_min(wide, g->nb),
      .tile_k = gm_min(wide, g->kb),
      .outer_is_i = true,
      .loops = "kij",
  };
}

/* ---- steps ---- */

/* m=, n= or k= */
static bool read_tile(const void *context, const tw_argument *argument, const char *text, void *blocks) {
  const gm_plan_context *c = context;
  const int most = *argument->name == 'm' ? c->gemm->mb : *argument->name == 'n' ? c->gemm->nb : c->gemm->kb;
  return gm_read_blocks(c->levers.config, text, most, blocks);
}

static bool read_loops(const void *context, const tw_argument *argument, const char *text, void *loops) {
  (void)context, (void)argument;
  if (strlen(text) != 3 || !strchr(text, 'i') || !strchr(text, 'j') || !strchr(text, 'k')) return false;
  memcpy(loops, text, 4);
  return true;
}

/* "one|other|both" of two flags; flags that are set stay set. */
static bool read_flags(const void *context, const tw_argument *argument, const char *text, void *flags) {
  int64_t which;
  (void)context;
  if (!tw_read_choice(argument->choices, text, &which)) return false;
  ((bool *)flags)[0] |= which != 1;
  ((bool *)flags)[1] |= which != 0;
  return true;
}

/* An operand that is resident along the old outer loop cannot stay resident along the new one. */
static tw_status then_let_go(const void *context, void *plan, unsigned given, tw_error *error) {
  gm_plan *p = plan;
  gm_operand_plan *inner = p->outer_is_i ? &p->levers.b : &p->levers.a;
  (void)context, (void)given, (void)error;
  if (inner->hold == GM_PANEL) inner->hold = GM_STREAM;
  return TW_OK;
}

/* B stays in the array only while i is innermost. */
static tw_status then_reload(const void *context, void *plan, unsigned given, tw_error *error) {
  gm_plan *p = plan;
  (void)context, (void)given, (void)error;
  if (p->loops[2] != 'i') p->reuse_weights = false;
  return TW_OK;
}

static void row_pipeline(const void *context, void *plan) {
  gm_plan *p = plan;
  gm_pipeline(context, &p->levers);
  p->levers.c_buffers = 1;
  p->levers.early_stores = true;
  p->levers.fill_ahead = p->reuse_weights = false;
  memcpy(p->loops, "ikj", 4);
  p->unroll = 1;
}

#define TILE                                                                                                           \
  TW_READ("m", gm_plan, tile_m, read_tile), TW_READ("n", gm_plan, tile_n, read_tile),                                  \
      TW_READ("k", gm_plan, tile_k, read_tile)
#define FLAGS(field_, choices_)                                                                                        \
  { .name = "", .into = TW_FIELD(gm_plan, field_), .choices = (choices_), .read = read_flags }

static const tw_verb verbs[] = {
    {TW_VERB("tile", "tile m=128 n=64 k=64", "Set the size of a tile of C and of a step along k.", 1, TILE)},
    {TW_VERB("order", "order ij, order ji", "Choose the outer tile loop; its operand is reused.", 1,
             TW_CHOICE("", gm_plan, outer_is_i, 0, "ji|ij")),
     .then = then_let_go},
    {TW_VERB("loops", "loops kij", "Choose the order of the loops inside a step.", 1,
             TW_READ("", gm_plan, loops, read_loops)),
     .then = then_reload, .offers = "ijk, ikj, jik, jki, kij, kji",
     .why = "the order of computes sets which operands are needed first and which results are complete first"},
    {TW_VERB("unroll", "unroll 2, unroll 2 ikj", "Unroll the innermost loops of a step.", 1,
             TW_NUMBER("", gm_plan, unroll, 0, 3), TW_READ("", gm_plan, loops, read_loops)),
     .then = then_reload,
     .offers = "0, 1, 2, 3, 1 ijk, 2 ijk, 1 ikj, 2 ikj, 1 jik, 2 jik, 1 jki, 2 jki, 1 kij, 2 kij, 1 kji, 2 kji",
     .why = "an unrolled compute costs the core two commands and few additions, but the code is longer and cold"},
    {TW_VERB("reuse", "reuse weights, reuse weights kji", "Keep a block of B in the array while i runs.", 1,
             TW_CHOICE("", gm_plan, reuse_weights, 1, "weights"), TW_READ("", gm_plan, loops, read_loops))},
    {TW_VERB("hoist", "hoist configs, hoist addresses, hoist all",
             "Move configuration or address arithmetic out of the loops.", 1,
             FLAGS(levers.hoist, "configs|addresses|all")),
     .offers = "configs, addresses, all",
     .why = "set configuration once, not for every tile; compute addresses once, each compute adds small constants"},
    {TW_FLAG("taper", "Halve the height of the last tiles, so that the final store is short.", gm_plan, taper),
     .why = "lower tiles at the end leave less to store after the last compute"},
    {TW_FLAG("quick_start", "Load a row of A first, and prepare the loads of each step before it.", gm_plan,
             quick_start)},
    {TW_VERB("pipeline", "pipeline m=128 n=64 k=64 loads=16 stores=16",
             "Double-buffer every operand in separate banks, prefetch one step and spread loads and stores.", 0, TILE,
             GM_SPREAD),
     .first = gm_pipeline, .then = gm_then_four_banks},
    {TW_VERB("row_pipeline", "row_pipeline m=128 n=128 k=32 loads=8 stores=8",
             "Pipeline with one buffer of C: store each row of blocks when it is complete, banks in turn.", 0, TILE,
             GM_SPREAD),
     .first = row_pipeline, .then = gm_then_four_banks},
    {TW_VERB("hardware_loop", "hardware_loop m=128 n=64 k=64", "Use the hardware loop gemmini_loop_ws for each tile.",
             0, TILE),
     .sets = TW_FIELD(gm_plan, levers.hardware_loop)},
    GM_LEVERS,
};
const tw_language gm_plan_language = {TW_LANGUAGE("gemm on Gemmini", verbs)};

gm_plan_context gm_plan_context_of(const gm_config *config, const gm_gemm *gemm, gm_layout *layout) {
  return (gm_plan_context){{config, gm_widest_store(config, gemm), gemm->bias != TW_GEMM_BIAS_NONE}, gemm, layout};
}

tw_status gm_plan_from(const gm_config *config, const gm_gemm *gemm, const tw_schedule *schedule, gm_plan *plan,
                       gm_layout *layout, tw_error *error) {
  gm_plan_context c = gm_plan_context_of(config, gemm, layout);
  plain(config, gemm, plan);
  return tw_steps_apply(&gm_plan_language, &c, schedule, plan, gm_plan_layout, error);
}

char *gm_plan_print(const gm_config *config, const gm_plan *p, char *buffer, size_t size) {
  const int d = config->dim;
  char levers[120];
  snprintf(buffer, size, "%s%d x %d x %d tiles (m x n x k), order %s%s%s",
           p->levers.hardware_loop ? "hardware loop over " : "", p->tile_m * d, p->tile_n * d, p->tile_k * d,
           p->outer_is_i ? "ij" : "ji", p->levers.hardware_loop ? "" : "; ",
           p->levers.hardware_loop ? "" : gm_levers_print(&p->levers, levers));
  return buffer;
}
