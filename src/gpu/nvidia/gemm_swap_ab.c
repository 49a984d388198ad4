/* gemm_swap_ab.c - plans swap-AB GEMM; gemm_swap_ab.h has its structure, kernels/gemm_swap_ab.cuh.in is the kernel. */
#include "gpu/nvidia/gemm_swap_ab.h"

#include <inttypes.h>

#include "gpu/common/gemm_epilogue.h"
#include "gpu/common/verbs.h"
#include "gpu/nvidia/gemm_skinny.h"
#include "op/gemm_problem.h"

#define PLAN tw_tile_swap_ab_plan

enum {
  SLICE = 64, /* bytes of a row of B in a slice */
  STAGES_MAX = 24,
  ALIGNMENT = 1024,
  BARRIERS = 4 * 8, /* bytes of a stage */
  GAP = 8,          /* floats between rows of sums */
  REGISTERS_BESIDE = 60
};

static int codes_of_slice(const tw_gemm *g) { return SLICE * 8 / tw_type_bits(g->b); }

static bool scaled_in_groups(const tw_gemm *g) { return g->b == TW_I4 && g->group != g->k; }

static tw_status supports(const tw_tile_machine *machine, const tw_problem *p, tw_error *error) {
  const tw_gemm g = tw_gemm_of(p);
  const tw_status status = tw_tile_skinny.supports(machine, p, error);
  if (status != TW_OK) return status;
  TW_REJECT_IF(!g.packed, "swap_ab requires packed weights; use 'skinny n=64' for other weights");
  TW_REJECT_IF(scaled_in_groups(&g) && g.group % codes_of_slice(&g),
               "unsupported group=%" PRId64 "; swap_ab requires i4 groups that are multiples of %d, or one scale per "
               "row; use 'skinny n=64' for other groups",
               g.group, codes_of_slice(&g));
  TW_REJECT_IF(g.b == TW_MXFP4 && (g.k + 31) / 32 % 4,
               "unsupported k=%" PRId64 "; swap_ab loads four scales of mxfp4 at a time, and a row has %" PRId64
               "; use 'skinny n=64'",
               g.k, (g.k + 31) / 32);
  return TW_OK;
}

static int64_t stage_bytes(const PLAN *p) {
  return (int64_t)p->few * p->k * 2 + p->n * ((int64_t)p->slices * SLICE + p->words * 4);
}

static tw_status settle_gemm_swap_ab(const tw_tile_machine *machine, const tw_problem *problem, void *plan,
                                     tw_error *error) {
  const tw_gemm gemm = tw_gemm_of(problem), *g = &gemm;
  PLAN *p = plan;
  const int codes = codes_of_slice(g), panel = codes * machine->panel_bytes / SLICE;
  TW_REJECT_IF(p->n % machine->group_rows, "unsupported n=%d; expected a multiple of the %d rows of a product", p->n,
               machine->group_rows);
  const int tiles = p->n / machine->group_rows;
  if (!p->consumers) p->consumers = tiles;
  if (!p->k) p->k = panel * (p->consumers > 2 * tiles ? 2 : 1);
  TW_REJECT_IF(p->k % panel, "unsupported k=%d; expected a multiple of the %d weights in %d bytes", p->k, panel,
               machine->panel_bytes);
  p->few = (int)((g->m + 7) / 8 * 8);
  p->slices = p->k / codes;
  TW_REJECT_IF(p->consumers % tiles || p->slices % (p->consumers / tiles),
               "consumers=%d cannot share n=%d k=%d; expected a multiple of %d that divides the %d slices of k",
               p->consumers, p->n, p->k, tiles, p->slices);
  p->count = p->slices / (p->consumers / tiles);
  p->together = g->b == TW_MXFP4 ? 1 : scaled_in_groups(g) ? (int)(g->group / codes) : 0;
  TW_REJECT_IF(p->together && p->slices % p->together && p->together % p->slices,
               "k=%d and groups of %d: one must be a multiple of the other", p->k, p->together * codes);
  p->words = !p->together ? 0 : p->slices > p->together ? p->slices / p->together : 1;
  /* With the warp that copies, they are whole warpgroups. More registers than these leave would be spilled. */
  p->prepare = p->few > 8 && p->consumers <= 2 ? 7 : 3;
  p->threads = p->consumers * machine->group_threads + (p->prepare + 1) * machine->warp_threads;
  const int sums = p->few / 2 * (scaled_in_groups(g) ? 2 : 1);
  const tw_status status =
      tw_tile_skinny_fits(machine, p->blocks, p->threads, sums + REGISTERS_BESIDE, p->split, error);
  if (status != TW_OK) return status;
  TW_REJECT_IF(p->rest && p->split > 1, "prefetch_weights requires no split_k");
  TW_REJECT_IF(p->split > 1 && g->k < (int64_t)p->split * p->k,
               "split_k %d exceeds the stages of k=%" PRId64 " (%d each); use a smaller number", p->split, g->k, p->k);
  const int64_t steps = (g->k + p->k - 1) / p->k, most = (steps + p->split - 1) / p->split;
  const int64_t stage = stage_bytes(p) + BARRIERS, have = tw_tile_shared_of_block(machine, p->blocks) - ALIGNMENT;
  if (!p->stages) {
    p->stages = most < STAGES_MAX ? (int)most : STAGES_MAX;
    if (p->stages > have / stage) p->stages = (int)(have / stage);
    if (p->stages < 2) p->stages = 2;
  }
  p->shared_bytes = ALIGNMENT + p->stages * stage;
  TW_REJECT_IF(p->stages * stage > have,
               "%d stages need %" PRId64 " bytes of shared memory, which exceeds %" PRId64
               " for each of %d blocks; use fewer stages",
               p->stages, p->shared_bytes, have + ALIGNMENT, p->blocks);
  TW_REJECT_IF((int64_t)p->consumers / tiles * p->few * (p->n + GAP) * 4 > p->stages * stage_bytes(p),
               "the accumulators of %d consumers exceed the shared memory of the stages, where they are added; use "
               "fewer consumers",
               p->consumers);
  return TW_OK;
}

/* ---- steps ---- */

static void begin(const void *with, void *plan) {
  (void)with;
  *(PLAN *)plan = (PLAN){.blocks = 1, .split = 1};
}

static const tw_verb verbs[] = {
    {.name = "swap_ab",
     .usage = "swap_ab n=64 k=512 consumers=2",
     .help = "Use a swap-AB kernel: C^T = B A^T by wgmma; columns and k of a block, consumer warpgroups.",
     .needs = 1,
     .argument = {TW_NUMBER("n", PLAN, n, 64, 256), TW_NUMBER("k", PLAN, k, 128, 4096),
                  TW_NUMBER("consumers", PLAN, consumers, 1, 6)},
     .first = begin},
    TW_TILE_STAGES(PLAN, 2, STAGES_MAX, "2, 3, 4, 6, 8, 10, 12, 16"),
    TW_TILE_BLOCKS(PLAN, "1, 2, 3", "one block reads while another starts or finishes"),
    {TW_NUMBERED("split_k|split", "split_k 4",
                 "Split k over the blocks of a cluster (split-K); the first adds the partial sums.", PLAN, split, 1,
                 16),
     .offers = "1, 2, 3, 4", .why = "blocks that share k keep every processor busy with few columns"},
    TW_TILE_PREFETCH_WEIGHTS(PLAN),
};
static const tw_language language = {TW_LANGUAGE("swap-AB gemm on NVIDIA GPUs", verbs), .begun = TW_FIELD(PLAN, n)};

static void offers(tw_menu_builder *m, const tw_tile_context *c) {
  const tw_gemm g = tw_gemm_of(c->problem);
  const int panel = codes_of_slice(&g) * c->machine->panel_bytes / SLICE;
  /* Elsewhere skinny GEMM is faster on an H200 (docs/lab/2026-11-nvidia-swap-ab.md). */
  if (g.m <= 16 || g.b != TW_I4) return;
  for (int n = 64; n <= 256; n *= 2)
    for (int k = panel; k <= 4 * panel; k *= 2)
      for (int consumers = n / 64; consumers <= 4; consumers *= 2)
        tw_menu_offer(m, n < 128 ? "narrow blocks" : "wide blocks",
                      "a weight becomes a number once, for all rows of A; wgmma multiplies meanwhile",
                      "swap_ab n=%d k=%d consumers=%d", n, k, consumers);
}

/* ---- the kernel ---- */

static void slots(const tw_tile_machine *machine, const tw_problem *problem, const void *plan, tw_slots *s) {
  (void)machine;
  const tw_gemm gemm = tw_gemm_of(problem), *g = &gemm;
  const PLAN *p = plan;
  const bool mxfp4 = g->b == TW_MXFP4;
  tw_tile_result_slots(s, g, g);
  tw_slots_number(s, "few", p->few);
  tw_slots_flag(s, "cluster", p->split > 1);
  tw_slots_number(s, "prepare", p->prepare);
  tw_slots_number(s, "shared", p->shared_bytes);
  tw_slots_number(s, "codes", codes_of_slice(g));
  tw_slots_flag(s, "mxfp4", mxfp4);
  tw_slots_text(s, "b_name", tw_type_name(g->b));
  tw_slots_text(s, "scale_type", mxfp4 ? "u8" : "float");
  tw_slots_number_or_empty(s, "words", p->words);
  const int64_t words = mxfp4         ? (g->k + 31) / 32 / 4
                        : p->together ? (g->k + g->group - 1) / g->group
                                      : 0; /* of a row */
  tw_slots_number(s, "piece", p->words % 4 || words % 4 ? 4 : 16);
  tw_slots_flag(s, "group_scales", !mxfp4 && p->together);
  tw_slots_flag(s, "row_factors", !mxfp4 && !p->together);
  tw_slots_number(s, "together", p->together);
}

const tw_tile_family tw_tile_swap_ab = {.language = &language,
                                        .plan_size = sizeof(PLAN),
                                        .supports = supports,
                                        .settle = settle_gemm_swap_ab,
                                        .offers = offers,
                                        .kernel = "gpu/nvidia/kernels/gemm_swap_ab.cuh.in",
                                        .slots = slots};
