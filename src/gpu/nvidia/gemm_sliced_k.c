/* gemm_sliced_k.c - plans sliced-K GEMV; gemm_sliced_k.h describes its steps, kernels/gemm_sliced_k.cuh.in is the
 * kernel. */
#include "gpu/nvidia/gemm_sliced_k.h"

#include <inttypes.h>

#include "gpu/common/gemm_epilogue.h"
#include "gpu/common/verbs.h"
#include "gpu/nvidia/gemm_skinny.h"
#include "op/gemm_problem.h"

#define PLAN tw_tile_sliced_k_plan

enum {
  AHEAD_MAX = 16,
  ALIGNMENT = 1024,
  GAP = 4,         /* floats between rows of sums */
  A_GAP = 16,      /* bytes between rows of a slice of A */
  DIGITS_I4 = 576, /* bytes of the digits of a row of A in a slice */
  DIGITS_TERNARY = 1280,
  BLOCKS_ZERO = 64,     /* mxfp4: bytes in addition to 256 of a row */
  REGISTERS_BESIDE = 6, /* at least */
  STEPS_EARLY = 4       /* steps of a slice; with more, the next step is read early */
};

static int64_t up(int64_t a, int64_t b) { return (a + b - 1) / b; }

int tw_tile_slice_codes(const tw_gemm *g) { return TW_TILE_SLICE * 8 / tw_type_bits(g->b); }

int tw_tile_slices_of_scale(const tw_gemm *g) {
  if (g->b == TW_MXFP4) return 1;
  return g->b == TW_I4 && g->group != g->k ? (int)(g->group / tw_tile_slice_codes(g)) : 0;
}

tw_status tw_tile_slices_support(const char *kernel, const tw_tile_machine *machine, const tw_problem *p,
                                 tw_error *error) {
  const tw_gemm g = tw_gemm_of(p);
  const int codes = tw_tile_slice_codes(&g);
  const tw_status status = tw_tile_skinny.supports(machine, p, error);
  if (status != TW_OK) return status;
  TW_REJECT_IF(!g.packed, "%s requires packed weights; use 'skinny n=64' for other weights", kernel);
  TW_REJECT_IF(g.b == TW_I4 && g.group != g.k && g.group % codes,
               "unsupported group=%" PRId64 "; %s requires i4 groups that are multiples of %d, or one scale per "
               "row; use 'skinny n=64' for other groups",
               g.group, kernel, codes);
  TW_REJECT_IF(g.b == TW_MXFP4 && up(g.k, 32) % 4,
               "unsupported k=%" PRId64 "; %s loads four scales of mxfp4 at a time, and a row has %" PRId64
               "; use 'skinny n=64'",
               g.k, kernel, up(g.k, 32));
  return TW_OK;
}

void tw_tile_slices_slots(tw_slots *s, const tw_gemm *g) {
  const int together = tw_tile_slices_of_scale(g);
  tw_tile_result_slots(s, g, g);
  tw_slots_text(s, "b_name", tw_type_name(g->b));
  tw_slots_number(s, "codes", tw_tile_slice_codes(g));
  tw_slots_flag(s, "units", g->shuffle == TW_GEMM_SHUFFLE_MMA);
  tw_slots_text(s, "scale_type", g->b == TW_MXFP4 ? "u8" : "float");
  tw_slots_number(s, "together", together);
  tw_slots_flag(s, "row_factors", !together);
}

static tw_status supports(const tw_tile_machine *machine, const tw_problem *p, tw_error *error) {
  const tw_status status = tw_tile_slices_support("sliced_k", machine, p, error);
  if (status != TW_OK) return status;
  TW_REJECT_IF(tw_gemm_of(p).shuffle, "sliced_k reads rows of codes; use 'skinny n=64', or leave out shuffle=mma");
  return TW_OK;
}

/* True for one or two rows: mxfp4 is then computed as sums of blocks, other types in integers. */
static bool pair(const tw_gemm *g) { return g->m <= 2; }

static int steps_of(const PLAN *p) { return p->n / p->rows; }

static int64_t shared_bytes(const tw_gemm *g, const PLAN *p) {
  const int64_t step = p->rows * (int64_t)(TW_TILE_SLICE + (tw_tile_slices_of_scale(g) ? 4 : 0));
  const int64_t of_a = g->m * (tw_tile_slice_codes(g) * 2 + A_GAP) * up(p->ahead, steps_of(p));
  const int64_t room = !pair(g)           ? 0
                       : g->b == TW_MXFP4 ? g->m * tw_tile_slice_codes(g) * 2 + BLOCKS_ZERO
                                          : g->m * (g->b == TW_I4 ? DIGITS_I4 : DIGITS_TERNARY);
  const int64_t warps = p->warps * (p->ahead * step + of_a + room), sums = p->warps * g->m * (p->n + GAP) * 4;
  return ALIGNMENT +
         up((warps > sums ? warps : sums) + (tw_tile_slices_of_scale(g) ? 0 : p->n * 4), ALIGNMENT) * ALIGNMENT;
}

/* At least. */
static int registers(const tw_gemm *g, const PLAN *p) {
  const int wide = (int)up(g->m, 8), eights = tw_tile_slice_codes(g) / 32, each = p->rows / 8;
  const int sums = steps_of(p) * (p->rows / 16) * (!pair(g) ? wide * 4 : g->b == TW_MXFP4 ? 2 * (int)g->m : 2);
  const int operand = eights * (!pair(g) ? wide * 4 : g->b == TW_MXFP4 ? 4 : 2);
  return sums + operand + each * (tw_tile_slices_of_scale(g) ? 5 : 4) * (steps_of(p) > STEPS_EARLY ? 2 : 1) +
         REGISTERS_BESIDE;
}

static tw_status settle_gemm_sliced_k(const tw_tile_machine *machine, const tw_problem *problem, void *plan,
                                      tw_error *error) {
  const tw_gemm of = tw_gemm_of(problem), *g = &of;
  PLAN *p = plan;
  if (!p->rows) p->rows = 16;
  if (!p->warps) p->warps = 8;
  if (!p->ahead) p->ahead = 4;
  TW_REJECT_IF(p->n % 16 || p->rows % 16 || p->n % p->rows,
               "unsupported n=%d rows=%d; both must be multiples of 16, and n a multiple of rows", p->n, p->rows);
  const int64_t have = tw_tile_shared_of_block(machine, p->blocks);
  p->shared_bytes = shared_bytes(g, p);
  /* More blocks must not share a multiprocessor. Otherwise blocks of the next launch would start where the first
   * blocks end; one multiprocessor would have two blocks and another none. */
  const int64_t apart = tw_tile_shared_of_block(machine, p->blocks + 1) + 1;
  if (p->shared_bytes < apart) p->shared_bytes = up(apart, ALIGNMENT) * ALIGNMENT;
  p->threads = p->warps * machine->warp_threads;
  const int need = registers(g, p);
  TW_REJECT_IF(p->threads > machine->block_threads || need > 255 ||
                   (need + 7) / 8 * 8 * p->threads * p->blocks > machine->registers,
               "%d blocks of %d threads with about %d registers each exceed a multiprocessor; use fewer blocks",
               p->blocks, p->threads, need);
  TW_REJECT_IF(up(g->k, tw_tile_slice_codes(g)) < p->warps,
               "k=%" PRId64 " has fewer slices of %d than there are warps (%d); use fewer warps", g->k,
               tw_tile_slice_codes(g), p->warps);
  TW_REJECT_IF(p->shared_bytes > have,
               "loads in flight and the accumulators of warps need %" PRId64
               " bytes of shared memory, which exceeds %" PRId64
               " for each of %d blocks; use a smaller register_prefetch",
               p->shared_bytes, have, p->blocks);
  return TW_OK;
}

/* ---- steps ---- */

/* Other steps keep the fields that fit any tile. */
static void begin(const void *with, void *plan) {
  PLAN *p = plan;
  (void)with;
  *p = (PLAN){.blocks = 1, .rest = p->rest, .late = p->late};
}

static tw_status needs_rest(const void *with, void *plan, unsigned given, tw_error *error) {
  (void)with, (void)given;
  return ((PLAN *)plan)->rest ? TW_OK : tw_fail(error, TW_USAGE, "requires 'prefetch_weights 1' before it");
}

static const tw_verb verbs[] = {
    {.name = "sliced_k|slices",
     .usage = "sliced_k n=64 rows=16 warps=8",
     .help = "Use a sliced-K kernel: each warp has its own slices of k.",
     .needs = 1,
     .argument = {TW_NUMBER("n", PLAN, n, 16, 512), TW_NUMBER("rows", PLAN, rows, 16, 32),
                  TW_NUMBER("warps", PLAN, warps, 1, 32)},
     .first = begin},
    {TW_NUMBERED("register_prefetch|ahead", "register_prefetch 4", "Set the steps in flight of a warp.", PLAN, ahead, 1,
                 AHEAD_MAX),
     .offers = "1, 2, 3, 4, 6, 8, 10, 12, 14, 16", .why = "loads in flight hide memory latency"},
    TW_TILE_PREFETCH_WEIGHTS(PLAN),
    {TW_NUMBERED("prefetch_delay|late", "prefetch_delay 400", "Delay the weight prefetch by this many nanoseconds.",
                 PLAN, late, 1, 4000),
     .then = needs_rest, .offers = "200, 400, 600, 800", .why = "the previous kernel loads its A first"},
    TW_TILE_BLOCKS(PLAN, "1, 2, 3, 4", "one block reads while another starts or finishes"),
};
static const tw_language language = {TW_LANGUAGE("sliced-K gemm on NVIDIA GPUs", verbs), .begun = TW_FIELD(PLAN, n)};

static void offers(tw_menu_builder *m, const tw_tile_context *c) {
  const tw_gemm g = tw_gemm_of(c->problem);
  /* Equal shares of the columns for each multiprocessor: no block waits for others at the end. */
  const int share = (int)up(g.n, c->machine->processors);
  for (int of = 1; of <= 4; of *= 2)
    for (int rows = 16; rows <= 32; rows *= 2)
      for (int warps = 4; warps <= 16; warps += 4)
        tw_menu_offer(m, of == 1 ? "shares" : "parts of shares",
                      "each weight is read once; every warp has a slice of k", "sliced_k n=%d rows=%d warps=%d",
                      (int)up(up(share, of), rows) * rows, rows, warps);
}

/* ---- the kernel ---- */

static void slots(const tw_tile_machine *machine, const tw_problem *problem, const void *plan, tw_slots *s) {
  (void)machine;
  const tw_gemm gemm = tw_gemm_of(problem), *g = &gemm;
  const PLAN *p = plan;
  tw_tile_slices_slots(s, g);
  tw_slots_number(s, "m", g->m);
  tw_slots_number(s, "shared", p->shared_bytes);
  tw_slots_number(s, "bytes", p->shared_bytes - ALIGNMENT);
  tw_slots_number(s, "scale_bytes", g->b == TW_MXFP4 ? 1 : 4);
  tw_slots_text(s, "whole", g->k % 8 ? "false" : "true");
}

const tw_tile_family tw_tile_sliced_k = {.language = &language,
                                         .plan_size = sizeof(PLAN),
                                         .supports = supports,
                                         .settle = settle_gemm_sliced_k,
                                         .offers = offers,
                                         .kernel = "gpu/nvidia/kernels/gemm_sliced_k.cuh.in",
                                         .slots = slots};
