/* gemm_skinny.c - plans a GEMM of few rows; gemm_skinny.h has its structure, kernels/gemm_skinny.cuh.in is the
 * kernel. */
#include "gpu/nvidia/gemm_skinny.h"

#include <inttypes.h>

#include "gpu/common/gemm_epilogue.h"
#include "gpu/common/verbs.h"

#define PLAN tw_tile_skinny_plan

enum {
  FEW_MAX = 32, /* rows of A */
  PIECE = 32,   /* elements of k that four threads read together */
  ALIGNMENT = 1024,
  BARRIER_BYTES = 8,
  GAP = 8, /* floats between rows of sums */
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
  TW_REJECT_IF(!machine->few_rows, "skinny GEMM requires an NVIDIA GPU of architecture sm_90a or later");
  TW_REJECT_IF(tw_gemm_pair_key(&g), "skinny GEMM does not support %s; use a tile", tw_gemm_pair_key(&g));
  TW_REJECT_IF(g.packed && !packed, "packed weights require a=bf16 and b=mxfp4, i4 or ternary (found a=%s b=%s)",
               tw_type_name(g.a), tw_type_name(g.b));
  TW_REJECT_IF(g.shuffle == TW_GEMM_SHUFFLE_AITER, "shuffle=aiter is for AMD GPUs; use shuffle=mma or leave it out");
  TW_REJECT_IF(g.a_rounding != TW_GEMM_A_EXACT || g.quantize || g.scales || g.acc != TW_F32 || !c || !(plain || packed),
               "skinny GEMM requires a and b both bf16 or f16 with b stored n x k and a pitch that is a multiple of 8, "
               "or packed weights; c must be f32, bf16 or f16");
  TW_REJECT_IF(g.m > FEW_MAX, "unsupported m=%" PRId64 "; skinny GEMM has at most %d rows%s", g.m, FEW_MAX,
               packed ? "; for more, decode the weights once and multiply b=bf16" : "");
  TW_REJECT_IF(g.a_transposed || g.lda % 8,
               "skinny GEMM copies A asynchronously; A must not be transposed, and its pitch must be a multiple of 8");
  TW_REJECT_IF(g.packed && g.b == TW_I4 && g.k % PIECE,
               "unsupported k=%" PRId64
               "; rows of i4 are copied in pieces of %d weights, so k must be a multiple of that",
               g.k, PIECE);
  TW_REJECT_IF(packed && g.group % PIECE && g.group != g.k,
               "unsupported group=%" PRId64
               "; packed weights require groups that are multiples of %d, or one scale per row",
               g.group, PIECE);
  return TW_OK;
}

/* Codes in 128 bytes of a row. */
static int codes_of_panel(const tw_gemm *g) { return 1024 / tw_type_bits(g->b); }

/* Elements of k that share a scale; 0: one scale for a row of B, or no scales. */
static int64_t group_of(const tw_gemm *g) {
  if (g->b == TW_MXFP4) return PIECE;
  return g->packed && g->b == TW_I4 && g->group != g->k ? g->group : 0;
}

int64_t tw_tile_skinny_word_k(const tw_gemm *g) { return g->b == TW_MXFP4 ? 4 * PIECE : group_of(g); }

tw_status tw_tile_skinny_words(const tw_gemm *g, int k, int *words, tw_error *error) {
  const int64_t of_word = tw_tile_skinny_word_k(g);
  TW_REJECT_IF(of_word && k % of_word && of_word % k, "k=%d and groups of %d: one must be a multiple of the other", k,
               (int)of_word);
  *words = !of_word ? 0 : k > of_word ? (int)(k / of_word) : 1;
  return TW_OK;
}

int tw_tile_skinny_producers(const tw_gemm *g, int words) { return !g->shuffle ? 1 : words ? 3 : 2; }

static int64_t common(int64_t a, int64_t b) { return b ? common(b, a % b) : a; }

tw_status tw_tile_skinny_fits(const tw_tile_machine *machine, int64_t k, const tw_tile_skinny_block *b, int blocks,
                              int split, int *stages, int64_t *shared_bytes, tw_error *error) {
  /* Each quarter of a multiprocessor has a quarter of the registers, and a quarter of the warps, rounded up. */
  const int quarters = 4 * machine->warp_threads, threads = (b->threads * blocks + quarters - 1) / quarters * quarters;
  TW_REJECT_IF(b->threads > machine->block_threads || b->registers * threads > machine->registers || b->registers > 255,
               "%d blocks of %d threads with about %d registers each exceed a multiprocessor; use fewer blocks", blocks,
               b->threads, b->registers);
  TW_REJECT_IF(split > machine->blocks_together,
               "unsupported split_k %d; at most %d blocks of a cluster can add their sums", split,
               machine->blocks_together);
  TW_REJECT_IF(split > 1 && k < (int64_t)split * b->step,
               "split_k %d exceeds the stages of k=%" PRId64 " (%d each); use a smaller number", split, k, b->step);
  const int64_t steps = (k + b->step - 1) / b->step, most = (steps + split - 1) / split;
  const int64_t stage = b->tile_bytes + b->barriers * BARRIER_BYTES;
  const int64_t have = tw_tile_shared_of_block(machine, blocks), fit = (have - ALIGNMENT) / stage;
  if (!*stages) {
    *stages = (int)(most < fit ? most : fit);
    if (*stages > TW_TILE_SKINNY_STAGES) *stages = TW_TILE_SKINNY_STAGES;
    if (*stages < 2) *stages = 2;
  }
  *shared_bytes = ALIGNMENT + *stages * stage;
  TW_REJECT_IF(*shared_bytes > have,
               "%d stages need %" PRId64 " bytes of shared memory, which exceeds %" PRId64
               " for each of %d blocks; use fewer stages",
               *stages, *shared_bytes, have, blocks);
  TW_REJECT_IF((int64_t)b->sums * (b->columns + GAP) * 4 > *stages * b->tile_bytes,
               "the accumulators need more shared memory than the stages, where they are added; use fewer warps or "
               "consumers");
  return TW_OK;
}

static tw_status settle_gemm_skinny(const tw_tile_machine *machine, const tw_problem *problem, void *plan,
                                    tw_error *error) {
  const tw_gemm gemm = tw_gemm_of(problem), *g = &gemm;
  PLAN *p = plan;
  const int panel = codes_of_panel(g), load = g->b == TW_TERNARY ? 4 : !g->shuffle ? 1 : g->b == TW_MXFP4 ? 4 : 2;
  if (!p->k) p->k = panel;
  if (!p->rows) p->rows = p->n % 32 ? 16 : 32;
  if (!p->warps) p->warps = 1;
  p->few = (int)((g->m + 7) / 8 * 8);
  p->bytes = p->k / panel * machine->panel_bytes;
  TW_REJECT_IF(p->k % panel, "unsupported k=%d; expected a multiple of the %d weights in %d bytes", p->k, panel,
               machine->panel_bytes);
  TW_REJECT_IF(p->n % 16 || p->n > BOX_MAX || p->rows % 16 || p->n % p->rows,
               "unsupported n=%d rows=%d; both must be multiples of 16, and n a multiple of rows and at most %d", p->n,
               p->rows, BOX_MAX);
  TW_REJECT_IF(p->k / PIECE % (p->warps * load),
               "warps=%d cannot share a stage of k=%d, which has %d pieces; use fewer warps or a larger k", p->warps,
               p->k, p->k / PIECE / load);
  p->pieces = p->k / PIECE / p->warps;
  const int64_t group = group_of(g);
  p->together = group ? (int)common(p->pieces, group / PIECE) : 0;
  p->count = group ? p->pieces / p->together : 0;
  TW_REJECT_IF(p->count > 1 && p->together != group / PIECE,
               "warps=%d of k=%d have %d weights each and groups have %d; one must be a multiple of the other",
               p->warps, p->k, p->pieces * PIECE, (int)group);
  const tw_status status = g->shuffle ? tw_tile_skinny_words(g, p->k, &p->words, error) : TW_OK;
  if (status != TW_OK) return status;
  TW_REJECT_IF(p->rest && (!g->packed || p->split > 1),
               "prefetch_weights requires packed=1, because other weights may be a kernel's results, and no split_k");
  p->producers = tw_tile_skinny_producers(g, p->words);
  p->threads = (p->n / p->rows * p->warps + p->producers) * machine->warp_threads;
  const int sums = p->rows / 16 * p->few / 8 * 4, scales = p->rows / 8 * (2 * ((p->count + 3) / 4) + 2);
  const int need = sums * (p->count && g->b != TW_MXFP4 ? 2 : 1) + scales + p->few / 8 * 4 + REGISTERS_BESIDE;
  const tw_tile_skinny_block block = {.threads = p->threads,
                                      .registers = need,
                                      .step = p->k,
                                      .barriers = 2,
                                      .tile_bytes =
                                          (int64_t)p->few * p->k * 2 + p->n * ((int64_t)p->bytes + p->words * 4),
                                      .sums = p->warps * p->few,
                                      .columns = p->n};
  return tw_tile_skinny_fits(machine, g->k, &block, p->blocks, p->split, &p->stages, &p->shared_bytes, error);
}

/* ---- steps ---- */

static void begin(const void *with, void *plan) {
  (void)with;
  *(PLAN *)plan = (PLAN){.blocks = 1, .split = 1};
}

static const tw_verb verbs[] = {
    {.name = "skinny|few",
     .usage = "skinny n=64 k=256 rows=32 warps=4",
     .help = "Use a skinny-GEMM kernel: columns and k of a block, columns of a warp, warps that share k.",
     .needs = 1,
     .argument = {TW_NUMBER("n", PLAN, n, 16, 256), TW_NUMBER("k", PLAN, k, 64, 4096),
                  TW_NUMBER("rows", PLAN, rows, 16, 64), TW_NUMBER("warps", PLAN, warps, 1, 16)},
     .first = begin},
    TW_TILE_STAGES(PLAN, 2, TW_TILE_SKINNY_STAGES, "2, 3, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24"),
    TW_TILE_BLOCKS(PLAN, "1, 2, 3, 4, 5, 6", "one block reads while another starts or finishes"),
    TW_TILE_SPLIT_K(PLAN, "1, 2, 3, 4, 5, 6, 7, 8"),
    TW_TILE_PREFETCH_WEIGHTS(PLAN),
};
static const tw_language language = {TW_LANGUAGE("skinny gemm on NVIDIA GPUs", verbs), .begun = TW_FIELD(PLAN, n)};

static void offers(tw_menu_builder *m, const tw_tile_context *c) {
  const tw_gemm g = tw_gemm_of(c->problem);
  const int panel = codes_of_panel(&g);
  /* Also offers equal shares of the columns for each multiprocessor: then no block waits for others at the end. */
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
}

/* ---- the kernel ---- */

static void slots(const tw_tile_machine *machine, const tw_problem *problem, const void *plan, tw_slots *s) {
  (void)machine;
  const tw_gemm gemm = tw_gemm_of(problem), *g = &gemm;
  const PLAN *p = plan;
  tw_tile_result_slots(s, g, g);
  tw_slots_number(s, "few", p->few);
  tw_slots_flag(s, "cluster", p->split > 1);
  tw_slots_number(s, "shared", p->shared_bytes);
  tw_slots_flag(s, "packed", g->packed);
  tw_slots_flag(s, "units", g->shuffle == TW_GEMM_SHUFFLE_MMA);
  tw_slots_number_or_empty(s, "words", p->words);
  tw_slots_number(s, "producers", p->producers);
  tw_slots_number(s, "word_k", tw_tile_skinny_word_k(g));
  tw_slots_flag(s, "mxfp4", g->b == TW_MXFP4);
  tw_slots_text(s, "a_type", tw_tile_type_word(g->a));
  tw_slots_text(s, "b_type", g->packed ? "u8" : tw_tile_type_word(g->b)); /* in shared tiles */
  tw_slots_text(s, "b_name", tw_type_name(g->b));
  tw_slots_number_or_empty(s, "codes_of_byte", !g->packed ? 0 : g->b == TW_TERNARY ? 4 : 2);
  tw_slots_text(s, "scale_type", g->b == TW_MXFP4 ? "u8" : "float");
  tw_slots_number_or_empty(s, "scales", p->count); /* scales of a stage for one thread */
  tw_slots_flag(s, "group_scales", g->packed && p->count);
  tw_slots_flag(s, "row_factors", g->packed && !p->count);
  tw_slots_number(s, "pieces_of_scale", group_of(g) / PIECE);
  tw_slots_number(s, "together", p->together);
}

const tw_tile_family tw_tile_skinny = {.language = &language,
                                       .plan_size = sizeof(PLAN),
                                       .supports = supports,
                                       .settle = settle_gemm_skinny,
                                       .offers = offers,
                                       .kernel = "gpu/nvidia/kernels/gemm_skinny.cuh.in",
                                       .slots = slots};
