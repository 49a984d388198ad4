/* attention_multistage_backward.c - plans the kernels of attention's backward pass; attention_multistage.h has their
 * structure, kernels/attention_multistage_backward.hip.in and, with the machine's own loop,
 * ..._backward_hand_scheduled.hip.in are the kernels. */
#include <inttypes.h>

#include "gpu/amd/attention_multistage.h"
#include "gpu/amd/loop.h"
#include "gpu/common/verbs.h"
#include "op/attention.h"

#define PLAN tw_tile_attention_multistage_plan

enum {
  SIDE = 16,
  ELEMENT = 2,
  PIECE = 1024,
  CHUNK = 16,     /* bytes of a lane's load */
  LANES_MAX = 16, /* lanes that exchange a sum without LDS */
  STAGES_MAX = 4,
  OVERHEAD = 48,
  PINNED_KEYS = 256, /* of a workgroup */
  PINNED_QUERIES = 32,
  PINNED_GROUPS = 4, /* or twice as many */
  PINNED_SIDE = 32,
  PINNED_BLOCK = 1152 /* bytes of 16 x 32 elements, padded */
};

/* The parameters of the machine's loop for `hand_scheduled`. */
static tw_tile_back_loop hand_scheduled_loop(const tw_problem *problem, const PLAN *p) {
  const tw_attention a = tw_attention_of(problem);
  return (tw_tile_back_loop){.type = a.type,
                             .d = (int)a.d,
                             .tiles = p->keys / PINNED_SIDE,
                             .groups = p->groups,
                             .causal = a.causal,
                             .partial = !a.causal && a.keys % PINNED_KEYS};
}

static int64_t hand_scheduled_shared_bytes(const tw_tile_back_loop *l) {
  return (int64_t)PINNED_BLOCK * (l->d / 16 * (l->tiles * l->groups + 4) + 2 * l->tiles * l->groups * 2);
}

/* Do the registers suffice for one kernel: rows that a wave keeps (`keys` or `queries`), and `at_once` rows from
 * shared memory? */
static tw_status fits(const tw_tile_machine *machine, const PLAN *p, const char *own_name, int own,
                      const char *other_name, int at_once, int d, int sums, int64_t *shared_bytes, int *blocks,
                      tw_error *error) {
  const int tile = at_once * d * ELEMENT, rows = own / SIDE;
  TW_REJECT_IF(own % p->product || at_once % (2 * SIDE),
               "unsupported %s=%d of a wave with %s=%d per step; expected multiples of %d and %d", own_name, own,
               other_name, at_once, p->product, 2 * SIDE);
  TW_REJECT_IF(tile % (PIECE * p->groups),
               "%s=%d per step cannot be loaded evenly by %d waves; use a larger number or fewer waves", other_name,
               at_once, p->groups);
  const bool held = p->registers || !machine->direct_bytes;
  TW_REJECT_IF(p->ahead && (held || p->stages != 2),
               "overlap_softmax requires stages 2 and direct-to-LDS loads (copy direct_to_lds)");
  /* LSE and D of columns, for two steps if they are fetched ahead */
  const int lines = sums == 2 ? 2 * at_once * p->product / machine->group_threads : 0;
  const int need = rows * (2 * at_once / 4 + 2 * at_once / 8 + 2 * d / 8 + sums * d / 4) + 4 * (d / p->product) +
                   lines * (p->ahead ? 2 : 1) + (held ? tile / (p->groups * machine->group_threads * 2) : 0) + OVERHEAD;
  const int have = machine->simd_registers / ((p->groups + machine->simds - 1) / machine->simds);
  TW_REJECT_IF(
      need > have,
      "%s=%d %s=%d need %d registers per thread for operands, S and accumulators, which exceeds %d; use smaller tiles",
      own_name, own, other_name, at_once, need, have);
  *blocks = p->ahead && 2 * need <= have ? 2 : 1;
  *shared_bytes = 2ll * p->stages * tile;
  TW_REJECT_STAGES(machine, p->stages, *shared_bytes);
  return TW_OK;
}

/* Checks the plan for `hand_scheduled`, which has fixed tiles. */
static tw_status check_hand_scheduled(const tw_tile_machine *machine, const tw_problem *problem, PLAN *p,
                                      tw_error *error) {
  const tw_attention a = tw_attention_of(problem);
  const bool many = p->groups == 2 * PINNED_GROUPS;
  p->keys = PINNED_KEYS / p->groups; /* `waves` may follow `hand_scheduled` */
  const tw_tile_back_loop loop = hand_scheduled_loop(problem, p);
  TW_REJECT_IF(a.d != 64 && a.d != 128,
               "hand_scheduled supports d=64 and 128 (found d=%" PRId64 "); leave the step out", a.d);
  TW_REJECT_IF(!machine->back_loop || !machine->direct_bytes || p->registers,
               "hand_scheduled requires gfx950 and direct-to-LDS loads (copy direct_to_lds)");
  TW_REJECT_IF((p->groups != PINNED_GROUPS && !many) || p->stages != 2 || p->product != PINNED_SIDE || p->ahead,
               "hand_scheduled requires waves %d or %d, stages 2 and mfma 32, and excludes overlap_softmax",
               PINNED_GROUPS, 2 * PINNED_GROUPS);
  TW_REJECT_IF(p->tile_keys && (p->tile_keys != p->keys || p->tile_queries != p->queries),
               "hand_scheduled with waves %d requires tile keys=%d queries=%d (found keys=%d queries=%d); change the "
               "tile, or leave it out",
               p->groups, p->keys, p->queries, p->tile_keys, p->tile_queries);
  TW_REJECT_IF(many && a.d != 128, "hand_scheduled with waves %d requires d=128 (found d=%" PRId64 "); use waves %d",
               p->groups, a.d, PINNED_GROUPS);
  TW_REJECT_IF(a.queries * a.query_heads * a.d * ELEMENT > INT32_MAX ||
                   a.keys * a.key_heads * a.d * ELEMENT > INT32_MAX,
               "hand_scheduled supports operands of up to 2 GiB; use fewer heads or shorter sequences");
  p->at_once = p->dq_at_once = 1;
  p->shared_bytes = hand_scheduled_shared_bytes(&loop);
  return machine->back_loop(machine, &loop, NULL, error);
}

static tw_status settle_attention_backward(const tw_tile_machine *machine, const tw_problem *problem, void *plan,
                                           tw_error *error) {
  PLAN *p = plan;
  const int d = (int)tw_attention_of(problem).d;
  if (p->hand_scheduled) return check_hand_scheduled(machine, problem, p, error);
  const tw_status status =
      fits(machine, p, "keys", p->keys, "queries", p->queries, d, 2, &p->shared_bytes, &p->at_once, error);
  if (status != TW_OK) return status;
  return fits(machine, p, "queries", p->dq_queries, "keys", p->dq_keys, d, 1, &p->dq_shared_bytes, &p->dq_at_once,
              error);
}

/* ---- steps ---- */

static void plainest(const tw_tile_context *c, void *plan) {
  (void)c;
  *(PLAN *)plan = (PLAN){.keys = 16,
                         .queries = 32,
                         .dq_queries = 16,
                         .dq_keys = 32,
                         .groups = 1,
                         .stages = 1,
                         .product = SIDE,
                         .registers = true};
}

static void begin_tile(const void *with, void *plan) {
  plainest(with, plan);
  ((PLAN *)plan)->registers = false;
}

static tw_status then_tile(const void *with, void *plan, unsigned given, tw_error *error) {
  PLAN *p = plan;
  (void)with, (void)given, (void)error;
  p->tile_keys = p->keys, p->tile_queries = p->queries;
  return TW_OK;
}

static tw_status then_pinned(const void *with, void *plan, unsigned given, tw_error *error) {
  PLAN *p = plan;
  const tw_tile_context *c = with;
  (void)given, (void)error;
  if (p->groups != 2 * PINNED_GROUPS || tw_attention_of(c->problem).d != 128) p->groups = PINNED_GROUPS;
  p->queries = PINNED_QUERIES;
  p->stages = 2, p->product = PINNED_SIDE;
  p->ahead = p->registers = false;
  return TW_OK;
}

static const tw_verb verbs[] = {
    {.name = "tile",
     .usage = "tile keys=32 queries=32",
     .help = "Set the keys of a wave and the queries of a step.",
     .needs = 2,
     .argument = {TW_NUMBER("keys", PLAN, keys, 16, 128), TW_NUMBER("queries", PLAN, queries, 32, 256)},
     .first = begin_tile,
     .then = then_tile},
    {.name = "dq",
     .usage = "dq queries=32 keys=64",
     .help = "Set the tile of the kernel that computes dQ.",
     .needs = 2,
     .argument = {TW_NUMBER("queries", PLAN, dq_queries, 16, 128), TW_NUMBER("keys", PLAN, dq_keys, 32, 256)}},
    TW_TILE_WAVES(PLAN, "Set the waves of a workgroup.", "the waves of a workgroup share its tiles"),
    TW_TILE_STAGES(PLAN, 1, STAGES_MAX, "1, 2, 3, 4"),
    TW_TILE_MFMA(PLAN, product, "16, 32", tw_tile_attention_multistage_then_mfma),
    {TW_FLAG_RENAMED("overlap_softmax", "ahead",
                     "Overlap softmax with the products after the scores (register double buffering).", PLAN, ahead),
     .then = tw_tile_attention_multistage_then_overlap,
     .why = "P is computed while the products of the previous scores are multiplied"},
    {TW_FLAG_RENAMED("hand_scheduled", "pinned",
                     "Use one kernel with a hand-scheduled assembly loop for dQ, dK and dV.", PLAN, hand_scheduled),
     .then = then_pinned, .why = "one hand-scheduled kernel with all five products; dQ is summed in memory"},
    TW_TILE_COPY(PLAN),
};
static const tw_language language = {TW_LANGUAGE("attention on AMD GPUs, backward", verbs)};

static void offers(tw_menu_builder *m, const tw_tile_context *c) {
  (void)c;
  for (int own = 16; own <= 64; own *= 2)
    for (int at_once = 32; at_once <= 128; at_once *= 2) {
      tw_menu_offer(m, "tile", "more keys per wave read queries and gradients less often", "tile keys=%d queries=%d",
                    own, at_once);
      tw_menu_offer(m, "dq", "more queries per wave read keys and values less often", "dq queries=%d keys=%d", own,
                    at_once);
    }
}

/* ---- the kernels ---- */

/* Lanes that add the products of a row of O and dO together: a power of two that divides the row's 16 bytes. */
static int64_t lanes_of_row(int64_t d) {
  const int64_t chunks = d * ELEMENT / CHUNK, lanes = chunks & -chunks;
  return lanes < LANES_MAX ? lanes : LANES_MAX;
}

static tw_status write(const tw_tile_machine *machine, const tw_problem *problem, const void *plan, tw_text *t,
                       tw_error *error) {
  const PLAN *p = plan;
  tw_slots s = {0};
  tw_tile_access access = {
      .rows = p->dq_keys, .row_bytes = (int)tw_attention_of(problem).d * ELEMENT, .side = p->product};
  tw_tile_attention_multistage_slots(&s, machine, problem, p);
  tw_slots_number(&s, "lanes", lanes_of_row(tw_attention_of(problem).d));
  tw_slots_number(&s, "dq_at_once", p->dq_at_once);
  tw_slots_number(&s, "dq_shared", p->dq_shared_bytes);
  tw_text loop = {0};
  tw_status status = TW_OK;
  if (p->hand_scheduled) {
    const tw_tile_back_loop of = hand_scheduled_loop(problem, p);
    status = machine->back_loop(machine, &of, &loop, error);
    tw_slots_text(&s, "hidden", of.partial ? "own + OWN_KEYS - sk" : "own + 31 - (begin + sk - sq)");
  }
  tw_slots_take(&s, "loop", &loop);
  tw_tile_attention_multistage_swizzle(&s, machine, "v_swizzle", access);
  access.values = access.rows_too = true;
  tw_tile_attention_multistage_swizzle(&s, machine, "k_swizzle", access);
  access.rows = p->queries;
  tw_tile_attention_multistage_swizzle(&s, machine, "q_swizzle", access);
  if (status == TW_OK)
    return tw_tile_fill(&tw_tile_attention_multistage_backward, machine, plan,
                        p->hand_scheduled ? "gpu/amd/kernels/attention_multistage_backward_hand_scheduled.hip.in"
                                          : "gpu/amd/kernels/attention_multistage_backward.hip.in",
                        &s, t, error);
  tw_slots_free(&s);
  return status;
}

const tw_tile_family tw_tile_attention_multistage_backward = {.language = &language,
                                                              .plan_size = sizeof(PLAN),
                                                              .supports = tw_tile_attention_multistage_supports,
                                                              .plainest = plainest,
                                                              .settle = settle_attention_backward,
                                                              .offers = offers,
                                                              .write = write};
