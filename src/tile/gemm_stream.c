/* gemm_stream.c - plans and writes a GEMM of few rows whose threads bring their own weights; gemm_stream.h has its structure. */
#include "tile/gemm_stream.h"

#include <inttypes.h>

#include "op/gemm_problem.h"
#include "tile/gemm_few.h"
#include "tile/gemm_result.h"
#include "tile/verbs.h"

#define PLAN tw_tile_stream_plan

enum {
  CHUNK = 64, /* bytes of a row */
  AHEAD_MAX = 8,
  ALIGNMENT = 1024,
  GAP = 8,         /* floats between rows of sums */
  A_GAP = 32,      /* bytes between eights of A */
  RESERVED = 1024, /* of a processor's shared memory, for each block */
  REGISTERS_BESIDE = 16
};

static tw_status supports(const tw_tile_machine *machine, const tw_problem *p, tw_error *error) {
  const tw_gemm g = tw_gemm_of(p);
  const tw_status status = tw_tile_few.supports(machine, p, error);
  if (status != TW_OK) return status;
  if (!g.packed)
    return tw_fail(error, TW_USAGE, "streams are of packed weights: for others begin with a step such as 'few n=64'");
  if (g.b == TW_I4 && g.group != g.k && g.group % (CHUNK * 2))
    return tw_fail(error, TW_USAGE,
                   "group=%" PRId64 ": streams take i4 with scales for multiples of %d, or for a row; for others begin "
                   "with a step such as 'few n=64'",
                   g.group, CHUNK * 2);
  return TW_OK;
}

static int codes_of_chunk(const tw_gemm *g) { return CHUNK * 8 / tw_type_bits(g->b); }

static int64_t up(int64_t a, int64_t b) { return (a + b - 1) / b; }

static int64_t shared_bytes(const tw_gemm *g, const PLAN *p) {
  const int64_t rows = g->m > 4 ? p->few : g->m;
  const int64_t places = g->b == TW_MXFP4 ? 0 : g->m > 4 ? 1 : codes_of_chunk(g) / 128; /* of offsets, of a chunk */
  const int64_t offsets = p->chunks * places * (p->few / 8) * 32;
  const int64_t eights = (int64_t)p->chunks * codes_of_chunk(g) / 32; /* of each of four threads */
  const int64_t operand = up(eights * (rows * 64 + A_GAP) + offsets, ALIGNMENT) * ALIGNMENT;
  const int64_t sums = (int64_t)p->warps * p->few * (p->n + GAP) * 4;
  const int64_t used = operand + (int64_t)p->n * p->warps * CHUNK * p->ahead;
  return ALIGNMENT + (used > sums ? used : sums);
}

static tw_status settle(const tw_tile_machine *machine, const tw_problem *problem, void *plan, tw_error *error) {
  const tw_gemm of = tw_gemm_of(problem), *g = &of;
  PLAN *p = plan;
  if (!p->rows) p->rows = 16;
  if (!p->warps) p->warps = 1;
  if (!p->ahead) p->ahead = 2;
  p->few = (int)up(g->m, 8) * 8;
  const int64_t have = (machine->shared_bytes + RESERVED) / p->blocks - RESERVED, whole = up(g->k, codes_of_chunk(g));
  if (p->n % 16 || p->rows % 16 || p->n % p->rows)
    return tw_fail(error, TW_USAGE, "n=%d rows=%d: multiples of 16, n one of rows", p->n, p->rows);
  if (!p->split) /* as few as A has room in */
    for (p->split = 1; p->split < machine->blocks_together; p->split++) {
      p->chunks = (int)up(whole, p->split);
      if (shared_bytes(g, p) <= have) break;
    }
  p->chunks = (int)up(whole, p->split);
  p->shared_bytes = shared_bytes(g, p);
  /* No more blocks than these share a processor: those of the launch behind would begin where the first ones end, and leave
   * one processor with two and another with none. */
  const int64_t apart = (machine->shared_bytes + RESERVED) / (p->blocks + 1) - RESERVED + 1;
  if (p->shared_bytes < apart) p->shared_bytes = up(apart, ALIGNMENT) * ALIGNMENT;
  p->together = g->b == TW_I4 && g->group != g->k ? (int)(g->group / codes_of_chunk(g)) : 0;
  p->threads = p->n / p->rows * p->warps * machine->warp_threads;
  const bool row_scale = g->b != TW_MXFP4 && !p->together;
  const int each = p->rows / 8, tall = p->rows / 16, wide = p->few / 8;
  const int need =
      tall * wide * 4 * (p->together ? 2 : 1) + each * (6 + (row_scale ? 0 : 2)) + 8 * wide + REGISTERS_BESIDE;
  const tw_status status = tw_tile_few_fits(machine, p->blocks, p->threads, need, p->split, error);
  if (status != TW_OK) return status;
  if (p->early % CHUNK) return tw_fail(error, TW_USAGE, "early %d: a multiple of %d", p->early, CHUNK);
  if (whole < (int64_t)p->split * p->warps)
    return tw_fail(error, TW_USAGE, "k=%" PRId64 " has fewer chunks of %d than %d blocks of %d warps share it", g->k,
                   codes_of_chunk(g), p->split, p->warps);
  if (p->shared_bytes > have)
    return tw_fail(error, TW_USAGE,
                   "A, weights under way and the sums of warps take %" PRId64 " bytes of shared memory, of %" PRId64
                   " of each of %d blocks: 'split %d' shares A among more",
                   p->shared_bytes, have, p->blocks, p->split + 1);
  return TW_OK;
}

/* ---- steps ---- */

static void begin(const void *with, void *plan) {
  (void)with;
  *(PLAN *)plan = (PLAN){.blocks = 1};
}

static tw_status needs_stream(const void *with, void *plan, unsigned given, tw_error *error) {
  (void)with, (void)given;
  return ((PLAN *)plan)->n ? TW_OK : tw_fail(error, TW_USAGE, "needs 'stream n=64' before it");
}

static const tw_verb verbs[] = {
    {.name = "stream",
     .usage = "stream n=64 rows=16 warps=4",
     .needs = 1,
     .argument = {TW_NUMBER("n", PLAN, n, 16, 1024), TW_NUMBER("rows", PLAN, rows, 16, 64),
                  TW_NUMBER("warps", PLAN, warps, 1, 32)},
     .first = begin},
    {.name = "ahead",
     .usage = "ahead 4",
     .needs = 1,
     .argument = {TW_NUMBER("", PLAN, ahead, 1, AHEAD_MAX)},
     .then = needs_stream},
    {.name = "early",
     .usage = "early 1024",
     .needs = 1,
     .argument = {TW_NUMBER("", PLAN, early, 16, 1 << 20)},
     .then = needs_stream},
    TW_TILE_BLOCKS(PLAN, needs_stream),
    TW_TILE_SPLIT(PLAN, "split 2", needs_stream),
};
static const tw_language language = {"gemm of streamed weights", sizeof verbs / sizeof *verbs, verbs};

static void offers(tw_menu_builder *m, const tw_tile_context *c) {
  const tw_gemm g = tw_gemm_of(c->problem);
  /* Shares of a processor: with as many columns for each block none waits for others at the end. */
  const int share = (int)up(g.n, c->machine->processors);
  for (int of = 1; of <= 4; of *= 2)
    for (int rows = 16; rows <= 32; rows *= 2)
      for (int warps = 1; warps <= 16; warps *= 2)
        tw_menu_offer(m, of == 1 ? "shares" : "wide shares",
                      "weights go by once; warps that share k keep few columns busy", "stream n=%d rows=%d warps=%d",
                      (int)up(share * of, rows) * rows, rows, warps);
  for (int n = 16; n <= 128; n *= 2)
    for (int warps = 1; warps <= 16; warps *= 2)
      tw_menu_offer(m, "narrow blocks", "several blocks of a processor begin and end while others read",
                    "stream n=%d rows=16 warps=%d", n, warps);
  for (int i = 1; i <= AHEAD_MAX; i += i < 4 ? 1 : 2)
    tw_menu_offer(m, "ahead", "loads under way hide the latency of memory", "ahead %d", i);
  for (int i = 256; i <= 4096; i *= 2)
    tw_menu_offer(m, "early", "the cache has the first weights when the kernel before ends", "early %d", i);
  for (int i = 1; i <= 4; i++)
    tw_menu_offer(m, "blocks", "while one block begins or ends another reads", "blocks %d", i);
  for (int i = 1; i <= 8; i++)
    tw_menu_offer(m, "split", "blocks that share k have a part of A each, and keep few columns busy", "split %d", i);
}

/* ---- the kernel ---- */

static void write_launch(tw_text *t, const tw_tile_machine *machine, const tw_gemm *g, const PLAN *p) {
  tw_text_add(
      t,
      "//: kernel    gemm\n//: let       BN = %d, ROWS = %d, WARPS = %d, M = %d, FEW = %d, AHEAD = %d, SPLIT = %d\n"
      "//: let       CHUNKS = %d, THREADS = BN / ROWS * WARPS * %d\n"
      "//: require   m == M && k <= CHUNKS * SPLIT * %d\n//: grid      ceildiv(n, BN) * SPLIT\n"
      "//: block     THREADS\n//: overlap\n",
      p->n, p->rows, p->warps, (int)g->m, p->few, p->ahead, p->split, p->chunks, machine->warp_threads,
      codes_of_chunk(g));
  if (p->split > 1) tw_text_add(t, "//: cluster   SPLIT\n");
  tw_text_add(t, "//: shared    %lld\n//: args      A, B, SB, C, m, n, k, lda, ldc, B.bytes / n, SB.bytes / n / %d",
              (long long)p->shared_bytes, g->b == TW_MXFP4 ? 1 : 4);
  tw_tile_result_arguments(t, g);
  tw_text_add(t, "\n");
}

static void write_kernel(tw_text *t, const tw_gemm *g, const PLAN *p) {
  const bool split = p->split > 1, row_scales = g->b != TW_MXFP4 && !p->together;
  const char *type = tw_type_name(g->b);
  tw_tile_result_write(t, g);
  tw_text_add(
      t,
      "TW_KERNEL(THREADS, %d) gemm(const bf16 *a, const u8 *b, const %s *scales, %s *c, int m, int n, int k, int "
      "lda, int ldc, int pitch, int all",
      p->blocks, g->b == TW_MXFP4 ? "u8" : "float", tw_tile_type_word(g->c));
  tw_tile_result_parameters(t, g);
  tw_text_add(t,
              ") {\n  arena memory;\n  const auto as = memory.take<operand_few<%s, CHUNKS, M, THREADS / 32, %s>>();\n"
              "  const auto waiting = memory.take<waiting_few<ROWS, THREADS / 32, AHEAD>>();\n"
              "  const room_few<WARPS, FEW, BN> room{as.at}; /* of sums, when all is read */\n"
              "  const int warp = warp_of_block(), row = warp %% (BN / ROWS) * ROWS, part = warp / (BN / ROWS);\n"
              "  const int rank = %s, whole = (k + %d - 1) / %d, begin = whole * rank / SPLIT;\n"
              "  const int end = whole * (rank + 1) / SPLIT, col = block_of_grid() / SPLIT * BN;\n"
              "  next_may_begin();\n",
              type, g->k % 8 ? "false" : "true", split ? "rank_of_team()" : "0", codes_of_chunk(g), codes_of_chunk(g));
  if (p->early)
    tw_text_add(t, "  early_few<%s, %d, %d>(b, scales, col, BN, n, pitch, all, begin, end);\n", type, p->together,
                p->early);
  tw_text_add(t,
              "  stream_few<%s, ROWS, FEW, M, %d, decltype(waiting), AHEAD> weights(b, scales, col + row, n, pitch, "
              "all, WARPS, end, waiting);\n"
              "  const int turn_of_a = as.turn_of_block();\n  vec16 fresh[decltype(as)::at_once]; /* of A */\n"
              "  earlier_ended();\n  weights.bring_scales(begin + part);\n"
              "  as.fetch(fresh, a, lda, k, begin, 0, turn_of_a);\n  weights.begin(begin + part);\n"
              "  as.lay_all(fresh, a, lda, k, begin, turn_of_a);\n  sync_block();\n%s"
              "  sums_few<ROWS, FEW> sums;\n  clear(sums);\n  weights.multiply_all(sums, as, begin + part, begin);\n"
              "  sync_block();\n  room.lay<%s>(sums, part, row);\n  %s();\n",
              type, p->together, g->b != TW_MXFP4 && g->m > 4 ? "  as.lay_offsets();\n  sync_block();\n" : "", type,
              split ? "sync_team" : "sync_block");
  tw_text_add(t,
              "  constexpr int turn = SPLIT * THREADS, count = M * BN, at_once = 4;\n"
              "  for (int i = rank * THREADS + thread_of_block(); i < count; i += at_once * turn) {\n"
              "    float sum[at_once];\n#pragma unroll\n    for (int e = 0; e < at_once; e++)\n"
              "      if (i + e * turn < count) sum[e] = room.sum<SPLIT>((i + e * turn) / BN, (i + e * turn) %% BN);\n"
              "#pragma unroll\n    for (int e = 0; e < at_once; e++) {\n"
              "      const int r = (i + e * turn) / BN, j = col + (i + e * turn) %% BN;\n"
              "      if (i + e * turn >= count || j >= n) continue;\n%s"
              "      const result finish{r, j, m, n",
              row_scales ? "      sum[e] *= scales[j];\n" : "");
  tw_tile_result_names(t, g);
  tw_text_add(t, "};\n      set(c[(i64)r * ldc + j], finish(sum[e], 0, 0));\n    }\n  }\n%s}\n",
              split ? "  sync_team(); /* nobody leaves while others read from it */\n" : "");
}

static void write(const tw_tile_machine *machine, const tw_problem *problem, const void *plan, tw_text *t) {
  const tw_gemm g = tw_gemm_of(problem);
  write_launch(t, machine, &g, plan);
  tw_text_add(t, "#include \"%s\"\nusing namespace tw;\n\n", machine->header);
  write_kernel(t, &g, plan);
}

const tw_tile_family tw_tile_stream = {.language = &language,
                                       .plan_size = sizeof(PLAN),
                                       .supports = supports,
                                       .settle = settle,
                                       .offers = offers,
                                       .write = write};
