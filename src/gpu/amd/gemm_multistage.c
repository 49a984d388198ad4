/* gemm_multistage.c - writes multistage GEMM kernels (kernels/gemm_multistage.hip.in); gemm_multistage.h describes
 * the steps. */
#include "gpu/amd/gemm_multistage.h"

#include "base/template.h"
#include "gpu/common/gemm_epilogue.h"

#define PLAN tw_tile_multistage_plan

tw_status tw_tile_loop_operand_write(const tw_tile_machine *machine, const tw_tile_loop *loop, char name, bool split,
                                     tw_text *t, tw_error *error) {
  const bool is_a = name == 'a', across = loop->operand[!is_a].across;
  const int pieces = tw_tile_loop_pieces(loop, !is_a, machine->group_threads);
  tw_slots s = {0};
  tw_text reads = {0};
  for (int i = 0; i < pieces; i++)
    tw_text_add(&reads, "%sread_address%s<product>(%cs[0], own_%s, %d)", i ? ", " : "{", across ? "_across" : "", name,
                is_a ? "row" : "col", i);
  tw_text_add_string(&reads, "}");
  tw_slots_take(&s, "reads", &reads);
  tw_slots_format(&s, "x", "%c", name);
  tw_slots_flag(&s, "across", across);
  tw_slots_flag(&s, "each_lane", loop->operand[!is_a].each_lane);
  tw_slots_flag(&s, "split", split);
  tw_slots_flag(&s, "tail", loop->tail);
  const tw_status status = tw_template_add(t, "gpu/amd/kernels/gemm_loop_operand.hip.in", &s, error);
  tw_slots_free(&s);
  return status;
}

/* Writes the machine's hand-scheduled loop. */
static tw_status write_loop(const tw_tile_machine *machine, const tw_gemm *g, const PLAN *p, tw_text *t,
                            tw_error *error) {
  const tw_tile_loop loop = tw_tile_multistage_loop(g, p);
  tw_status status = tw_tile_loop_operand_write(machine, &loop, 'a', p->split > 1, t, error);
  if (status == TW_OK) status = tw_tile_loop_operand_write(machine, &loop, 'b', p->split > 1, t, error);
  return status == TW_OK ? machine->loop(machine, &loop, t, error) : status;
}

/* Sets the swizzle of an operand's shared tile. A copy moves `length` rows or columns of it. */
static void set_swizzle(tw_slots *s, const char *slot, const tw_tile_machine *machine, const PLAN *p, tw_type type,
                        int length, bool across) {
  char swizzle[TW_TILE_SWIZZLE] = "plain";
  static const char *const loads[] = {"x4_b64", "x4_b128", "x4_b96", "x3_b96", "x1_b64"};
  if (tw_is_float6(type)) {
    tw_slots_text(s, slot, loads[p->loads]);
    return;
  }
  const int size = tw_type_bits(type) / 8;
  const tw_tile_access access = {.rows = across ? p->k : length,
                                 .row_bytes = (across ? length : p->k) * size,
                                 .side = p->side,
                                 .element_bytes = size,
                                 .across = across};
  if (!p->no_swizzle && !p->keep_in_registers) machine->swizzle(machine, &access, swizzle);
  tw_slots_text(s, slot, swizzle);
}

static void set_operands(tw_slots *s, const tw_tile_machine *machine, const tw_gemm *g, const PLAN *p) {
  const bool direct_a = p->way_a == TW_TILE_DIRECT, direct_b = p->way_b == TW_TILE_DIRECT;
  set_swizzle(s, "a_swizzle", machine, p, g->a, p->halves ? p->m / 2 : p->m, p->across_a);
  set_swizzle(s, "b_swizzle", machine, p, g->b, p->halves ? p->n / 2 : p->n, p->across_b);
  tw_slots_format(s, "a_type", "%s%s", tw_tile_type_word(g->a), tw_is_float6(g->a) ? "x32" : "");
  tw_slots_format(s, "b_type", "%s%s", tw_tile_type_word(g->b), tw_is_float6(g->b) ? "x32" : "");
  tw_slots_text(s, "tile", tw_is_float6(g->a) ? "shared6" : "shared");
  /* Elements of 6 bits come in blocks of 32. The operands are bytes. */
  tw_slots_text(s, "blocks", tw_is_float6(g->a) ? " / 32" : NULL);
  tw_slots_text(s, "lda", tw_is_float6(g->a) ? "A.pitch / 24" : "lda");
  tw_slots_text(s, "ldb", tw_is_float6(g->b) ? "B.pitch / 24" : "ldb");
  tw_slots_flag(s, "across_a", p->across_a);
  tw_slots_flag(s, "across_b", p->across_b);
  tw_slots_flag(s, "direct", direct_a || direct_b);
  tw_slots_flag(s, "direct_both", direct_a && direct_b);
  tw_slots_flag(s, "direct_a", direct_a);
  tw_slots_flag(s, "direct_b", direct_b);
  tw_slots_flag(s, "registers_a", p->way_a == TW_TILE_REGISTERS);
  tw_slots_flag(s, "registers_b", p->way_b == TW_TILE_REGISTERS);
  /* strides along the tile's rows and along k */
  tw_slots_text(s, "elements_a", p->way_a != TW_TILE_ELEMENTS ? NULL : g->a_transposed ? "1, lda" : "lda, 1");
  tw_slots_text(s, "elements_b", p->way_b != TW_TILE_ELEMENTS ? NULL : g->b_transposed ? "ldb, 1" : "1, ldb");
}

/* Parts of k: of workgroups, of waves, or of both. */
static void set_parts(tw_slots *s, const PLAN *p) {
  static const char *const part[] = {NULL, "block_of_grid() % SPLIT", "group_of_block() / WAVES",
                                     "block_of_grid() % SPLIT * SHARES + group_of_block() / WAVES"},
                           *const parts[] = {NULL, "SPLIT", "SHARES", "(SPLIT * SHARES)"};
  const int kind = (p->split > 1) + 2 * (p->shares > 1);
  tw_slots_number_or_empty(s, "split", p->split > 1 ? p->split : 0);
  tw_slots_flag(s, "fixed_shape", false);
  tw_slots_number_or_empty(s, "shares", p->shares > 1 ? p->shares : 0);
  tw_slots_text(s, "part", part[kind]);
  tw_slots_text(s, "parts", parts[kind]);
}

const char *tw_tile_whole(int64_t columns, int64_t pitch) {
  return columns % 8 == 0 && pitch % 8 == 0 ? "2" : columns % 4 == 0 && pitch % 4 == 0 ? "true" : "false";
}

tw_status tw_tile_multistage_write(const tw_tile_machine *machine, const tw_problem *problem, const void *plan,
                                   tw_text *t, tw_error *error) {
  const tw_gemm gemm = tw_gemm_of(problem), *g = &gemm;
  const PLAN *p = plan;
  const bool divided = p->split > 1 || p->shares > 1, block_scales = g->scales == TW_GEMM_SCALES_BLOCK;
  tw_slots s = {0};
  tw_text loop = {0};
  tw_status status = p->hand_scheduled ? write_loop(machine, g, p, &loop, error) : TW_OK;
  tw_slots_take(&s, "hand_scheduled", &loop);
  tw_slots_flag(&s, "laid", p->way_a == TW_TILE_REGISTERS);
  set_operands(&s, machine, g, p);
  tw_tile_result_slots(&s, g, g);
  tw_slots_number(&s, "k", tw_is_float6(g->a) ? p->k / 32 : p->k);
  tw_slots_flag(&s, "holds_all", (g->k + p->k - 1) / p->k <= (int64_t)p->keep_in_registers * p->split * p->shares);
  tw_slots_flag(&s, "columns_b", p->columns_b);
  tw_slots_flag(&s, "loads_first", p->columns_b || p->shares > 1);
  tw_slots_text(&s, "spread", p->columns_b ? "true" : "false");
  set_parts(&s, p);
  tw_slots_number(&s, "parts_at", 0);
  tw_slots_text(&s, "begin", divided ? "begin + " : NULL);
  tw_slots_text(&s, "step", divided ? "(begin + s)" : "s");
  tw_slots_flag(&s, "tail", p->tail);
  tw_slots_flag(&s, "tail_or_split", p->tail || p->split > 1);
  tw_slots_number(&s, "shared", p->shared_bytes);
  tw_slots_number(&s, "window", p->window);
  tw_slots_number(&s, "chunk", p->chunk);
  tw_slots_number(&s, "stages_but_one", p->stages - 1);
  /* number of stages in flight when a step waits */
  tw_slots_number_or_empty(&s, "in_flight", p->stages > 2 ? p->stages - 2 : 0);
  tw_slots_flag(&s, "pipelined", p->stages > 1);
  tw_slots_flag(&s, "block_scales", block_scales);
  tw_slots_flag(&s, "a_transposed", g->a_transposed);
  tw_slots_flag(&s, "b_transposed", g->b_transposed);
  tw_slots_flag(&s, "halves", p->halves);
  tw_slots_flag(&s, "pingpong_registers", p->pingpong && !p->halves);
  tw_slots_flag(&s, "four_phases", p->pingpong == 4);
  tw_slots_flag(&s, "halved_float8", machine->halved_float8 && (g->a == TW_E4M3 || g->a == TW_E5M2));
  tw_slots_text(&s, "whole", tw_tile_whole(g->n, p->split > 1 ? g->n : g->ldc));
  if (status == TW_OK)
    return tw_tile_fill(&tw_tile_multistage, machine, plan, "gpu/amd/kernels/gemm_multistage.hip.in", &s, t, error);
  tw_slots_free(&s);
  return status;
}
