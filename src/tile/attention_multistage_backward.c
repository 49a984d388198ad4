/* attention_multistage_backward.c - plans and writes the kernels of attention's backward pass; attention_multistage.h has their structure.
 *
 * dK and dV: scores and gradients are computed turned (keys x queries), so that a lane has one key and what they are rounded to
 * is an operand of the products behind them as it lies; queries are down the sums' columns there, and so are their exponents
 * and D = dO . O. dQ: as the forward pass has it, a lane has one query. Q, dO and K are read along their rows, and down
 * them: one swizzle serves both.
 *
 * Before: log-sum-exps as exponents of 2 and -D, of whole tiles of queries: those that do not exist have no weight. */
#include <inttypes.h>
#include <math.h>

#include "op/attention.h"
#include "tile/attention_multistage.h"

#define PLAN tw_tile_attention_multistage_plan

enum {
  SIDE = 16,
  ELEMENT = 2,
  PIECE = 1024,
  STAGES_MAX = 4,
  OVERHEAD = 48,
  PINNED_KEYS = 64,
  PINNED_QUERIES = 32,
  PINNED_GROUPS = 4
};

/* One kernel's own rows in registers, `keys` or `queries` of a group, and `at_once` that come from shared memory. */
static tw_status fits(const tw_tile_machine *machine, const PLAN *p, const char *own_name, int own,
                      const char *other_name, int at_once, int d, int sums, int64_t *shared_bytes, int *blocks,
                      tw_error *error) {
  const int tile = at_once * d * ELEMENT, rows = own / SIDE;
  if (own % p->product || at_once % (2 * SIDE))
    return tw_fail(error, TW_USAGE, "unsupported %s=%d of a wave with %s=%d per step; expected multiples of %d and %d",
                   own_name, own, other_name, at_once, p->product, 2 * SIDE);
  if (tile % (PIECE * p->groups))
    return tw_fail(error, TW_USAGE,
                   "%s=%d per step cannot be loaded evenly by %d waves; use a larger number or fewer waves", other_name,
                   at_once, p->groups);
  const bool held = p->registers || !machine->direct_bytes;
  if (p->ahead && (held || p->stages != 2))
    return tw_fail(error, TW_USAGE, "overlap_softmax requires stages 2 and direct-to-LDS loads (copy direct_to_lds)");
  /* exponents and D of columns, of two steps where they are fetched ahead */
  const int lines = sums == 2 ? 2 * at_once * p->product / machine->group_threads : 0;
  const int need = rows * (2 * at_once / 4 + 2 * at_once / 8 + 2 * d / 8 + sums * d / 4) + 4 * (d / p->product) +
                   lines * (p->ahead ? 2 : 1) + (held ? tile / (p->groups * machine->group_threads * 2) : 0) + OVERHEAD;
  const int have = machine->simd_registers / ((p->groups + machine->simds - 1) / machine->simds);
  if (need > have)
    return tw_fail(error, TW_USAGE,
                   "%s=%d %s=%d need %d registers per thread for operands, S and accumulators, which exceeds %d; use "
                   "smaller tiles",
                   own_name, own, other_name, at_once, need, have);
  *blocks = p->ahead && 2 * need <= have ? 2 : 1;
  *shared_bytes = 2ll * p->stages * tile;
  if (*shared_bytes > machine->shared_bytes)
    return tw_fail(error, TW_USAGE,
                   "%d stages need %" PRId64 " bytes of shared memory, which exceeds %" PRId64
                   "; use fewer stages or smaller tiles",
                   p->stages, *shared_bytes, machine->shared_bytes);
  return TW_OK;
}

/* Its tiles are the machine's own. */
static tw_status settle_pinned(const tw_tile_machine *machine, const tw_problem *problem, PLAN *p, tw_error *error) {
  const tw_attention a = tw_attention_of(problem);
  const tw_tile_back_loop loop = tw_tile_attention_multistage_backward_loop(problem);
  if (!machine->back_loop || !machine->direct_bytes || p->registers)
    return tw_fail(error, TW_USAGE, "hand_scheduled requires gfx950 and direct-to-LDS loads (copy direct_to_lds)");
  if (p->keys != PINNED_KEYS || p->queries != PINNED_QUERIES || p->groups != PINNED_GROUPS || p->stages != 2 ||
      p->product != 32 || p->ahead)
    return tw_fail(
        error, TW_USAGE,
        "hand_scheduled requires tile keys=%d queries=%d, waves %d, stages 2 and mfma 32, without overlap_softmax",
        PINNED_KEYS, PINNED_QUERIES, PINNED_GROUPS);
  if (a.queries * a.query_heads * a.d * ELEMENT > INT32_MAX || a.keys * a.key_heads * a.d * ELEMENT > INT32_MAX)
    return tw_fail(error, TW_USAGE,
                   "hand_scheduled supports operands of up to 2 GiB; use fewer heads or shorter sequences");
  p->at_once = p->dq_at_once = 1;
  p->shared_bytes = tw_tile_attention_multistage_backward_shared((int)a.d);
  return machine->back_loop(machine, &loop, NULL, error);
}

static tw_status settle(const tw_tile_machine *machine, const tw_problem *problem, void *plan, tw_error *error) {
  PLAN *p = plan;
  const int d = (int)tw_attention_of(problem).d;
  if (p->pinned) return settle_pinned(machine, problem, p, error);
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

static tw_status then_pinned(const void *with, void *plan, unsigned given, tw_error *error) {
  PLAN *p = plan;
  (void)with, (void)given, (void)error;
  p->keys = PINNED_KEYS, p->queries = PINNED_QUERIES, p->groups = PINNED_GROUPS;
  p->stages = 2, p->product = 32;
  p->ahead = p->registers = false;
  return TW_OK;
}

static const tw_verb verbs[] = {
    {.name = "tile",
     .usage = "tile keys=32 queries=32",
     .help = "Set the keys of a wave and the queries of a step.",
     .needs = 2,
     .argument = {TW_NUMBER("keys", PLAN, keys, 16, 128), TW_NUMBER("queries", PLAN, queries, 32, 256)},
     .first = begin_tile},
    {.name = "dq",
     .usage = "dq queries=32 keys=64",
     .help = "Set the tile of the kernel that computes dQ.",
     .needs = 2,
     .argument = {TW_NUMBER("queries", PLAN, dq_queries, 16, 128), TW_NUMBER("keys", PLAN, dq_keys, 32, 256)}},
    {.name = "waves|groups",
     .usage = "waves 4",
     .help = "Set the waves of a workgroup.",
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
    {.name = "overlap_softmax|ahead",
     .usage = "overlap_softmax",
     .help = "Overlap softmax with the products after the scores (register double buffering).",
     .sets = TW_FIELD(PLAN, ahead),
     .then = tw_tile_attention_multistage_then_overlap},
    {.name = "hand_scheduled|pinned",
     .usage = "hand_scheduled",
     .help = "Use one kernel with a hand-scheduled assembly loop for dQ, dK and dV.",
     .sets = TW_FIELD(PLAN, pinned),
     .then = then_pinned},
    {.name = "copy",
     .usage = "copy registers, copy direct_to_lds",
     .help = "Copy to LDS directly or through registers.",
     .needs = 1,
     .argument = {TW_CHOICE("", PLAN, registers, 0, "direct_to_lds=direct|registers")}},
};
static const tw_language language = {"attention of tiles, backward", sizeof verbs / sizeof *verbs, verbs};

static void offers(tw_menu_builder *m, const tw_tile_context *c) {
  (void)c;
  for (int own = 16; own <= 64; own *= 2)
    for (int at_once = 32; at_once <= 128; at_once *= 2) {
      tw_menu_offer(m, "tile", "more keys per wave read queries and gradients less often", "tile keys=%d queries=%d",
                    own, at_once);
      tw_menu_offer(m, "dq", "more queries per wave read keys and values less often", "dq queries=%d keys=%d", own,
                    at_once);
    }
  for (int i = 1; i <= 8; i *= 2) tw_menu_offer(m, "waves", "the waves of a workgroup share its tiles", "waves %d", i);
  for (int i = 1; i <= STAGES_MAX; i++)
    tw_menu_offer(m, "stages", "the next tiles load while the current one is multiplied", "stages %d", i);
  for (int side = 16; side <= 32; side *= 2)
    tw_menu_offer(m, "mfma", "larger matrix instructions: fewer instructions and moves between lanes", "mfma %d", side);
  tw_menu_offer(m, "overlap_softmax", "P is computed while the products of the previous scores are multiplied",
                "overlap_softmax");
  tw_menu_offer(m, "hand_scheduled", "one hand-scheduled kernel with all five products; dQ is summed in memory",
                "hand_scheduled");
  tw_menu_offer(m, "copy", "direct-to-LDS loads use no registers", "copy direct_to_lds");
  tw_menu_offer(m, "copy", "loads through registers need no separate wait", "copy registers");
}

/* ---- the kernels ---- */

static const char prepare[] =
    "constexpr int WIDE = D / product::side, DEEP = D / product::deep;\n\n"
    "/* A thread for 16 bytes of a row of O: exponents, and -dO . O. */\n"
    "TW_KERNEL(256, 4) prepare(const type *o, const type *og, const float *lse, float *exponents, float *inner, float "
    "*sums, int b, "
    "int hq, int sq, int rows) {\n"
    "  constexpr int each = 8, lanes = D / each; /* elements of 16 bytes */\n"
    "  const i64 id = (i64)block_of_grid() * 256 + thread_of_block(), at = id / lanes;\n"
    "  const int lane = (int)(id % lanes), head = (int)(at % hq), row = (int)(at / hq % rows);\n"
    "  const i64 batch = at / hq / rows;\n"
    "  const bool inside = batch < b && row < sq;\n"
    "  chunk<type> x{}, y{};\n"
    "  if (inside) {\n"
    "    const i64 from = ((batch * sq + row) * hq + head) * D + lane * each;\n"
    "    x.unpack(load16_once(o + from));\n"
    "    y.unpack(load16(og + from));\n"
    "  }\n"
    "  if (PINNED && batch < b) { /* what dQ is added to */\n"
    "    store16(sums + id * each, vec16{});\n"
    "    store16(sums + id * each + 4, vec16{});\n"
    "  }\n"
    "  float sum = 0;\n"
    "#pragma unroll\n"
    "  for (int i = 0; i < each; i++) sum += x.value[i] * y.value[i];\n"
    "  sum = over_lanes<sum_of, lanes>(sum);\n"
    "  if (batch >= b || lane) return;\n"
    "  const i64 to = (batch * hq + head) * rows + row;\n"
    "  exponents[to] = inside ? lse[(batch * hq + head) * sq + row] * 1.44269504f : infinity();\n"
    "  inner[to] = -sum;\n"
    "}\n\n";

static const char head_keys[] =
    "TW_KERNEL(GROUPS * group_threads, 1) attention(const type *q, const type *k, const type *v, const type *og, type "
    "*kg, "
    "type *vg, const float *exponents, const float *inner, int hq, int hkv, int sq, int sk, int lines, float given) {\n"
    "  constexpr int ROWS = OWN_KEYS / product::side, TILES = QUERIES / product::side;\n"
    "  arena memory;\n"
    "  const auto qs = memory.take<many<q_tile, STAGES>>(), gs = memory.take<many<q_tile, STAGES>>();\n"
    "  const int spans = (sk + GROUPS * OWN_KEYS - 1) / (GROUPS * OWN_KEYS);\n"
    "  const int t = range_of_chip<CHIPS>(block_of_grid(), spans * hkv * BATCHES), head = t / spans % hkv;\n"
    "  const int batch = t / spans / hkv, row = t % spans * GROUPS * OWN_KEYS;\n"
    "  const int own = row + group_of_block() * OWN_KEYS, shared_by = hq / hkv;\n"
    "  const i64 down_q = (i64)hq * D, down_k = (i64)hkv * D;\n"
    "  const i64 from_kv = ((i64)batch * sk * hkv + head) * D, from = ((i64)batch * sq * hq + head * shared_by) * D;\n"
    "  const float scale = given == 0 ? SCALE : given, factor = scale * 1.44269504f;\n"
    "  operand<product, ROWS, DEEP> own_k, own_v;\n"
    "  load_rows(own_k, k + from_kv, down_k, own, sk);\n"
    "  load_rows(own_v, v + from_kv, down_k, own, sk);\n"
    "  acc<product, ROWS, WIDE> k_sums, v_sums;\n"
    "  k_sums.clear();\n"
    "  v_sums.clear();\n";

static const char walk_keys[] =
    "  copier_across<q_tile, GROUPS> from_q(q + from, down_q, 0, D, sq), from_g(og + from, down_q, 0, D, sq);\n"
    "  /* Queries that see one of the block's keys, of each head in turn; one place for copies, one for products. */\n"
    "  const int tiles = (sq + QUERIES - 1) / QUERIES, first = CAUSAL ? max(0, row + sq - sk) / QUERIES : 0;\n"
    "  const int steps = (tiles - first) * shared_by;\n"
    "  int copied = first, copied_head = 0, at = first, at_head = 0;\n"
    "  const auto aim = [&]() {\n"
    "    if (copied == tiles) {\n"
    "      copied = first;\n"
    "      copied_head++;\n"
    "      from_q.from += D;\n"
    "      from_g.from += D;\n"
    "    }\n"
    "    return copied_head < shared_by ? copied++ * QUERIES : sq; /* beyond the last there is nothing */\n"
    "  };\n";

static const char copies_direct[] =
    "  constexpr int each_step = 2 * copies_of<q_tile, GROUPS>;\n"
    "  const auto begin = [&](int to, int) {\n"
    "    const int place = aim();\n    from_q.copy(qs[to], place);\n    from_g.copy(gs[to], place);\n  };\n";
static const char copies_held[] =
    "  const auto begin = [&](int, int) {\n"
    "    const int place = aim();\n    from_q.load(place);\n    from_g.load(place);\n  };\n"
    "  const auto lay = [&](int to) {\n    from_q.lay(qs[to]);\n    from_g.lay(gs[to]);\n  };\n";

static const char body_keys[] =
    "    const i64 line = ((i64)batch * hq + head * shared_by + at_head) * lines + at * QUERIES;\n"
    "    constexpr int PARTS = QUERIES / product::deep;\n"
    "    of_columns<product, TILES> exponent(exponents + line), minus(inner + line);\n"
    "    acc<product, ROWS, TILES> weights, changes;\n"
    "    weights.clear();\n"
    "    changes.clear();\n"
    "#pragma unroll\n"
    "    for (int i = 0; i < DEEP; i++) {\n"
    "      operand<product, TILES, 1> right;\n"
    "      load(right, qs[slot], 0, i);\n"
    "      mma_abt(weights, step_of(own_k, i), right);\n"
    "      load(right, gs[slot], 0, i);\n"
    "      mma_abt(changes, step_of(own_v, i), right);\n"
    "    }\n"
    "    if (CAUSAL && own + OWN_KEYS - 1 > at * QUERIES + sk - sq) hide_keys(weights, own, at * QUERIES, sk - sq);\n"
    "    weigh_again(weights, changes, exponent, minus, factor);\n"
    "    operand<product, ROWS, PARTS> rounded, slopes;\n"
    "    round(rounded, weights);\n"
    "    round(slopes, changes);\n"
    "#pragma unroll\n"
    "    for (int i = 0; i < PARTS; i++) {\n"
    "      operand<product, WIDE, 1> right;\n"
    "      load_values(right, gs[slot], i * product::deep);\n"
    "      mma_abt(v_sums, step_of(rounded, i), right);\n"
    "      load_values(right, qs[slot], i * product::deep);\n"
    "      mma_abt(k_sums, step_of(slopes, i), right);\n"
    "    }\n"
    "    if (++at == tiles) at = first, at_head++;\n";

static const char tail_keys[] = "#pragma unroll\n"
                                "  for (int i = 0; i < ROWS; i++)\n"
                                "#pragma unroll\n"
                                "    for (int n = 0; n < WIDE; n++) k_sums.value[i][n] *= scale;\n"
                                "  put<true>(kg + from_kv, down_k, k_sums, own, 0, sk, D, as_is());\n"
                                "  put<true>(vg + from_kv, down_k, v_sums, own, 0, sk, D, as_is());\n}\n\n";

static const char head_queries[] =
    "TW_KERNEL(GROUPS * group_threads, AT_ONCE) queries(const type *q, const type *k, const type *v, const type *og, "
    "type "
    "*qg, "
    "const float *exponents, const float *inner, int hq, int hkv, int sq, int sk, int lines, float given) {\n"
    "  constexpr int ROWS = OWN_QUERIES / product::side, TILES = KEYS / product::side;\n"
    "  arena memory;\n"
    "  const auto ks = memory.take<many<k_tile, STAGES>>();\n"
    "  const auto vs = memory.take<many<v_tile, STAGES>>();\n"
    "  const int rows = (sq + GROUPS * OWN_QUERIES - 1) / (GROUPS * OWN_QUERIES), all = hq * BATCHES;\n"
    "  const int t = range_of_chip<CHIPS>(block_of_grid(), rows * all), head = t / rows % hq, batch = t / rows / hq;\n"
    "  const int m = CAUSAL ? rows - 1 - t % rows : t % rows;\n"
    "  const int row = m * GROUPS * OWN_QUERIES, own = row + group_of_block() * OWN_QUERIES;\n"
    "  const i64 down_q = (i64)hq * D, down_k = (i64)hkv * D;\n"
    "  const i64 from_q = ((i64)batch * sq * hq + head) * D, from_kv = ((i64)batch * sk * hkv + head / (hq / hkv)) * "
    "D;\n"
    "  const float scale = given == 0 ? SCALE : given, factor = scale * 1.44269504f;\n"
    "  operand<product, ROWS, DEEP> own_q, own_g;\n"
    "  load_rows(own_q, q + from_q, down_q, own, sq);\n"
    "  load_rows(own_g, og + from_q, down_q, own, sq);\n"
    "  const i64 at_line = ((i64)batch * hq + head) * lines;\n"
    "  of_rows<product, ROWS> exponent(exponents + at_line, own, sq, infinity()), minus(inner + at_line, own, sq, "
    "0.f);\n"
    "  acc<product, ROWS, WIDE> sums;\n"
    "  sums.clear();\n"
    "  const int seen = CAUSAL ? min(sk, row + GROUPS * OWN_QUERIES + sk - sq) : sk, steps = (seen + KEYS - 1) / "
    "KEYS;\n";

static const char body_queries[] =
    "    constexpr int PARTS = KEYS / product::deep;\n"
    "    acc<product, ROWS, TILES> weights, changes;\n"
    "    weights.clear();\n"
    "    changes.clear();\n"
    "#pragma unroll\n"
    "    for (int i = 0; i < DEEP; i++) {\n"
    "      operand<product, TILES, 1> right;\n"
    "      load(right, ks[slot], 0, i);\n"
    "      mma_abt(weights, step_of(own_q, i), right);\n"
    "      load(right, vs[slot], 0, i);\n"
    "      mma_abt(changes, step_of(own_g, i), right);\n"
    "    }\n"
    "    const int end = CAUSAL ? min(sk, own + 1 + sk - sq) : sk; /* of what the first query sees */\n"
    "    if (s * KEYS + KEYS > end) hide<CAUSAL>(weights, s * KEYS, sk, own, sk - sq);\n"
    "    weigh_again(weights, changes, exponent, minus, factor);\n"
    "    operand<product, ROWS, PARTS> slopes;\n"
    "    round(slopes, changes);\n"
    "#pragma unroll\n"
    "    for (int i = 0; i < PARTS; i++) {\n"
    "      operand<product, WIDE, 1> right;\n"
    "      load_values(right, ks[slot], i * product::deep);\n"
    "      mma_abt(sums, step_of(slopes, i), right);\n"
    "    }\n";

static const char tail_queries[] = "#pragma unroll\n"
                                   "  for (int i = 0; i < ROWS; i++)\n"
                                   "#pragma unroll\n"
                                   "    for (int n = 0; n < WIDE; n++) sums.value[i][n] *= scale;\n"
                                   "  put<true>(qg + from_q, down_q, sums, own, 0, sq, D, as_is());\n}\n";

static void write_launch(tw_text *t, const tw_tile_machine *machine, const tw_attention *a, const PLAN *p) {
  tw_text_add(t, "//: let       D = %d, OWN_KEYS = %d, QUERIES = %d, OWN_QUERIES = %d, KEYS = %d\n", (int)a->d, p->keys,
              p->queries, p->dq_queries, p->dq_keys);
  tw_text_add(t,
              "//: let       GROUPS = %d, STAGES = %d, CAUSAL = %d, BATCHES = %lld\n"
              "//: let       LINE = ceildiv(sq, QUERIES) * QUERIES, LINES = 4 * b * hq * LINE\n"
              "//: require   d == D && causal == CAUSAL && b == BATCHES\n//: workspace 2 * LINES%s\n",
              p->groups, p->stages, a->causal, (long long)a->batches, p->pinned ? " + LINES * D" : "");
  tw_text_add(t,
              "//: before    prepare\n//: grid      ceildiv(b * hq * LINE * (D / 8), 256)\n//: block     256\n"
              "//: args      O, dO, LSE, workspace, workspace(LINES), workspace%s, b, hq, sq, LINE\n",
              p->pinned ? "(2 * LINES)" : "");
  if (p->pinned) return;
  tw_text_add(t,
              "//: kernel    attention\n//: grid      ceildiv(sk, GROUPS * OWN_KEYS) * hkv * b\n"
              "//: block     GROUPS * %d\n//: shared    %lld\n"
              "//: args      Q, K, V, dO, dK, dV, workspace, workspace(LINES), hq, hkv, sq, sk, LINE, f32(scale)\n",
              machine->group_threads, (long long)p->shared_bytes);
  tw_text_add(t,
              "//: after     queries\n//: grid      ceildiv(sq, GROUPS * OWN_QUERIES) * hq * b\n"
              "//: block     GROUPS * %d\n//: shared    %lld\n"
              "//: args      Q, K, V, dO, dQ, workspace, workspace(LINES), hq, hkv, sq, sk, LINE, f32(scale)\n",
              machine->group_threads, (long long)p->dq_shared_bytes);
}

static tw_status write(const tw_tile_machine *machine, const tw_problem *problem, const void *plan, tw_text *t,
                       tw_error *error) {
  (void)error;
  const tw_attention a = tw_attention_of(problem);
  const PLAN *p = plan;
  const bool direct = machine->direct_bytes && !p->registers;
  write_launch(t, machine, &a, p);
  if (p->pinned) tw_tile_attention_multistage_backward_launch(t, machine, p->shared_bytes);
  tw_text_add(t, "#include \"%s\"\nusing namespace tw;\n\nusing type = %s;\nusing product = mma<type, %d>;\n",
              machine->header, tw_type_name(a.type), p->product);
  tw_text_add(t, "constexpr float SCALE = %.9gf; /* 1 / sqrt(d), where none is given */\n", 1 / sqrt((double)a.d));
  tw_text_add(t, "constexpr int CHIPS = %d, AT_ONCE = %d; /* blocks for dQ on a processor */\n", machine->chips,
              p->dq_at_once);
  tw_text_add(t, "constexpr bool PINNED = %d;\n", p->pinned);
  if (p->pinned) {
    tw_text_add_string(t, prepare);
    tw_tile_attention_multistage_backward_hand_scheduled(t, machine, problem);
    return TW_OK;
  }
  tw_tile_access access = {.rows = p->dq_keys, .row_bytes = (int)a.d * ELEMENT, .side = p->product};
  tw_tile_attention_multistage_tile(t, machine, "v", "KEYS", access);
  access.values = access.rows_too = true;
  tw_tile_attention_multistage_tile(t, machine, "k", "KEYS", access);
  access.rows = p->queries;
  tw_tile_attention_multistage_tile(t, machine, "q", "QUERIES", access);
  tw_text_add_string(t, prepare);
  tw_text_add_string(t, head_keys);
  if (p->ahead) {
    tw_tile_attention_multistage_backward_overlap(t, false);
  } else {
    tw_text_add_string(t, walk_keys);
    tw_text_add_string(t, direct ? copies_direct : copies_held);
    tw_tile_attention_multistage_loop(t, p->stages, direct, body_keys);
  }
  tw_text_add_string(t, tail_keys);
  tw_text_add_string(t, head_queries);
  if (p->ahead) {
    tw_tile_attention_multistage_backward_overlap(t, true);
  } else {
    tw_tile_attention_multistage_copies(t, direct);
    tw_tile_attention_multistage_loop(t, p->stages, direct, body_queries);
  }
  tw_text_add_string(t, tail_queries);
  return TW_OK;
}

const tw_tile_family tw_tile_attention_multistage_backward = {.language = &language,
                                                              .plan_size = sizeof(PLAN),
                                                              .supports = tw_tile_attention_multistage_supports,
                                                              .plainest = plainest,
                                                              .settle = settle,
                                                              .offers = offers,
                                                              .write = write};
