/* skinny_model.c - predicts skinny GEMM and sliced-K. */
#include "target/cuda/models.h"

#include <math.h>

#include "gpu/nvidia/gemm_skinny.h"
#include "gpu/nvidia/gemm_sliced_k.h"
#include "gpu/nvidia/gemm_swap_ab.h"
#include "op/gemm_problem.h"

/* ---- the model of skinny GEMM ----
 *
 * Memory's bandwidth limits the rate, unless too few bytes are in flight to hide
 * its latency, or warps decode weights more slowly: instructions for each 32 weights, at four per cycle and
 * multiprocessor. */

/* FIT: share of four instructions per cycle at the highest clock; i4 and ternary, m=1, H200 */
static const double MADE = 0.55;
static const double BEGIN = 2.0e-6,
                    TEAMS = 1.0e-6; /* seconds: before the first data arrive, and after the last; sums of a cluster */

/* Blocks of n rows of weights; `split` blocks share their rows. Computes the number of concurrent blocks on a
 * multiprocessor, the share of multiprocessors that are busy, the waves, and the cost of a partial wave. */
typedef struct spread {
  double resident, busy, waves, uneven;
} spread;

static spread spread_of(const cuda_model *m, int n, int split, int fit) {
  const double processors = (double)m->config->multiprocessors;
  const double blocks = cuda_ceil_div((double)tw_gemm_of(m->problem).n, n) * split, waves = blocks / (processors * fit);
  return (spread){.resident = fmin(fit, cuda_ceil_div(blocks, processors)),
                  .busy = fmin(1, blocks / processors),
                  .waves = ceil(waves),
                  .uneven = waves > 1 ? sqrt(ceil(waves) / waves) : 1};
}

/* Seconds in which memory moves the operands, with `under_way` bytes in flight on the device. */
static double memory_seconds(const cuda_model *m, double under_way) {
  const double clock = (double)m->config->clock_mhz * 1e6, bandwidth = (double)m->config->memory_gbs * 1e9;
  const double needed = bandwidth * 2 * CUDA_DRAM_LATENCY / clock;
  return m->problem->op->bytes(m->problem) / bandwidth * fmax(1, needed / under_way);
}

/* Weights are decoded while others are loaded, with `under_way` bytes in flight on a multiprocessor. `hidden` is the
 * share of the instructions that do not wait. */
static double flow(const cuda_model *m, const spread *s, double under_way, double instructions, double hidden) {
  const tw_gemm g = tw_gemm_of(m->problem);
  const double clock = (double)m->config->clock_mhz * 1e6, at_work = (double)m->config->multiprocessors * s->busy;
  const double make = (double)g.n * (double)g.k * instructions / (at_work * 128 * clock * hidden) / MADE;
  return fmax(memory_seconds(m, under_way * at_work), make) * s->uneven;
}

double cuda_predict_skinny(const void *with, const void *plan) {
  const cuda_model *m = with;
  const tw_tile_skinny_plan *p = plan;
  const tw_gemm g = tw_gemm_of(m->problem);
  const spread s = spread_of(m, p->n, p->split, p->blocks);
  const double stage = (double)p->few * p->k * 2 + (double)p->n * p->bytes,
               stages = cuda_ceil_div((double)g.k, p->k * p->split);
  const double weight = (g.b == TW_BF16 || g.b == TW_F16 ? 0.5
                         : g.b == TW_MXFP4               ? 2.5
                         : g.b == TW_I4                  ? 2.0
                                                         : 1.5) +
                        0.25 * p->few / 8;
  const double clock = (double)m->config->clock_mhz * 1e6;
  const double pieces = 12.0 * stages / clock / s.resident; /* waits, arrivals */
  const double flows = flow(m, &s, fmin(p->stages, stages) * stage * s.resident, weight, 1);
  return BEGIN + (p->split > 1 ? TEAMS : 0) + flows + pieces;
}

/* ---- the model of sliced-K ----
 *
 * One launch in a chain of launches, as these kernels are timed: memory and
 * instructions, which overlap only in part, and the wait of each launch for the previous one. FIT: to 454 kernels
 * with one row (i4, mxfp4, ternary; 4096 x 4096, 6144 x 4096, 28672 x 8192) on an H200;
 * tests/data/cuda/slices_search_h200.txt has other kernels. */

static const double SLICES_CHAIN = 1.9e-6, SLICES_ALONE = 1.6; /* seconds; factor without `rest` */
/* Share of memory's bandwidth; its latency in cycles; exponents for too few bytes in flight and for too few warps. */
static const double SLICES_BANDWIDTH = 0.85, SLICES_LATENCY = 1350, SLICES_WINDOW = 0.6, SLICES_HIDDEN = 0.4;
/* share of four instructions per cycle (above 1, because times are added); number of warps that suffices */
static const double SLICES_MADE = 1.3, SLICES_WARPS = 14;
static const double SLICES_OF_A = 200;      /* instructions for a slice of eight rows of A */
static const double SLICES_TOGETHER = 1.75; /* exponent of the norm that adds both times */

/* Instructions for each 32 weights, as counted in the loops (sm_90a). */
static double made_in_slices(const tw_gemm *g) {
  if (g->m <= 2) return g->b == TW_TERNARY ? 0.45 : g->b == TW_I4 ? 0.6 : 2.4;
  return (g->b == TW_TERNARY ? 1.0 : g->b == TW_I4 ? 1.6 : 3.0) + 0.35 * (ceil((double)g->m / 8) - 1);
}

double cuda_predict_sliced_k(const void *with, const void *plan) {
  const cuda_model *m = with;
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

/* ---- the model of swap-AB ----
 *
 * Memory and the products of warpgroups overlap; the warps that prepare A may be slower than both. */

/* MEASURED (H200): cycles of wgmma m64nNk16 with its left operand in registers, for up to 16 columns and for 32 */
static const double SWAP_PRODUCT = 13, SWAP_PRODUCT_32 = 16;
/* FIT: i4, 8192 x 8192, 8 to 32 rows, H200 */
static const double SWAP_CODES = 85;     /* cycles of a multiprocessor that make numbers of 64 x 128 codes */
static const double SWAP_PREPARED = 400; /* cycles of a warp that prepare 8 rows of A of a slice */
static const double SWAP_SUMS = 0.7;     /* cycles that add the sums of a slice, for each row of A */
static const double SWAP_BEGIN = 4.2e-6; /* seconds of the launch, the first loads and the last sums */
static const double SWAP_TOGETHER = 4;   /* exponent of the norm that adds the times of memory and products */
static const double SWAP_AT_ONCE = 512;  /* elements of k of 8 rows that a warp prepares at once (tile_swap.cuh) */

double cuda_predict_swap_ab(const void *with, const void *plan) {
  const cuda_model *m = with;
  const tw_tile_swap_ab_plan *p = plan;
  const tw_gemm g = tw_gemm_of(m->problem);
  const spread s = spread_of(m, p->n, p->split, p->blocks);
  const double clock = (double)m->config->clock_mhz * 1e6;
  const double at_work = (double)m->config->multiprocessors * s.busy, codes = (double)p->k / p->slices;
  const double product = p->few <= 16 ? SWAP_PRODUCT : SWAP_PRODUCT_32;
  const double slice = codes / 16 * product + SWAP_CODES * codes / 128 * (g.b == TW_MXFP4 ? 2 : 1) + SWAP_SUMS * p->few;
  const double make = (double)g.n / 64 * (double)g.k / codes * slice / (at_work * clock);
  const double stage = (double)p->n * p->slices * 64, stages = cuda_ceil_div((double)g.k, p->k * p->split);
  const double move = memory_seconds(m, fmin(p->stages, stages) * stage * s.resident * at_work);
  const double both = pow(pow(move, SWAP_TOGETHER) + pow(make, SWAP_TOGETHER), 1 / SWAP_TOGETHER);
  const double items = p->slices * p->few / 8.0, rounds = p->prepare ? cuda_ceil_div(items, p->prepare) : 0;
  const double prepare =
      rounds ? stages * rounds / fmin(rounds, SWAP_AT_ONCE / codes) * SWAP_PREPARED * s.waves / clock : 0; /* of A */
  return SWAP_BEGIN + (p->split > 1 ? TEAMS : 0) + fmax(both * s.uneven, prepare);
}
