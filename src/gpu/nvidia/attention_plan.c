/* attention_plan.c - replays the steps of a schedule, offers the next ones, and fills the kernels; attention.h lists
 * the steps, kernels/attention.cuh.in and kernels/attention_backward.cuh.in are the kernels. */
#include <inttypes.h>

#include "base/integers.h"
#include "base/template.h"
#include "gpu/common/attention_slots.h"
#include "gpu/common/verbs.h"
#include "gpu/nvidia/attention.h"

enum {
  STAGES_MAX = 8,
  ALIGNMENT = 1024,
  BARRIER_BYTES = 8,
  OVERHEAD = 32, /* registers of a thread in addition to scores, P and sums */
  ELEMENT = 2,   /* bytes */
  BOX_MAX = 256
};

#define PLAN tw_tile_attention_plan

enum { PANEL = 64, D_MAX = 256 }; /* elements of a row of shared memory; the columns of a product */
enum { PIECE = 16 };              /* keys of a page that are copied at once, at least */

static tw_status supports_forward(const tw_tile_machine *machine, const tw_problem *p, tw_error *error) {
  (void)machine;
  const tw_attention a = tw_attention_of(p);
  TW_REJECT_IF(a.pitch % 8, "unsupported pitch=%" PRId64 "; TMA requires a multiple of 8 elements", a.pitch);
  TW_REJECT_IF(a.page % PIECE, "unsupported page=%" PRId64 "; TMA copies pieces of %d keys, so expected a multiple",
               a.page, PIECE);
  if ((a.type == TW_BF16 || a.type == TW_F16) && a.d % 16 == 0 && a.d >= TW_TILE_ATTENTION_LEAST_D && a.d <= D_MAX &&
      a.scale > 0)
    return TW_OK;
  return tw_fail(error, TW_USAGE,
                 "tile kernels support attention with a=bf16 or f16, d a multiple of 16 from %d to %d and scale >= "
                 "0 (found a=%s d=%" PRId64 ")",
                 TW_TILE_ATTENTION_LEAST_D, D_MAX, tw_type_name(a.type), a.d);
}

static tw_status supports(const tw_tile_machine *machine, const tw_problem *p, tw_error *error) {
  (void)machine;
  const tw_attention a = tw_attention_of(p);
  const tw_status without = tw_attention_without(&a, TW_ATTENTION_WINDOW, "kernels of pass=backward", error);
  if (without != TW_OK) return without;
  if ((a.type == TW_BF16 || a.type == TW_F16) && (a.d == 64 || a.d == 128) && a.scale > 0) return TW_OK;
  return tw_fail(error, TW_USAGE,
                 "tile kernels support attention's backward pass with a=bf16 or f16, d=32, 64 or 128 and scale >= 0 "
                 "(found a=%s d=%" PRId64 ")",
                 tw_type_name(a.type), a.d);
}

/* Registers of the producer and of a consumer, if the schedule gives none. *have: registers of a consumer thread. */
static tw_status settle_registers(const tw_tile_machine *machine, PLAN *p, int copy, int multiply, int *have,
                                  tw_error *error) {
  if (!p->registers_copy && machine->registers_move && p->groups > 1) {
    p->registers_copy = copy;
    p->registers_multiply = multiply;
  }
  TW_REJECT_IF(p->registers_copy % 8 || p->registers_multiply % 8 ||
                   (p->registers_copy + p->groups * p->registers_multiply) * machine->group_threads >
                       machine->registers,
               "unsupported registers producer=%d consumer=%d; expected multiples of 8, together at most the %d "
               "registers of a block",
               p->registers_copy, p->registers_multiply, machine->registers);
  *have =
      p->registers_multiply ? p->registers_multiply : machine->registers / ((p->groups + 1) * machine->group_threads);
  return TW_OK;
}

int tw_tile_attention_heads_at_once(const tw_tile_machine *machine, int64_t bytes, int64_t sharing, int64_t least,
                                    int64_t most) {
  const int64_t heads = machine->l2_bytes / 2 / bytes * sharing, fit = heads < least ? least : heads;
  return (int)(fit < most ? fit : most);
}

static tw_status settle_attention(const tw_tile_machine *machine, const tw_problem *problem, void *plan,
                                  tw_error *error) {
  PLAN *p = plan;
  const tw_attention a = tw_attention_of(problem);
  const int d = p->width = ((int)a.d + PANEL - 1) / PANEL * PANEL;
  TW_REJECT_IF(p->keys % 16 || p->keys > machine->columns, "unsupported keys=%d; expected a multiple of 16 up to %d",
               p->keys, machine->columns);
  TW_REJECT_IF(p->groups * machine->group_rows > BOX_MAX ||
                   (p->groups + 1) * machine->group_threads > machine->block_threads,
               "unsupported consumers=%d; one TMA copy has at most %d queries", p->groups, BOX_MAX);
  TW_REJECT_IF(p->pingpong && p->groups < 2, "pingpong requires two consumer warpgroups; use consumers=2");
  int have;
  const tw_status status =
      settle_registers(machine, p, p->groups == 2 ? 24 : 32, p->groups == 2 ? 240 : 160, &have, error);
  if (status != TW_OK) return status;
  const int need = p->keys / 2 + p->keys / 4 + d / 2 + OVERHEAD;
  TW_REJECT_IF(need > have, "keys=%d needs %d registers per thread for S, P and O, which exceeds %d; use fewer keys",
               p->keys, need, have);
  const int64_t tile = (int64_t)p->keys * d * ELEMENT, queries = (int64_t)p->groups * machine->group_rows * d * ELEMENT;
  if (!p->stages) {
    p->stages = 4;
    while (p->stages > 2 && ALIGNMENT + queries + 2 * p->stages * tile + 512 > machine->shared_bytes) p->stages--;
  }
  p->shared_bytes = ALIGNMENT + queries + 2 * p->stages * tile + (2 + 4 * p->stages) * BARRIER_BYTES;
  p->apart = p->persistent && p->shared_bytes + queries <= machine->shared_bytes;
  if (p->apart) p->shared_bytes += queries;
  TW_REJECT_STAGES(machine, p->stages, p->shared_bytes);
  p->heads_at_once =
      tw_tile_attention_heads_at_once(machine, 2 * a.keys * d * ELEMENT, a.group, 8, a.query_heads * a.batches);
  return TW_OK;
}

/* dQ of a tile is 64 x 64 for each warpgroup. Its copies, the keys and two tiles of dS must fit into shared memory. */
static tw_status settle_back(const tw_tile_machine *machine, const tw_problem *problem, void *plan, tw_error *error) {
  PLAN *p = plan;
  const tw_attention a = tw_attention_of(problem);
  const int d = p->width = (int)a.d, rows = machine->group_rows;
  TW_REJECT_IF(p->queries % rows || p->queries * d != p->groups * rows * rows || p->queries > BOX_MAX,
               "unsupported queries=%d consumers=%d; each consumer warpgroup has %d x %d elements of dQ, so use %d "
               "queries per consumer (a multiple of %d)",
               p->queries, p->groups, rows, rows, rows * rows / d, rows);
  p->keys = p->groups * rows;
  int have;
  const tw_status status = settle_registers(machine, p, 24, 240, &have, error);
  if (status != TW_OK) return status;
  const int need = d + rows + OVERHEAD; /* dK and dV; scores and gradients, or their rounded values and dQ */
  TW_REJECT_IF(need > have, "queries=%d consumers=%d need %d registers per thread, which exceeds %d; use fewer queries",
               p->queries, p->groups, need, have);
  const int64_t keys = 2 * (int64_t)p->keys * d * ELEMENT, changes = 2 * (int64_t)p->keys * p->queries * ELEMENT;
  const int64_t stage = 2 * (int64_t)p->queries * (d * ELEMENT + 4) + 3 * BARRIER_BYTES;
  if (!p->stages) {
    p->stages = 3;
    while (p->stages > 2 && ALIGNMENT + keys + changes + p->stages * stage + 512 > machine->shared_bytes) p->stages--;
  }
  TW_REJECT_IF(p->stages < 2,
               "unsupported stages %d; a tile of queries is released after the next one has arrived, so "
               "expected 2 or more",
               p->stages);
  p->shared_bytes = ALIGNMENT + keys + changes + p->stages * stage + BARRIER_BYTES;
  TW_REJECT_STAGES(machine, p->stages, p->shared_bytes);
  p->heads_at_once =
      tw_tile_attention_heads_at_once(machine, 2 * a.queries * a.group * a.d * ELEMENT, 1, 4, a.key_heads * a.batches);
  return TW_OK;
}

static void begin_tile(const void *with, void *plan) {
  (void)with;
  *(PLAN *)plan = (PLAN){.groups = 2};
}

#define REGISTERS_OFFERED                                                                                              \
  "producer=24 consumer=240, producer=32 consumer=160, producer=40 consumer=232, producer=24 consumer=216, "           \
  "producer=56 consumer=224"

static const tw_verb verbs[] = {
    {.name = "tile",
     .usage = "tile keys=128 consumers=2",
     .help = "Set the tile and the consumer warpgroups of a thread block.",
     .needs = 1,
     .argument = {TW_NUMBER("keys", PLAN, keys, 16, 256), TW_NUMBER("consumers|groups", PLAN, groups, 1, 4)},
     .first = begin_tile},
    {TW_FLAG_RENAMED("pingpong", "turns",
                     "Alternate warpgroups (ping-pong): one multiplies while another computes softmax.", PLAN,
                     pingpong),
     .why = "one consumer warpgroup multiplies while another computes its softmax"},
    {TW_FLAG("persistent", "Run one block on each multiprocessor and loop over tiles.", PLAN, persistent),
     .why = "keys of the next tile load while the last tile finishes"},
    TW_TILE_STAGES(PLAN, 1, STAGES_MAX, "2, 3, 4"),
    TW_TILE_REGISTERS(PLAN, REGISTERS_OFFERED),
};
static const tw_language forward = {TW_LANGUAGE("attention on NVIDIA GPUs", verbs), .begun = TW_FIELD(PLAN, keys)};

static const tw_verb back_verbs[] = {
    {.name = "tile",
     .usage = "tile queries=64 consumers=2",
     .help = "Set the tile and the consumer warpgroups of a thread block.",
     .needs = 1,
     .argument = {TW_NUMBER("queries", PLAN, queries, 64, 256), TW_NUMBER("consumers|groups", PLAN, groups, 1, 4)},
     .first = begin_tile},
    TW_TILE_STAGES(PLAN, 1, STAGES_MAX, "2, 3"),
    TW_TILE_REGISTERS(PLAN, REGISTERS_OFFERED),
};
static const tw_language backward = {TW_LANGUAGE("attention on NVIDIA GPUs, backward", back_verbs),
                                     .begun = TW_FIELD(PLAN, queries)};

static void offers(tw_menu_builder *m, const tw_tile_context *c) {
  (void)c;
  /* A search tries some steps of each lever, so different kinds of tiles are different levers. */
  static const char *const kind[3][2] = {{"narrow tile, 1 group", "wide tile, 1 group"},
                                         {"narrow tile, 2 groups", "wide tile, 2 groups"},
                                         {"narrow tile, 3 groups", "wide tile, 3 groups"}};
  for (int keys = 64; keys <= 256; keys += 16)
    for (int groups = 1; groups <= 3; groups++)
      tw_menu_offer(m, kind[groups - 1][keys > 128],
                    "more keys rescale the accumulator less often; more queries read keys less often",
                    "tile keys=%d consumers=%d", keys, groups);
}

static void offers_back(tw_menu_builder *m, const tw_tile_context *c) {
  (void)c;
  for (int groups = 1; groups <= 2; groups++)
    for (int queries = 64; queries <= 128; queries += 64)
      tw_menu_offer(m, groups > 1 ? "tile, 2 consumers" : "tile, 1 consumer", "size of a step over queries",
                    "tile queries=%d consumers=%d", queries, groups);
}

/* ---- the kernels ---- */

static void slots(const tw_tile_machine *machine, const tw_problem *problem, const void *plan, tw_slots *s) {
  (void)machine;
  const PLAN *p = plan;
  const tw_attention a = tw_attention_of(problem);
  tw_tile_attention_slots(s, &a);
  tw_tile_attention_mask_slots(s, &a);
  tw_slots_number(s, "width", p->width);
  if (p->width == a.d)
    tw_slots_text(s, "head", "D");
  else
    tw_slots_number(s, "head", a.d);
  tw_slots_flag(s, "sized", a.tokens || a.has_lengths || a.page);
  tw_slots_number(s, "piece", tw_common_divisor(p->keys, a.page));  /* keys that one page has */
  tw_slots_text(s, "first", a.tokens ? "w.begin + " : "w.batch, "); /* of a position in a tensor */
  tw_slots_number(s, "keys", p->keys);
  tw_slots_number(s, "apart", p->apart);
  tw_slots_number(s, "heads_at_once", p->heads_at_once);
  tw_slots_number(s, "shared", p->shared_bytes);
}

const tw_tile_family tw_tile_attention = {.language = &forward,
                                          .plan_size = sizeof(PLAN),
                                          .supports = supports_forward,
                                          .settle = settle_attention,
                                          .offers = offers,
                                          .kernel = "gpu/nvidia/kernels/attention.cuh.in",
                                          .slots = slots};

const tw_tile_family tw_tile_attention_backward = {.language = &backward,
                                                   .plan_size = sizeof(PLAN),
                                                   .supports = supports,
                                                   .settle = settle_back,
                                                   .offers = offers_back,
                                                   .kernel = "gpu/nvidia/kernels/attention_backward.cuh.in",
                                                   .slots = slots};
