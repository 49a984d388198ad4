/* attention_model.c - predicts attention, forward and backward, with wgmma and with mma.sync. */
#include "target/cuda/models.h"

#include <math.h>

#include "gpu/nvidia/attention.h"
#include "gpu/nvidia/attention_decode.h"
#include "gpu/nvidia/attention_mma_sync.h"
#include "op/attention.h"
#include "target/cuda/gemm_model.h"

/* ---- the model of attention ----
 *
 * For each tile of keys a warpgroup multiplies twice and computes one exponential per score, at 16 per cycle and
 * multiprocessor (CUDA C++ Programming Guide, throughput of arithmetic instructions). With ping-pong, warpgroups do
 * both at the same time; otherwise all products wait for the slowest warpgroup. */

static const double EXPONENTIALS = 16;

/* The average number of blocks of keys that a block of queries reads, of `all` blocks. */
static double seen_blocks(const tw_attention *a, double all, double rows, double queries, double keys) {
  const double causal = a->causal ? all - (rows - 1) / 2 * queries / keys : all;
  return a->window ? fmin(causal, ((double)a->window + queries) / keys) : causal;
}

/* Backward: each group computes five products; their exponentials overlap with other groups' products. The kernels
 * before and after this kernel move 14 bytes for each element of Q. */
double cuda_predict_attention_backward(const void *with, const void *plan) {
  const cuda_model *m = with;
  const tw_tile_attention_plan *p = plan;
  const tw_attention of = tw_attention_of(m->problem), *a = &of;
  const double processors = (double)m->config->multiprocessors, clock = (double)m->config->clock_mhz * 1e6;
  const double tiles = cuda_ceil_div((double)a->queries, p->queries), blocks = cuda_ceil_div((double)a->keys, p->keys);
  const double each = (double)a->group * (a->causal ? (tiles + 1) / 2 : tiles);
  const double products = 5.0 * p->groups * (double)a->d / 16 * p->queries / 2;
  const double weights = 64.0 * p->groups * p->queries / EXPONENTIALS;
  const double step =
      fmax(products, 64 * p->groups * (double)a->d * 4 / (CUDA_L2_BYTES_ALL / processors)) + weights / 2 / p->groups;
  const double rounds = cuda_ceil_div(blocks * (double)a->key_heads * (double)a->batches, processors);
  const double elements = (double)a->batches * (double)a->query_heads * (double)a->queries * (double)a->d;
  return rounds * (each * step + CUDA_DRAM_LATENCY) / clock + elements * 14 / ((double)m->config->memory_gbs * 1e9);
}

double cuda_predict_attention(const void *with, const void *plan) {
  const cuda_model *m = with;
  const tw_tile_attention_plan *p = plan;
  const tw_attention of = tw_attention_of(m->problem), *a = &of;
  const double queries = 64.0 * p->groups, processors = (double)m->config->multiprocessors;
  const double rows = cuda_ceil_div((double)a->queries, queries), all = cuda_ceil_div((double)a->keys, p->keys);
  const double blocks = seen_blocks(a, all, rows, queries, p->keys);
  const double products = p->groups * (p->width / 16.0 * p->keys / 2 + p->keys / 16.0 * p->width / 2);
  const double weights = p->groups * 64.0 * p->keys / EXPONENTIALS;
  const double copy = 2.0 * p->keys * p->width * 2 / (CUDA_L2_BYTES_ALL / processors);
  const double step = fmax(p->pingpong ? fmax(products, weights) : products + weights / 2, copy);
  const double each =
      blocks * step + (p->persistent ? 0 : CUDA_DRAM_LATENCY) + queries * (double)a->d * 4 / CUDA_L2_BYTES;
  const double rounds = cuda_ceil_div(rows * (double)a->query_heads * (double)a->batches, processors);
  return rounds * each / ((double)m->config->clock_mhz * 1e6);
}

/* Without wgmma, a block's products, reads of shared memory and exponentials follow one another, unless the
 * multiprocessor has another block to run. */
double cuda_predict_attention_mma(const void *with, const void *plan) {
  const cuda_model *m = with;
  const tw_tile_attention_mma_plan *p = plan;
  const tw_attention of = tw_attention_of(m->problem), *a = &of;
  const double processors = (double)m->config->multiprocessors, clock = (double)m->config->clock_mhz * 1e6;
  const double rows = cuda_ceil_div((double)a->queries, p->queries), all = cuda_ceil_div((double)a->keys, p->keys);
  const double steps = seen_blocks(a, all, rows, p->queries, p->keys);
  const double rate = cuda_mma_sync_rate(m->config, a->type);
  const double products = 4.0 * p->queries * p->keys * (double)a->d / rate;
  const double reads = ((double)p->queries + 2.0 * p->keys * p->warps) * (double)a->d * 2 / 128;
  const double weights = (double)p->queries * p->keys / EXPONENTIALS,
               tiles = rows * (double)a->query_heads * (double)a->batches;
  const double together = fmin(p->blocks, cuda_ceil_div(tiles, processors));
  const double alone = fmax(products, reads) + weights + (p->stages > 1 ? 0 : CUDA_DRAM_LATENCY / 2);
  const double step = fmax(alone, together * fmax(fmax(products, reads), weights) + weights / 2);
  const double each = steps * step + 2 * CUDA_DRAM_LATENCY + p->queries * (double)a->d * 4 / CUDA_L2_BYTES;
  return cuda_ceil_div(tiles, processors * together) * each / clock;
}

/* Five products; the sums of the fifth are added to memory individually. */
double cuda_predict_attention_mma_backward(const void *with, const void *plan) {
  const cuda_model *m = with;
  const tw_tile_attention_mma_plan *p = plan;
  const tw_attention of = tw_attention_of(m->problem), *a = &of;
  const double processors = (double)m->config->multiprocessors, clock = (double)m->config->clock_mhz * 1e6;
  const double tiles = cuda_ceil_div((double)a->queries, p->queries), blocks = cuda_ceil_div((double)a->keys, p->keys);
  const double each = (double)a->group * (a->causal ? (tiles + 1) / 2 : tiles), d = (double)a->d;
  const double products = 10.0 * p->queries * p->keys * d / cuda_mma_sync_rate(m->config, a->type);
  /* Of 16 x 16 blocks: 32 keys and half of the queries for scores and gradients; the same and half of d for dV, dK. */
  const double q = p->queries,
               reads = p->warps *
                       (2 * (32 + q / 2) * d + 2 * (32 + d / 2) * q + (32 + q * d / p->warps / 32) * p->keys) * 2 / 128;
  const double weights = (double)p->queries * p->keys / EXPONENTIALS,
               added = p->queries * d * 4 / (CUDA_L2_BYTES_ALL / processors);
  const double all = blocks * (double)a->key_heads * (double)a->batches;
  const double together = fmin(p->blocks, cuda_ceil_div(all, processors));
  const double step = together * fmax(products, reads) + weights + added + CUDA_DRAM_LATENCY / 4 / together;
  const double elements = (double)a->batches * (double)a->query_heads * (double)a->queries * d;
  return cuda_ceil_div(all, processors * together) * (each * step + 2 * CUDA_DRAM_LATENCY) / clock +
         elements * 14 / ((double)m->config->memory_gbs * 1e9);
}

/* Few queries: a warp's step takes as long as its products and exponentials, as its share of the memory's bandwidth, or as the latency of
 * its copies, of which stages - 1 are in flight. A second kernel starts and reads the sums of all blocks from the L2. */
double cuda_predict_attention_decode(const void *with, const void *plan) {
  const cuda_model *m = with;
  const tw_tile_attention_decode_plan *p = plan;
  const tw_attention of = tw_attention_of(m->problem), *a = &of;
  const double processors = (double)m->config->multiprocessors, clock = (double)m->config->clock_mhz * 1e6;
  const double seen = a->window ? fmin((double)a->keys, (double)(a->window + a->queries)) : (double)a->keys;
  const double blocks = (double)p->splits * (double)a->batches * (double)a->key_heads, d = (double)a->d;
  const double together = fmin(p->blocks, cuda_ceil_div(blocks, processors)), warps = p->warps * together;
  const double steps = cuda_ceil_div(cuda_ceil_div(seen, p->keys), (double)p->splits * p->warps);
  const double moved = 2.0 * p->keys * d * 2; /* bytes of a step */
  const double products = 4.0 * p->rows * p->keys * d / cuda_mma_sync_rate(m->config, a->type);
  const double alone = fmax(4 * products, moved / 128) + (double)p->rows * p->keys / EXPONENTIALS * 4;
  const double memory =
      (double)m->config->memory_gbs * 1e9 / clock / fmin(processors, blocks); /* bytes a cycle of a multiprocessor */
  const double step =
      fmax(fmax(alone, warps / 4 * alone), fmax(warps * moved / memory, 2 * CUDA_DRAM_LATENCY / (p->stages - 1)));
  const double end = p->warps * (double)p->rows * d * 4 / 32;
  const double second =
      p->splits > 1 ? 4 * CUDA_DRAM_LATENCY + blocks * p->rows * d * 8 / CUDA_L2_BYTES_ALL + p->splits * 16.0 : 0;
  return (cuda_ceil_div(blocks, processors * together) * (steps * step + 2 * CUDA_DRAM_LATENCY + end) + second) / clock;
}
