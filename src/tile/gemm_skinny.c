/* gemm_skinny.c - plans and writes a GEMM of few rows; gemm_skinny.h has its structure. */
#include "tile/gemm_skinny.h"

#include <inttypes.h>

#include "op/gemm_problem.h"
#include "tile/gemm_epilogue.h"
#include "tile/verbs.h"

#define PLAN tw_tile_skinny_plan

enum {
  FEW_MAX = 32, /* rows of A */
  PIECE = 32,   /* of k, that four threads read together */
  STAGES_MAX = 24,
  ALIGNMENT = 1024,
  BARRIER_BYTES = 8,
  GAP = 8,         /* floats between rows of sums */
  RESERVED = 1024, /* of a processor's shared memory, for each block */
  COPYING = 32,    /* threads */
  REGISTERS_BESIDE = 28,
  BOX_MAX = 256
};

bool tw_tile_skinny_only(const tw_problem *p) { return tw_gemm_of(p).packed; }

static bool is_16(tw_type t) { return t == TW_BF16 || t == TW_F16; }

static tw_status supports(const tw_tile_machine *machine, const tw_problem *p, tw_error *error) {
  const tw_gemm g = tw_gemm_of(p);
  const bool c = g.c == TW_F32 || is_16(g.c);
  const bool plain = is_16(g.a) && g.b == g.a && g.b_transposed && g.ldb % 8 == 0;
  const bool packed = g.packed && g.a == TW_BF16 && (g.b == TW_MXFP4 || g.b == TW_I4 || g.b == TW_TERNARY);
  if (!machine->few_rows)
    return tw_fail(error, TW_USAGE, "skinny GEMM requires an NVIDIA GPU of architecture sm_90a or later");
  if (g.packed && !packed)
    return tw_fail(error, TW_USAGE, "packed weights require a=bf16 and b=mxfp4, i4 or ternary (found a=%s b=%s)",
                   tw_type_name(g.a), tw_type_name(g.b));
  if (g.a_rounding != TW_GEMM_A_EXACT || g.quantize || g.scales || g.acc != TW_F32 || !c || !(plain || packed))
    return tw_fail(error, TW_USAGE,
                   "skinny GEMM requires a and b both bf16 or f16 with b stored n x k and a pitch that is a multiple "
                   "of 8, or packed weights; c must be f32, bf16 or f16");
  if (g.m > FEW_MAX)
    return tw_fail(error, TW_USAGE, "unsupported m=%" PRId64 "; skinny GEMM has at most %d rows%s", g.m, FEW_MAX,
                   packed ? "; for more, decode the weights once and multiply b=bf16" : "");
  if (g.a_transposed || g.lda % 8)
    return tw_fail(
        error, TW_USAGE,
        "skinny GEMM copies A asynchronously; A must not be transposed, and its pitch must be a multiple of 8");
  if (g.packed && g.b == TW_I4 && g.k % PIECE)
    return tw_fail(error, TW_USAGE,
                   "unsupported k=%" PRId64
                   "; rows of i4 are copied in pieces of %d weights, so k must be a multiple of that",
                   g.k, PIECE);
  if (packed && g.group % PIECE && g.group != g.k)
    return tw_fail(error, TW_USAGE,
                   "unsupported group=%" PRId64
                   "; packed weights require groups that are multiples of %d, or one scale per row",
                   g.group, PIECE);
  return TW_OK;
}

/* Codes in 128 bytes of a row. */
static int codes_of_panel(const tw_gemm *g) { return 1024 / tw_type_bits(g->b); }

/* Elements of k that share a scale; 0: a row of B has one, or none. */
static int64_t group_of(const tw_gemm *g) {
  if (g->b == TW_MXFP4) return PIECE;
  return g->packed && g->b == TW_I4 && g->group != g->k ? g->group : 0;
}

static int64_t common(int64_t a, int64_t b) { return b ? common(b, a % b) : a; }

static int64_t stage_bytes(const PLAN *p) { return (int64_t)p->few * p->k * 2 + (int64_t)p->n * p->bytes; }

static int64_t shared_bytes(const PLAN *p, int stages) {
  return ALIGNMENT + stages * stage_bytes(p) + 2 * stages * BARRIER_BYTES;
}

tw_status tw_tile_skinny_fits(const tw_tile_machine *machine, int blocks, int threads, int registers, int split,
                              tw_error *error) {
  if (threads > machine->block_threads || registers * threads * blocks > machine->registers || registers > 255)
    return tw_fail(error, TW_USAGE,
                   "%d blocks of %d threads with about %d registers each exceed a multiprocessor; use fewer blocks",
                   blocks, threads, registers);
  if (split > machine->blocks_together)
    return tw_fail(error, TW_USAGE, "unsupported split_k %d; at most %d blocks of a cluster can add their sums", split,
                   machine->blocks_together);
  return TW_OK;
}

static tw_status settle(const tw_tile_machine *machine, const tw_problem *problem, void *plan, tw_error *error) {
  const tw_gemm gemm = tw_gemm_of(problem), *g = &gemm;
  PLAN *p = plan;
  const int panel = codes_of_panel(g), load = g->b == TW_TERNARY ? 4 : 1;
  if (!p->k) p->k = panel;
  if (!p->rows) p->rows = p->n % 32 ? 16 : 32;
  if (!p->warps) p->warps = 1;
  p->few = (int)((g->m + 7) / 8 * 8);
  p->bytes = p->k / panel * machine->panel_bytes;
  if (p->k % panel)
    return tw_fail(error, TW_USAGE, "unsupported k=%d; expected a multiple of the %d weights in %d bytes", p->k, panel,
                   machine->panel_bytes);
  if (p->n % 16 || p->n > BOX_MAX || p->rows % 16 || p->n % p->rows)
    return tw_fail(error, TW_USAGE,
                   "unsupported n=%d rows=%d; both must be multiples of 16, and n a multiple of rows and at most %d",
                   p->n, p->rows, BOX_MAX);
  if (p->k / PIECE % (p->warps * load))
    return tw_fail(error, TW_USAGE,
                   "warps=%d cannot share a stage of k=%d, which has %d pieces; use fewer warps or a larger k",
                   p->warps, p->k, p->k / PIECE / load);
  p->pieces = p->k / PIECE / p->warps;
  const int64_t group = group_of(g);
  p->together = group ? (int)common(p->pieces, group / PIECE) : 0;
  p->count = group ? p->pieces / p->together : 0;
  if (p->count > 1 && p->together != group / PIECE)
    return tw_fail(error, TW_USAGE,
                   "warps=%d of k=%d have %d weights each and groups have %d; one must be a multiple of the other",
                   p->warps, p->k, p->pieces * PIECE, (int)group);
  p->threads = p->n / p->rows * p->warps * machine->warp_threads + COPYING;
  const int sums = p->rows / 16 * p->few / 8 * 4, scales = p->rows / 8 * (2 * ((p->count + 3) / 4) + 2);
  const int need = sums * (p->count && g->b != TW_MXFP4 ? 2 : 1) + scales + p->few / 8 * 4 + REGISTERS_BESIDE;
  const tw_status status = tw_tile_skinny_fits(machine, p->blocks, p->threads, need, p->split, error);
  if (status != TW_OK) return status;
  if (p->split > 1 && g->k < (int64_t)p->split * p->k)
    return tw_fail(error, TW_USAGE, "split_k %d exceeds the stages of k=%" PRId64 " (%d each); use a smaller number",
                   p->split, g->k, p->k);
  const int64_t steps = (g->k + p->k - 1) / p->k, most = (steps + p->split - 1) / p->split;
  const int64_t have = (machine->shared_bytes + RESERVED) / p->blocks - RESERVED;
  const int64_t sums_bytes = (int64_t)p->warps * p->few * (p->n + GAP) * 4;
  if (!p->stages) {
    p->stages = most < STAGES_MAX ? (int)most : STAGES_MAX;
    if (p->stages < 2) p->stages = 2;
    while (p->stages > 2 && shared_bytes(p, p->stages) > have) p->stages--;
  }
  p->shared_bytes = shared_bytes(p, p->stages);
  if (p->shared_bytes > have)
    return tw_fail(error, TW_USAGE,
                   "%d stages need %" PRId64 " bytes of shared memory, which exceeds %" PRId64
                   " for each of %d blocks; use fewer stages",
                   p->stages, p->shared_bytes, have, p->blocks);
  if (sums_bytes > p->stages * stage_bytes(p))
    return tw_fail(
        error, TW_USAGE,
        "the accumulators of %d warps exceed the shared memory of the stages, where they are added; use fewer warps",
        p->warps);
  return TW_OK;
}

/* ---- steps ---- */

static void begin(const void *with, void *plan) {
  (void)with;
  *(PLAN *)plan = (PLAN){.blocks = 1, .split = 1};
}

static tw_status needs_few(const void *with, void *plan, unsigned given, tw_error *error) {
  (void)with, (void)given;
  return ((PLAN *)plan)->n ? TW_OK : tw_fail(error, TW_USAGE, "requires 'skinny n=64' before it");
}

static const tw_verb verbs[] = {
    {.name = "skinny|few",
     .usage = "skinny n=64 k=256 rows=32 warps=4",
     .help = "Use a skinny-GEMM kernel: columns and k of a block, columns of a warp, warps that share k.",
     .needs = 1,
     .argument = {TW_NUMBER("n", PLAN, n, 16, 256), TW_NUMBER("k", PLAN, k, 64, 4096),
                  TW_NUMBER("rows", PLAN, rows, 16, 64), TW_NUMBER("warps", PLAN, warps, 1, 16)},
     .first = begin},
    TW_TILE_STAGES(PLAN, 2, STAGES_MAX, needs_few),
    TW_TILE_BLOCKS(PLAN, needs_few),
    TW_TILE_SPLIT(PLAN, "split_k 4", needs_few),
};
static const tw_language language = {"gemm of few rows", sizeof verbs / sizeof *verbs, verbs};

static void offers(tw_menu_builder *m, const tw_tile_context *c) {
  const tw_gemm g = tw_gemm_of(c->problem);
  const int panel = codes_of_panel(&g);
  /* Shares of a processor, too: with as many columns for each block none waits for others at the end. */
  const int share = (int)(g.n + c->machine->processors - 1) / c->machine->processors;
  const int columns[] = {16, 32, 64, 128, (share / 2 + 15) / 16 * 16, (share + 15) / 16 * 16};
  static const char *const lever[] = {"narrow blocks", "narrow blocks", "wide blocks",
                                      "wide blocks",   "shares",        "shares"};
  for (size_t i = 0; i < sizeof columns / sizeof *columns; i++)
    for (int k = panel; k <= 4 * panel; k *= 2)
      for (int rows = 16; rows <= 64; rows *= 2)
        for (int warps = 1; warps <= 8; warps *= 2)
          tw_menu_offer(m, lever[i], "each weight is read once; warps that share k keep few columns busy",
                        "skinny n=%d k=%d rows=%d warps=%d", columns[i], k, rows, warps);
  for (int i = 1; i <= 6; i++)
    tw_menu_offer(m, "blocks_per_sm", "one block reads while another starts or finishes", "blocks_per_sm %d", i);
  for (int i = 1; i <= 8; i++)
    tw_menu_offer(m, "split_k", "blocks that share k keep every processor busy with few columns", "split_k %d", i);
  for (int i = 2; i <= STAGES_MAX; i += i < 4 ? 1 : 2)
    tw_menu_offer(m, "stages", "loads in flight hide memory latency", "stages %d", i);
}

/* ---- the kernel ---- */

/* Of the scales in memory, and of the weights in shared tiles. */
static const char *scale_word(const tw_gemm *g) { return g->b == TW_MXFP4 ? "u8" : "float"; }
static const char *tile_word(const tw_gemm *g) { return g->packed ? "u8" : tw_tile_type_word(g->b); }

static void write_launch(tw_text *t, const tw_tile_machine *machine, const tw_gemm *g, const PLAN *p) {
  tw_text_add(
      t,
      "//: kernel    gemm\n//: let       BN = %d, STEP = %d, ROWS = %d, WARPS = %d, FEW = %d, STAGES = %d, SPLIT "
      "= %d\n//: let       PIECES = STEP / 32 / WARPS, THREADS = BN / ROWS * WARPS * %d\n",
      p->n, p->k, p->rows, p->warps, p->few, p->stages, p->split, machine->warp_threads);
  tw_text_add(t, "//: require   m <= FEW\n//: grid      ceildiv(n, BN) * SPLIT\n//: block     THREADS + %d\n", COPYING);
  tw_text_add(t, "//: overlap\n");
  if (p->split > 1) tw_text_add(t, "//: cluster   SPLIT\n");
  tw_text_add(t,
              "//: shared    %lld\n//: map       a = A box(64, FEW) swizzle(128)\n"
              "//: map       b = B box(%d, BN) swizzle(128) l2(256)\n//: args      a, b, %sC, m, n, k, ldc",
              (long long)p->shared_bytes, g->packed ? 128 : 64, g->packed ? "SB, " : "");
  if (g->packed && p->count) tw_text_add(t, ", SB.columns");
  tw_tile_result_arguments(t, g);
  tw_text_add(t, "\n");
}

static void write_product(tw_text *t, const char *in, const char *type, int together, const char *factor) {
  tw_text_add(t,
              "%s      multiply_few<%s, PIECES, %d>(sums, as[at.slot], bs[at.slot], places, [&](int i, int j) { "
              "return %s; });\n",
              in, type, together, factor);
}

/* Scales of mxfp4 are multiplied into the weights, exactly, those of others into sums. */
static void write_products(tw_text *t, const tw_gemm *g, const PLAN *p) {
  if (g->b != TW_MXFP4) {
    write_product(t, "", tw_type_name(g->b), p->together, p->count ? "now[i].at(j)" : "0u");
    return;
  }
  for (int large = 0; large < 2; large++) {
    tw_text_add(t, large
                       ? "      } else {\n"
                       : "      bool large = false;\n#pragma unroll\n      for (int i = 0; i < ROWS / 8; i++) large |= "
                         "now[i].large();\n      if (!any_of_warp(large)) {\n");
    tw_text_add(t, "#pragma unroll\n        for (int i = 0; i < ROWS / 8; i++) now[i] = now[i].two<%s>();\n",
                large ? "true" : "false");
    write_product(t, "  ", large ? "mxfp4_large" : "mxfp4", 0, "now[i].word(j)");
  }
  tw_text_add(t, "      }\n");
}

static void write_kernel(tw_text *t, const tw_gemm *g, const PLAN *p) {
  const bool split = p->split > 1;
  const char *scale = scale_word(g);
  tw_text_add(t, "using a_tile = shared<%s, FEW, STEP>;\nusing b_tile = shared<%s, BN, %s>;\n\n",
              tw_tile_type_word(g->a), tile_word(g),
              g->packed ? (g->b == TW_TERNARY ? "STEP / 4" : "STEP / 2") : "STEP");
  tw_tile_result_write(t, g);
  tw_text_add(t, "TW_KERNEL(THREADS + %d, %d) gemm(TW_TENSOR a, TW_TENSOR b, ", COPYING, p->blocks);
  if (g->packed) tw_text_add(t, "const %s *scales, ", scale);
  tw_text_add(t, "%s *c, int m, int n, int k, int ldc%s", tw_tile_type_word(g->c),
              g->packed && p->count ? ", int all" : "");
  tw_tile_result_parameters(t, g);
  tw_text_add(
      t,
      ") {\n  arena memory;\n  const auto as = memory.take<many<a_tile, STAGES>>();\n"
      "  const auto bs = memory.take<many<b_tile, STAGES>>();\n"
      "  const auto full = memory.take<barriers<STAGES>>(), empty = memory.take<barriers<STAGES>>();\n"
      "  const room_few<WARPS, FEW, BN> room{as.at}; /* of sums, when all tiles are read */\n"
      "  const int warp = warp_of_block();\n"
      "  if (thread_of_block() == THREADS) {\n    prefetch(a);\n    prefetch(b);\n"
      "    for (int i = 0; i < STAGES; i++) {\n      full[i].init(1);\n      empty[i].init(THREADS / 32);\n    }\n"
      "    barriers_ready();\n  }\n  sync_block();\n  earlier_ended();\n  next_may_begin();\n"
      "  const int rank = %s, whole = (k + STEP - 1) / STEP, begin = whole * rank / SPLIT;\n"
      "  const int steps = whole * (rank + 1) / SPLIT - begin, col = block_of_grid() / SPLIT * BN;\n"
      "  ring<STAGES> at;\n"
      "  if (warp == THREADS / 32) { /* copies */\n    if (thread_of_warp() == 0)\n"
      "      for (int s = begin; s < begin + steps; s++, at.next()) {\n"
      "        empty[at.slot].wait(at.parity ^ 1);\n"
      "        full[at.slot].expect(a_tile::bytes + b_tile::bytes);\n"
      "        copy(bs[at.slot], b, col, s * b_tile::cols, full[at.slot]);\n"
      "        copy(as[at.slot], a, 0, s * STEP, full[at.slot]);\n      }\n    sync_warp();\n    sync_block();\n"
      "  } else { /* multiply */\n    const int row = warp %% (BN / ROWS) * ROWS, part = warp / (BN / ROWS);\n"
      "    sums_few<ROWS, FEW> sums;\n    clear(sums);\n",
      split ? "rank_of_team()" : "0");
  if (p->count) {
    tw_text_add(
        t,
        "    factors_few<%s, %d> next[ROWS / 8], now[ROWS / 8];\n    const %s *of_row[ROWS / 8];\n#pragma unroll\n"
        "    for (int i = 0; i < ROWS / 8; i++)\n"
        "      of_row[i] = (const %s *)settled((u64)(scales + (i64)min(col + row + 8 * i + thread_of_warp() / 4, n - "
        "1) "
        "* all));\n",
        scale, p->count, scale, scale);
    tw_text_add(t,
                "    const auto fetch = [&](int s) {\n      const int first = (s * (STEP / 32) + part * PIECES) / %d;\n"
                "#pragma unroll\n      for (int i = 0; i < ROWS / 8; i++) next[i].fetch(of_row[i], first, all);\n"
                "    };\n    fetch(begin);\n",
                (int)(group_of(g) / PIECE));
  }
  tw_text_add(t, "    const places_few<%s, PIECES, a_tile, b_tile> places(row, part * PIECES);\n", tw_type_name(g->b));
  /* A stage is given back when the next one is there: by then what was read of it has been multiplied. */
  tw_text_add(t,
              "    int before = 0;\n#pragma unroll 1\n    for (int s = begin; s < begin + steps; s++, at.next()) {\n");
  if (p->count)
    tw_text_add(t, "#pragma unroll\n      for (int i = 0; i < ROWS / 8; i++) now[i] = next[i];\n      fetch(s + 1);\n");
  tw_text_add(t, "      full[at.slot].wait(at.parity);\n      sync_warp();\n"
                 "      if (s > begin && thread_of_warp() == 0) empty[before].arrive();\n      before = at.slot;\n");
  write_products(t, g, p);
  tw_text_add(t, "    }\n    sync_block();\n    room.lay<%s>(sums, part, row);\n  }\n  %s();\n", tw_type_name(g->b),
              split ? "sync_team" : "sync_block");
  tw_text_add(t,
              "  for (int i = rank * (THREADS + %d) + thread_of_block(); i < m * BN; i += SPLIT * (THREADS + %d)) {\n"
              "    const int r = i / BN, j = col + i %% BN;\n"
              "    float sum = room.sum<SPLIT>(r, i %% BN);\n    if (j >= n) continue;\n",
              COPYING, COPYING);
  if (g->packed && !p->count) tw_text_add(t, "    sum *= scales[j];\n");
  tw_text_add(t, "    const result finish{r, j, m, n");
  tw_tile_result_names(t, g);
  tw_text_add(t, "};\n    set(c[(i64)r * ldc + j], finish(sum, 0, 0));\n  }\n%s}\n",
              split ? "  sync_team(); /* nobody leaves while others read from it */\n" : "");
}

static tw_status write(const tw_tile_machine *machine, const tw_problem *problem, const void *plan, tw_text *t,
                       tw_error *error) {
  (void)error;
  const tw_gemm g = tw_gemm_of(problem);
  write_launch(t, machine, &g, plan);
  tw_text_add(t, "#include \"%s\"\nusing namespace tw;\n\n", machine->header);
  write_kernel(t, &g, plan);
  return TW_OK;
}

const tw_tile_family tw_tile_skinny = {.language = &language,
                                       .plan_size = sizeof(PLAN),
                                       .supports = supports,
                                       .settle = settle,
                                       .offers = offers,
                                       .write = write};
