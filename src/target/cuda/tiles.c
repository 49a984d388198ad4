/* tiles.c - see tiles.h. */
#include "target/cuda/tiles.h"

#include <math.h>
#include <string.h>

#include "gpu/common/kinds.h"
#include "gpu/common/rows.h"
#include "gpu/nvidia/attention.h"
#include "gpu/nvidia/attention_mma_sync.h"
#include "gpu/nvidia/conv_kernel.h"
#include "gpu/nvidia/gemm_mma_sync.h"
#include "gpu/nvidia/gemm_skinny.h"
#include "gpu/nvidia/gemm_sliced_k.h"
#include "op/attention.h"
#include "op/gemm_problem.h"
#include "target/cuda/gemm_model.h"

static bool multiplies(tw_type a, tw_type b) {
  return a == b && (a == TW_BF16 || a == TW_F16 || a == TW_E4M3 || a == TW_E5M2 || a == TW_I8 || a == TW_F32);
}
static bool multiplies_ampere(tw_type a, tw_type b) {
  return (a == b && (a == TW_BF16 || a == TW_F16 || a == TW_I8 || a == TW_F32)) || (a == TW_U8 && b == TW_I8);
}
static bool multiplies_ada(tw_type a, tw_type b) {
  return ((a == TW_E4M3 || a == TW_E5M2) && (b == TW_E4M3 || b == TW_E5M2)) || multiplies_ampere(a, b);
}

/* wgmma, TMA and setmaxnreg need the a. */
static bool is_hopper(const cuda_config *c) { return strcmp(c->architecture, "sm_90a") == 0; }
/* mma.sync of bf16 and cp.async. */
static bool has_mma_sync(const cuda_config *c) { return cuda_config_architecture(c) >= 80; }

tw_tile_machine cuda_tile_machine(const cuda_config *c) {
  const bool hopper = is_hopper(c);
  return (tw_tile_machine){.header = hopper            ? "tile.cuh"
                                     : has_mma_sync(c) ? "tile_ampere.cuh"
                                                       : NULL,
                           .warp_header = "tile_ampere.cuh",
                           .processors = (int)c->multiprocessors,
                           .shared_bytes = c->shared_block,
                           .l2_bytes = c->l2_bytes,
                           .registers = (int)c->registers,
                           .block_threads = 1024,
                           .warp_threads = 32,
                           .group_threads = 128,
                           .group_rows = 64,
                           .columns = 256,
                           .panel_bytes = 128,
                           .copy_alignment = 16,
                           .cluster_max = hopper && c->cluster > 2 ? 2 : 1, /* larger ones leave multiprocessors idle */
                           .blocks_together = hopper ? (int)c->cluster : 1,
                           .registers_move = hopper,
                           .few_rows = hopper,
                           .multiplies = hopper                              ? multiplies
                                         : cuda_config_architecture(c) >= 89 ? multiplies_ada
                                                                             : multiplies_ampere};
}

/* ---- the model of a gemm: gemm_model.c ---- */

typedef struct model {
  const cuda_config *config;
  const tw_problem *problem;
} model;

static double predict_gemm(const void *with, const void *plan) {
  const model *m = with;
  tw_gemm g = tw_gemm_of(m->problem);
  g.n = tw_gemm_columns(&g);
  return cuda_gemm_seconds(m->config, &g, plan);
}

/* L2 to a multiprocessor, and L2 in total, in bytes per cycle: from DeepGEMM's model (its heuristics for sm90). */
static const double L2_BYTES = 64, L2_BYTES_ALL = 6154;
/* Latency of DRAM in cycles, at the start of a kernel: arXiv 2402.13499. */
static const double DRAM_LATENCY = 479;

static double ceil_div(double a, double b) { return ceil(a / b); }

static double predict_gemm_mma(const void *with, const void *plan) {
  const model *m = with;
  const tw_gemm g = tw_gemm_of(m->problem);
  return cuda_gemm_mma_seconds(m->config, &g, plan);
}

/* ---- the model of skinny GEMM ----
 *
 * Memory's bandwidth, unless too few bytes are in flight to cover its latency, or warps cannot decode weights as fast:
 * instructions for each 32 weights, at four per cycle and multiprocessor. */

/* FIT: share of four instructions per cycle at the highest clock; i4 and ternary, m=1, H200 */
static const double MADE = 0.55;
static const double BEGIN = 2.0e-6,
                    TEAMS = 1.0e-6; /* seconds: until data flow, and from the last of them; sums of a cluster */

/* Blocks of n rows of weights, `split` of which share their rows. Computes the number of concurrent blocks on a
 * multiprocessor, the share of multiprocessors that are busy, and the cost of partial waves. */
typedef struct spread {
  double resident, busy, uneven;
} spread;

static spread spread_of(const model *m, int n, int split, int fit) {
  const double processors = (double)m->config->multiprocessors;
  const double blocks = ceil_div((double)tw_gemm_of(m->problem).n, n) * split, waves = blocks / (processors * fit);
  return (spread){.resident = fmin(fit, ceil_div(blocks, processors)),
                  .busy = fmin(1, blocks / processors),
                  .uneven = waves > 1 ? sqrt(ceil(waves) / waves) : 1};
}

/* Weights are loaded, with `under_way` bytes in flight on a multiprocessor, while they are decoded. `hidden` is the
 * share of instructions that wait for nothing. */
static double flow(const model *m, const spread *s, double under_way, double instructions, double hidden) {
  const tw_gemm g = tw_gemm_of(m->problem);
  const double clock = (double)m->config->clock_mhz * 1e6, bandwidth = (double)m->config->memory_gbs * 1e9;
  const double at_work = (double)m->config->multiprocessors * s->busy, needed = bandwidth * 2 * DRAM_LATENCY / clock;
  const double make = (double)g.n * (double)g.k * instructions / (at_work * 128 * clock * hidden) / MADE;
  const double move = m->problem->op->bytes(m->problem) / bandwidth * fmax(1, needed / (under_way * at_work));
  return fmax(move, make) * s->uneven;
}

static double predict_skinny(const void *with, const void *plan) {
  const model *m = with;
  const tw_tile_skinny_plan *p = plan;
  const tw_gemm g = tw_gemm_of(m->problem);
  const spread s = spread_of(m, p->n, p->split, p->blocks);
  const double stage = (double)p->few * p->k * 2 + (double)p->n * p->bytes,
               stages = ceil_div((double)g.k, p->k * p->split);
  const double weight = (g.b == TW_BF16 || g.b == TW_F16 ? 0.5
                         : g.b == TW_MXFP4               ? 2.5
                         : g.b == TW_I4                  ? 2.0
                                                         : 1.5) +
                        0.25 * p->few / 8;
  const double pieces = 12.0 * stages / ((double)m->config->clock_mhz * 1e6) / s.resident; /* waits, arrivals */
  return BEGIN + (p->split > 1 ? TEAMS : 0) + flow(m, &s, fmin(p->stages, stages) * stage * s.resident, weight, 1) +
         pieces;
}

/* ---- the model of sliced-K ----
 *
 * A launch among others, as these kernels are timed: memory and instructions, which overlap only in part, plus a
 * dependence from launch to launch. FIT: to 454 kernels with one row (i4, mxfp4, ternary; 4096 x 4096, 6144 x 4096,
 * 28672 x 8192) on an H200; tests/data/cuda/slices_search_h200.txt has other kernels. */

static const double SLICES_CHAIN = 1.9e-6, SLICES_ALONE = 1.6; /* seconds; times as long without `rest` */
/* Share of memory's bandwidth; cycles; the cost of too few bytes in flight, and of too few warps: exponents. */
static const double SLICES_BANDWIDTH = 0.85, SLICES_LATENCY = 1350, SLICES_WINDOW = 0.6, SLICES_HIDDEN = 0.4;
/* share of four instructions per cycle, because times add; enough */
static const double SLICES_MADE = 1.3, SLICES_WARPS = 14;
static const double SLICES_OF_A = 200;      /* instructions for a slice of eight rows of A */
static const double SLICES_TOGETHER = 1.75; /* the norm of both times */

/* Instructions of a weight for each 32, as the loops have them (sm_90a). */
static double made_in_slices(const tw_gemm *g) {
  if (g->m <= 2) return g->b == TW_TERNARY ? 0.45 : g->b == TW_I4 ? 0.6 : 2.4;
  return (g->b == TW_TERNARY ? 1.0 : g->b == TW_I4 ? 1.6 : 3.0) + 0.35 * (ceil((double)g->m / 8) - 1);
}

static double predict_sliced_k(const void *with, const void *plan) {
  const model *m = with;
  const tw_tile_sliced_k_plan *p = plan;
  const tw_gemm g = tw_gemm_of(m->problem);
  const spread s = spread_of(m, p->n, 1, p->blocks);
  const double clock = (double)m->config->clock_mhz * 1e6, bandwidth = (double)m->config->memory_gbs * 1e9;
  const double at_work = (double)m->config->multiprocessors * s.busy;
  const double codes = 64.0 * 8 / tw_type_bits(g.b), rounds = (double)g.k / codes / p->warps;
  const double weight = made_in_slices(&g) + SLICES_OF_A * ceil((double)g.m / 8) / (p->n * codes / 32);
  const double busy = pow(fmin(1, p->warps * s.resident / SLICES_WARPS), SLICES_HIDDEN);
  const double make =
      (double)g.n * (double)g.k * weight * ceil(rounds) / rounds / (at_work * 128 * clock * busy) / SLICES_MADE;
  /* Prefetched weights are also loaded for the next launch. */
  const double under_way = 64.0 * p->warps * p->rows * p->ahead * (p->rest ? p->blocks : s.resident) * at_work;
  const double move = m->problem->op->bytes(m->problem) / (bandwidth * SLICES_BANDWIDTH) *
                      pow(fmax(1, bandwidth * 2 * SLICES_LATENCY / clock / under_way), SLICES_WINDOW);
  const double both = pow(pow(move, SLICES_TOGETHER) + pow(make, SLICES_TOGETHER), 1 / SLICES_TOGETHER);
  return SLICES_CHAIN * (p->rest ? 1 : SLICES_ALONE) + both * s.uneven;
}

/* ---- the model of rows ----
 *
 * Memory's bandwidth, unless too few bytes are in flight to cover its latency (Little's law), or the blocks run in too
 * few waves. */

static const double LINE_BYTES = 16 * 32; /* bytes of one load of a warp */

static double predict_rows(const void *with, const void *plan) {
  const model *m = with;
  const tw_tile_rows_plan *p = plan;
  const cuda_config *c = m->config;
  const double clock = (double)c->clock_mhz * 1e6, bandwidth = (double)c->memory_gbs * 1e9,
               warps = (double)p->block_threads / 32;
  /* A thread holds its chunks as they came and as floats, and some registers more; a block always fits. */
  const double registers = fmin(32 + 12 * (double)p->chunks, (double)c->registers / (double)p->block_threads);
  const double by_registers = floor((double)c->registers / (registers * (double)p->block_threads));
  const double resident = fmin(by_registers, floor((double)c->threads / (double)p->block_threads));
  const double blocks = fmin(resident, (double)p->blocks / (double)c->multiprocessors);
  const double under_way = blocks * warps * LINE_BYTES * (double)p->chunks;
  const double needed = bandwidth / (double)c->multiprocessors * (DRAM_LATENCY / clock);
  const double waves = (double)p->blocks / (resident * (double)c->multiprocessors);
  return DRAM_LATENCY / clock +
         m->problem->op->bytes(m->problem) / bandwidth * fmax(1, needed / under_way) * ceil(waves) / waves;
}

/* ---- the model of attention ----
 *
 * For each tile of keys a warpgroup multiplies twice and computes one exponential per score, at 16 per cycle and
 * multiprocessor (CUDA C++ Programming Guide, throughput of arithmetic instructions). With ping-pong, warpgroups do
 * both at the same time; otherwise all products wait for the slowest warpgroup. */

static const double EXPONENTIALS = 16;

/* Backward: five products of each group, whose exponentials other groups' products cover; kernels before and after move
 * 4 and 2 bytes of each element of dQ's sums and as many of its operands. */
static double predict_attention_back(const void *with, const void *plan) {
  const model *m = with;
  const tw_tile_attention_plan *p = plan;
  const tw_attention of = tw_attention_of(m->problem), *a = &of;
  const double processors = (double)m->config->multiprocessors, clock = (double)m->config->clock_mhz * 1e6;
  const double tiles = ceil_div((double)a->queries, p->queries), blocks = ceil_div((double)a->keys, p->keys);
  const double each = (double)a->group * (a->causal ? (tiles + 1) / 2 : tiles);
  const double products = 5.0 * p->groups * (double)a->d / 16 * p->queries / 2;
  const double weights = 64.0 * p->groups * p->queries / EXPONENTIALS;
  const double step = fmax(products, 64 * p->groups * (double)a->d * 4 / (L2_BYTES_ALL / processors)) +
                      weights / 2 / p->groups + (p->stages > 1 ? 0 : DRAM_LATENCY);
  const double rounds = ceil_div(blocks * (double)a->key_heads * (double)a->batches, processors);
  const double elements = (double)a->batches * (double)a->query_heads * (double)a->queries * (double)a->d;
  return rounds * (each * step + DRAM_LATENCY) / clock + elements * 14 / ((double)m->config->memory_gbs * 1e9);
}

static double predict_attention(const void *with, const void *plan) {
  const model *m = with;
  const tw_tile_attention_plan *p = plan;
  const tw_attention of = tw_attention_of(m->problem), *a = &of;
  const double queries = 64.0 * p->groups, processors = (double)m->config->multiprocessors;
  const double rows = ceil_div((double)a->queries, queries), all = ceil_div((double)a->keys, p->keys);
  const double blocks = a->causal ? all - (rows - 1) / 2 * queries / p->keys : all; /* keys, on average */
  const double products = p->groups * ((double)a->d / 16 * p->keys / 2 + p->keys / 16.0 * (double)a->d / 2);
  const double weights = p->groups * 64.0 * p->keys / EXPONENTIALS;
  const double copy = 2.0 * p->keys * (double)a->d * 2 / (L2_BYTES_ALL / processors);
  const double step = fmax(p->pingpong ? fmax(products, weights) : products + weights / 2, copy);
  const double each = blocks * step + (p->persistent ? 0 : DRAM_LATENCY) + queries * (double)a->d * 4 / L2_BYTES;
  const double rounds = ceil_div(rows * (double)a->query_heads * (double)a->batches, processors);
  return rounds * each / ((double)m->config->clock_mhz * 1e6);
}

/* Without wgmma: products, reads of shared memory and exponentials of a block follow one another unless another block is there. */
static double predict_attention_mma(const void *with, const void *plan) {
  const model *m = with;
  const tw_tile_attention_mma_plan *p = plan;
  const tw_attention of = tw_attention_of(m->problem), *a = &of;
  const double processors = (double)m->config->multiprocessors, clock = (double)m->config->clock_mhz * 1e6;
  const double rows = ceil_div((double)a->queries, p->queries), all = ceil_div((double)a->keys, p->keys);
  const double steps = a->causal ? all - (rows - 1) / 2 * p->queries / p->keys : all;
  const double rate = cuda_mma_sync_rate(m->config, a->type);
  const double products = 4.0 * p->queries * p->keys * (double)a->d / rate;
  const double reads = ((double)p->queries + 2.0 * p->keys * p->warps) * (double)a->d * 2 / 128;
  const double weights = (double)p->queries * p->keys / EXPONENTIALS,
               tiles = rows * (double)a->query_heads * (double)a->batches;
  const double together = fmin(p->blocks, ceil_div(tiles, processors));
  const double alone = fmax(products, reads) + weights + (p->stages > 1 ? 0 : DRAM_LATENCY / 2);
  const double step = fmax(alone, together * fmax(fmax(products, reads), weights) + weights / 2);
  const double each = steps * step + 2 * DRAM_LATENCY + p->queries * (double)a->d * 4 / L2_BYTES;
  return ceil_div(tiles, processors * together) * each / clock;
}

/* Five products; the sums of the fifth are added to memory individually. */
static double predict_attention_mma_back(const void *with, const void *plan) {
  const model *m = with;
  const tw_tile_attention_mma_plan *p = plan;
  const tw_attention of = tw_attention_of(m->problem), *a = &of;
  const double processors = (double)m->config->multiprocessors, clock = (double)m->config->clock_mhz * 1e6;
  const double tiles = ceil_div((double)a->queries, p->queries), blocks = ceil_div((double)a->keys, p->keys);
  const double each = (double)a->group * (a->causal ? (tiles + 1) / 2 : tiles), d = (double)a->d;
  const double products = 10.0 * p->queries * p->keys * d / cuda_mma_sync_rate(m->config, a->type);
  const double reads =
      (4.0 * p->queries * p->warps + 2.0 * p->keys + (double)p->keys * p->queries * p->warps / 16 / 64) * d * 2 / 128;
  const double weights = (double)p->queries * p->keys / EXPONENTIALS,
               added = p->queries * d * 4 / (L2_BYTES_ALL / processors);
  const double all = blocks * (double)a->key_heads * (double)a->batches;
  const double together = fmin(p->blocks, ceil_div(all, processors));
  const double step = together * fmax(products, reads) + weights + added + DRAM_LATENCY / 4 / together;
  const double elements = (double)a->batches * (double)a->query_heads * (double)a->queries * d;
  return ceil_div(all, processors * together) * (each * step + 2 * DRAM_LATENCY) / clock +
         elements * 14 / ((double)m->config->memory_gbs * 1e9);
}

/* ---- the model of convolutions ----
 *
 * Data that are written first pass through memory twice; then the products, as in gemm's model, or the output's bytes.
 */

static const double MULTIPLIED = 0.8, WRITTEN = 0.6; /* share of peaks: tensor cores in long sums; DRAM, with strides */

static double predict_conv(const void *with, const void *plan) {
  const model *m = with;
  const tw_tile_conv_plan *p = plan;
  const tw_conv of = tw_tile_conv_of(m->problem), *v = &of;
  const double clock = (double)m->config->clock_mhz * 1e6, processors = (double)m->config->multiprocessors;
  const double bandwidth = WRITTEN * (double)m->config->memory_gbs * 1e9;
  double places = (double)v->n, steps = (double)p->padded / p->k, out = 1;
  for (int d = 0; d < TW_CONV_DIMS; d++) {
    places *= (double)(v->out[d] + p->taps[d] - 1);
    steps *= p->taps[d];
    out *= (double)v->out[d];
  }
  const double blocks =
      (double)v->n * (double)v->out[0] * ceil_div((double)v->out[1], p->y) * ceil_div((double)v->out[2], p->x);
  const double tiles = ceil_div(blocks, p->groups) * ceil_div((double)v->k, p->n);
  const double products = p->products ? p->products : 1, rows = 64.0 * p->groups;
  const double multiply = products * rows * p->n * p->k * 2 / 4096 / MULTIPLIED;
  const double copy = p->planes * (rows + p->n) * p->k * 2 / (L2_BYTES_ALL / processors);
  const double cycles =
      ceil_div(tiles, processors) * (steps * fmax(multiply, fmax(copy, 1000.0 / p->stages)) + DRAM_LATENCY +
                                     (p->promote ? steps * p->k / p->promote * p->n : 0) + rows * p->n * 4 / L2_BYTES);
  const double images = places * p->padded * 2 * p->planes;
  return cycles / clock + (2 * images + (double)v->n * out * (double)v->k * 4) / bandwidth;
}

/* ---- families ---- */

/* Does the schedule begin with the first step of the family? */
static bool begins(const tw_schedule *s, const tw_tile_family *f) {
  return s->n && tw_step_is(&f->language->verb[0], s->step[0]);
}
static bool is_skinny(const tw_problem *p, const tw_schedule *s) {
  return (void)p, !s->n || begins(s, &tw_tile_skinny);
}
static bool is_sliced_k(const tw_problem *p, const tw_schedule *s) {
  return (void)p, !s->n || begins(s, &tw_tile_sliced_k);
}
static bool is_tile(const tw_problem *p, const tw_schedule *s) {
  return s->n ? !begins(s, &tw_tile_skinny) && !begins(s, &tw_tile_sliced_k) : !tw_tile_skinny_only(p);
}
static bool is_backward(const tw_problem *p, const tw_schedule *s) { return (void)s, tw_attention_of(p).backward; }
static bool is_forward(const tw_problem *p, const tw_schedule *s) { return !is_backward(p, s); }
/* Other sizes of heads have kernels of mma.sync on every machine. */
static bool is_forward_of_wgmma(const tw_problem *p, const tw_schedule *s) {
  const int64_t d = tw_attention_of(p).d;
  return is_forward(p, s) && (d == 64 || d == 128);
}
static bool is_forward_of_other_heads(const tw_problem *p, const tw_schedule *s) {
  return is_forward(p, s) && !is_forward_of_wgmma(p, s);
}
static bool is_backward_of_small_heads(const tw_problem *p, const tw_schedule *s) {
  return is_backward(p, s) && tw_attention_of(p).d == 32;
}
static bool is_backward_of_wgmma(const tw_problem *p, const tw_schedule *s) {
  return is_backward(p, s) && !is_backward_of_small_heads(p, s);
}
/* Generations of machines, by the features that the kernels require. */
enum { HOPPER = 1, MMA_SYNC = 2, BOTH = HOPPER | MMA_SYNC };
static unsigned generation(const cuda_config *c) { return is_hopper(c) ? HOPPER : has_mma_sync(c) ? MMA_SYNC : 0; }

/* The kind of a schedule is the first kind that accepts it. A schedule without steps may become any kind. */
#define PLAINEST_MMA_SYNC                                                                                              \
  { "tile queries=64 keys=32 warps=4", "tile queries=128 keys=32 warps=8", "tile queries=32 keys=64" }
#define PLAINEST_ROW                                                                                                   \
  { "row warps=1", "row warps=8", "row warps=32" }
static const tw_tile_kind table[] = {
    {"gemm", HOPPER, is_tile, &tw_tile_gemm, predict_gemm, {"tile m=64 n=64"}},
    {"gemm", MMA_SYNC, NULL, &tw_tile_gemm_mma_sync, predict_gemm_mma, {"tile m=64 n=64"}},
    {"gemm", HOPPER, is_skinny, &tw_tile_skinny, predict_skinny, {"skinny n=32", "skinny n=16"}},
    {"gemm", HOPPER, is_sliced_k, &tw_tile_sliced_k, predict_sliced_k, {NULL}},
    {"attention",
     HOPPER,
     is_backward_of_wgmma,
     &tw_tile_attention_backward,
     predict_attention_back,
     {"tile queries=64 consumers=2", "tile queries=128 consumers=2"}},
    {"attention", HOPPER, is_forward_of_wgmma, &tw_tile_attention, predict_attention, {"tile keys=64 consumers=1"}},
    {"attention", MMA_SYNC, is_backward, &tw_tile_attention_mma_sync_backward, predict_attention_mma_back,
     PLAINEST_MMA_SYNC},
    {"attention", HOPPER, is_backward_of_small_heads, &tw_tile_attention_mma_sync_backward, predict_attention_mma_back,
     PLAINEST_MMA_SYNC},
    {"attention", MMA_SYNC, is_forward, &tw_tile_attention_mma_sync, predict_attention_mma, PLAINEST_MMA_SYNC},
    {"attention", HOPPER, is_forward_of_other_heads, &tw_tile_attention_mma_sync, predict_attention_mma,
     PLAINEST_MMA_SYNC},
    {"conv2d", HOPPER, NULL, &tw_tile_conv, predict_conv, {"tile x=8 y=8 n=64 consumers=1"}},
    {"conv3d", HOPPER, NULL, &tw_tile_conv, predict_conv, {"tile x=8 y=8 n=64 consumers=1"}},
    {"rotary", BOTH, NULL, &tw_tile_rotary, predict_rows, {"heads 1"}},
    {"layernorm", BOTH, NULL, &tw_tile_layernorm, predict_rows, PLAINEST_ROW},
    {"softmax", BOTH, NULL, &tw_tile_softmax, predict_rows, PLAINEST_ROW},
    {"gate", BOTH, NULL, &tw_tile_gate, predict_rows, {"chunks 1"}},
};
static const tw_tile_kinds kinds = {table, sizeof table / sizeof *table};

const tw_language *cuda_tiles_language(size_t i) { return tw_tile_kinds_language(&kinds, i); }

/* Has the machine the vocabulary, and the op a kernel in it? */
static tw_status kind_of(const cuda_config *c, const tw_tile_machine *machine, const tw_problem *p,
                         const tw_schedule *s, const tw_tile_kind **out, tw_error *error) {
  const char *step = s->n ? s->step[0] : "";
  char ops[TW_TILE_OPS];
  if (!machine->header)
    return tw_fail(error, TW_USAGE,
                   "step '%s': tile kernels require sm_80 or later, and %s is %s; use the empty schedule", step,
                   c->name, c->architecture);
  *out = tw_tile_kind_of(&kinds, generation(c), p, s);
  if (*out) return TW_OK;
  return tw_fail(error, TW_USAGE, "step '%s': %s has no tile kernels on %s, which is %s; expected %s", step,
                 p->op->name, c->name, c->architecture, tw_tile_kinds_ops(&kinds, generation(c), ops));
}

tw_status cuda_tiles_plainest(const cuda_config *c, const tw_problem *p, tw_schedule *out, tw_error *error) {
  tw_error why = {0}, other = {0}; /* other: of kinds that do not fit the problem or the machine */
  *out = (tw_schedule){0};
  if (!cuda_tile_machine(c).header)
    return tw_fail(
        error, TW_USAGE,
        "no kernel for %s on %s, which is %s: tile kernels require sm_80 or later; write one (docs/guide/nvidia.md) "
        "and `tilewright run` it",
        p->op->name, c->name, c->architecture);
  /* From the last kind on: skinny GEMM, which accepts fewer problems, before GEMM. */
  for (size_t i = kinds.n; i-- > 0;)
    for (int j = 0; j < TW_TILE_PLAINEST && table[i].plainest[j]; j++) {
      double cost;
      if (strcmp(table[i].op, p->op->name) != 0) continue;
      const tw_status status = tw_schedule_parse(table[i].plainest[j], out, error);
      if (status != TW_OK) return status;
      const bool is = tw_tile_kind_is(&table[i], generation(c), p, out);
      if (cuda_tiles_predict(c, p, out, &cost, is ? &why : &other) == TW_OK) return TW_OK;
    }
  if (!why.text[0]) why = other;
  if (why.text[0]) return tw_fail(error, TW_USAGE, "%s has no tile kernel for this problem: %s", p->op->name, why.text);
  return tw_fail(error, TW_USAGE, "no CUDA kernel for %s yet; write one (docs/guide/nvidia.md) and `tilewright run` it",
                 p->op->name);
}

tw_status cuda_tiles_emit(const cuda_config *c, const tw_problem *p, const tw_schedule *s, char **source,
                          tw_error *error) {
  const tw_tile_machine machine = cuda_tile_machine(c);
  const tw_tile_kind *k;
  const tw_status status = kind_of(c, &machine, p, s, &k, error);
  return status == TW_OK ? tw_tile_emit(k->family, &machine, p, s, source, error) : status;
}

tw_status cuda_tiles_steps(const cuda_config *c, const tw_problem *p, const tw_schedule *s, tw_menu *out,
                           tw_error *error) {
  const tw_tile_machine machine = cuda_tile_machine(c);
  const model m = {c, p};
  tw_status status = TW_OK;
  *out = (tw_menu){0};
  for (const tw_tile_kind *k = table; machine.header && status == TW_OK && k < table + kinds.n; k++) {
    tw_menu menu;
    if (!tw_tile_kind_is(k, generation(c), p, s)) continue;
    status = tw_tile_steps(k->family, &machine, p, s, k->predict, &m, &menu, error);
    if (status == TW_OK) status = tw_menu_join(out, &menu, error);
  }
  if (status != TW_OK) tw_menu_free(out);
  return status;
}

const tw_language *cuda_tiles_language_of(const cuda_config *c, const tw_problem *p, const tw_schedule *s) {
  const tw_tile_kind *k = tw_tile_kind_of(&kinds, generation(c), p, s);
  return k ? k->family->language : NULL;
}

tw_status cuda_tiles_predict(const cuda_config *c, const tw_problem *p, const tw_schedule *s, double *cost,
                             tw_error *error) {
  const tw_tile_machine machine = cuda_tile_machine(c);
  const model m = {c, p};
  const tw_tile_kind *k;
  const tw_status status = kind_of(c, &machine, p, s, &k, error);
  return status == TW_OK ? tw_tile_predict(k->family, &machine, p, s, k->predict, &m, cost, error) : status;
}
