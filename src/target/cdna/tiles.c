/* tiles.c - see tiles.h. */
#include "target/cdna/tiles.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "gpu/amd/attention_multistage.h"
#include "gpu/amd/gemm_multistage.h"
#include "gpu/common/kinds.h"
#include "gpu/common/rows.h"
#include "op/attention.h"
#include "op/gemm_problem.h"
#include "target/cdna/gemm_model.h"
#include "target/cdna/layout/swizzle.h"
#include "target/cdna/loop/loop.h"
#include "target/cdna/machine.h"

static bool is_float8(tw_type t) { return t == TW_E4M3 || t == TW_E5M2; }
static bool multiplies(tw_type a, tw_type b) {
  return (a == b && (a == TW_F32 || a == TW_BF16 || a == TW_F16 || a == TW_I8)) || (is_float8(a) && is_float8(b));
}
static int product_bytes3(tw_type t) { return (void)t, 16; }
static int product_bytes4(tw_type t) { return is_float8(t) ? 32 : 16; }

/* ---- swizzles ---- */

/* Does it undo itself? Copies past the registers need its inverse. */
static bool is_involution(const cdna_swizzle *s, uint32_t bytes) {
  for (uint32_t o = 0; o < bytes; o += 16)
    if (cdna_swizzle_of(s, cdna_swizzle_of(s, o)) != o) return false;
  return true;
}

enum { READS_MAX = 8 };

/* The lanes' addresses of one read in tile_mma.hpp: 16 bytes per lane, `side` rows, and the neighbouring columns. */
static void read_rows(const tw_tile_access *a, int first, uint32_t address[CDNA_LANES]) {
  for (int l = 0; l < CDNA_LANES; l++) address[l] = (uint32_t)(l % a->side * a->row_bytes + (first + l / a->side) * 16);
}

/* As above where k runs down the rows: a transposing read of 8 bytes per lane, from `half` of its rows. */
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
  if (a->across || a->values) { /* copies write 16 bytes of a lane, which then stay together */
    for (uint32_t l = 0; l < CDNA_LANES; l++) read[n][l] = 16 * l;
    access[n] = (cdna_wave_access){cdna_lds_rule_of(arch, CDNA_LDS_WRITE, 16), 16, read[n]};
    n++;
  }
  snprintf(text, TW_TILE_SWIZZLE, "plain");
  const int deep =
      16 / a->element_bytes * (64 / a->side); /* rows that a product takes of a tile with k down its rows */
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
                           .multiplies = multiplies,
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

typedef struct model {
  const cdna_machine *machine;
  const tw_problem *problem;
} model;

static double predict_gemm(const void *with, const void *plan) {
  const model *m = with;
  const tw_gemm g = tw_gemm_of(m->problem);
  return cdna_gemm_seconds(m->machine, m->machine->arch, &g, plan);
}

static double predict_block_scaled(const void *with, const void *plan) {
  const model *m = with;
  const tw_gemm g = tw_gemm_of(m->problem);
  return cdna_mx_seconds(m->machine, &g, plan);
}

/* ---- the model of rows ----
 *
 * The time is that of memory's bandwidth, unless too few bytes are in flight to cover its latency (Little's law), or
 * the blocks run in too few rounds. The latency is that of a miss in both caches: HipKittens' cost model, 300 and 500
 * ns. */

static const double MEMORY_LATENCY = 8e-7, PIECE_BYTES = 16 * CDNA_LANES;

static double predict_rows(const void *with, const void *plan) {
  const model *r = with;
  const tw_tile_rows_plan *p = plan;
  const cdna_machine *m = r->machine;
  const double cus = m->caches.xcds * m->caches.cus, waves = ceil((double)p->block_threads / CDNA_LANES);
  /* A thread holds its chunks as they came and as floats, and some registers more; a block always fits. */
  const double of_simd = fmin(m->waves, floor(m->registers / (32 + 12 * (double)p->chunks)));
  const double resident = fmax(1, floor(of_simd * m->simds / waves)), blocks = fmin(resident, (double)p->blocks / cus);
  const double under_way = cus * blocks * waves * PIECE_BYTES * (double)p->chunks;
  const double bytes = r->problem->op->bytes(r->problem), bandwidth = cdna_stream_rate(m, bytes);
  const double needed = bandwidth * MEMORY_LATENCY, rounds = (double)p->blocks / (resident * cus);
  /* less than a round has fewer bytes in flight, which `under_way` says */
  return MEMORY_LATENCY + bytes / bandwidth * fmax(1, needed / under_way) * (rounds > 1 ? ceil(rounds) / rounds : 1);
}

/* Each operand passes at least once. */
static double pass_seconds(const model *of) {
  const double bytes = of->problem->op->bytes(of->problem);
  return MEMORY_LATENCY + bytes / cdna_stream_rate(of->machine, bytes);
}

/* ---- the model of attention ----
 *
 * For each tile of keys a wave multiplies twice and computes an exponential for each score: 16 per clock of a SIMD, and
 * about eight other instructions per score and lane. With enough stages the copies overlap with that. With
 * `overlap_softmax` both are interleaved, and the slower one decides, with a loss of a fifth where they do not match;
 * the lanes do not exchange a row maximum. */

static double predict_attention(const void *with, const void *plan) {
  const model *x = with;
  const tw_tile_attention_multistage_plan *p = plan;
  const cdna_machine *m = x->machine;
  const tw_attention of = tw_attention_of(x->problem), *a = &of;
  const double cus = m->caches.xcds * m->caches.cus, queries = p->queries * (double)p->groups;
  const double blocks = ceil((double)a->queries / queries) * (double)(a->query_heads * a->batches);
  const double steps = ceil((double)a->keys / p->keys) * (a->causal ? 0.55 : 1);
  const double of_simd = ceil(p->groups / (double)m->simds), rate = m->arch == CDNA3 ? 256 : 512;
  const double multiply = 2.0 * p->queries * p->keys * (double)a->d / rate * of_simd;
  const double weigh =
      p->queries * (double)p->keys / 64 * 4 * (4 + 8) * of_simd + p->queries / 16.0 * (double)a->d * of_simd;
  const double reads = 2.0 * p->keys * (double)a->d * 2 * p->groups / 256, copy = 2.0 * p->keys * (double)a->d * 2 / 64;
  const double latency = 1e-6 * m->clock_mhz * 1e6;
  const double issue = 4 * multiply / (p->product == 32 ? 32 : 16); /* slots of vector units that products take */
  const double made = p->ahead ? 1.2 * fmax(multiply, weigh * 0.55 + issue)
                               : (multiply + weigh - (p->product == 32 ? issue : 0)) * (p->pingpong ? 0.85 : 1);
  const double step = p->stages > 1 ? fmax(made, fmax(reads, copy)) + 100 : multiply + weigh + reads + copy + latency;
  const double resident = fmax(1, fmin(floor((double)m->lds_bytes / (double)p->shared_bytes), floor(8 / of_simd / 2)));
  const double seconds = ceil(blocks / (cus * resident)) * steps *
                         (p->stages > 1 ? step * resident : step * fmax(1, resident / 2)) / (m->clock_mhz * 1e6);
  return fmax(seconds, pass_seconds(x));
}

/* First the kernel for dK and dV, then the kernel for dQ. As above, but each lane computes a gradient for each
 * probability. With `overlap_softmax` the slower part decides. A wave that has a SIMD alone uses less of it.
 * `hand_scheduled` is one kernel. */
static double predict_backward(const void *with, const void *plan) {
  const model *x = with;
  const tw_tile_attention_multistage_plan *p = plan;
  const cdna_machine *m = x->machine;
  const tw_attention of = tw_attention_of(x->problem), *a = &of;
  const double cus = m->caches.xcds * m->caches.cus, of_simd = ceil(p->groups / (double)m->simds);
  const double rate = m->arch == CDNA3 ? 256 : 512, seen = a->causal ? 0.55 : 1, d = (double)a->d;
  const struct {
    double own, at_once, products, reads, rows, columns, heads;
    int blocks;
    int64_t shared;
  } kernel[] = {{p->keys, p->queries, 4, 4, (double)a->keys, (double)(a->queries * a->group), (double)a->key_heads,
                 p->at_once, p->shared_bytes},
                {p->dq_queries, p->dq_keys, 3, 3, (double)a->queries, (double)a->keys, (double)a->query_heads,
                 p->dq_at_once, p->dq_shared_bytes}};
  double seconds = 0;
  if (p->hand_scheduled) { /* the five products, with the other work interleaved; with d = 64 both take equally long */
    const double steps = ceil((double)(a->queries * a->group) / p->queries) * seen;
    const double blocks = ceil((double)a->keys / (p->keys * p->groups)) * (double)(a->key_heads * a->batches);
    const double step = 5.0 * p->keys * p->queries * d / rate * (d < 128 ? 1.4 : 1.1);
    return fmax(pass_seconds(x), ceil(blocks / cus) * steps * step / (m->clock_mhz * 1e6));
  }
  for (int i = 0; i < 2; i++) {
    const double blocks = ceil(kernel[i].rows / (kernel[i].own * p->groups)) * kernel[i].heads * (double)a->batches;
    const double steps = ceil(kernel[i].columns / kernel[i].at_once) * seen;
    const double multiply = kernel[i].products * kernel[i].own * kernel[i].at_once * d / rate * of_simd;
    const double weigh = kernel[i].own * kernel[i].at_once / 64 * 4 * (4 + 6) * of_simd;
    const double reads = kernel[i].reads * kernel[i].at_once * d * 2 * p->groups / 128;
    const double copy = 2 * kernel[i].at_once * d * 2 / 64, latency = 1e-6 * m->clock_mhz * 1e6;
    const double made = multiply + weigh - (p->product == 32 ? multiply / 8 : 0), waves = of_simd * kernel[i].blocks;
    const double step =
        p->ahead        ? (waves > 1 ? 1.25 : 1.5) * fmax(multiply, weigh) + (p->product == 32 ? 0 : multiply / 8) + 150
        : p->stages > 1 ? fmax(made, fmax(reads, copy)) + fmin(made, reads) / 2 + 100
                        : multiply + weigh + reads + copy + latency;
    const double fit = p->ahead ? kernel[i].blocks : floor(4 / of_simd / 2);
    const double resident = fmax(1, fmin(floor((double)m->lds_bytes / (double)kernel[i].shared), fit));
    seconds += ceil(blocks / (cus * resident)) * steps *
               (p->stages > 1 ? step * resident : step * fmax(1, resident / 2)) / (m->clock_mhz * 1e6);
  }
  return fmax(seconds, pass_seconds(x));
}

/* ---- families ---- */

static bool is_backward(const tw_problem *p, const tw_schedule *s) { return (void)s, tw_attention_of(p).backward; }

/* Block-scaled weights. */
static bool is_mx(const tw_problem *p, const tw_schedule *s) {
  (void)s;
  const tw_type b = tw_gemm_of(p).b;
  return b == TW_MXFP4 || b == TW_MXFP6 || b == TW_MXFP8;
}

/* The kind of a problem is the first kind that accepts it. Kinds without `plainest` have a kernel for the empty schedule. */
enum { CDNA = 1 };
static const tw_tile_kind table[] = {
    {"gemm", CDNA, is_mx, &tw_tile_block_scaled, predict_block_scaled, {NULL}},
    {"gemm", CDNA, NULL, &tw_tile_multistage, predict_gemm, {NULL}},
    {"attention", CDNA, is_backward, &tw_tile_attention_multistage_backward, predict_backward, {NULL}},
    {"attention", CDNA, NULL, &tw_tile_attention_multistage, predict_attention, {NULL}},
    {"rotary", CDNA, NULL, &tw_tile_rotary, predict_rows, {"heads 1"}},
    {"layernorm", CDNA, NULL, &tw_tile_layernorm, predict_rows, {"row warps=1"}},
    {"softmax", CDNA, NULL, &tw_tile_softmax, predict_rows, {"row warps=1"}},
    {"gate", CDNA, NULL, &tw_tile_gate, predict_rows, {"chunks 1"}},
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

static tw_schedule begun(const tw_tile_kind *k, const tw_schedule *s) {
  tw_schedule out = *s;
  if (!s->n && k->plainest[0]) tw_schedule_add(&out, k->plainest[0], NULL);
  return out;
}

tw_status cdna_tiles_emit(const cdna_machine *m, const tw_problem *p, const tw_schedule *s, char **source,
                          tw_error *error) {
  const tw_tile_machine machine = cdna_tile_machine(m);
  const tw_tile_kind *k = NULL;
  const tw_status status = kind_of(p, &k, error);
  if (status != TW_OK) return status;
  const tw_schedule all = begun(k, s);
  return tw_tile_emit(k->family, &machine, p, &all, source, error);
}

tw_status cdna_tiles_steps(const cdna_machine *m, const tw_problem *p, const tw_schedule *s, tw_menu *out,
                           tw_error *error) {
  const tw_tile_machine machine = cdna_tile_machine(m);
  const model model_of = {m, p};
  const tw_tile_kind *k = NULL;
  *out = (tw_menu){0};
  if (kind_of(p, &k, NULL) != TW_OK) return TW_OK;
  return tw_tile_steps(k->family, &machine, p, s, k->predict, &model_of, out, error);
}

tw_status cdna_tiles_predict(const cdna_machine *m, const tw_problem *p, const tw_schedule *s, double *cost,
                             tw_error *error) {
  const tw_tile_machine machine = cdna_tile_machine(m);
  const model model_of = {m, p};
  const tw_tile_kind *k = NULL;
  const tw_status status = kind_of(p, &k, error);
  if (status != TW_OK) return status;
  const tw_schedule all = begun(k, s);
  return tw_tile_predict(k->family, &machine, p, &all, k->predict, &model_of, cost, error);
}
