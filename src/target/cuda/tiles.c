/* tiles.c - see tiles.h. */
#include "target/cuda/tiles.h"

#include <math.h>
#include <string.h>

#include "op/attention.h"
#include "op/gemm_problem.h"
#include "target/cuda/gemm_model.h"
#include "tile/attention.h"
#include "tile/conv_kernel.h"
#include "tile/gemm_few.h"
#include "tile/rows.h"

static bool multiplies(tw_type a, tw_type b) {
  return a == b && (a == TW_BF16 || a == TW_F16 || a == TW_E4M3 || a == TW_E5M2 || a == TW_I8 || a == TW_F32);
}

tw_tile_machine cuda_tile_machine(const cuda_config *c) {
  const bool hopper = strcmp(c->architecture, "sm_90a") == 0;
  return (tw_tile_machine){.header = hopper ? "tile.cuh" : NULL,
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
                           .team = c->cluster > 2 ? 2 : 1, /* larger ones leave processors without a team */
                           .blocks_together = (int)c->cluster,
                           .registers_move = true,
                           .few_rows = hopper,
                           .multiplies = multiplies};
}

/* ---- the model of a gemm: gemm_model.c ---- */

typedef struct model {
  const cuda_config *config;
  tw_gemm g;
} model;

static double predict_gemm(const void *with, const tw_tile_gemm_plan *p) {
  const model *m = with;
  return cuda_gemm_seconds(m->config, &m->g, p);
}

/* L2 to a multiprocessor, and all of it, in bytes a cycle: DeepGEMM's model of the same (its heuristics for sm90). */
static const double L2_BYTES = 64, L2_BYTES_ALL = 6154;
/* Latency of DRAM in cycles, at the start of a kernel: arXiv 2402.13499. */
static const double DRAM_LATENCY = 479;

static double ceil_div(double a, double b) { return ceil(a / b); }

/* ---- the model of few rows ----
 *
 * Memory's bandwidth, unless less is under way than covers its latency, or warps cannot make numbers as fast: instructions of a
 * weight for each 32 of them, of four a cycle of a multiprocessor. */

static const double BEGIN = 2.0e-6,
                    TEAMS = 1.0e-6; /* seconds: until data flow, and from the last of them; sums of a team */

typedef struct few_model {
  const cuda_config *config;
  const tw_problem *problem;
  tw_gemm g;
} few_model;

static double predict_few(const void *with, const tw_tile_few_plan *p) {
  const few_model *m = with;
  const cuda_config *c = m->config;
  const double clock = (double)c->clock_mhz * 1e6, bandwidth = (double)c->memory_gbs * 1e9,
               processors = (double)c->multiprocessors;
  const double blocks = ceil_div((double)m->g.n, p->n) * p->split,
               resident = fmin(p->blocks, ceil_div(blocks, processors));
  const double waves = blocks / (processors * p->blocks), uneven = waves > 1 ? ceil(waves) / waves : 1;
  const double busy = fmin(1, blocks / processors);
  const double stage = (double)p->few * p->k * 2 + (double)p->n * p->bytes;
  const double under_way =
      fmin(p->stages, ceil_div((double)m->g.k, p->k * p->split)) * stage * resident * processors * busy;
  const double needed = bandwidth * 2 * DRAM_LATENCY / clock;
  const double weight = (m->g.b == TW_BF16 || m->g.b == TW_F16 ? 0.5
                         : m->g.b == TW_TERNARY                ? 1.5
                                                               : 2.5) +
                        0.25 * p->few / 8;
  const double make = (double)m->g.n * (double)m->g.k * weight / (processors * busy * 128 * clock);
  const double pieces =
      12.0 * ceil_div((double)m->g.k, p->k * p->split) / clock / resident; /* of each stage: waits, arrivals */
  const double move = m->problem->op->bytes(m->problem) / bandwidth * fmax(1, needed / under_way);
  return BEGIN + (p->split > 1 ? TEAMS : 0) + fmax(move, make) * sqrt(uneven) + pieces;
}

/* ---- the model of rows ----
 *
 * Memory's bandwidth, unless too little is under way to cover its latency (Little's law), or blocks come in too few waves. */

static const double LINE_BYTES = 16 * 32; /* of one load of a warp */

typedef struct rows_model {
  const cuda_config *config;
  const tw_problem *problem;
} rows_model;

static double predict_rows(const void *with, const tw_tile_rows_plan *p) {
  const rows_model *m = with;
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
 * For each tile of keys a group multiplies twice and makes as many exponentials as there are scores, 16 a cycle of a
 * multiprocessor (CUDA C++ Programming Guide, throughput of arithmetic instructions). Groups that take turns do both at the
 * same time; else the products of all wait for the slowest. */

static const double EXPONENTIALS = 16;

typedef struct attention_model {
  const cuda_config *config;
  tw_attention a;
} attention_model;

/* Backward: five products of each group, whose exponentials other groups' products cover; kernels before and after move
 * 4 and 2 bytes of each element of dQ's sums and as many of its operands. */
static double predict_attention_back(const attention_model *m, const tw_tile_attention_plan *p) {
  const tw_attention *a = &m->a;
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

static double predict_attention(const void *with, const tw_tile_attention_plan *p) {
  const attention_model *m = with;
  const tw_attention *a = &m->a;
  if (a->backward) return predict_attention_back(m, p);
  const double queries = 64.0 * p->groups, processors = (double)m->config->multiprocessors;
  const double rows = ceil_div((double)a->queries, queries), all = ceil_div((double)a->keys, p->keys);
  const double blocks = a->causal ? all - (rows - 1) / 2 * queries / p->keys : all; /* of keys, in the mean */
  const double products = p->groups * ((double)a->d / 16 * p->keys / 2 + p->keys / 16.0 * (double)a->d / 2);
  const double weights = p->groups * 64.0 * p->keys / EXPONENTIALS;
  const double copy = 2.0 * p->keys * (double)a->d * 2 / (L2_BYTES_ALL / processors);
  const double step = fmax(p->turns ? fmax(products, weights) : products + weights / 2, copy);
  const double each = blocks * step + DRAM_LATENCY + queries * (double)a->d * 4 / L2_BYTES;
  const double rounds = ceil_div(rows * (double)a->query_heads * (double)a->batches, processors);
  return rounds * each / ((double)m->config->clock_mhz * 1e6);
}

/* ---- the model of convolutions ----
 *
 * What is written before moves through memory twice; then products, as gemm's model has them, or the output's bytes. */

static const double MULTIPLIED = 0.8, WRITTEN = 0.6; /* of peaks: tensor cores in long sums; DRAM, in strides */

typedef struct conv_model {
  const cuda_config *config;
  const tw_problem *problem;
  tw_conv v;
} conv_model;

static double predict_conv(const void *with, const tw_tile_conv_plan *p) {
  const conv_model *m = with;
  const tw_conv *v = &m->v;
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

static const tw_tile_rows *rows_of(const tw_problem *p) {
  static const tw_tile_rows *const all[] = {&tw_tile_rotary, &tw_tile_layernorm, &tw_tile_softmax};
  for (size_t i = 0; i < sizeof all / sizeof *all; i++)
    if (strcmp(p->op->name, all[i]->op) == 0) return all[i];
  return NULL;
}

static bool is_gemm(const tw_problem *p) { return strcmp(p->op->name, "gemm") == 0; }
/* Is it a product of few rows? The first step says so, or weights that only that can read. */
static bool is_few(const tw_problem *p, const tw_schedule *s) {
  return is_gemm(p) && (s->n ? strncmp(s->step[0], "few ", 4) == 0 : tw_tile_few_only(p));
}

static bool is_attention(const tw_problem *p) { return strcmp(p->op->name, "attention") == 0; }
static bool is_conv(const tw_problem *p) {
  return strcmp(p->op->name, "conv2d") == 0 || strcmp(p->op->name, "conv3d") == 0;
}

/* Has the machine the vocabulary, and the op a kernel in it? */
static tw_status check(const cuda_config *c, const tw_tile_machine *machine, const tw_problem *p, const tw_schedule *s,
                       tw_error *error) {
  const char *step = s->n ? s->step[0] : "";
  if (!machine->header)
    return tw_fail(error, TW_USAGE, "step '%s': kernels of tiles need sm_90a, and %s is %s: leave the schedule empty",
                   step, c->name, c->architecture);
  if (is_gemm(p) || is_attention(p) || is_conv(p) || rows_of(p)) return TW_OK;
  return tw_fail(
      error, TW_USAGE,
      "step '%s': %s has no kernels of tiles; gemm, conv2d, conv3d, attention, rotary, layernorm and softmax have",
      step, p->op->name);
}

/* Small tiles first. */
static const struct {
  const char *op, *steps;
} plainest[] = {
    {"gemm", "few n=32"},
    {"gemm", "few n=16"},
    {"attention", "tile keys=64 groups=1"},
    {"attention", "tile queries=64 groups=2"},
    {"attention", "tile queries=128 groups=2"},
    {"conv2d", "tile x=8 y=8 n=64 groups=1"},
    {"conv3d", "tile x=8 y=8 n=64 groups=1"},
    {"rotary", "heads 1"},
    {"layernorm", "row warps=1"},
    {"layernorm", "row warps=8"},
    {"layernorm", "row warps=32"},
    {"softmax", "row warps=1"},
    {"softmax", "row warps=8"},
    {"softmax", "row warps=32"},
};

tw_status cuda_tiles_plainest(const cuda_config *c, const tw_problem *p, tw_schedule *out, tw_error *error) {
  tw_error why = {0};
  *out = (tw_schedule){0};
  if (!cuda_tile_machine(c).header)
    return tw_fail(error, TW_USAGE,
                   "there is no kernel for %s on %s, which is %s: kernels of tiles need sm_90a; write one "
                   "(docs/cuda.md) and `tilewright run` it",
                   p->op->name, c->name, c->architecture);
  for (size_t i = 0; i < sizeof plainest / sizeof *plainest; i++) {
    double cost;
    if (strcmp(plainest[i].op, p->op->name) != 0) continue;
    const tw_status status = tw_schedule_parse(plainest[i].steps, out, error);
    if (status != TW_OK || cuda_tiles_predict(c, p, out, &cost, &why) == TW_OK) return status;
  }
  if (why.text[0])
    return tw_fail(error, TW_USAGE, "%s has no kernel of tiles for this problem: %s", p->op->name, why.text);
  return tw_fail(error, TW_USAGE,
                 "there is no CUDA kernel for %s yet: write one (docs/cuda.md) and `tilewright run` it", p->op->name);
}

tw_status cuda_tiles_emit(const cuda_config *c, const tw_problem *p, const tw_schedule *s, char **source,
                          tw_error *error) {
  const tw_tile_machine machine = cuda_tile_machine(c);
  const tw_status status = check(c, &machine, p, s, error);
  if (status != TW_OK) return status;
  if (is_few(p, s)) return tw_tile_few_emit(&machine, p, s, source, error);
  if (is_gemm(p)) return tw_tile_gemm_emit(&machine, p, s, source, error);
  if (is_attention(p)) return tw_tile_attention_emit(&machine, p, s, source, error);
  if (is_conv(p)) return tw_tile_conv_emit(&machine, p, s, source, error);
  return rows_of(p)->emit(&machine, p, s, source, error);
}

/* Two structures: what has no step yet may become either. */
static tw_status gemm_steps(const cuda_config *c, const tw_tile_machine *machine, const tw_problem *p,
                            const tw_schedule *s, tw_menu *out, tw_error *error) {
  const model m = {c, tw_gemm_of(p)};
  const few_model few = {c, p, tw_gemm_of(p)};
  const bool either = !s->n && !tw_tile_few_only(p);
  tw_menu more = {0};
  tw_status status = TW_OK;
  if ((either || !is_few(p, s)) && tw_tile_gemm_supports(p, NULL) == TW_OK)
    status = tw_tile_gemm_steps(machine, p, s, predict_gemm, &m, out, error);
  if (status == TW_OK && (either || is_few(p, s)) && tw_tile_few_supports(machine, p, NULL) == TW_OK)
    status = tw_tile_few_steps(machine, p, s, predict_few, &few, &more, error);
  return status == TW_OK ? tw_menu_join(out, &more, error) : status;
}

tw_status cuda_tiles_steps(const cuda_config *c, const tw_problem *p, const tw_schedule *s, tw_menu *out,
                           tw_error *error) {
  const tw_tile_machine machine = cuda_tile_machine(c);
  *out = (tw_menu){0};
  if (check(c, &machine, p, s, NULL) != TW_OK) return TW_OK;
  if (is_gemm(p)) return gemm_steps(c, &machine, p, s, out, error);
  if (is_attention(p)) {
    const attention_model m = {c, tw_attention_of(p)};
    if (tw_tile_attention_supports(p, NULL) != TW_OK) return TW_OK;
    return tw_tile_attention_steps(&machine, p, s, predict_attention, &m, out, error);
  }
  if (is_conv(p)) {
    if (tw_tile_conv_supports(p, NULL) != TW_OK) return TW_OK;
    const conv_model m = {c, p, tw_tile_conv_of(p)};
    return tw_tile_conv_steps(&machine, p, s, predict_conv, &m, out, error);
  }
  const rows_model m = {c, p};
  return rows_of(p)->steps(&machine, p, s, predict_rows, &m, out, error);
}

static tw_status predict_of_few(const cuda_config *c, const tw_tile_machine *machine, const tw_problem *p,
                                const tw_schedule *s, double *cost, tw_error *error) {
  const few_model m = {c, p, tw_gemm_of(p)};
  tw_tile_few_plan plan;
  const tw_status status = tw_tile_few_plan_of(machine, p, s, &plan, error);
  if (status == TW_OK) *cost = predict_few(&m, &plan);
  return status;
}

static tw_status predict_of_gemm(const cuda_config *c, const tw_tile_machine *machine, const tw_problem *p,
                                 const tw_schedule *s, double *cost, tw_error *error) {
  const model m = {c, tw_gemm_of(p)};
  tw_tile_gemm_plan plan;
  const tw_status status = tw_tile_gemm_plan_of(machine, p, s, &plan, error);
  if (status == TW_OK) *cost = predict_gemm(&m, &plan);
  return status;
}

static tw_status predict_of_attention(const cuda_config *c, const tw_tile_machine *machine, const tw_problem *p,
                                      const tw_schedule *s, double *cost, tw_error *error) {
  const attention_model m = {c, tw_attention_of(p)};
  tw_tile_attention_plan plan;
  const tw_status status = tw_tile_attention_plan_of(machine, p, s, &plan, error);
  if (status == TW_OK) *cost = predict_attention(&m, &plan);
  return status;
}

static tw_status predict_of_conv(const cuda_config *c, const tw_tile_machine *machine, const tw_problem *p,
                                 const tw_schedule *s, double *cost, tw_error *error) {
  tw_tile_conv_plan plan;
  tw_status status = tw_tile_conv_supports(p, error);
  const conv_model m = {c, p, tw_tile_conv_of(p)};
  if (status == TW_OK) status = tw_tile_conv_plan_of(machine, p, s, &plan, error);
  if (status == TW_OK) *cost = predict_conv(&m, &plan);
  return status;
}

static tw_status predict_of_rows(const cuda_config *c, const tw_tile_machine *machine, const tw_problem *p,
                                 const tw_schedule *s, double *cost, tw_error *error) {
  const rows_model m = {c, p};
  tw_tile_rows_plan plan;
  const tw_status status = rows_of(p)->plan(machine, p, s, &plan, error);
  if (status == TW_OK) *cost = predict_rows(&m, &plan);
  return status;
}

tw_status cuda_tiles_predict(const cuda_config *c, const tw_problem *p, const tw_schedule *s, double *cost,
                             tw_error *error) {
  const tw_tile_machine machine = cuda_tile_machine(c);
  const tw_status status = check(c, &machine, p, s, error);
  if (status != TW_OK) return status;
  if (is_few(p, s)) return predict_of_few(c, &machine, p, s, cost, error);
  if (is_gemm(p)) return predict_of_gemm(c, &machine, p, s, cost, error);
  if (is_attention(p)) return predict_of_attention(c, &machine, p, s, cost, error);
  if (is_conv(p)) return predict_of_conv(c, &machine, p, s, cost, error);
  return predict_of_rows(c, &machine, p, s, cost, error);
}
