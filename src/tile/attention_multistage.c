/* attention_multistage.c - plans and writes a kernel for attention's forward pass; attention_multistage.h has its structure.
 *
 * Each chip has a range of the heads, and goes through the blocks of one after those of the other, so that its cache holds
 * the keys and values of few heads; causal, those with the most keys begin. */
#include "tile/attention_multistage.h"

#include <inttypes.h>
#include <math.h>

#include "base/strings.h"
#include "op/attention.h"

#define PLAN tw_tile_attention_multistage_plan

enum { SIDE = 16, ELEMENT = 2, WORDS = 4, PIECE = 1024, STAGES_MAX = 4, OVERHEAD = 48, AHEAD = 6, FEW = 24 };

tw_status tw_tile_attention_multistage_supports(const tw_tile_machine *machine, const tw_problem *p, tw_error *error) {
  (void)machine;
  const tw_attention a = tw_attention_of(p);
  if ((a.type == TW_BF16 || a.type == TW_F16) && (a.d == 64 || a.d == 128) && a.scale > 0) return TW_OK;
  return tw_fail(error, TW_USAGE,
                 "tile kernels support attention with a=bf16 or f16, d=64 or 128 and scale >= 0 (found a=%s d=%" PRId64
                 "); run a kernel of your own instead",
                 tw_type_name(a.type), a.d);
}

static tw_status settle(const tw_tile_machine *machine, const tw_problem *problem, void *plan, tw_error *error) {
  PLAN *p = plan;
  const tw_attention a = tw_attention_of(problem);
  const int d = (int)a.d, tile = p->keys * d * ELEMENT;
  if (p->queries % p->product || p->keys % (2 * SIDE))
    return tw_fail(error, TW_USAGE, "unsupported queries=%d keys=%d; expected multiples of %d and %d", p->queries,
                   p->keys, p->product, 2 * SIDE);
  if (tile % (PIECE * p->groups))
    return tw_fail(error, TW_USAGE, "keys=%d cannot be loaded evenly by %d waves; use more keys or fewer waves",
                   p->keys, p->groups);
  const bool held = p->registers || !machine->direct_bytes;
  /* of a thread: scores and weights of two steps, where there are two at a time, queries, sums, and operands on their way */
  const int scores = p->queries * p->keys / machine->group_threads, rows = p->queries * d / machine->group_threads;
  const int under_way = p->ahead ? AHEAD * WORDS : WORDS * (d / p->product);
  const int need = scores * (p->ahead ? 3 : 1) + (p->ahead ? 0 : scores / 2) + rows + rows / 2 + under_way +
                   (held ? tile / (p->groups * machine->group_threads * 2) : 0) + (p->ahead ? FEW : OVERHEAD);
  const int have = machine->simd_registers / ((p->groups + machine->simds - 1) / machine->simds);
  if (need > have)
    return tw_fail(
        error, TW_USAGE,
        "queries=%d keys=%d need %d registers per thread for S, P and O, which exceeds %d; use smaller tiles",
        p->queries, p->keys, need, have);
  if (p->turns && (held || p->groups % 2 || p->stages < 3))
    return tw_fail(
        error, TW_USAGE,
        "pingpong requires an even number of waves, stages >= 3 and direct-to-LDS loads (copy direct_to_lds)");
  if (p->ahead && (held || p->stages != 2 || p->turns))
    return tw_fail(error, TW_USAGE,
                   "overlap_softmax requires stages 2 and direct-to-LDS loads (copy direct_to_lds), without pingpong");
  p->shared_bytes = 2ll * p->stages * tile;
  if (p->shared_bytes > machine->shared_bytes)
    return tw_fail(error, TW_USAGE,
                   "%d stages need %" PRId64 " bytes of shared memory, which exceeds %" PRId64
                   "; use fewer stages or smaller tiles",
                   p->stages, p->shared_bytes, machine->shared_bytes);
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

/* So that a search gets there in one step. */
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
    {.name = "waves|groups",
     .usage = "waves 4",
     .help = "Set the waves that share tiles of keys and values.",
     .needs = 1,
     .argument = {TW_NUMBER("", PLAN, groups, 1, 8)}},
    {.name = "stages",
     .usage = "stages 2",
     .help = "Set the pipeline depth: tiles in LDS or in flight.",
     .needs = 1,
     .argument = {TW_NUMBER("", PLAN, stages, 1, STAGES_MAX)}},
    {.name = "mfma|product",
     .usage = "mfma 32",
     .help = "Use 32x32 matrix instructions instead of 16x16.",
     .needs = 1,
     .argument = {TW_NUMBER("", PLAN, product, 16, 32)},
     .then = tw_tile_attention_multistage_then_mfma},
    {.name = "pingpong|turns",
     .usage = "pingpong",
     .help = "Alternate two sets of waves (ping-pong): one computes scores while the other computes softmax and "
             "multiplies values.",
     .sets = TW_FIELD(PLAN, turns)},
    {.name = "overlap_softmax|ahead",
     .usage = "overlap_softmax",
     .help = "Compute the scores of the next keys while the current softmax runs (register double buffering).",
     .sets = TW_FIELD(PLAN, ahead),
     .then = tw_tile_attention_multistage_then_overlap},
    {.name = "copy",
     .usage = "copy registers, copy direct_to_lds",
     .help = "Copy to LDS directly or through registers.",
     .needs = 1,
     .argument = {TW_CHOICE("", PLAN, registers, 0, "direct_to_lds=direct|registers")}},
};
static const tw_language language = {"attention of tiles", sizeof verbs / sizeof *verbs, verbs};

static void offers(tw_menu_builder *m, const tw_tile_context *c) {
  (void)c;
  for (int queries = 16; queries <= 64; queries *= 2)
    for (int keys = 32; keys <= 256; keys *= 2)
      tw_menu_offer(m, "tile", "more keys rescale the accumulator less often; more queries read keys less often",
                    "tile queries=%d keys=%d", queries, keys);
  for (int i = 1; i <= 8; i *= 2)
    tw_menu_offer(m, "waves", "the waves of a workgroup share its keys and values", "waves %d", i);
  for (int i = 1; i <= STAGES_MAX; i++)
    tw_menu_offer(m, "stages", "the next tiles load while the current one is multiplied", "stages %d", i);
  tw_menu_offer(m, "copy", "direct-to-LDS loads use no registers", "copy direct_to_lds");
  tw_menu_offer(m, "copy", "loads through registers need no separate wait", "copy registers");
  for (int side = 16; side <= 32; side *= 2)
    tw_menu_offer(m, "mfma", "larger matrix instructions: fewer instructions and moves between lanes", "mfma %d", side);
  tw_menu_offer(m, "overlap_softmax", "the next scores are multiplied during the softmax of the current ones",
                "overlap_softmax");
  tw_menu_offer(m, "pingpong", "half of the waves compute scores while the other half computes softmax and P V",
                "pingpong");
}

/* ---- the kernel ---- */

static const char head[] =
    "constexpr int WIDE = D / product::side, DEEP = D / product::deep, TILES = KEYS / product::side;\n"
    "constexpr int ROWS = QUERIES / product::side;\n\n"
    "TW_KERNEL(GROUPS * group_threads, 1) attention(const type *q, const type *k, const type *v, type *o, float *lse, "
    "int hq, "
    "int hkv, int sq, int sk, float scale) {\n"
    "  arena memory;\n"
    "  const auto ks = memory.take<many<k_tile, STAGES>>();\n"
    "  const auto vs = memory.take<many<v_tile, STAGES>>();\n"
    "  const int rows = (sq + GROUPS * QUERIES - 1) / (GROUPS * QUERIES), all = hq * BATCHES;\n"
    "  const int t = range_of_chip<CHIPS>(block_of_grid(), rows * all), head = t / rows % hq, batch = t / rows / hq;\n"
    "  const int m = CAUSAL ? rows - 1 - t % rows : t % rows;\n"
    "  const int row = m * GROUPS * QUERIES, own = row + group_of_block() * QUERIES;\n"
    "  const i64 down_q = (i64)hq * D, down_k = (i64)hkv * D;\n"
    "  const i64 from_q = ((i64)batch * sq * hq + head) * D, from_kv = ((i64)batch * sk * hkv + head / (hq / hkv)) * "
    "D;\n"
    "  const float factor = (scale == 0 ? SCALE : scale) * 1.44269504f;\n"
    "  operand<product, ROWS, DEEP> left;\n"
    "  load_rows(left, q + from_q, down_q, own, sq);\n"
    "  acc<product, ROWS, WIDE> sums;\n"
    "  sums.clear();\n"
    "  softmax_state<product, ROWS, TILES> state;\n"
    "  state.clear();\n"
    "  const int seen = CAUSAL ? min(sk, row + GROUPS * QUERIES + sk - sq) : sk, steps = (seen + KEYS - 1) / KEYS;\n";

static const char body_scores[] = "    acc<product, ROWS, TILES> scores;\n"
                                  "    scores.clear();\n"
                                  "#pragma unroll\n"
                                  "    for (int i = 0; i < DEEP; i++) {\n"
                                  "      operand<product, TILES, 1> right;\n"
                                  "      operand<product, ROWS, 1> part;\n"
                                  "      load(right, ks[slot], 0, i);\n"
                                  "#pragma unroll\n"
                                  "      for (int j = 0; j < ROWS; j++) part.value[j][0] = left.value[j][i];\n"
                                  "      mma_abt(scores, part, right);\n"
                                  "    }\n";

static const char body_weights[] =
    "    const int end = CAUSAL ? min(sk, own + 1 + sk - sq) : sk; /* of what the first query sees */\n"
    "    if (s * KEYS + KEYS > end) hide<CAUSAL>(scores, s * KEYS, sk, own, sk - sq);\n"
    "    operand<product, ROWS, state.steps> weights;\n"
    "    state.weigh_all(weights, scores, sums, factor);\n"
    "#pragma unroll\n"
    "    for (int i = 0; i < state.steps; i++) {\n"
    "      operand<product, WIDE, 1> right;\n"
    "      operand<product, ROWS, 1> part;\n"
    "      load_values(right, vs[slot], i * product::deep);\n"
    "#pragma unroll\n"
    "      for (int j = 0; j < ROWS; j++) part.value[j][0] = weights.value[j][i];\n"
    "      mma_abt(sums, part, right);\n"
    "    }\n";

static const char tail[] =
    "#pragma unroll\n"
    "  for (int i = 0; i < ROWS; i++) {\n"
    "    const float total = state.total_of(i), by = 1.f / total;\n"
    "    const int query = own + i * product::side + thread_of_group() % product::side;\n"
    "    if (thread_of_group() < product::side && query < sq)\n"
    "      lse[((i64)batch * hq + head) * sq + query] = (state.most[i] * factor + log2_fast(total)) * 0.69314718f;\n"
    "#pragma unroll\n"
    "    for (int n = 0; n < WIDE; n++) sums.value[i][n] *= by;\n"
    "  }\n"
    "  put<true>(o + from_q, down_q, sums, own, 0, sq, D, as_is());\n}\n";

void tw_tile_attention_multistage_tile(tw_text *t, const tw_tile_machine *machine, const char *name, const char *size,
                                       tw_tile_access access) {
  char swizzle[TW_TILE_SWIZZLE] = "plain";
  access.element_bytes = ELEMENT;
  machine->swizzle(machine, &access, swizzle);
  tw_text_add(t, "using %s_tile = shared<type, %s, D, %s>;\n", name, size, swizzle);
}

void tw_tile_attention_multistage_loop(tw_text *t, int stages, bool direct, const char *body) {
  if (stages > 1) {
    tw_text_add(t, "  for (int s = 0; s < STAGES - 1; s++) {\n    begin(s, s);\n%s  }\n",
                direct ? "" : "    lay(s);\n");
    tw_text_add(t, "  int slot = 0, next = STAGES - 1;\n  for (int s = 0; s < steps; s++) {\n");
    if (direct) tw_text_add(t, "    copies_wait<(STAGES - 2) * each_step>();\n");
    tw_text_add(t, "    sync_block();\n    begin(next, s + STAGES - 1);\n");
    tw_text_add_string(t, body);
    if (!direct) tw_text_add(t, "    lay(next);\n");
    tw_text_add(t,
                "    slot = slot + 1 == STAGES ? 0 : slot + 1;\n    next = next + 1 == STAGES ? 0 : next + 1;\n  }\n");
    return;
  }
  tw_text_add(t,
              "  constexpr int slot = 0;\n  for (int s = 0; s < steps; s++) {\n    begin(0, s);\n%s    sync_block();\n",
              direct ? "    copies_wait<0>();\n" : "    lay(0);\n");
  tw_text_add_string(t, body);
  tw_text_add(t, "    sync_block();\n  }\n");
}

/* Groups of the second half are a phase behind: they make weights and their products while those of the first make scores.
 * What a stage held is read until the second half has multiplied with it, so copies are for two stages less than there are. */
static void write_turns(tw_text *t) {
  tw_text_add(t, "  for (int s = 0; s < STAGES - 2; s++) begin(s, s);\n"
                 "  int slot = 0, next = STAGES - 2;\n  const bool behind = group_of_block() >= GROUPS / 2;\n"
                 "  copies_wait<(STAGES - 3) * each_step>();\n  end_turn();\n  if (behind) end_turn();\n"
                 "  for (int s = 0; s < steps; s++) {\n    begin(next, s + STAGES - 2);\n");
  tw_text_add_string(t, body_scores);
  tw_text_add(t, "    copies_wait<(STAGES - 3) * each_step>();\n    end_turn();\n");
  tw_text_add_string(t, body_weights);
  tw_text_add(t, "    end_turn();\n"
                 "    slot = slot + 1 == STAGES ? 0 : slot + 1;\n    next = next + 1 == STAGES ? 0 : next + 1;\n  }\n"
                 "  if (!behind) end_turn();\n");
}

void tw_tile_attention_multistage_copies(tw_text *t, bool direct) {
  tw_text_add(t, "  copier_across<k_tile, GROUPS> from_k(k + from_kv, down_k, 0, D, sk);\n"
                 "  copier_across<v_tile, GROUPS> from_v(v + from_kv, down_k, 0, D, sk);\n");
  if (direct)
    tw_text_add(t, "  constexpr int each_step = copies_of<k_tile, GROUPS> + copies_of<v_tile, GROUPS>;\n"
                   "  const auto begin = [&](int to, int s) {\n"
                   "    from_k.copy(ks[to], s * KEYS);\n    from_v.copy(vs[to], s * KEYS);\n  };\n");
  else
    tw_text_add(t,
                "  const auto begin = [&](int, int s) {\n    from_k.load(s * KEYS);\n    from_v.load(s * KEYS);\n  };\n"
                "  const auto lay = [&](int to) {\n    from_k.lay(ks[to]);\n    from_v.lay(vs[to]);\n  };\n");
}

static tw_status write(const tw_tile_machine *machine, const tw_problem *problem, const void *plan, tw_text *t,
                       tw_error *error) {
  (void)error;
  const tw_attention a = tw_attention_of(problem);
  const PLAN *p = plan;
  tw_text_add(t,
              "//: kernel    attention\n//: let       D = %d, KEYS = %d, QUERIES = %d, GROUPS = %d, STAGES = %d\n"
              "//: let       CAUSAL = %d, BATCHES = %lld\n//: require   d == D && causal == CAUSAL && b == BATCHES\n"
              "//: grid      ceildiv(sq, GROUPS * QUERIES) * hq * b\n//: block     GROUPS * %d\n//: shared    %lld\n"
              "//: args      Q, K, V, O, LSE, hq, hkv, sq, sk, f32(scale)\n",
              (int)a.d, p->keys, p->queries, p->groups, p->stages, a.causal, (long long)a.batches,
              machine->group_threads, (long long)p->shared_bytes);
  tw_text_add(t, "#include \"%s\"\nusing namespace tw;\n\nusing type = %s;\nusing product = mma<type, %d>;\n",
              machine->header, tw_type_name(a.type), p->product);
  tw_text_add(t, "constexpr float SCALE = %.9gf; /* 1 / sqrt(d), where none is given */\n", 1 / sqrt((double)a.d));
  tw_text_add(t, "constexpr int CHIPS = %d;\n", machine->chips);
  const bool direct = machine->direct_bytes && !p->registers;
  tw_tile_access access = {.rows = p->keys, .row_bytes = (int)a.d * ELEMENT, .side = p->product};
  tw_tile_attention_multistage_tile(t, machine, "k", "KEYS", access);
  access.values = true;
  tw_tile_attention_multistage_tile(t, machine, "v", "KEYS", access);
  tw_text_add_string(t, head);
  if (p->ahead) {
    tw_tile_attention_multistage_overlap(t);
    tw_text_add_string(t, tail);
    return TW_OK;
  }
  tw_tile_attention_multistage_copies(t, direct);
  if (p->turns) {
    write_turns(t);
  } else {
    tw_text body = {0};
    tw_text_add_string(&body, body_scores);
    tw_text_add_string(&body, body_weights);
    tw_tile_attention_multistage_loop(t, p->stages, direct, body.data ? body.data : "");
    tw_text_free(&body);
  }
  tw_text_add_string(t, tail);
  return TW_OK;
}

const tw_tile_family tw_tile_attention_multistage = {.language = &language,
                                                     .plan_size = sizeof(PLAN),
                                                     .supports = tw_tile_attention_multistage_supports,
                                                     .plainest = plainest,
                                                     .settle = settle,
                                                     .offers = offers,
                                                     .write = write};
