/* gemm_model.c - see gemm_model.h.
 *
 * Every multiprocessor processes its share of the tiles: rounds of clusters, the last one often half empty (wave
 * quantization). A step along k takes as long as the slowest of
 *
 *   multiplying   the tensor core's rate for the types
 *   shared memory 128 bytes a cycle: a product of 64 rows reads 64 rows of A and all columns of B; copies write both
 *   waiting       the latency of a copy, divided by the stages in flight
 *
 * and a little longer if two of these times are close. In addition the operands are read from DRAM: once if the L2
 * cache holds them, otherwise again for each wave of tiles, depending on the shape of the band.
 *
 * Rates, sizes and clocks are the machine's. FIT marks constants that are fitted to the times of 116 kernels at 1024
 * and 8192 (m = n = k) on an H100 in tests/data/cuda/gemm_tiles_h100.csv; tests/cuda/test_cuda_model.c tests them at
 * 2048 and 4096. */
#include "target/cuda/gemm_model.h"

#include <math.h>

#include "target/cuda/models.h"

/* a wgmma's rows of A and bytes along k; bytes per cycle of shared memory */
enum { PRODUCT_ROWS = 64, PRODUCT_BYTES = 32, SHARED_BYTES = 128 };

static const double MULTIPLIED = 0.807;   /* FIT: share of the tensor core's peak rate, under the power limit */
static const double SHARED = 0.85;        /* FIT: share of shared memory's rate */
static const double LATENCY = 2643;       /* FIT: cycles from a request to a full stage, under load */
static const double START = 3482;         /* FIT: cycles before the first product and after the last */
static const double CLUSTER_WAIT = 0.662; /* FIT: factor for both, if two blocks wait for each other */
static const double COPIED =
    0.85; /* share of DRAM's bandwidth that copy kernels reach (docs/lab/2026-11-nvidia-kernels.md) */
static const double DRAM = 0.454; /* FIT: share of DRAM's nominal bandwidth, for operands in tiles */
static const double PIECES =
    1.8; /* FIT: a cycle, that a group copies by threads: 4096 in bf16, pitches of 4 and 8 bytes, H200 */
static const double ELEMENTS = 1.34; /* FIT: likewise, copied element by element */
static const double CLEARED =
    1e-6; /* launch of a kernel of one block, which overlaps with the next (docs/lab/2026-11-nvidia-kernels.md) */
enum { STEP_POWER = 6, WHOLE_POWER = 3 }; /* exponents: the larger, the more the slowest part decides */

static double together(double a, double b, double power) { return pow(pow(a, power) + pow(b, power), 1 / power); }

static double rate_of(const cuda_config *c, tw_type type) {
  return cuda_config_peak(c, type) / ((double)c->multiprocessors * (double)c->clock_mhz * 1e6);
}

/* Bytes read from DRAM. A wave of tiles is `band` tiles high (or wide); its other side follows from the number of
 * tiles. */
static double traffic(const cuda_config *c, const tw_gemm *g, const tw_tile_gemm_plan *p, double tiles,
                      double clusters) {
  const double size = tw_type_bits(g->a) / 8.0, m = (double)g->m, n = (double)g->n, k = (double)g->k;
  const double rows = p->m * p->cluster_m, columns = p->n * p->cluster_n;
  const double wave = fmin(tiles, clusters * (p->pingpong ? p->groups : 1));
  const double across = fmin(p->band > 0 ? p->band : 1, ceil(p->band_columns ? n / columns : m / rows));
  const double high = p->band_columns ? wave / across : across, wide = p->band_columns ? across : wave / across;
  const double each = (fmin(high * rows, m) + fmin(wide * columns, n)) * k * size;
  const double least = (m + n) * k * size, kept = fmin(1, (double)c->l2_bytes / least);
  return fmax(least, least * kept + tiles / wave * each * (1 - kept)) + m * n * tw_type_bits(g->c) / 8.0;
}

/* Cycles in which the threads of a warpgroup copy their part of an operand's stage; 0: the copy is asynchronous. */
static double by_threads(bool copies, int piece, double elements, double size) {
  return copies ? 0 : piece ? elements * size / piece / PIECES : elements / ELEMENTS;
}

/* A product of f32 as bf16 parts is a bf16 product with a longer k. The kernel that writes the parts moves the f32
 * operands and the parts once; partial sums of blocks move twice. */
double cuda_gemm_seconds(const cuda_config *c, const tw_gemm *problem, const tw_tile_gemm_plan *p) {
  tw_gemm parts = *problem;
  const tw_gemm *g = &parts;
  parts.a = tw_tile_gemm_factor(p, problem->a);
  if (p->products) parts.k *= p->products;
  const double m = (double)g->m, n = (double)g->n, k = (double)problem->k;
  const double factors = p->products ? (m + n) * k * (4 + 2 * tw_tile_parts_of(p->products).planes) : 0;
  const double size = tw_type_bits(g->a) / 8.0;
  const double moved = factors + (p->parts > 1 ? 8 * m * n * p->parts : 0) +
                       2 * k * size * ((p->moved_a ? m : 0) + (p->moved_b ? n : 0));
  const double shares = p->split * (p->parts > 1 ? p->parts : 1);
  const double cluster = p->cluster_m * p->cluster_n * shares,
               wait = p->cluster_m * p->cluster_n * p->split > 1 ? 1 + CLUSTER_WAIT : 1;
  const double tiles = ceil((double)g->m / (p->m * p->cluster_m)) * ceil((double)g->n / (p->n * p->cluster_n));
  const double clusters = floor((double)c->multiprocessors / cluster);
  const double rounds = p->stream_k ? tiles / clusters : ceil(tiles / clusters);
  /* A block writes the sums of one tile to the L2 and reads another block's; a kernel before it clears the flags. */
  const double left = p->stream_k ? 2.0 * p->m * p->n * 4 / CUDA_L2_BYTES / ((double)c->clock_mhz * 1e6) + CLEARED : 0;
  const double steps = ceil((double)g->k / ((double)p->k * shares));
  const double multiply = 2.0 * p->m * p->n * p->k / rate_of(c, g->a) / MULTIPLIED;
  const double reads =
      (double)p->m / PRODUCT_ROWS * (p->k * size / PRODUCT_BYTES) * (PRODUCT_ROWS + p->n) * PRODUCT_BYTES;
  const double shared = (reads + (p->m + p->n) * p->k * size) / SHARED_BYTES / SHARED;
  const double waiting = LATENCY * wait / p->stages;
  const double threads = by_threads(p->copies_a, p->piece_a, (double)p->m * p->k, size) +
                         by_threads(p->copies_b, p->piece_b, (double)p->n * p->k, size);
  const double step = fmax(together(together(multiply, shared, STEP_POWER), waiting, STEP_POWER), threads);
  const double cycles = rounds * steps * step + START * wait;
  const double dram = traffic(c, g, p, tiles, clusters) / (DRAM * (double)c->memory_gbs * 1e9);
  return together(cycles / ((double)c->clock_mhz * 1e6), dram, WHOLE_POWER) + left +
         moved / (COPIED * (double)c->memory_gbs * 1e9);
}

/* ---- mma.sync ----
 *
 * A multiprocessor has `blocks` tiles at once. One step of all of them takes as long as the slowest of
 * multiplication, shared memory (operands that warps read, tiles that are copied) and the latency of copies divided
 * by the tiles in flight. A single block also waits for its barrier. Several blocks hide each other's waits, and one
 * can start or store while another multiplies. The constants are not fitted. */

static const double MMA_SYNC_HOPPER = 0.629; /* share of wgmma's peak: arXiv 2402.13499, table of mma on H100 */
static const double MMA_LATENCY = 33;        /* cycles of an m16n8k16: arXiv 2402.13499 */
static const double COPY_LATENCY = 479;      /* cycles of a copy from DRAM: likewise */

double cuda_mma_sync_rate(const cuda_config *c, tw_type type) {
  return (type == TW_F32 ? (double)c->flops_tf32 : rate_of(c, type)) *
         (cuda_config_architecture(c) >= 90 ? MMA_SYNC_HOPPER : 1);
}

double cuda_gemm_mma_seconds(const cuda_config *c, const tw_gemm *g, const tw_tile_gemm_mma_plan *p) {
  const double size = tw_type_bits(g->a) / 8.0, m = (double)g->m, n = (double)g->n, k = (double)g->k;
  const double processors = (double)c->multiprocessors, clock = (double)c->clock_mhz * 1e6;
  const double bandwidth = COPIED * (double)c->memory_gbs * 1e9;
  const double rate = cuda_mma_sync_rate(c, g->a);
  const double tiles = ceil(m / p->m) * ceil(n / p->n) * p->parts, steps = ceil(k / ((double)p->k * p->parts));
  const double rounds = ceil(tiles / (processors * p->blocks)), blocks = fmin(p->blocks, ceil(tiles / processors));
  const double multiply = 2.0 * p->m * p->n * p->k / rate;
  const double reads = ((double)p->m * p->warps_n + (double)p->n * p->warps_m) * p->k * size;
  const double shared = (reads + (p->m + p->n) * p->k * size) / SHARED_BYTES / SHARED;
  const double barrier = MMA_LATENCY * 2 / blocks;
  const double waiting = COPY_LATENCY / (p->stages - 1);
  const double step = fmax(together(multiply, shared, STEP_POWER) * blocks + barrier, waiting);
  const double ends =
      (2 * COPY_LATENCY + p->m * p->n * tw_type_bits(g->c) / 8.0 / CUDA_L2_BYTES) / (blocks > 1 ? 2 : 1);
  const double cycles = rounds * (steps * step + ends);
  const double wave = fmin(tiles / p->parts, processors * p->blocks);
  const double across = fmin(p->band, ceil(p->band_columns ? n / p->n : m / p->m));
  const double high = p->band_columns ? ceil(wave / across) : across,
               wide = p->band_columns ? across : ceil(wave / across);
  const double each = (fmin(high * p->m, m) + fmin(wide * p->n, n)) * k * size, least = (m + n) * k * size;
  const double kept = fmin(1, (double)c->l2_bytes / least);
  const double dram =
      fmax(least, least * kept + tiles / p->parts / wave * each * (1 - kept)) + m * n * tw_type_bits(g->c) / 8.0;
  const double moved =
      (p->parts > 1 ? 8 * m * n * p->parts : 0) + 2 * k * size * ((p->moved_a ? m : 0) + (p->moved_b ? n : 0));
  return together(cycles / clock, dram / bandwidth, WHOLE_POWER) + moved / bandwidth + (p->parts > 1 ? CLEARED : 0);
}
