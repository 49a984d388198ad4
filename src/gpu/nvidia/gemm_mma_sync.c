/* gemm_mma_sync.c - replays the steps of a schedule, offers the next ones, and fills the kernel; gemm_mma_sync.h
 * lists the steps, kernels/gemm_mma_sync.cuh.in is the kernel. */
#include "gpu/nvidia/gemm_mma_sync.h"

#include <inttypes.h>

#include "gpu/common/gemm_epilogue.h"
#include "gpu/common/verbs.h"
#include "gpu/nvidia/gemm_before.h"
#include "op/gemm_problem.h"
#include "op/numerics.h"

#define PLAN tw_tile_gemm_mma_plan

enum {
  STAGES_MAX = 8,
  STAGES_USUAL = 4,
  ALIGNMENT = 1024, /* of shared tiles */
  COPY_BYTES = 16,  /* bytes of an asynchronous copy */
  STEP_BYTES = 32,  /* bytes of k in a product */
  PIECES_MAX = 32,  /* pieces of a tile for one thread */
  OVERHEAD = 40,    /* registers of a thread in addition to sums and operands */
};

static int element_bytes(tw_type t) { return tw_type_bits(t) / 8; }

static tw_status supports(const tw_tile_machine *machine, const tw_problem *problem, tw_error *error) {
  const tw_gemm g = tw_gemm_of(problem);
  const bool sums =
      g.a == TW_I8 || g.a == TW_U8 ? g.acc == TW_I32 && g.c != TW_BFP16 : tw_is_real(g.c) && g.acc == TW_F32;
  TW_REJECT_IF(tw_gemm_pair_key(&g), "mma.sync kernels do not support %s; use sm_90a", tw_gemm_pair_key(&g));
  TW_REJECT_IF(g.packed,
               "packed weights require an NVIDIA GPU of architecture sm_90a; decode the weights and multiply b=bf16");
  TW_REJECT_IF(!machine->multiplies(g.a, g.b) || !sums || g.a_rounding != TW_GEMM_A_EXACT,
               "tile kernels support a=b=bf16, f16 or f32, 8-bit floats from sm_89, and a=i8 or u8 with b=i8 (found "
               "a=%s b=%s c=%s); use the empty schedule, which is the plain kernel",
               tw_type_name(g.a), tw_type_name(g.b), tw_type_name(g.c));
  TW_REJECT_IF(g.a == TW_F32 && g.arithmetic != TW_ARITHMETIC_TF32,
               "tensor cores multiply f32 as tf32; use arithmetic=tf32, or the empty schedule");
  TW_REJECT_IF(tw_is_float8(g.a) && g.arithmetic != TW_ARITHMETIC_FAST8,
               "tensor cores may sum %s in fewer bits; use arithmetic=fast_accum, or the empty schedule",
               tw_type_name(g.a));
  TW_REJECT_IF(g.scales == TW_GEMM_SCALES_BLOCK,
               "scales=block is unsupported before sm_90a; use scales=row, or the empty schedule");
  return TW_OK;
}

/* Rows of a shared tile have 32, 64 or n x 128 bytes, and the threads of a block copy whole rows at a time. */
static tw_status check_rows(const char *tile, int rows, int row_bytes, int panel, int threads, tw_error *error) {
  const bool fits = row_bytes % panel == 0 || row_bytes == panel / 2 || row_bytes == panel / 4;
  const int chunks = row_bytes / COPY_BYTES;
  if (fits && threads % chunks == 0 && rows * chunks <= PIECES_MAX * threads) return TW_OK;
  return tw_fail(
      error, TW_USAGE,
      "%d threads cannot copy a tile of %s with %d rows of %d bytes; use rows of %d, %d or a multiple of %d bytes, "
      "and a number of threads that is a multiple of a row's 16-byte pieces",
      threads, tile, rows, row_bytes, panel / 4, panel / 2, panel);
}

/* The layout of each operand in shared memory, and the operands that a first kernel repacks. */
static void place_operands(const tw_gemm *g, PLAN *p) {
  const int size = element_bytes(g->a);
  p->transposed_a = g->a_transposed && size != 2;
  p->transposed_b = !g->b_transposed && size != 2;
  p->moved_a = p->transposed_a || g->lda * size % COPY_BYTES;
  p->moved_b = p->transposed_b || g->ldb * size % COPY_BYTES;
  p->across_a = g->a_transposed && !p->transposed_a;
  p->across_b = !g->b_transposed && !p->transposed_b;
  p->aligned_c = (p->parts > 1 ? g->n * 4 : g->ldc * element_bytes(g->c)) % COPY_BYTES == 0;
}

static tw_status check_tile(const tw_tile_machine *machine, const tw_gemm *g, PLAN *p, tw_error *error) {
  const int size = element_bytes(g->a), threads = p->warps_m * p->warps_n * machine->warp_threads;
  if (!p->k) p->k = machine->panel_bytes / 2 / size;
  const int bytes = p->k * size;
  TW_REJECT_IF(
      threads > machine->block_threads || p->m % (16 * p->warps_m) || p->n % (16 * p->warps_n),
      "unsupported tile m=%d n=%d of %d x %d warps; expected multiples of 16 for each warp, and at most %d threads",
      p->m, p->n, p->warps_m, p->warps_n, machine->block_threads);
  TW_REJECT_IF(bytes % (2 * STEP_BYTES) || (bytes > machine->panel_bytes && bytes % machine->panel_bytes),
               "unsupported k=%d; its %d bytes must be %d or a multiple of %d", p->k, bytes, machine->panel_bytes / 2,
               machine->panel_bytes);
  place_operands(g, p);
  const tw_status status = check_rows("A", p->across_a ? p->k : p->m, (p->across_a ? p->m : p->k) * size,
                                      machine->panel_bytes, threads, error);
  if (status != TW_OK) return status;
  return check_rows("B", p->across_b ? p->k : p->n, (p->across_b ? p->n : p->k) * size, machine->panel_bytes, threads,
                    error);
}

/* Sums and the operands of two steps must fit into the registers of a thread. */
static tw_status check_registers(const tw_tile_machine *machine, const PLAN *p, tw_error *error) {
  const int threads = p->warps_m * p->warps_n * machine->warp_threads, rows = p->m / p->warps_m,
            cols = p->n / p->warps_n;
  const int need = rows * cols / 32 + (rows + cols) / 2 + OVERHEAD;
  const int have = tw_tile_registers_of_thread(machine, threads * p->blocks);
  if (need <= have) return TW_OK;
  return tw_fail(
      error, TW_USAGE,
      "%d x %d sums per warp need %d registers per thread, which exceeds %d; use more warps, a smaller tile or "
      "fewer blocks_per_sm",
      rows, cols, need, have);
}

static int64_t shared_bytes(const tw_gemm *g, const PLAN *p, int stages) {
  const int64_t tiles = (int64_t)stages * (p->m + p->n) * p->k * element_bytes(g->a);
  const int64_t row = (int64_t)p->n / p->warps_n * (p->parts > 1 ? 4 : element_bytes(g->c)) + COPY_BYTES;
  const int64_t results = (int64_t)p->warps_m * p->warps_n * 16 * row;
  return ALIGNMENT + (tiles > results ? tiles : results);
}

/* If the number of stages is not given: as many as fit. */
static tw_status place_stages(const tw_tile_machine *machine, const tw_gemm *g, PLAN *p, tw_error *error) {
  const int64_t have = tw_tile_shared_of_block(machine, p->blocks);
  int stages = p->stages;
  if (!stages) {
    stages = STAGES_USUAL;
    while (stages > 2 && shared_bytes(g, p, stages) > have) stages--;
  }
  p->stages = stages;
  p->shared_bytes = shared_bytes(g, p, stages);
  if (p->shared_bytes <= have) return TW_OK;
  return tw_fail(error, TW_USAGE,
                 "%d stages need %" PRId64 " bytes of shared memory, which exceeds the %" PRId64
                 " of each of %d blocks per multiprocessor; use fewer stages or smaller tiles",
                 stages, p->shared_bytes, have, p->blocks);
}

static tw_status settle_gemm_mma_sync(const tw_tile_machine *machine, const tw_problem *problem, void *plan,
                                      tw_error *error) {
  const tw_gemm g = tw_gemm_of(problem);
  PLAN *p = plan;
  tw_status status = check_tile(machine, &g, p, error);
  if (status == TW_OK) status = check_registers(machine, p, error);
  if (status == TW_OK && p->parts > 1 && g.k < (int64_t)p->parts * p->k)
    status = tw_fail(error, TW_USAGE,
                     "split_k_workspace %d exceeds the steps of k=%" PRId64 " (%d each); use a smaller number",
                     p->parts, g.k, p->k);
  return status == TW_OK ? place_stages(machine, &g, p, error) : status;
}

/* ---- steps ---- */

/* A new tile keeps the order of tiles. */
static void begin_tile(const void *with, void *plan) {
  PLAN *p = plan;
  (void)with;
  const PLAN before = *p;
  *p = (PLAN){.warps_m = 2, .warps_n = 2, .blocks = 1, .parts = 1, .band = 8};
  if (!before.m) return;
  p->band = before.band;
  p->band_columns = before.band_columns;
}

/* The second argument of the step is the width along columns. */
static tw_status then_band(const void *with, void *plan, unsigned given, tw_error *error) {
  ((PLAN *)plan)->band_columns = given == 2;
  (void)with;
  return given == 3 ? tw_fail(error, TW_USAGE, "takes m or n, not both") : TW_OK;
}

static const tw_verb verbs[] = {
    {.name = "tile",
     .usage = "tile m=128 n=128 k=32 warps_m=2 warps_n=2",
     .help = "Set the tile of C of a thread block, the step along k and the warps that share its rows and columns.",
     .needs = 2,
     .argument = {TW_NUMBER("m", PLAN, m, 16, 512), TW_NUMBER("n", PLAN, n, 16, 512), TW_NUMBER("k", PLAN, k, 16, 512),
                  TW_NUMBER("warps_m", PLAN, warps_m, 1, 16), TW_NUMBER("warps_n", PLAN, warps_n, 1, 16)},
     .first = begin_tile},
    TW_TILE_STAGES(PLAN, 2, STAGES_MAX, "2, 3, 4, 5, 6, 7, 8"),
    TW_TILE_BLOCKS(PLAN, "1, 2, 3, 4", "one block multiplies while another waits or stores"),
    TW_TILE_PARTS(PLAN, "1, 2, 4, 8, 16, 32, 64"),
    TW_TILE_RASTERIZE(PLAN, then_band),
};
static const tw_language language = {TW_LANGUAGE("gemm on NVIDIA GPUs, mma.sync", verbs), .begun = TW_FIELD(PLAN, m)};

/* ---- the menu ---- */

/* Offers warps of 64 x 64, 64 x 32 and 32 x 32 sums, if the tile has as many warps; k of one panel and of half a
 * panel. */
static void offer_tiles(tw_menu_builder *m, const tw_tile_context *c) {
  const int size = element_bytes(tw_gemm_of(c->problem).a);
  static const int sizes[] = {16, 32, 64, 128, 256},
                   warps[][2] = {{1, 1}, {1, 2}, {2, 1}, {1, 4}, {2, 2}, {4, 1}, {2, 4}, {4, 2}};
  enum { SIZES = sizeof sizes / sizeof *sizes, WARPS = sizeof warps / sizeof *warps };
  static const char together[] = "large tiles need less bandwidth; small tiles keep every multiprocessor busy";
  for (int i = 0; i < SIZES; i++)
    for (int j = 0; j < SIZES; j++)
      for (int w = 0; w < WARPS; w++) {
        const int rows = sizes[i] / warps[w][0], cols = sizes[j] / warps[w][1];
        if (rows * cols < 512 || rows > 2 * cols * 2 || cols > 2 * rows * 2) continue;
        for (int bytes = 64; bytes <= 128; bytes *= 2)
          tw_menu_offer(m, bytes == 64 ? "tile, short k" : "tile, long k", together,
                        "tile m=%d n=%d k=%d warps_m=%d warps_n=%d", sizes[i], sizes[j], bytes / size, warps[w][0],
                        warps[w][1]);
      }
}

/* ---- the kernel ---- */

static const char *factor_word(tw_type t) { return t == TW_F32 ? "tf32" : tw_type_name(t); }

static void slots(const tw_tile_machine *machine, const tw_problem *problem, const void *plan, tw_slots *s) {
  (void)machine;
  const tw_gemm g = tw_gemm_of(problem);
  const PLAN *p = plan;
  const tw_tile_gemm_before before = {.moved_a = p->moved_a,
                                      .moved_b = p->moved_b,
                                      .transposed_a = p->transposed_a,
                                      .transposed_b = p->transposed_b,
                                      .parts = p->parts};
  tw_tile_result_slots(s, &g, &g);
  tw_tile_gemm_before_slots(s, &g, &before);
  tw_slots_flag(s, "stream_k", false);
  tw_slots_text(s, "a_factor", factor_word(g.a));
  tw_slots_text(s, "b_factor", factor_word(g.b));
  tw_slots_flag(s, "tf32", g.a == TW_F32);
  tw_slots_flag(s, "across_a", p->across_a);
  tw_slots_flag(s, "across_b", p->across_b);
  tw_slots_number(s, "depth", p->k * element_bytes(g.a) / STEP_BYTES);
  tw_slots_number(s, "band", p->band_columns ? -p->band : p->band);
  tw_slots_text(s, "aligned_c", p->aligned_c ? "true" : "false");
  tw_slots_number(s, "shared", p->shared_bytes);
}

const tw_tile_family tw_tile_gemm_mma_sync = {.language = &language,
                                              .plan_size = sizeof(PLAN),
                                              .supports = supports,
                                              .settle = settle_gemm_mma_sync,
                                              .offers = offer_tiles,
                                              .kernel = "gpu/nvidia/kernels/gemm_mma_sync.cuh.in",
                                              .slots = slots};
