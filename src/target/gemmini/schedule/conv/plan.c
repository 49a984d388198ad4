/* plan.c - replays the steps of a schedule for conv2d.
 *
 *   tile p=2 q=56 k=64 c=64 r=3   rows and columns of the output, channels out and in, rows of the kernel in a step;
 *                                 clipped to the problem, channels rounded up to whole blocks
 *   tile n=2                      several images in a tile that has all of their pixels
 *   order pk|kp                   which tile loop is outside: pixels or channels k
 *   hold, buffers, banks, width, overwrite, fill, prefetch, spread: see levers.h
 *   blocks full|even              the blocks of pixels of a row: dim high, or of equal height
 *   pack s=5                      columns of the kernel that share a block, where channels are few; s=1: none do
 *   unfold columns                a plane of pixels for each column of the kernel: rows of a tile join to one
 *   loops rsck                    order of the blocks of weights of a step
 *   unroll rows|runs              straight code for the pairs of a row of pixels, of a run
 *   hoist configs                 configuration once, not for every tile
 *   turn weights                  weights of weight_layout=krsc are transposed once, before everything
 *   pipeline p=2 q=56 k=64 c=64 loads=16 stores=16
 *                                 two buffers of everything in banks of their own, loads one step ahead, loads and
 *                                 stores spread, in tiles small enough for that
 *   hardware_loop n=1 p=14 q=14 k=32 c=64 r=3
 *                                 the hardware loop in tiles of n images; no other lever but `tile` matters then */
#include <stdio.h>
#include <string.h>

#include "target/gemmini/schedule/conv/conv.h"

/* The largest chunks of one row of the kernel that fit into half of the scratchpad, with at most four blocks of
 * channels. */
static void plain(const gm_config *config, const gm_conv *v, gm_conv_plan *plan) {
  const int wide = gm_widest_load(config), half = gm_spad_rows(config) / 2, d = config->dim;
  *plan = (gm_conv_plan){
      .levers = gm_levers_plain(config),
      .tile_p = 1,
      .tile_q = gm_min(v->out_w, d),
      .tile_k = gm_min(wide, v->kb),
      .tile_c = gm_min(wide, v->cb),
      .tile_r = 1,
      .pack = 1,
      .pixels_outer = true,
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

/* ---- steps ---- */

/* Sizes of a tile, by their letters; and pack s=. */
static bool read_size(const void *context, const tw_argument *argument, const char *text, void *size) {
  const gm_conv_context *c = context;
  const gm_conv *v = c->conv;
  const char name = *argument->name;
  int64_t pixels;
  if (name == 'k' || name == 'c') return gm_read_blocks(c->levers.config, text, name == 'k' ? v->kb : v->cb, size);
  const int most = name == 'n' ? v->n : name == 'p' ? v->out_h : name == 'q' ? v->out_w : name == 'r' ? v->r : v->s;
  if (!tw_read_number(text, 1, 1 << 24, &pixels)) return false;
  *(int *)size = gm_min((int)pixels, most);
  return true;
}

static bool read_loops(const void *context, const tw_argument *argument, const char *text, void *loops) {
  (void)context, (void)argument;
  if (strlen(text) != 4) return false;
  for (const char *x = "rsck"; *x; x++)
    if (!strchr(text, *x)) return false;
  memcpy(loops, text, 5);
  return true;
}

/* An operand that is resident along the old outer loop cannot stay resident along the new one. */
static tw_status then_let_go(const void *context, void *plan, unsigned given, tw_error *error) {
  gm_conv_plan *p = plan;
  gm_operand_plan *inner = p->pixels_outer ? &p->levers.b : &p->levers.a;
  (void)context, (void)given, (void)error;
  if (inner->hold == GM_PANEL) inner->hold = GM_STREAM;
  return TW_OK;
}

#define SIZE(name_, field_) TW_READ(name_, gm_conv_plan, field_, read_size)
#define WORD(field_, least_, choices_) TW_CHOICE("", gm_conv_plan, field_, least_, choices_)
#define TILE                                                                                                           \
  SIZE("n", tile_n), SIZE("p", tile_p), SIZE("q", tile_q), SIZE("k", tile_k), SIZE("c", tile_c), SIZE("r", tile_r),    \
      TW_CHOICE("unfold", gm_conv_plan, unfold, 0, "nothing|columns")

static const tw_verb verbs[] = {
    {TW_VERB("tile", "tile n=1 p=2 q=56 k=64 c=64 r=3 unfold=columns",
             "Set the images, rows, columns and channels of a tile and of a step.", 1, TILE)},
    {TW_VERB("order", "order pk, order kp", "Choose the outer tile loop: pixels or output channels.", 1,
             WORD(pixels_outer, 0, "kp|pk")),
     .then = then_let_go},
    {TW_VERB("blocks", "blocks full, blocks even",
             "Cut rows of pixels into full blocks, or into blocks of equal height.", 1, WORD(even, 0, "full|even"))},
    {TW_VERB("pack", "pack s=5", "Put several kernel columns into one block of weights, for few channels.", 1,
             SIZE("s", pack))},
    {TW_VERB("unfold", "unfold columns, unfold nothing",
             "Load a plane of pixels for each kernel column, so that a tile is one row.", 1,
             WORD(unfold, 0, "nothing|columns"))},
    {TW_VERB("loops", "loops rsck", "Choose the order of the loops inside a step.", 1,
             TW_READ("", gm_conv_plan, loops, read_loops)),
     .offers = "rsck, rskc, crsk, ckrs, krsc, kcrs",
     .why = "the order of runs sets which weights and channels are needed first"},
    {TW_VERB("unroll", "unroll rows, unroll runs",
             "Unroll the products of one row of pixels (rows) or of one block of weights (runs).", 1,
             WORD(unroll, 1, "rows|runs"))},
    {TW_VERB("hoist", "hoist configs", "Move configuration out of the loops.", 1,
             WORD(levers.hoist[GM_CONFIGS], 1, "configs")),
     .offers = "configs", .why = "set configuration once, not for every tile"},
    {TW_VERB("transpose|turn", "transpose weights", "Transpose the weights once, before the convolution.", 1,
             WORD(turn, 1, "weights")),
     .offers = "weights",
     .why = "the array transposes all weights once instead of every block, at the cost of low computes"},
    {TW_VERB("pipeline", "pipeline n=1 p=2 q=56 k=64 c=64 r=3 unfold=columns loads=16 stores=16",
             "Double-buffer every operand in separate banks, prefetch one step and spread loads and stores.", 0, TILE,
             GM_SPREAD),
     .first = gm_pipeline, .then = gm_then_four_banks},
    {TW_VERB("hardware_loop", "hardware_loop n=1 p=14 q=14 k=32 c=64 r=3",
             "Use the hardware loop gemmini_loop_conv for each tile.", 0, TILE),
     .sets = TW_FIELD(gm_conv_plan, levers.hardware_loop)},
    GM_LEVERS,
};
const tw_language gm_conv_language = {TW_LANGUAGE("conv2d on Gemmini", verbs)};

gm_conv_context gm_conv_context_of(const gm_config *config, const gm_conv *v, gm_conv_layout *layout) {
  return (gm_conv_context){{config, gm_conv_widest_store(config, v), v->bias}, v, layout};
}

tw_status gm_conv_replay(const gm_config *config, const gm_conv *v, const tw_schedule *schedule, gm_conv_plan *plan,
                         gm_conv_layout *layout, tw_error *error) {
  gm_conv_context c = gm_conv_context_of(config, v, layout);
  plain(config, v, plan);
  return tw_steps_apply(&gm_conv_language, &c, schedule, plan, gm_conv_layout_of, error);
}

char *gm_conv_print(const gm_config *config, const gm_conv_plan *p, char *buffer, size_t size) {
  const int d = config->dim;
  const bool hardware = p->levers.hardware_loop;
  char images[32] = "", levers[120];
  if (p->tile_n > 1 || hardware) snprintf(images, sizeof images, "%d image%s x ", p->tile_n, p->tile_n == 1 ? "" : "s");
  snprintf(buffer, size,
           "%stiles of %s%d x %d pixels x %d channels, steps of %d channels x %d rows of the kernel%s%s%s%s",
           hardware ? "hardware loop over " : "", images, p->tile_p, p->tile_q, p->tile_k * d, p->tile_c * d, p->tile_r,
           hardware ? "" : ", order ",
           hardware          ? ""
           : p->pixels_outer ? "pk"
                             : "kp",
           hardware ? "" : "; ", hardware ? "" : gm_levers_print(&p->levers, levers));
  return buffer;
}
