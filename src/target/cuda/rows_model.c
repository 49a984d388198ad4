/* rows_model.c - predicts row kernels. */
#include "target/cuda/models.h"

#include <math.h>

#include "gpu/common/rows.h"
#include "gpu/nvidia/pool.h"
#include "gpu/nvidia/reduce.h"
#include "gpu/nvidia/rows_split.h"
#include "op/pool.h"

/* ---- the model of rows ----
 *
 * Memory's bandwidth, unless too few bytes are in flight to cover its latency (Little's law), or the blocks run in too
 * few waves. */

static const double LINE_BYTES = 16 * 32; /* bytes of one load of a warp */

double cuda_predict_rows(const void *with, const void *plan) {
  const cuda_model *m = with;
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
  const double needed = bandwidth / (double)c->multiprocessors * (CUDA_DRAM_LATENCY / clock);
  const double waves = (double)p->blocks / (resident * (double)c->multiprocessors);
  return CUDA_DRAM_LATENCY / clock +
         m->problem->op->bytes(m->problem) / bandwidth * fmax(1, needed / under_way) * ceil(waves) / waves;
}

/* With `lag`: rows come from the L2 again if what is read in between fits there, and no block waits if a row's measures are done before the blocks
 * begin that need them. */
static bool is_kept(const cuda_config *c, const tw_tile_rows_split_plan *p, double row_bytes) {
  const double blocks = floor((double)c->threads / p->threads) * (double)c->multiprocessors,
               under_way = blocks * row_bytes / p->blocks;
  return 2.0 * p->lag * p->blocks >= blocks && p->lag * row_bytes + under_way < (double)c->l2_bytes;
}

/* The second reading of the rows, and a second kernel that waits for the first. */
double cuda_predict_rows_split(const void *with, const void *plan) {
  const cuda_model *m = with;
  const tw_tile_rows_split_plan *p = plan;
  const double rows = (double)tw_problem_int(m->problem, "rows"), cols = (double)tw_problem_int(m->problem, "cols");
  const tw_tile_rows_plan all = {.chunks = p->each, .blocks = (int64_t)rows * p->blocks, .block_threads = p->threads};
  const double once = cuda_predict_rows(m, &all), bytes = m->problem->op->bytes(m->problem);
  const double again = rows * cols * tw_type_bits(tw_problem_type(m->problem, "a")) / 8;
  const double clock = (double)m->config->clock_mhz * 1e6, l2 = CUDA_L2_BYTES_ALL * clock;
  return once + (is_kept(m->config, p, again / rows) ? again / l2 : once * again / bytes) +
         4 * CUDA_DRAM_LATENCY / clock;
}

/* As rows; a second kernel joins the parts of lines. Fewer neighbours than a warp load parts of lines of memory. */
double cuda_predict_reduce(const void *with, const void *plan) {
  const cuda_model *m = with;
  const tw_tile_reduce_plan *p = plan;
  const int64_t bytes = (int64_t)p->loads * p->piece_bytes, width = p->threads / p->lanes;
  const tw_tile_rows_plan all = {.chunks = bytes < 16 ? 1 : bytes / 16, .blocks = p->grid, .block_threads = p->threads};
  const bool scattered = tw_problem_int(m->problem, "inner") > 1 && width * p->piece_bytes < 64;
  const double join = p->blocks > 1 ? 4 * CUDA_DRAM_LATENCY / ((double)m->config->clock_mhz * 1e6) : 0;
  return cuda_predict_rows(m, &all) * (scattered ? 64 / (double)(width * p->piece_bytes) : 1) + join;
}

/* Memory's bandwidth, or the loads and exchanges of warps: in a cycle, the L1 serves 128 bytes of neighbours, and 32
 * threads exchange a register (CUDA C++ Programming Guide, throughput of native arithmetic instructions). */
double cuda_predict_pool(const void *with, const void *plan) {
  const cuda_model *m = with;
  const tw_tile_pool_plan *p = plan;
  const tw_pool l = tw_pool_of(m->problem);
  const double clock = (double)m->config->clock_mhz * 1e6, size = tw_type_bits(l.type) / 8.0;
  const double rows = fmin((double)(l.window[1] * p->outputs),
                           (double)((p->outputs - 1) * l.stride[1] + (l.window[1] - 1) * l.dilation + 1));
  const double warps = (double)(p->blocks * p->threads) / 32 / (double)m->config->multiprocessors;
  const double of_row = p->vectors ? p->vectors * (LINE_BYTES / 128 + 16 / size * ceil(log2((double)l.window[2])))
                                   : (double)l.window[2] * ceil(32 * size * (double)l.stride[2] / 128);
  return CUDA_DRAM_LATENCY / clock + fmax(warps * (double)l.window[0] * rows * of_row / clock,
                                          m->problem->op->bytes(m->problem) / ((double)m->config->memory_gbs * 1e9));
}
