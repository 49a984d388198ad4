/* gemm_block_scaled.c - plans and writes a GEMM of tiles with block-scaled weights; gemm_block_scaled.h has its structure. */
#include "tile/gemm_block_scaled.h"

#include "tile/gemm_epilogue.h"
#include "tile/verbs.h"

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

static bool is_mx(tw_type t) { return t == TW_MXFP4 || t == TW_MXFP6 || t == TW_MXFP8; }
/* What A becomes: by the problem's rule, or, where its numbers are of such a type already, exactly. */
tw_type tw_tile_block_scaled_left(const tw_gemm *g) {
  static const tw_type by[] = {TW_TYPE_NONE, TW_MXFP4, TW_MXFP6, TW_MXFP8};
  return g->quantize ? by[g->quantize] : g->a;
}
/* and as it lies in memory */
tw_type tw_tile_block_scaled_stored(const tw_gemm *g) { return is_mx(g->a) ? TW_F32 : g->a; }
/* Registers of a block's codes, of a lane. */
static int words_of(tw_type t) { return tw_type_bits(t); }

static tw_status supports(const tw_tile_machine *machine, const tw_problem *p, tw_error *error) {
  const tw_gemm g = tw_gemm_of(p);
  const bool c = g.c == TW_F32 || g.c == TW_BF16 || g.c == TW_F16, a = g.quantize ? !is_mx(g.a) : is_mx(g.a);
  const int each = 128 / tw_type_bits(tw_tile_block_scaled_stored(&g)); /* elements of 16 bytes */
  const bool whole = is_mx(g.a) || (!g.a_transposed && g.lda % each == 0 && g.k % each == 0);
  if (machine->block_scales && g.packed)
    return tw_fail(error, TW_USAGE, "block-scaled GEMM takes b as f32 and packs it; leave out packed=1");
  if (machine->block_scales && a && is_mx(g.b) && c && whole) return TW_OK;
  return tw_fail(error, TW_USAGE,
                 "block-scaled GEMM requires gfx950, b of mxfp4, mxfp6 or mxfp8, an a of such a type or quantize= with "
                 "a not transposed, and k and its pitch multiples of %d; run a kernel of your own instead",
                 each);
}

static tw_status settle(const tw_tile_machine *machine, const tw_problem *problem, void *plan, tw_error *error) {
  const tw_gemm gemm = tw_gemm_of(problem), *g = &gemm;
  PLAN *p = plan;
  if (p->pinned) return tw_tile_block_scaled_settle_hand_scheduled(machine, g, p, error);
  if (p->side != SIDE || p->stages != 1) return tw_fail(error, TW_USAGE, "mfma 32 and stages require hand_scheduled");
  const int rows = p->m / SIDE, cols = p->n / p->groups / PAIR, blocks = 2 * rows;
  if (p->m % SIDE || p->n % (p->groups * PAIR))
    return tw_fail(error, TW_USAGE,
                   "a tile of %d x %d must have a multiple of 16 rows, and of 32 columns for each of %d waves", p->m,
                   p->n, p->groups);
  p->columns = (g->n + PAIR - 1) / PAIR * PAIR;
  p->deep = (g->k + STEP - 1) / STEP * STEP;
  const int words_a = words_of(tw_tile_block_scaled_left(g)), words_b = words_of(g->b),
            fresh = tw_type_bits(tw_tile_block_scaled_stored(g));
  p->lines = is_mx(g->a) ? (g->m + PAIR - 1) / PAIR * PAIR : 0;
  if (p->lines && p->m % PAIR)
    return tw_fail(error, TW_USAGE, "a tile of %d rows of a packed A must have a multiple of 32 rows", p->m);
  p->shared_bytes = p->lines ? 0 : 2ll * blocks * LANE_BLOCK * (words_a + 1);
  const int each = (blocks + p->groups - 1) / p->groups;
  const int numbers = fresh == 16 && words_a == 4 ? 0 : 32;                /* of a block as floats */
  const int left = p->lines ? (4 * words_a + 1) * rows / 2 : fresh * each; /* of a step */
  const int need = 8 * rows * cols + p->ahead * ((4 * words_b + 1) * cols + left) +
                   (p->lines ? 0 : 2 * (words_a + 1) + numbers) + REGISTERS_BESIDE;
  const int have = machine->simd_registers / ((p->groups + machine->simds - 1) / machine->simds);
  if (need > have)
    return tw_fail(error, TW_USAGE,
                   "a tile of %d x %d for %d waves with register_prefetch %d needs %d registers per thread, which "
                   "exceeds %d; use a smaller tile",
                   p->m, p->n, p->groups, p->ahead, need, have);
  if (p->ahead > p->deep / STEP / p->split)
    return tw_fail(error, TW_USAGE,
                   "register_prefetch %d exceeds the steps of k=%d for each of %d workgroups; use a smaller number",
                   p->ahead, STEP, p->split);
  return TW_OK;
}

/* ---- steps ---- */

static void plainest(const tw_tile_context *c, void *plan) {
  const bool packed = is_mx(tw_gemm_of(c->problem).a);
  *(PLAN *)plan =
      (PLAN){.m = packed ? PAIR : SIDE, .n = 32, .groups = 1, .ahead = 1, .split = 1, .side = SIDE, .stages = 1};
}

static void begin_tile(const void *with, void *plan) { plainest(with, plan); }

/* Four groups, which have a SIMD each, two stages at least, and no loads ahead of their own; large tiles, if there is but the
 * plainest, which it does not take. */
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
    {.name = "waves|groups",
     .usage = "waves 4",
     .help = "Set the waves that share the columns of a tile and the quantization of A.",
     .needs = 1,
     .argument = {TW_NUMBER("", PLAN, groups, 1, 8)}},
    {.name = "register_prefetch|ahead",
     .usage = "register_prefetch 2",
     .help = "Load operands this many steps before their use, into registers.",
     .needs = 1,
     .argument = {TW_NUMBER("", PLAN, ahead, 1, AHEAD_MAX)}},
    {.name = "split_k|split",
     .usage = "split_k 4",
     .help = "Split k over workgroups (split-K); a second kernel adds the partial sums.",
     .needs = 1,
     .argument = {TW_NUMBER("", PLAN, split, 1, 64)}},
    {.name = "hand_scheduled|pinned",
     .usage = "hand_scheduled",
     .help = "Use a hand-scheduled assembly loop for large MXFP4 or MXFP8 products.",
     .sets = TW_FIELD(PLAN, pinned),
     .then = then_pinned},
    {.name = "mfma|product",
     .usage = "mfma 32",
     .help = "Use 32x32 matrix instructions instead of 16x16.",
     .needs = 1,
     .argument = {TW_NUMBER("", PLAN, side, 16, 32)}},
    TW_TILE_STAGES(PLAN, 1, STAGES_MAX, NULL),
    {.name = "rasterize|order",
     .usage = "rasterize window=8 chunk=8",
     .help = "Set the rasterization of tiles over XCDs (HipKittens' window and chunk).",
     .needs = 2,
     .argument = {TW_NUMBER("window", PLAN, window, 1, 1024), TW_NUMBER("chunk", PLAN, chunk, 1, 4096)}},
};
static const tw_language language = {"gemm of block-scaled tiles", sizeof verbs / sizeof *verbs, verbs};

static void offers(tw_menu_builder *m, const tw_tile_context *c) {
  const PLAN *now = m->now;
  (void)c;
  for (int i = 16; i <= 256; i *= 2)
    for (int j = 32; j <= 512; j *= 2)
      tw_menu_offer(m, "tile", "large tiles read operands less often; small tiles keep every processor busy",
                    "tile m=%d n=%d", i, j);
  for (int i = 1; i <= 8; i *= 2)
    tw_menu_offer(m, "waves", "the waves of a workgroup share the work of quantizing A", "waves %d", i);
  for (int i = 1; i <= AHEAD_MAX; i++)
    tw_menu_offer(m, "register_prefetch", "loads in flight hide memory latency", "register_prefetch %d", i);
  for (int i = 1; i <= 32; i += i < 4 ? 1 : i / 2)
    tw_menu_offer(m, "split_k", "blocks that share k keep every processor busy with few tiles", "split_k %d", i);
  for (int i = 1; i <= 8; i *= 2)
    tw_menu_offer(m, "rasterize", "workgroups of one XCD read the same rows and columns: its L2 holds them",
                  "rasterize window=%d chunk=%d", i, 2 * i);
  tw_menu_offer(m, "hand_scheduled", "hand-scheduled assembly loop; all waves share both operands in LDS",
                "hand_scheduled");
  for (int i = 16; i <= 32 && now->pinned; i *= 2)
    tw_menu_offer(m, "mfma", "larger matrix instructions read fewer operands; smaller ones allow more tiles", "mfma %d",
                  i);
  for (int i = 2; i <= 4 && now->pinned; i++)
    tw_menu_offer(m, "stages", "the next tiles load while the current one is multiplied", "stages %d", i);
}

/* ---- the kernels ---- */

/* What makes the rule of a scale: format/mx.c. Of the mantissa of a float, what the largest element keeps, and its own. */
unsigned tw_tile_block_scaled_addend(const tw_gemm *g) {
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

static void write_launch(tw_text *t, const tw_tile_machine *machine, const tw_gemm *g, const PLAN *p) {
  const long long codes = (long long)(p->columns * p->deep / 32 * 4 * words_of(g->b)),
                  left = codes + (long long)(p->columns * p->deep / 32 + 255) / 256 * 256, /* a packed A */
      left_scales = left + (long long)(p->lines * p->deep / 32 * 4 * words_of(tw_tile_block_scaled_left(g)));
  const long long parts = (left_scales + (long long)(p->lines * p->deep / 32) + 255) / 256 * 256;
  tw_text_add(t, "//: let       BM = %d, BN = %d, GROUPS = %d, AHEAD = %d, SPLIT = %d\n", p->m, p->n, p->groups,
              p->ahead, p->split);
  tw_text_add(t, "//: let       COLUMNS = %lld, DEEP = %lld\n//: require   n <= COLUMNS && k <= DEEP\n",
              (long long)p->columns, (long long)p->deep);
  tw_text_add(t, "//: workspace %lld%s\n", parts, p->split > 1 ? " + SPLIT * m * n * 4" : "");
  tw_text_add(t,
              "//: before    pack_weights\n//: grid      ceildiv(COLUMNS * (DEEP / 32), 256)\n//: block     256\n"
              "//: args      B, workspace, workspace(%lld), n, k, ldb\n",
              codes);
  if (p->lines)
    tw_text_add(t,
                "//: let       LINES = %lld\n//: require   m <= LINES\n"
                "//: before    pack_a\n//: grid      ceildiv(LINES * (DEEP / 32), 256)\n//: block     256\n"
                "//: args      A, workspace(%lld), workspace(%lld), m, k, lda\n",
                (long long)p->lines, left, left_scales);
  tw_text_add(t,
              "//: kernel    gemm\n//: grid      ceildiv(m, BM) * ceildiv(n, BN) * SPLIT\n//: block     GROUPS * %d\n"
              "//: shared    %lld\n//: args      ",
              machine->group_threads, (long long)p->shared_bytes);
  if (p->lines)
    tw_text_add(t, "workspace(%lld), workspace(%lld), workspace, workspace(%lld), ", left, left_scales, codes);
  else
    tw_text_add(t, "A, workspace, workspace(%lld), ", codes);
  if (p->split > 1)
    tw_text_add(t, "workspace(%lld), m, n, k, lda, n", parts);
  else
    tw_text_add(t, "C, m, n, k, lda, ldc");
  if (p->split == 1) tw_tile_result_arguments(t, g);
  if (p->split > 1) {
    tw_text_add(t, "\n");
    tw_tile_parts_launch(t, g, parts);
  }
  tw_text_add(t, "\n");
}

/* The steps of a block: A is quantized by all groups together, and comes to each through LDS. */
static void write_quantized(tw_text *t, const tw_gemm *g) {
  tw_text_add(
      t,
      "  mx_fresh<element> fresh[AHEAD][EACH];\n  mx_right<right, COLS> weights[AHEAD];\n"
      "  /* Block i of A: 16 rows, half of a step. */\n"
      "  const auto fetch = [&](mx_fresh<element> (&to)[EACH], int s) __attribute__((always_inline)) {\n#pragma "
      "unroll\n"
      "    for (int e = 0; e < EACH; e++) {\n      const int i = min(e * GROUPS + group, BLOCKS - 1);\n"
      "      mx_reader<element>(a, lda, row + i / 2 * mx_rows, m, k).load(to[e], (begin + s) * mx_step + i %% 2 * "
      "mx_deep);\n   "
      " }\n  };\n"
      "#pragma unroll\n  for (int i = 0; i < AHEAD; i++) {\n    fetch(fresh[i], i);\n"
      "    weights[i].load(packed, scales, col, COLUMNS, DEEP, begin + i);\n  }\n"
      "  for (int first = 0; first < steps; first += AHEAD) {\n#pragma unroll\n    for (int i = 0; i < AHEAD; i++) {\n"
      "      const int s = first + i;\n      const auto shared_a = as[s %% 2];\n#pragma unroll\n"
      "      for (int e = 0; e < EACH; e++)\n        if (e * GROUPS + group < BLOCKS)\n"
      "          shared_a.lay(e * GROUPS + group, mx_quantize<left, 0x%xu>(fresh[i][e]));\n"
      "      fetch(fresh[i], s + AHEAD);\n      sync_block();\n"
      "      mx_multiply_rows<0>(sums, shared_a, weights[i]);\n"
      "      weights[i].load(packed, scales, col, COLUMNS, DEEP, begin + s + AHEAD);\n    }\n  }\n",
      tw_tile_block_scaled_addend(g));
}

/* The same where A is packed: each group loads its own, without LDS and barriers. */
static void write_packed(tw_text *t, const tw_gemm *g) {
  (void)g;
  tw_text_add(t, "  mx_right<left, ROWS / 2> lines[AHEAD];\n  mx_right<right, COLS> weights[AHEAD];\n"
                 "  const auto fetch = [&](int i, int s) __attribute__((always_inline)) {\n"
                 "    lines[i].load(packed_a, scales_a, row, LINES, DEEP, begin + s, begin + steps);\n"
                 "    weights[i].load(packed, scales, col, COLUMNS, DEEP, begin + s, begin + steps);\n  };\n"
                 "#pragma unroll\n  for (int i = 0; i < AHEAD; i++) fetch(i, i);\n  fixed_here(); /* else the compiler "
                 "loads late */\n"
                 "  for (int first = 0; first < steps; first += AHEAD) {\n#pragma unroll\n"
                 "    for (int i = 0; i < AHEAD; i++) {\n      mx_multiply_packed(sums, lines[i], weights[i]);\n"
                 "      if (first + AHEAD < steps) fetch(i, first + i + AHEAD);\n      fixed_here();\n    }\n  }\n");
}

static tw_status write(const tw_tile_machine *machine, const tw_problem *problem, const void *plan, tw_text *t,
                       tw_error *error) {
  (void)error;
  const tw_gemm g = tw_gemm_of(problem);
  const PLAN *p = plan;
  const bool split = p->split > 1;
  if (p->pinned) {
    tw_tile_block_scaled_write_hand_scheduled(machine, &g, p, t);
    return TW_OK;
  }
  write_launch(t, machine, &g, p);
  tw_text_add(t,
              "#include \"%s\"\nusing namespace tw;\n\nconstexpr int ROWS = BM / mx_rows, COLS = BN / GROUPS / 32; /* "
              "of a group */\n"
              "using left = %s;  /* what A becomes */\nusing right = %s;\nusing element = %s; /* of A in memory */\n",
              machine->header, tw_type_name(tw_tile_block_scaled_left(&g)), tw_type_name(g.b),
              tw_tile_type_word(tw_tile_block_scaled_stored(&g)));
  tw_text_add(t, p->lines ? "\n"
                          : "constexpr int BLOCKS = 2 * ROWS, EACH = (BLOCKS + GROUPS - 1) / GROUPS; /* of A, a step; "
                            "that a group quantizes */\n\n");
  tw_tile_result_write(t, &g);
  tw_text_add(t,
              "TW_KERNEL(256, 1) pack_weights(const float *b, u8 *packed, u8 *scales, int n, int k, int ldb) {\n"
              "  mx_pack<right>(b, %s, packed, scales, n, k, COLUMNS, DEEP);\n}\n\n",
              g.b_transposed ? "1, ldb" : "ldb, 1");
  if (p->lines)
    tw_text_add(t,
                "TW_KERNEL(256, 1) pack_a(const element *a, u8 *packed, u8 *scales, int m, int k, int lda) {\n"
                "  mx_pack<left>(a, %s, packed, scales, m, k, LINES, DEEP);\n}\n\n",
                g.a_transposed ? "lda, 1" : "1, lda");
  tw_text_add(
      t,
      "TW_KERNEL(GROUPS * group_threads, 1) gemm(%s, const u8 *packed, const u8 *scales, %s *c, int m, int n, int k, "
      "int lda, int ldc",
      p->lines ? "const u8 *packed_a, const u8 *scales_a" : "const element *a",
      split ? "float" : tw_tile_type_word(g.c));
  if (!split) tw_tile_result_parameters(t, &g);
  tw_text_add(t, ") {\n");
  if (!p->lines)
    tw_text_add(t, "  arena memory;\n  const auto as = memory.take<many<mx_shared<left, BLOCKS>, 2>>();\n");
  tw_text_add(
      t,
      "  const int group = group_of_block(), part = block_of_grid() %% SPLIT, begin = DEEP / mx_step * part / SPLIT;\n"
      "  const int steps = DEEP / mx_step * (part + 1) / SPLIT - begin;\n"
      "  k = min(k, (begin + steps) * mx_step);\n");
  if (split) tw_text_add(t, "  c += (i64)part * m * n;\n");
  tw_text_add(
      t,
      "  const place p = place_of_chips<%d, %d, %d>(block_of_grid() / SPLIT, (m + BM - 1) / BM, (n + BN - 1) / BN);\n",
      p->window, p->chunk, machine->chips);
  tw_text_add(t, "  const int row = p.row * BM, col = p.col * BN + group * (BN / GROUPS);\n"
                 "  acc<mx_product, ROWS, 2 * COLS> sums;\n  sums.clear();\n");
  (p->lines ? write_packed : write_quantized)(t, &g);
  if (!split) {
    tw_text_add(t, "  const result finish{row, col, m, n");
    tw_tile_result_names(t, &g);
    tw_text_add(t, "};\n");
  }
  tw_text_add(t, "  put<%s>(c, ldc, sums, row, col, m, min(n, col + BN / GROUPS), %s);\n}\n",
              g.n % 4 == 0 && (split || g.ldc % 4 == 0) ? "true" : "false", split ? "as_is()" : "finish");
  if (split) tw_tile_parts_write(t, &g);
  return TW_OK;
}

const tw_tile_family tw_tile_block_scaled = {.language = &language,
                                             .plan_size = sizeof(PLAN),
                                             .supports = supports,
                                             .plainest = plainest,
                                             .settle = settle,
                                             .offers = offers,
                                             .write = write};
