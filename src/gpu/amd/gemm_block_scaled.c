/* gemm_block_scaled.c - plans a GEMM of tiles with block-scaled weights; gemm_block_scaled.h has its structure,
 * kernels/gemm_block_scaled.hip.in is the kernel. */
#include "gpu/amd/gemm_block_scaled.h"

#include <inttypes.h>

#include "gpu/amd/gemm_multistage.h"
#include "gpu/common/gemm_epilogue.h"
#include "gpu/common/verbs.h"

#define PLAN tw_tile_block_scaled_plan

enum {
  SIDE = 16,
  PAIR = 32,
  STEP = 256,
  LANE_BLOCK = 256,
  AHEAD_MAX = 8,
  STAGES_MAX = 8,
  REGISTERS_BESIDE = 48,
  PINNED_TILE = 256
};

/* The type of A after quantization by the problem's rule, or its own type if A is block-scaled already. */
tw_type tw_tile_block_scaled_left(const tw_gemm *g) {
  static const tw_type by[] = {TW_TYPE_NONE, TW_MXFP4, TW_MXFP6, TW_MXFP8};
  return g->quantize ? by[g->quantize] : g->a;
}
/* The type of A in memory. */
tw_type tw_tile_block_scaled_stored(const tw_gemm *g) { return tw_is_mx(g->a) ? TW_F32 : g->a; }
bool tw_tile_block_scaled_given(const tw_gemm *g, char operand) {
  return g->packed && (operand == 'b' || tw_is_mx(g->a));
}
/* Registers of a lane for the codes of a block. */
static int words_of(tw_type t) { return tw_type_bits(t); }

/* Codes are read where they are, a whole step of k at a time, and in AITER's order 32 columns at a time. */
static tw_status supports_packed(const tw_gemm *g, tw_error *error) {
  TW_REJECT_IF(g->shuffle == TW_GEMM_SHUFFLE_MMA, "shuffle=mma is for NVIDIA GPUs; use shuffle=aiter or leave it out");
  if (g->k % STEP == 0 && (!g->shuffle || g->n % PAIR == 0)) return TW_OK;
  return tw_fail(error, TW_USAGE,
                 "packed=1 requires k to be a multiple of %d%s (found n=%" PRId64 " k=%" PRId64
                 "); pad the operands, or leave out packed=1",
                 STEP, g->shuffle ? " and n of 32" : "", g->n, g->k);
}

static tw_status supports(const tw_tile_machine *machine, const tw_problem *p, tw_error *error) {
  const tw_gemm g = tw_gemm_of(p);
  const bool c = g.c == TW_F32 || g.c == TW_BF16 || g.c == TW_F16, a = g.quantize ? !tw_is_mx(g.a) : tw_is_mx(g.a);
  const int each = 128 / tw_type_bits(tw_tile_block_scaled_stored(&g)); /* number of elements in 16 bytes */
  const bool whole = tw_is_mx(g.a) || (!g.a_transposed && g.lda % each == 0 && g.k % each == 0);
  TW_REJECT_IF(g.d != g.acc, "block-scaled GEMM does not support d=c");
  if (machine->block_scales && g.packed) {
    const tw_status status = supports_packed(&g, error);
    if (status != TW_OK) return status;
  }
  if (machine->block_scales && a && tw_is_mx(g.b) && c && whole) return TW_OK;
  return tw_fail(error, TW_USAGE,
                 "block-scaled GEMM requires gfx950, b of mxfp4, mxfp6 or mxfp8, an a of such a type or quantize= with "
                 "a not transposed, and k and its pitch multiples of %d; run a kernel of your own instead",
                 each);
}

/* Registers of a thread for A: of each step that is on its way, and of the current one. `blocks` of 16 x 128 are in a step;
 * `words` are the codes of a block. */
static void count_registers_of_a(const tw_gemm *g, const PLAN *p, int blocks, int words, int *ahead, int *now) {
  const int each = (blocks + p->groups - 1) / p->groups; /* blocks that a wave loads for all */
  if (p->lines && !p->share) {
    *ahead = (4 * words + 1) * blocks / 4;
    *now = 0;
  } else if (p->share) {
    *ahead = (words + 1) * each;
    *now = (words + 1) * blocks;
  } else {
    const int fresh = tw_type_bits(tw_tile_block_scaled_stored(g));
    *ahead = fresh * each;
    *now = 2 * (words + 1) + (fresh == 16 && words == 4 ? 0 : 32); /* a block as floats */
  }
}

static tw_status settle_gemm_block_scaled(const tw_tile_machine *machine, const tw_problem *problem, void *plan,
                                          tw_error *error) {
  const tw_gemm gemm = tw_gemm_of(problem), *g = &gemm;
  PLAN *p = plan;
  TW_REJECT_IF(p->prioritize && p->hand_scheduled,
               "prioritize_loads excludes hand_scheduled, whose loop orders its own loads");
  TW_REJECT_IF(p->nontemporal && p->split > 1,
               "nontemporal_stores excludes split_k, whose partial sums are read again");
  TW_REJECT_IF(p->share && p->hand_scheduled,
               "share_a excludes hand_scheduled, whose waves share both operands already");
  if (p->hand_scheduled) return tw_tile_block_scaled_settle_hand_scheduled(machine, g, p, error);
  TW_REJECT_IF(p->side != SIDE || p->stages != 1, "mfma 32 and stages require hand_scheduled");
  const int rows = p->m / SIDE, cols = p->n / p->groups / PAIR, blocks = 2 * rows;
  TW_REJECT_IF(p->m % SIDE || p->n % (p->groups * PAIR),
               "a tile of %d x %d must have a multiple of 16 rows, and of 32 columns for each of %d waves", p->m, p->n,
               p->groups);
  p->columns = (g->n + PAIR - 1) / PAIR * PAIR;
  p->deep = (g->k + STEP - 1) / STEP * STEP;
  const int words_a = words_of(tw_tile_block_scaled_left(g)), words_b = words_of(g->b);
  p->lines = tw_is_mx(g->a) ? (g->m + PAIR - 1) / PAIR * PAIR : 0;
  TW_REJECT_IF(p->lines && p->m % PAIR, "a tile of %d rows of a packed A must have a multiple of 32 rows", p->m);
  TW_REJECT_IF(p->share && (!p->lines || p->groups == 1),
               "share_a requires a packed A and at least 2 waves (found %d waves); use a=mxfp4 and waves 2", p->groups);
  p->shared_bytes = p->lines && !p->share ? 0 : 2ll * blocks * LANE_BLOCK * (words_a + 1);
  int ahead, now;
  count_registers_of_a(g, p, blocks, words_a, &ahead, &now);
  const int need = 8 * rows * cols + p->ahead * ((4 * words_b + 1) * cols + ahead) + now + REGISTERS_BESIDE;
  const int have = machine->simd_registers / ((p->groups + machine->simds - 1) / machine->simds);
  TW_REJECT_IF(need > have,
               "a tile of %d x %d for %d waves with register_prefetch %d needs %d registers per thread, which exceeds "
               "%d; use a smaller tile",
               p->m, p->n, p->groups, p->ahead, need, have);
  TW_REJECT_IF(
      p->ahead > p->deep / STEP / p->split,
      "register_prefetch %d exceeds the steps of k=%d for each of %d workgroups; use a smaller register_prefetch or "
      "split_k",
      p->ahead, STEP, p->split);
  return TW_OK;
}

/* ---- steps ---- */

static void plainest(const tw_tile_context *c, void *plan) {
  const bool packed = tw_is_mx(tw_gemm_of(c->problem).a);
  *(PLAN *)plan =
      (PLAN){.m = packed ? PAIR : SIDE, .n = 32, .groups = 1, .ahead = 1, .split = 1, .side = SIDE, .stages = 1};
}

static void begin_tile(const void *with, void *plan) { plainest(with, plan); }

/* hand_scheduled: four waves, one on each SIMD, at least two stages and no register_prefetch. The default tile is
 * replaced by a large one. */
static tw_status then_pinned(const void *with, void *plan, unsigned given, tw_error *error) {
  PLAN *p = plan, plain;
  (void)given, (void)error;
  plainest(with, &plain);
  if (p->m == plain.m && p->n == plain.n) p->m = p->n = PINNED_TILE;
  p->groups = ((const tw_tile_context *)with)->machine->simds;
  p->ahead = 1;
  if (p->stages < 2) p->stages = 2;
  return TW_OK;
}

static const tw_verb verbs[] = {
    {.name = "tile",
     .usage = "tile m=16 n=128",
     .help = "Set the tile of C of a workgroup.",
     .needs = 2,
     .argument = {TW_NUMBER("m", PLAN, m, 16, 256), TW_NUMBER("n", PLAN, n, 32, 512)},
     .first = begin_tile},
    TW_TILE_WAVES(PLAN, "Set the waves that share the columns of a tile and the quantization of A.",
                  "the waves of a workgroup share the work of quantizing A"),
    {TW_NUMBERED("register_prefetch|ahead", "register_prefetch 2",
                 "Load operands this many steps before their use, into registers.", PLAN, ahead, 1, AHEAD_MAX),
     .offers = "1, 2, 3, 4, 5, 6, 7, 8", .why = "loads in flight hide memory latency"},
    {TW_NUMBERED("split_k|split", "split_k 4",
                 "Split k over workgroups (split-K); a second kernel adds the partial sums.", PLAN, split, 1, 64),
     .offers = "1, 2, 3, 4, 6, 9, 13, 19, 28", .why = "blocks that share k keep every processor busy with few tiles"},
    {TW_FLAG_RENAMED("hand_scheduled", "pinned",
                     "Use a hand-scheduled assembly loop for large MXFP4 or MXFP8 products.", PLAN, hand_scheduled),
     .then = then_pinned, .why = "hand-scheduled assembly loop; all waves share both operands in LDS"},
    TW_TILE_MFMA(PLAN, side, "", NULL),
    TW_TILE_STAGES(PLAN, 1, STAGES_MAX, ""),
    {.name = "rasterize|order",
     .usage = "rasterize window=8 chunk=8",
     .help = "Set the rasterization of tiles over XCDs (HipKittens' window and chunk).",
     .needs = 2,
     .argument = {TW_NUMBER("window", PLAN, window, 1, 1024), TW_NUMBER("chunk", PLAN, chunk, 1, 4096)}},
    {TW_FLAG("fixed_shape", "Compile the kernel for the sizes and pitches of the problem.", PLAN, fixed_shape),
     .why = "divisions by constants become multiplications and shifts"},
    {TW_FLAG("preload_arguments", "Let the hardware load kernel arguments into scalar registers before a wave starts.",
             PLAN, preload),
     .why = "short kernels wait for the load of their arguments"},
    {TW_FLAG("sums_in_vgprs", "Keep the sums of matrix instructions in VGPRs (--amdgpu-mfma-vgpr-form).", PLAN,
             sums_in_vgprs),
     .why = "sums need no copies between AGPRs and VGPRs"},
    {TW_FLAG("prioritize_loads", "Raise the priority of a wave while it issues its loads of A (s_setprio).", PLAN,
             prioritize),
     .why = "loads of one wave need not wait for the arithmetic of another"},
    {TW_FLAG("share_a", "Load a packed A once for all waves of a workgroup, through LDS.", PLAN, share)},
    {TW_FLAG("nontemporal_stores", "Store C without keeping it in the caches.", PLAN, nontemporal),
     .why = "C leaves the caches to operands"},
};
static const tw_language language = {TW_LANGUAGE("block-scaled gemm on AMD GPUs", verbs)};

static void offers(tw_menu_builder *m, const tw_tile_context *c) {
  const PLAN *now = m->now;
  for (int i = 16; i <= 256; i *= 2)
    for (int j = 32; j <= 512; j *= 2)
      tw_menu_offer(m, "tile", "large tiles read operands less often; small tiles keep every processor busy",
                    "tile m=%d n=%d", i, j);
  for (int i = 1; i <= 8; i *= 2)
    tw_menu_offer(m, "rasterize", "workgroups of one XCD read the same rows and columns: its L2 holds them",
                  "rasterize window=%d chunk=%d", i, 2 * i);
  if (tw_is_mx(tw_gemm_of(c->problem).a) && now->groups > 1)
    tw_menu_offer(m, "share_a", "waves of a workgroup need the same rows of A: L1 serves them once", "share_a");
  for (int i = 16; i <= 32 && now->hand_scheduled; i *= 2)
    tw_menu_offer(m, "mfma", "larger matrix instructions read fewer operands; smaller ones allow more tiles", "mfma %d",
                  i);
  for (int i = 2; i <= 4 && now->hand_scheduled; i++)
    tw_menu_offer(m, "stages", "the next tiles load while the current one is multiplied", "stages %d", i);
}

/* ---- the kernels ---- */

/* Constants of a scale rule (format/mx.c): the bits of a float's mantissa that the largest element keeps, and the
 * addend. */
static unsigned addend_of(const tw_gemm *g) {
  const tw_type t = tw_tile_block_scaled_left(g);
  const unsigned half = t == TW_MXFP4 ? 1u << 21 : 1u << 19;
  const unsigned largest = t == TW_MXFP4 ? 0x400000 : t == TW_MXFP6 ? 0x700000 : 0x600000; /* 1.5, 1.875, 1.75 */
  switch (g->rule) {
  case TW_RULE_EVEN: return half;
  case TW_RULE_UP: return 0x7FFFFF - largest;
  case TW_RULE_CEIL: return 0x7FFFFF;
  default: return 0;
  }
}

void tw_tile_block_scaled_slots(tw_slots *s, const tw_gemm *g, const PLAN *p) {
  tw_tile_result_slots(s, g, g);
  tw_slots_flag(s, "splits", p->split > 1);
  tw_slots_flag(s, "given", tw_tile_block_scaled_given(g, 'b'));
  tw_slots_flag(s, "given_a", tw_tile_block_scaled_given(g, 'a'));
  tw_slots_number(s, "columns", p->columns);
  tw_slots_number(s, "deep", p->deep);
  tw_slots_number(s, "shared", p->shared_bytes);
  tw_slots_number(s, "window", p->window);
  tw_slots_number(s, "chunk", p->chunk);
  tw_slots_flag(s, "a_transposed", g->a_transposed);
  tw_slots_flag(s, "b_transposed", g->b_transposed);
  tw_slots_text(s, "element", tw_tile_type_word(tw_tile_block_scaled_stored(g))); /* type of A in memory */
  tw_slots_format(s, "addend", "%x", addend_of(g));
  tw_slots_text(s, "whole", tw_tile_whole(g->n, p->split > 1 ? g->n : g->ldc));
}

/* Places in the workspace where first kernels pack operands: codes of B, scales of B, then codes and scales of a
 * packed A. */
static void set_places(tw_slots *s, const tw_gemm *g, const PLAN *p) {
  const int64_t blocks = p->columns * p->deep / 32, blocks_a = p->lines * p->deep / 32;
  const int64_t scales = blocks * 4 * words_of(g->b), a = scales + (blocks + 255) / 256 * 256;
  const int64_t a_scales = a + blocks_a * 4 * words_of(tw_tile_block_scaled_left(g));
  tw_slots_number(s, "b_scales_at", scales);
  tw_slots_number(s, "a_at", a);
  tw_slots_number(s, "a_scales_at", a_scales);
  tw_slots_number(s, "parts_at", g->packed ? 0 : (a_scales + blocks_a + 255) / 256 * 256);
}

static tw_status write(const tw_tile_machine *machine, const tw_problem *problem, const void *plan, tw_text *t,
                       tw_error *error) {
  const tw_gemm g = tw_gemm_of(problem);
  const PLAN *p = plan;
  if (p->hand_scheduled) return tw_tile_block_scaled_write_hand_scheduled(machine, &g, p, t, error);
  tw_slots s = {0};
  tw_tile_block_scaled_slots(&s, &g, p);
  set_places(&s, &g, p);
  tw_slots_number_or_empty(&s, "lines", p->lines);
  tw_slots_flag(&s, "alone", p->lines && !p->share);
  tw_slots_text(&s, "left", tw_type_name(tw_tile_block_scaled_left(&g)));
  tw_slots_text(&s, "right", tw_type_name(g.b));
  const char *const plain = g.packed && !g.shuffle ? "mx_in_rows, mx_in_rows" : "mx_in_tiles, mx_in_tiles";
  tw_slots_text(&s, "orders_a", g.shuffle ? "mx_in_rows, mx_in_tiles" : plain);
  tw_slots_text(&s, "orders_b", plain);
  return tw_tile_fill(&tw_tile_block_scaled, machine, plan, "gpu/amd/kernels/gemm_block_scaled.hip.in", &s, t, error);
}

const tw_tile_family tw_tile_block_scaled = {.language = &language,
                                             .plan_size = sizeof(PLAN),
                                             .supports = supports,
                                             .plainest = plainest,
                                             .settle = settle_gemm_block_scaled,
                                             .offers = offers,
                                             .write = write};
