/* gemm_warp_specialized.c - fills a GEMM tile kernel, kernels/gemm_warp_specialized.cuh.in; gemm_warp_specialized.h
 * has its structure. */
#include "gpu/nvidia/gemm_warp_specialized.h"

#include "base/template.h"
#include "gpu/common/gemm_epilogue.h"
#include "gpu/nvidia/gemm_before.h"
#include "op/gemm_problem.h"

#define PLAN tw_tile_gemm_plan

/* The type of A and B in shared tiles: f32 is multiplied as tf32, or in parts of bf16. */
static const char *factor_word(const PLAN *p, tw_type a) {
  const tw_type t = tw_tile_gemm_factor(p, a);
  return t == TW_F32 ? "tf32" : tw_type_name(t);
}

/* Are copies by threads still in flight when the threads continue? Then the consumers make them visible (`written`). */
static bool in_pieces(const PLAN *p) { return p->piece_a || p->piece_b; }

/* Can a block begin in the middle of a tile's k? */
static bool shares_steps(const PLAN *p) { return p->split > 1 || p->parts > 1 || p->stream_k; }

/* Sets the beginning of a tile's copy: its first row or column, and its place along k. */
static void set_where(tw_slots *s, const char *slot, const PLAN *p, bool across, const char *first) {
  const char *along = p->products ? "step / PRODUCTS * BK" : shares_steps(p) ? "(begin + s) * BK" : "s * BK";
  tw_slots_format(s, slot, "%s, %s", across ? along : first, across ? first : along);
}

/* Sets the first kernels, which copy operands to the workspace. */
static void set_moved(tw_slots *s, const tw_gemm *g, const PLAN *p) {
  const tw_tile_gemm_before before = {.moved_a = p->moved_a,
                                      .moved_b = p->moved_b,
                                      .transposed_a = p->transposed_a,
                                      .transposed_b = p->transposed_b,
                                      .products = p->products,
                                      .parts = p->parts};
  tw_tile_gemm_before_slots(s, g, &before);
}

/* Sets the operands in shared tiles, and the way of their copies. */
static void set_operands(tw_slots *s, const tw_tile_machine *machine, const tw_gemm *g, const PLAN *p) {
  const int bytes = tw_type_bits(tw_tile_gemm_factor(p, g->a)) / 8, panel = machine->panel_bytes;
  const int along_a = (p->across_a ? p->m : p->k) * bytes, along_b = (p->across_b ? p->n : p->k) * bytes;
  const int swizzle_a = along_a < panel ? along_a : panel, swizzle_b = along_b < panel ? along_b : panel;
  tw_slots_text(s, "a_factor", factor_word(p, g->a));
  tw_slots_text(s, "b_factor", factor_word(p, g->b));
  tw_slots_number(s, "factor_bytes", bytes);
  tw_slots_flag(s, "tf32", g->a == TW_F32);
  tw_slots_number(s, "a_swizzle", swizzle_a);
  tw_slots_number(s, "b_swizzle", swizzle_b);
  tw_slots_number(s, "a_box", swizzle_a / bytes);
  tw_slots_number(s, "b_box", swizzle_b / bytes);
  tw_slots_number(s, "c_columns", p->width);
  tw_slots_number(s, "c_swizzle", p->width * tw_type_bits(g->c) / 8);
  tw_slots_flag(s, "copies_a", p->copies_a);
  tw_slots_flag(s, "copies_b", p->copies_b);
  tw_slots_flag(s, "copies_c", p->copies_c);
  tw_slots_flag(s, "copies", p->copies_a || p->copies_b);
  tw_slots_flag(s, "copies_both", p->copies_a && p->copies_b);
  tw_slots_flag(s, "across_a", p->across_a);
  tw_slots_flag(s, "across_b", p->across_b);
  tw_slots_flag(s, "a_transposed", g->a_transposed);
  tw_slots_flag(s, "b_transposed", g->b_transposed);
  tw_slots_number_or_empty(s, "piece_a", p->piece_a);
  tw_slots_number_or_empty(s, "piece_b", p->piece_b);
  tw_slots_flag(s, "pieces", in_pieces(p));
  set_where(s, "a_where", p, p->across_a, "row");
  set_where(s, "b_where", p, p->across_b, "col");
  static const char *const product[2][2] = {{"abt", "ab"}, {"atbt", "atb"}};
  tw_slots_text(s, "product", product[p->across_a][p->across_b]);
}

static void set_scales(tw_slots *s, const tw_gemm *g, const PLAN *p) {
  tw_slots_flag(s, "block_scales", g->scales == TW_GEMM_SCALES_BLOCK);
  tw_slots_flag(s, "staged_scales", p->scales_staged);
  tw_slots_flag(s, "early_scales", p->scales_early);
  tw_slots_text(s, "a_scale_at", g->a_transposed ? "(i64)block * m + row + i" : "(i64)(row + i) * blocks + block");
  tw_slots_text(s, "b_scale_at",
                g->b_transposed ? "col / 128 * blocks + block" : "block * ((n + 127) / 128) + col / 128");
}

/* Sets how blocks share tiles, or a tile's k. */
static void set_sharing(tw_slots *s, const PLAN *p) {
  const bool cluster = p->cluster_m * p->cluster_n > 1, split = p->split > 1;
  tw_text mask = {0};
  for (int i = 0; i < p->cluster_n; i++) tw_text_add(&mask, "%s1 << %d", i ? " | " : "", i * p->cluster_m);
  tw_slots_take(s, "row_mask", &mask);
  tw_slots_number(s, "column_mask", (1 << p->cluster_m) - 1);
  tw_slots_flag(s, "blocks_of_cluster", cluster);
  tw_slots_flag(s, "cluster_of_a", p->cluster_n > 1);
  tw_slots_flag(s, "cluster_of_b", p->cluster_m > 1);
  tw_slots_flag(s, "cluster", cluster || split);
  tw_slots_flag(s, "leaves_early", cluster && !p->pingpong);
  tw_slots_number_or_empty(s, "split", split ? p->split : 0);
  tw_slots_flag(s, "one_tile", split || p->parts > 1);
  tw_slots_text(s, "sharers", split ? "SPLIT" : "PARTS");
  tw_slots_flag(s, "shares_steps", shares_steps(p));
  tw_slots_text(s, "begin", shares_steps(p) ? "begin + " : NULL);
  tw_slots_text(s, "release",
                cluster ? "if (thread < CLUSTER) empty[before].arrive_at(thread);"
                        : "if (thread == 0) empty[before].arrive();");
}

static void set_shape(tw_slots *s, const tw_tile_machine *machine, const tw_gemm *g, const PLAN *p) {
  /* threads copy, in addition to or instead of the thread that starts TMA copies */
  const bool threads = !p->copies_a || !p->copies_b || p->scales_staged;
  tw_slots_text(s, "out", tw_gemm_gates(g) ? "OUT" : "BN");
  tw_slots_text(s, "glu", tw_gemm_gates(g) ? tw_tile_act_word(g->glu) : NULL);
  tw_slots_flag(s, "keeps_sums", g->glu_pass == TW_GLU_SUMS);
  tw_slots_text(s, "glu_gradient", tw_gemm_gates_back(g) ? tw_tile_act_word(g->glu) : NULL);
  tw_slots_number(s, "tile_bytes", p->m * p->n * 4);
  tw_slots_number(s, "shared", p->shared_bytes);
  tw_slots_number(s, "band", p->band_columns ? -p->band : p->band);
  tw_slots_number_or_empty(s, "promote", p->promote / p->k * (p->products ? p->products : 1));
  tw_slots_flag(s, "threads", threads);
  tw_slots_text(s, "in", threads ? NULL : "  ");
  tw_slots_number(s, "arrivals", (p->copies_a || p->copies_b) + (threads ? machine->group_threads : 0));
}

/* Sets the rotation of sums before `result`. */
static void set_rotary(tw_slots *s, const tw_gemm *g) {
  tw_slots_text(s, "rotary",
                g->rotary == TW_GEMM_ROTARY_NONE     ? NULL
                : g->rotary == TW_GEMM_ROTARY_HALVES ? "halves"
                                                     : "neighbours");
  tw_slots_number(s, "head", g->head);
  tw_slots_number(s, "rotated", g->head * g->heads);
}

/* Is D added to the sums in rows of 16 bytes, before `result`? */
static bool adds_rows(const tw_gemm *g, const PLAN *p) {
  const bool fits = tw_type_bits(g->d) == 16 && g->acc == TW_F32 && g->n % 8 == 0 && g->ldd % 8 == 0;
  const bool comes_first = g->scales == TW_GEMM_SCALES_NONE || g->scales == TW_GEMM_SCALES_BLOCK || p->scales_early;
  return g->bias == TW_GEMM_BIAS_FULL && fits && comes_first && p->parts == 1;
}

void tw_tile_gemm_slots(const tw_tile_machine *machine, const tw_problem *problem, const void *plan, tw_slots *s) {
  const tw_gemm gemm = tw_gemm_of(problem);
  const PLAN *p = plan;
  tw_gemm result = gemm; /* without scales and D, if they are applied to the sums before `result` */
  if (p->scales_early) result.scales = TW_GEMM_SCALES_NONE;
  if (adds_rows(&gemm, p)) result.bias = TW_GEMM_BIAS_NONE;
  result.rotary = TW_GEMM_ROTARY_NONE;
  result.glu = TW_GLU_NONE;
  tw_tile_result_slots(s, &gemm, &result);
  tw_slots_flag(s, "adds_rows", adds_rows(&gemm, p));
  set_shape(s, machine, &gemm, p);
  set_rotary(s, &gemm);
  set_sharing(s, p);
  set_moved(s, &gemm, p);
  set_operands(s, machine, &gemm, p);
  set_scales(s, &gemm, p);
}
