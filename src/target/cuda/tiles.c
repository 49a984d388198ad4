/* tiles.c - see tiles.h. */
#include "target/cuda/tiles.h"

#include <math.h>
#include <string.h>

#include "op/gemm.h"
#include "tile/gemm.h"

static bool multiplies(tw_type a, tw_type b) {
  return a == b && (a == TW_BF16 || a == TW_F16 || a == TW_E4M3 || a == TW_E5M2 || a == TW_I8);
}

tw_tile_machine cuda_tile_machine(const cuda_config *c) {
  const bool hopper = strcmp(c->architecture, "sm_90a") == 0;
  return (tw_tile_machine){.header = hopper ? "tile.cuh" : NULL,
                           .processors = (int)c->multiprocessors,
                           .shared_bytes = c->shared_block,
                           .registers = (int)c->registers,
                           .block_threads = 1024,
                           .group_threads = 128,
                           .group_rows = 64,
                           .columns = 256,
                           .panel_bytes = 128,
                           .copy_alignment = 16,
                           .team = c->cluster > 2 ? 2 : 1, /* larger ones leave processors without a team */
                           .registers_move = true,
                           .multiplies = multiplies};
}

/* ---- the model of a gemm ----
 *
 * Every processor goes through its share of the tiles. A step along k takes as long as its slowest part: the products (a
 * wgmma of N columns takes N / 2 cycles, and as long as shared memory takes for its operands, at 128 bytes a cycle), or
 * the copies from L2. Behind a tile its results are stored, unless another group multiplies meanwhile. */

/* L2 to a multiprocessor, and all of it, in bytes a cycle: DeepGEMM's model of the same (its heuristics for sm90). */
static const double L2_BYTES = 64, L2_BYTES_ALL = 6154, SHARED_BYTES = 128;
/* Latency of an L2 hit and of DRAM in cycles, at the start of a kernel: arXiv 2402.13499. */
static const double L2_LATENCY = 263, DRAM_LATENCY = 479;

typedef struct model {
  const cuda_config *config;
  tw_gemm g;
} model;

static double ceil_div(double a, double b) { return ceil(a / b); }

static double predict_gemm(const void *with, const tw_tile_gemm_plan *p) {
  const model *m = with;
  const double size = tw_type_bits(m->g.a) / 8.0, size_c = tw_type_bits(m->g.c) / 8.0;
  const double processors = (double)m->config->multiprocessors, team = p->team_m * p->team_n;
  const double tiles = ceil_div((double)m->g.m, p->m * p->team_m) * ceil_div((double)m->g.n, p->n * p->team_n);
  const double teams = floor(processors / team), rounds = ceil_div(tiles, teams),
               steps = ceil_div((double)m->g.k, p->k);
  const double busy = fmin(processors, tiles * team);
  const double products = p->m / 64.0 * (p->k * size / 32), cycles = fmax(p->n / 2.0, (64 + p->n) * 32 / SHARED_BYTES);
  const double bytes = ((double)p->m / p->team_n + (double)p->n / p->team_m) * p->k * size;
  const double copy = bytes / fmin(L2_BYTES, L2_BYTES_ALL / busy);
  const double step = fmax(products * cycles, copy);
  const double store = p->m * p->n * size_c / fmin(L2_BYTES, L2_BYTES_ALL / busy) + L2_LATENCY;
  const double each = steps * step + (p->turns ? 0 : store);
  const double chip = (DRAM_LATENCY + rounds * each + store) / ((double)m->config->clock_mhz * 1e6);
  const double memory = ((double)m->g.m * (double)m->g.k * size + (double)m->g.n * (double)m->g.k * size +
                         (double)m->g.m * (double)m->g.n * size_c) /
                        ((double)m->config->memory_gbs * 1e9);
  return fmax(chip, memory);
}

/* ---- families ---- */

static tw_status no_family(const cuda_config *c, const tw_problem *p, const tw_schedule *s, tw_error *error) {
  if (strcmp(c->architecture, "sm_90a") != 0)
    return tw_fail(error, TW_USAGE, "step '%s': kernels of tiles need sm_90a, and %s is %s: leave the schedule empty",
                   s->n ? s->step[0] : "", c->name, c->architecture);
  return tw_fail(error, TW_USAGE, "step '%s': %s has no kernels of tiles; gemm has", s->n ? s->step[0] : "",
                 p->op->name);
}

static bool has_family(const tw_tile_machine *machine, const tw_problem *p) {
  return machine->header && strcmp(p->op->name, "gemm") == 0;
}

tw_status cuda_tiles_emit(const cuda_config *c, const tw_problem *p, const tw_schedule *s, char **source,
                          tw_error *error) {
  const tw_tile_machine machine = cuda_tile_machine(c);
  return has_family(&machine, p) ? tw_tile_gemm_emit(&machine, p, s, source, error) : no_family(c, p, s, error);
}

tw_status cuda_tiles_steps(const cuda_config *c, const tw_problem *p, const tw_schedule *s, tw_menu *out,
                           tw_error *error) {
  const tw_tile_machine machine = cuda_tile_machine(c);
  *out = (tw_menu){0};
  if (!has_family(&machine, p) || tw_tile_gemm_supports(p, NULL) != TW_OK) return TW_OK;
  const model m = {c, tw_gemm_of(p)};
  return tw_tile_gemm_steps(&machine, p, s, predict_gemm, &m, out, error);
}

tw_status cuda_tiles_predict(const cuda_config *c, const tw_problem *p, const tw_schedule *s, double *cost,
                             tw_error *error) {
  const tw_tile_machine machine = cuda_tile_machine(c);
  tw_tile_gemm_plan plan;
  if (!has_family(&machine, p)) return no_family(c, p, s, error);
  const tw_status status = tw_tile_gemm_plan_of(&machine, p, s, &plan, error);
  const model m = {c, tw_gemm_of(p)};
  if (status == TW_OK) *cost = predict_gemm(&m, &plan);
  return status;
}
