/* attention_multistage.c - plans a kernel for attention's forward pass; attention_multistage.h has its structure,
 * kernels/attention_multistage.hip.in is the kernel. */
#include "gpu/amd/attention_multistage.h"

#include <inttypes.h>

#include "gpu/common/attention_slots.h"
#include "gpu/common/verbs.h"

#define PLAN tw_tile_attention_multistage_plan

enum {
  SIDE = 16,
  ELEMENT = 2,
  WORDS = 4,
  PIECE = 1024,
  STAGES_MAX = 4,
  OVERHEAD = 48,
  AHEAD = 6,
  FEW = 24,
  COLUMNS = 32,
  COLUMNS_MAX = 256
};

tw_status tw_tile_attention_multistage_supports(const tw_tile_machine *machine, const tw_problem *p, tw_error *error) {
  (void)machine;
  const tw_attention a = tw_attention_of(p);
  const tw_status without = tw_attention_without(&a, TW_ATTENTION_ANY, "tile kernels here", error);
  if (without != TW_OK) return without;
  /* A product with P adds 32 columns of O at least, and a shared tile's swizzle repeats with 32 columns. */
  const bool divides = a.d % COLUMNS == 0 && a.d <= COLUMNS_MAX;
  if ((a.type == TW_BF16 || a.type == TW_F16) && divides && a.scale > 0) return TW_OK;
  return tw_fail(error, TW_USAGE,
                 "tile kernels support attention with a=bf16 or f16, d a multiple of %d up to %d and scale >= 0 (found "
                 "a=%s d=%" PRId64 "); run a kernel of your own instead",
                 COLUMNS, COLUMNS_MAX, tw_type_name(a.type), a.d);
}

static tw_status settle_attention_multistage(const tw_tile_machine *machine, const tw_problem *problem, void *plan,
                                             tw_error *error) {
  PLAN *p = plan;
  const tw_attention a = tw_attention_of(problem);
  const int d = (int)a.d, tile = p->keys * d * ELEMENT;
  TW_REJECT_IF(p->queries % p->product || p->keys % (2 * SIDE),
               "unsupported queries=%d keys=%d; expected multiples of %d and %d", p->queries, p->keys, p->product,
               2 * SIDE);
  TW_REJECT_IF(tile % (PIECE * p->groups), "keys=%d cannot be loaded evenly by %d waves; use more keys or fewer waves",
               p->keys, p->groups);
  const bool held = p->registers || !machine->direct_bytes;
  /* registers of a thread: scores and P of one step, or of two where they overlap; queries, sums, and operands on
   * their way */
  const int scores = p->queries * p->keys / machine->group_threads, rows = p->queries * d / machine->group_threads;
  const int under_way = p->ahead ? AHEAD * WORDS : WORDS * (d / p->product);
  const int need = scores * (p->ahead ? 3 : 1) + (p->ahead ? 0 : scores / 2) + rows + rows / 2 + under_way +
                   (held ? tile / (p->groups * machine->group_threads * 2) : 0) + (p->ahead ? FEW : OVERHEAD);
  const int have = machine->simd_registers / ((p->groups + machine->simds - 1) / machine->simds);
  TW_REJECT_IF(need > have,
               "queries=%d keys=%d need %d registers per thread for S, P and O, which exceeds %d; use smaller tiles",
               p->queries, p->keys, need, have);
  TW_REJECT_IF(p->pingpong && (p->groups % 2 || p->stages < 3),
               "pingpong requires an even number of waves and stages >= 3");
  TW_REJECT_IF(p->ahead && (held || p->stages != 2 || p->pingpong),
               "overlap_softmax requires stages 2 and direct-to-LDS loads (copy direct_to_lds), without pingpong");
  p->shared_bytes = 2ll * p->stages * tile;
  TW_REJECT_STAGES(machine, p->stages, p->shared_bytes);
  return TW_OK;
}

/* ---- steps ---- */

static void plainest(const tw_tile_context *c, void *plan) {
  (void)c;
  *(PLAN *)plan = (PLAN){.queries = 16, .keys = 32, .groups = 1, .stages = 1, .product = SIDE, .registers = true};
}

static void begin_tile(const void *with, void *plan) {
  plainest(with, plan);
  ((PLAN *)plan)->registers = false;
}

tw_status tw_tile_attention_multistage_then_mfma(const void *with, void *plan, unsigned given, tw_error *error) {
  const int side = ((PLAN *)plan)->product;
  (void)with, (void)given;
  return side == 16 || side == 32 ? TW_OK : tw_fail(error, TW_USAGE, "must be 16 or 32");
}

/* Sets what overlap_softmax requires, so that a search gets there in one step. */
tw_status tw_tile_attention_multistage_then_overlap(const void *with, void *plan, unsigned given, tw_error *error) {
  (void)with, (void)given, (void)error;
  ((PLAN *)plan)->stages = 2;
  return TW_OK;
}

static const tw_verb verbs[] = {
    {.name = "tile",
     .usage = "tile queries=32 keys=64",
     .help = "Set the queries of a wave and the keys of a step.",
     .needs = 2,
     .argument = {TW_NUMBER("queries", PLAN, queries, 16, 128), TW_NUMBER("keys", PLAN, keys, 32, 256)},
     .first = begin_tile},
    TW_TILE_WAVES(PLAN, "Set the waves that share tiles of keys and values.",
                  "the waves of a workgroup share its keys and values"),
    TW_TILE_STAGES(PLAN, 1, STAGES_MAX, "1, 2, 3, 4"),
    TW_TILE_MFMA(PLAN, product, "16, 32", tw_tile_attention_multistage_then_mfma),
    {TW_FLAG_RENAMED(
         "pingpong", "turns",
         "Alternate two sets of waves (ping-pong): one computes scores while the other computes softmax and "
         "multiplies values.",
         PLAN, pingpong),
     .why = "half of the waves compute scores while the other half computes softmax and P V"},
    {TW_FLAG_RENAMED("overlap_softmax", "ahead",
                     "Compute the scores of the next keys while the current softmax runs (register double buffering).",
                     PLAN, ahead),
     .then = tw_tile_attention_multistage_then_overlap,
     .why = "the next scores are multiplied during the softmax of the current ones"},
    TW_TILE_COPY(PLAN),
};
static const tw_language language = {TW_LANGUAGE("attention on AMD GPUs", verbs)};

static void offers(tw_menu_builder *m, const tw_tile_context *c) {
  (void)c;
  for (int queries = 16; queries <= 64; queries *= 2)
    for (int keys = 32; keys <= 256; keys *= 2)
      tw_menu_offer(m, "tile", "more keys rescale the accumulator less often; more queries read keys less often",
                    "tile queries=%d keys=%d", queries, keys);
}

/* ---- the kernel ---- */

void tw_tile_attention_multistage_slots(tw_slots *s, const tw_tile_machine *machine, const tw_problem *problem,
                                        const PLAN *p) {
  const tw_attention a = tw_attention_of(problem);
  tw_tile_attention_slots(s, &a);
  tw_slots_flag(s, "pipelined", p->stages > 1);
  tw_slots_flag(s, "direct", machine->direct_bytes && !p->registers);
  tw_slots_number(s, "shared", p->shared_bytes);
}

void tw_tile_attention_multistage_swizzle(tw_slots *s, const tw_tile_machine *machine, const char *slot,
                                          tw_tile_access access) {
  char swizzle[TW_TILE_SWIZZLE] = "plain";
  access.element_bytes = ELEMENT;
  machine->swizzle(machine, &access, swizzle);
  tw_slots_text(s, slot, swizzle);
}

static void slots(const tw_tile_machine *machine, const tw_problem *problem, const void *plan, tw_slots *s) {
  const PLAN *p = plan;
  tw_tile_access access = {.rows = p->keys, .row_bytes = (int)tw_attention_of(problem).d * ELEMENT, .side = p->product};
  tw_tile_attention_multistage_slots(s, machine, problem, p);
  tw_tile_attention_multistage_swizzle(s, machine, "k_swizzle", access);
  access.values = true;
  tw_tile_attention_multistage_swizzle(s, machine, "v_swizzle", access);
}

const tw_tile_family tw_tile_attention_multistage = {.language = &language,
                                                     .plan_size = sizeof(PLAN),
                                                     .supports = tw_tile_attention_multistage_supports,
                                                     .plainest = plainest,
                                                     .settle = settle_attention_multistage,
                                                     .offers = offers,
                                                     .kernel = "gpu/amd/kernels/attention_multistage.hip.in",
                                                     .slots = slots};
