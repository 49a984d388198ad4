/* tiles.c - see tiles.h. */
#include "target/cdna/tiles.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "gpu/amd/attention_multistage.h"
#include "gpu/amd/gemm_multistage.h"
#include "gpu/common/kinds.h"
#include "gpu/common/rows.h"
#include "op/attention.h"
#include "op/gemm_problem.h"
#include "op/numerics.h"
#include "target/cdna/gemm_model.h"
#include "target/cdna/layout/swizzle.h"
#include "target/cdna/loop/loop.h"
#include "target/cdna/machine.h"
#include "target/cdna/models.h"

static bool multiplies(tw_type a, tw_type b) {
  return (a == b && (a == TW_F32 || a == TW_BF16 || a == TW_F16 || a == TW_I8)) || (tw_is_float8(a) && tw_is_float8(b));
}
static bool multiplies3(tw_type a, tw_type b) { return multiplies(a, b) || (a == b && a == TW_E4M3FNUZ); }
static bool multiplies4(tw_type a, tw_type b) { return multiplies(a, b) || (tw_is_float6(a) && tw_is_float6(b)); }
static int product_bytes3(tw_type t) { return (void)t, 16; }
static int product_bytes4(tw_type t) { return tw_is_float8(t) ? 32 : tw_is_float6(t) ? 24 : 16; }

/* ---- swizzles ---- */

/* Is it its own inverse? Direct-to-LDS copies need the inverse. */
static bool is_involution(const cdna_swizzle *s, uint32_t bytes) {
  for (uint32_t o = 0; o < bytes; o += 16)
    if (cdna_swizzle_of(s, cdna_swizzle_of(s, o)) != o) return false;
  return true;
}

enum { READS_MAX = 8 };

/* The lanes' addresses of one read in tile_mma.hpp: 16 bytes per lane, for `side` rows and neighbouring columns. */
static void read_rows(const tw_tile_access *a, int first, uint32_t address[CDNA_LANES]) {
  for (int l = 0; l < CDNA_LANES; l++) address[l] = (uint32_t)(l % a->side * a->row_bytes + (first + l / a->side) * 16);
}

/* The same if k runs down the rows: a transposing read of 8 bytes per lane, from `half` of its rows. */
static void read_across(const tw_tile_access *a, int half, int first, uint32_t address[CDNA_LANES]) {
  for (int l = 0; l < CDNA_LANES; l++) {
    const int set = l / 16, in = l % 16, sets = a->side / 16;
    address[l] = (uint32_t)((set / sets * 8 + in / 4 + 4 * half) * a->row_bytes +
                            (first * a->side + set % sets * 16 + in % 4 * 4) * a->element_bytes);
  }
}

/* The lanes' addresses of one read in load_values of tile_attention.hpp: transposing reads on gfx950, else two bytes
 * per lane. */
static void read_values(const tw_tile_access *a, bool transposing, int first, uint32_t address[CDNA_LANES]) {
  for (int l = 0; l < CDNA_LANES; l++) {
    const int set = l / 16 % (a->side / 16), in = l % 16, row = l / a->side * 4 + (transposing ? in / 4 : 0);
    const int column = first * a->side + set * 16 + (transposing ? in % 4 * 4 : in);
    address[l] = (uint32_t)(row * a->row_bytes + column * a->element_bytes);
  }
}

static void swizzle(const tw_tile_machine *machine, const tw_tile_access *a, char text[TW_TILE_SWIZZLE]) {
  const cdna_arch arch = *(const cdna_arch *)machine->with;
  uint32_t read[2 * READS_MAX + 1][CDNA_LANES];
  cdna_wave_access access[2 * READS_MAX + 1];
  cdna_solution solution;
  int n = 0;
  if (a->values)
    for (; n < READS_MAX && n * a->side * a->element_bytes < a->row_bytes; n++) {
      const int bytes = arch == CDNA3 ? 2 : 8;
      read_values(a, bytes == 8, n, read[n]);
      access[n] = (cdna_wave_access){cdna_lds_rule_of(arch, CDNA_LDS_READ, bytes), bytes, read[n]};
    }
  else if (a->across)
    for (; n < READS_MAX && n / 2 * a->side * a->element_bytes < a->row_bytes; n++) {
      read_across(a, n % 2, n / 2, read[n]);
      access[n] = (cdna_wave_access){cdna_lds_rule_of(arch, CDNA_LDS_READ, 8), 8, read[n]};
    }
  if (a->rows_too || !(a->values || a->across))
    for (int i = 0, pieces = 64 / a->side; i < READS_MAX && i * pieces * 16 < a->row_bytes; i++, n++) {
      read_rows(a, i * pieces, read[n]);
      access[n] = (cdna_wave_access){cdna_lds_rule_of(arch, CDNA_LDS_READ, 16), 16, read[n]};
    }
  if (a->across || a->values) { /* a copy writes 16 bytes of a lane, which must then stay together */
    for (uint32_t l = 0; l < CDNA_LANES; l++) read[n][l] = 16 * l;
    access[n] = (cdna_wave_access){cdna_lds_rule_of(arch, CDNA_LDS_WRITE, 16), 16, read[n]};
    n++;
  }
  snprintf(text, TW_TILE_SWIZZLE, "plain");
  const int deep =
      16 / a->element_bytes * (64 / a->side); /* number of rows that a product uses, of a tile with k down its rows */
  const uint32_t tile = (uint32_t)((a->values && !a->rows_too ? 256 / a->side
                                    : a->across               ? deep
                                                              : a->side) *
                                   a->row_bytes);
  if (cdna_swizzle_solve(access, (size_t)n, tile, &solution, NULL) != TW_OK || solution.kind != CDNA_SWIZZLE_FOUND ||
      !is_involution(&solution.swizzle, tile) || cdna_swizzle_span(&solution.swizzle) > tile)
    return;
  char inner[TW_TILE_SWIZZLE] = "";
  for (int i = solution.swizzle.n - 1; i >= 0; i--) {
    snprintf(text, TW_TILE_SWIZZLE, "xor_bits<%d, %d, %d%s%.60s>", solution.swizzle.term[i].end,
             solution.swizzle.term[i].begin, solution.swizzle.term[i].to, *inner ? ", " : "", inner);
    snprintf(inner, sizeof inner, "%s", text);
  }
}

static tw_status loop(const tw_tile_machine *machine, const tw_tile_loop *l, tw_text *text, tw_error *error) {
  return cdna_loop_emit(*(const cdna_arch *)machine->with, l, text, error);
}

static tw_status back_loop(const tw_tile_machine *machine, const tw_tile_back_loop *l, tw_text *text, tw_error *error) {
  return cdna_loop_back(*(const cdna_arch *)machine->with, l, text, error);
}

tw_tile_machine cdna_tile_machine(const cdna_machine *m) {
  const cdna_arch arch = m->arch;
  return (tw_tile_machine){.header = "tile.hpp",
                           .processors = m->caches.xcds * m->caches.cus,
                           .shared_bytes = m->lds_bytes,
                           .l2_bytes = m->caches.l2_bytes,
                           .block_threads = m->work_items,
                           .warp_threads = CDNA_LANES,
                           .group_threads = CDNA_LANES,
                           .multiplies = arch == CDNA3 ? multiplies3 : multiplies4,
                           .product_bytes = arch == CDNA3 ? product_bytes3 : product_bytes4,
                           .halved_float8 = arch == CDNA3,
                           .block_scales = arch == CDNA4,
                           .transposing_reads = arch == CDNA4,
                           .direct_bytes = arch == CDNA3 ? 0 : 16,
                           .chips = m->caches.xcds,
                           .simds = m->simds,
                           .simd_registers = m->registers,
                           .swizzle = swizzle,
                           .loop = loop,
                           .back_loop = back_loop,
                           .with = &m->arch};
}

/* ---- the models of gemm_model.c ---- */

static double predict_gemm(const void *with, const void *plan) {
  const cdna_model *m = with;
  const tw_gemm g = tw_gemm_of(m->problem);
  return cdna_gemm_seconds(m->machine, m->machine->arch, &g, plan);
}

static double predict_block_scaled(const void *with, const void *plan) {
  const cdna_model *m = with;
  const tw_gemm g = tw_gemm_of(m->problem);
  return cdna_mx_seconds(m->machine, &g, plan);
}

/* ---- families ---- */

static bool is_backward(const tw_problem *p, const tw_schedule *s) { return (void)s, tw_attention_of(p).backward; }

/* Block-scaled weights. */
static bool is_mx(const tw_problem *p, const tw_schedule *s) {
  (void)s;
  return tw_is_mx(tw_gemm_of(p).b);
}

/* The kind of a problem is the first kind that accepts it. Kinds without `plainest` have a kernel for the empty
 * schedule. */
enum { CDNA = 1 };
static const tw_tile_kind table[] = {
    {"gemm", CDNA, is_mx, &tw_tile_block_scaled, predict_block_scaled, {NULL}},
    {"gemm", CDNA, NULL, &tw_tile_multistage, predict_gemm, {NULL}},
    {"attention", CDNA, is_backward, &tw_tile_attention_multistage_backward, cdna_predict_attention_backward, {NULL}},
    {"attention", CDNA, NULL, &tw_tile_attention_multistage, cdna_predict_attention, {NULL}},
    {"rotary", CDNA, NULL, &tw_tile_rotary, cdna_predict_rows, {"heads 1"}},
    {"layernorm", CDNA, NULL, &tw_tile_layernorm, cdna_predict_rows, {"row warps=1", "row warps=4", "row warps=16"}},
    {"softmax", CDNA, NULL, &tw_tile_softmax, cdna_predict_rows, {"row warps=1", "row warps=4", "row warps=16"}},
    {"gate", CDNA, NULL, &tw_tile_gate, cdna_predict_rows, {"chunks 1"}},
    {"elementwise", CDNA, NULL, &tw_tile_elementwise, cdna_predict_rows, {"chunks 1"}},
};
static const tw_tile_kinds kinds = {table, sizeof table / sizeof *table};

const tw_language *cdna_tiles_language(size_t i) { return tw_tile_kinds_language(&kinds, i); }

static tw_status kind_of(const tw_problem *p, const tw_tile_kind **out, tw_error *error) {
  static const tw_schedule none;
  char ops[TW_TILE_OPS];
  *out = tw_tile_kind_of(&kinds, CDNA, p, &none);
  if (*out) return TW_OK;
  return tw_fail(error, TW_USAGE, "%s has no tile kernels here; expected %s, or run a kernel of your own", p->op->name,
                 tw_tile_kinds_ops(&kinds, CDNA, ops));
}

const tw_language *cdna_tiles_language_of(const tw_problem *p) {
  const tw_tile_kind *k = NULL;
  return kind_of(p, &k, NULL) == TW_OK ? k->family->language : NULL;
}

/* The schedule; in place of the empty one, the first of the plainest ones that fits the problem, or else the last. */
static tw_schedule begun(const tw_tile_kind *k, const tw_tile_machine *machine, const tw_problem *p,
                         const tw_schedule *s) {
  tw_tile_any_plan plan;
  tw_schedule out = *s;
  for (int i = 0; !s->n && i < TW_TILE_PLAINEST && k->plainest[i]; i++) {
    out = (tw_schedule){0};
    tw_schedule_add(&out, k->plainest[i], NULL);
    if (tw_tile_plan_of(k->family, machine, p, &out, &plan, NULL) == TW_OK) break;
  }
  return out;
}

tw_status cdna_tiles_emit(const cdna_machine *m, const tw_problem *p, const tw_schedule *s, char **source,
                          tw_error *error) {
  const tw_tile_machine machine = cdna_tile_machine(m);
  const tw_tile_kind *k = NULL;
  const tw_status status = kind_of(p, &k, error);
  if (status != TW_OK) return status;
  const tw_schedule all = begun(k, &machine, p, s);
  return tw_tile_emit(k->family, &machine, p, &all, source, error);
}

tw_status cdna_tiles_steps(const cdna_machine *m, const tw_problem *p, const tw_schedule *s, tw_menu *out,
                           tw_error *error) {
  const tw_tile_machine machine = cdna_tile_machine(m);
  const cdna_model model_of = {m, p};
  const tw_tile_kind *k = NULL;
  *out = (tw_menu){0};
  if (kind_of(p, &k, NULL) != TW_OK) return TW_OK;
  return tw_tile_steps(k->family, &machine, p, s, k->predict, &model_of, out, error);
}

tw_status cdna_tiles_predict(const cdna_machine *m, const tw_problem *p, const tw_schedule *s, double *cost,
                             tw_error *error) {
  const tw_tile_machine machine = cdna_tile_machine(m);
  const cdna_model model_of = {m, p};
  const tw_tile_kind *k = NULL;
  const tw_status status = kind_of(p, &k, error);
  if (status != TW_OK) return status;
  const tw_schedule all = begun(k, &machine, p, s);
  return tw_tile_predict(k->family, &machine, p, &all, k->predict, &model_of, cost, error);
}
