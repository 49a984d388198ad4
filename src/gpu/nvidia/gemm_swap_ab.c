/* gemm_swap_ab.c - plans swap-AB GEMM; gemm_swap_ab.h has its structure, kernels/gemm_swap_ab.cuh.in is the kernel. */
#include "gpu/nvidia/gemm_swap_ab.h"

#include <inttypes.h>

#include "base/integers.h"
#include "gpu/common/gemm_epilogue.h"
#include "gpu/common/verbs.h"
#include "gpu/nvidia/gemm_skinny.h"
#include "gpu/nvidia/gemm_sliced_k.h"

#define PLAN tw_tile_swap_ab_plan

enum { REGISTERS_BESIDE = 60, REGISTERS_UNIT = 8, UNIT_ROWS = 16 };

static bool scaled_in_groups(const tw_gemm *g) { return g->b == TW_I4 && tw_tile_slices_of_scale(g); }

static tw_status supports(const tw_tile_machine *machine, const tw_problem *p, tw_error *error) {
  return tw_tile_slices_support("swap_ab", machine, p, error);
}

/* As a multiprocessor gives them to the threads of a warp. */
static int registers(const tw_gemm *g, const PLAN *p) {
  const int sums = p->few / 2 * (scaled_in_groups(g) ? 2 : 1);
  const int need = sums + REGISTERS_BESIDE;
  return (need + REGISTERS_UNIT - 1) / REGISTERS_UNIT * REGISTERS_UNIT;
}

static tw_status settle_gemm_swap_ab(const tw_tile_machine *machine, const tw_problem *problem, void *plan,
                                     tw_error *error) {
  const tw_gemm gemm = tw_gemm_of(problem), *g = &gemm;
  PLAN *p = plan;
  const int codes = tw_tile_slice_codes(g), panel = codes * machine->panel_bytes / TW_TILE_SLICE;
  const int multiple = g->shuffle ? UNIT_ROWS : machine->group_rows;
  TW_REJECT_IF(p->n % multiple, "unsupported n=%d; expected a multiple of %d, the rows of a %s", p->n, multiple,
               g->shuffle ? "unit" : "product");
  const int tiles = (int)tw_ceil_div(p->n, machine->group_rows);
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
  const tw_status status = tw_tile_skinny_words(g, p->k, &p->words, error);
  if (status != TW_OK) return status;
  p->producers = tw_tile_skinny_producers(g, p->words);
  /* With the warp that copies, they are whole warpgroups. Seven leave too few registers to more consumers. */
  p->prepare = g->shuffle ? 0 : p->few > 8 && p->consumers <= 2 ? 7 : 3;
  p->threads = p->consumers * machine->group_threads + (p->prepare + p->producers) * machine->warp_threads;
  TW_REJECT_IF(p->rest && p->split > 1, "prefetch_weights requires no split_k");
  const tw_tile_skinny_block block = {.threads = p->threads,
                                      .registers = registers(g, p),
                                      .step = p->k,
                                      .barriers = g->shuffle ? 2 : 4,
                                      .tile_bytes = (int64_t)p->few * p->k * 2 +
                                                    p->n * ((int64_t)p->slices * TW_TILE_SLICE + p->words * 4),
                                      .sums = p->consumers / tiles * p->few,
                                      .columns = p->n};
  return tw_tile_skinny_fits(machine, g->k, &block, p->blocks, p->split, &p->stages, &p->shared_bytes, error);
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
     .argument = {TW_NUMBER("n", PLAN, n, 16, 256), TW_NUMBER("k", PLAN, k, 128, 4096),
                  TW_NUMBER("consumers", PLAN, consumers, 1, 6)},
     .first = begin},
    TW_TILE_STAGES(PLAN, 2, TW_TILE_SKINNY_STAGES, "2, 3, 4, 6, 8, 10, 12, 16"),
    TW_TILE_BLOCKS(PLAN, "1, 2, 3", "one block reads while another starts or finishes"),
    TW_TILE_SPLIT_K(PLAN, "1, 2, 3, 4"),
    TW_TILE_PREFETCH_WEIGHTS(PLAN),
};
static const tw_language language = {TW_LANGUAGE("swap-AB gemm on NVIDIA GPUs", verbs), .begun = TW_FIELD(PLAN, n)};

static void offers(tw_menu_builder *m, const tw_tile_context *c) {
  const tw_gemm g = tw_gemm_of(c->problem);
  const int panel = tw_tile_slice_codes(&g) * c->machine->panel_bytes / TW_TILE_SLICE;
  /* Elsewhere skinny GEMM is faster on an H200 (docs/lab/2026-11-nvidia-swap-ab.md, 2026-12-nvidia-four-warpgroups.md). */
  if (g.shuffle ? g.m <= 8 : g.m <= 16 || g.b != TW_I4) return;
  /* With units also equal shares of the columns for each multiprocessor, of whole units, if no other choice is as wide. */
  const int share = (int)tw_round_up(tw_ceil_div(g.n, c->machine->processors), UNIT_ROWS);
  const bool shares = g.shuffle && share < 256 && share != 64 && share != 128;
  const int columns[] = {64, 128, 256, share};
  static const char *const lever[] = {"narrow blocks", "wide blocks", "wide blocks", "shares"};
  for (int i = 0; i < 3 + shares; i++) {
    const int n = columns[i], tiles = (int)tw_ceil_div(n, c->machine->group_rows);
    for (int k = panel; k <= 4 * panel; k *= 2)
      for (int consumers = tiles; consumers <= 4; consumers *= 2)
        tw_menu_offer(m, lever[i], "a weight becomes a number once, for all rows of A; wgmma multiplies meanwhile",
                      "swap_ab n=%d k=%d consumers=%d", n, k, consumers);
  }
}

/* ---- the kernel ---- */

static void slots(const tw_tile_machine *machine, const tw_problem *problem, const void *plan, tw_slots *s) {
  (void)machine;
  const tw_gemm gemm = tw_gemm_of(problem), *g = &gemm;
  const PLAN *p = plan;
  const bool mxfp4 = g->b == TW_MXFP4;
  tw_tile_slices_slots(s, g);
  tw_slots_number(s, "few", p->few);
  tw_slots_flag(s, "cluster", p->split > 1);
  tw_slots_number(s, "prepare", p->prepare);
  tw_slots_number(s, "producers", p->producers);
  tw_slots_number(s, "shared", p->shared_bytes);
  tw_slots_flag(s, "mxfp4", mxfp4);
  tw_slots_number_or_empty(s, "words", p->words);
  const int64_t word_k = tw_tile_skinny_word_k(g), words = word_k ? (g->k + word_k - 1) / word_k : 0; /* of a row */
  tw_slots_number(s, "word_k", word_k);
  tw_slots_number(s, "piece", p->words % 4 || words % 4 ? 4 : 16);
  tw_slots_flag(s, "group_scales", scaled_in_groups(g));
}

const tw_tile_family tw_tile_swap_ab = {.language = &language,
                                        .plan_size = sizeof(PLAN),
                                        .supports = supports,
                                        .settle = settle_gemm_swap_ab,
                                        .offers = offers,
                                        .kernel = "gpu/nvidia/kernels/gemm_swap_ab.cuh.in",
                                        .slots = slots};
