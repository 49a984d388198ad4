/* gemm_block_scaled_hand_scheduled.c - plans and writes block-scaled GEMM with a hand-scheduled loop
 * (kernels/gemm_block_scaled_hand_scheduled.hip.in); gemm_block_scaled.h describes its steps. */
#include <inttypes.h>

#include "gpu/amd/gemm_block_scaled.h"
#include "gpu/amd/gemm_multistage.h"
#include "gpu/common/gemm_epilogue.h"

#define PLAN tw_tile_block_scaled_plan

enum {
  GROUPS_M = 2,
  GROUPS_N = 2,
  GROUPS = GROUPS_M * GROUPS_N,
  ROW = 128,
  PIECE = 1024,
  BLOCK = 32,
  SHUFFLED_ROWS = 16
};

static int bits_of(tw_type t) { return t == TW_MXFP4 ? 4 : 8; }
/* k of a tile, and of a matrix instruction. */
static int step_of(tw_type t) { return ROW * 8 / bits_of(t); }
static int deep_of(const PLAN *p) { return p->side == 16 ? 128 : 64; }

static tw_tile_loop_operand operand_of(const PLAN *p, tw_type type, int length, int groups, bool shuffled) {
  return (tw_tile_loop_operand){.type = type,
                                .fragments = length / groups / p->side,
                                .bytes = length * ROW,
                                .row_bytes = ROW,
                                .advance = shuffled ? SHUFFLED_ROWS * ROW : ROW};
}

static tw_tile_loop loop_of(const tw_gemm *g, const PLAN *p) {
  return (tw_tile_loop){
      .operand = {operand_of(p, g->b, p->m, GROUPS_M, false), operand_of(p, g->b, p->n, GROUPS_N, g->shuffle)},
      .side = p->side,
      .depth = step_of(g->b) / deep_of(p),
      .groups = GROUPS,
      .stages = p->stages,
      .scaled = true,
      .scale_words = g->shuffle};
}

tw_status tw_tile_block_scaled_settle_hand_scheduled(const tw_tile_machine *machine, const tw_gemm *g, PLAN *p,
                                                     tw_error *error) {
  const tw_type type = tw_tile_block_scaled_left(g);
  TW_REJECT_IF(!machine->loop || type != g->b || (type != TW_MXFP4 && type != TW_MXFP8),
               "hand_scheduled requires both operands as mxfp4 or both as mxfp8 (found %s and %s)", tw_type_name(type),
               tw_type_name(g->b));
  const int step = step_of(type), scales = step / BLOCK;
  TW_REJECT_IF(p->side != 16 && p->side != 32, "unsupported mfma; expected 16 or 32");
  TW_REJECT_IF(p->groups != GROUPS || p->ahead != 1, "hand_scheduled requires waves 4, without register_prefetch");
  TW_REJECT_IF(p->m % (GROUPS_M * p->side) || p->n % (GROUPS_N * p->side) || p->m * scales % PIECE ||
                   p->n * scales % PIECE || (p->m + p->n) * scales > PIECE * GROUPS,
               "hand_scheduled with %s requires multiples of %d rows and columns, together at most %d (found %d x %d)",
               tw_type_name(type), PIECE / scales, PIECE * GROUPS / scales, p->m, p->n);
  p->deep = (g->k + step - 1) / step * step;
  p->columns = (g->n + p->n - 1) / p->n * p->n;
  p->shared_bytes = p->stages * ((int64_t)(p->m + p->n) * ROW + GROUPS * PIECE);
  TW_REJECT_STAGES(machine, p->stages, p->shared_bytes);
  TW_REJECT_IF(p->split > p->deep / step,
               "split_k %d exceeds the steps of k=%" PRId64 " (%d each); use a smaller number", p->split, g->k, step);
  const tw_tile_loop loop = loop_of(g, p);
  return machine->loop(machine, &loop, NULL, error);
}

/* ---- the kernels ---- */

/* The places of packed operands in the workspace. */
typedef struct places {
  int64_t rows, codes[2], scales[2], parts; /* rows of A, rounded up to whole tiles */
} places;

static int64_t whole(int64_t bytes) { return (bytes + 255) / 256 * 256; }

static places places_of(const tw_gemm *g, const PLAN *p) {
  const int64_t pitch = p->deep * bits_of(g->b) / 8, blocks = p->deep / BLOCK;
  places at = {.rows = (g->m + p->m - 1) / p->m * p->m};
  const bool given = tw_tile_block_scaled_given(g, 'a'); /* in AITER's order, scales need no place either */
  at.codes[1] = given ? 0 : whole(g->m * pitch);
  at.scales[0] = at.codes[1] + (g->packed ? 0 : whole(g->n * pitch));
  at.scales[1] = at.scales[0] + (given && g->shuffle ? 0 : whole(at.rows * blocks));
  at.parts = at.scales[1] + (g->shuffle ? 0 : whole(p->columns * blocks));
  return at;
}

static tw_status set_loop(tw_slots *s, const tw_tile_machine *machine, const tw_tile_loop *loop, tw_error *error) {
  tw_text operands = {0}, text = {0};
  tw_status status = tw_tile_loop_operand_write(machine, loop, 'a', true, &operands, error);
  if (status == TW_OK) status = tw_tile_loop_operand_write(machine, loop, 'b', true, &operands, error);
  if (status == TW_OK) status = machine->loop(machine, loop, &text, error);
  tw_slots_take(s, "operands", &operands);
  tw_slots_take(s, "loop", &text);
  return status;
}

static void set_swizzle(tw_slots *s, const char *slot, const tw_tile_machine *machine, const PLAN *p, int rows) {
  char swizzle[TW_TILE_SWIZZLE] = "plain";
  const tw_tile_access access = {.rows = rows, .row_bytes = ROW, .side = p->side, .element_bytes = 1};
  machine->swizzle(machine, &access, swizzle);
  tw_slots_text(s, slot, swizzle);
}

tw_status tw_tile_block_scaled_write_hand_scheduled(const tw_tile_machine *machine, const tw_gemm *g, const PLAN *p,
                                                    tw_text *t, tw_error *error) {
  const places at = places_of(g, p);
  const tw_tile_loop loop = loop_of(g, p);
  tw_slots s = {0};
  tw_tile_block_scaled_slots(&s, g, p);
  set_swizzle(&s, "a_swizzle", machine, p, p->m);
  set_swizzle(&s, "b_swizzle", machine, p, p->n);
  tw_slots_flag(&s, "shuffled", g->shuffle);
  tw_slots_flag(&s, "packs_a", !g->shuffle || !tw_tile_block_scaled_given(g, 'a'));
  tw_slots_number(&s, "rows", at.rows);
  tw_slots_number(&s, "a_at", at.codes[0]);
  tw_slots_number(&s, "b_at", at.codes[1]);
  tw_slots_number(&s, "a_scales_at", at.scales[0]);
  tw_slots_number(&s, "b_scales_at", at.scales[1]);
  tw_slots_number(&s, "parts_at", at.parts);
  tw_slots_number(&s, "block", BLOCK);
  tw_slots_number(&s, "groups_m", GROUPS_M);
  tw_slots_number(&s, "groups_n", GROUPS_N);
  tw_slots_number(&s, "row_bytes", ROW);
  tw_slots_number(&s, "bits", bits_of(g->b));
  tw_slots_text(&s, "type", tw_type_name(g->b));
  tw_slots_number(&s, "step", step_of(g->b));
  tw_slots_number(&s, "scales", step_of(g->b) / BLOCK); /* number of scales in a row of a step */
  tw_slots_number(&s, "a_lane_scales", tw_tile_loop_scales(&loop, 0));
  tw_slots_number(&s, "b_lane_scales", tw_tile_loop_scales(&loop, 1));
  tw_status status = set_loop(&s, machine, &loop, error);
  if (status == TW_OK)
    return tw_tile_fill(&tw_tile_block_scaled, machine, p, "gpu/amd/kernels/gemm_block_scaled_hand_scheduled.hip.in",
                        &s, t, error);
  tw_slots_free(&s);
  return status;
}
