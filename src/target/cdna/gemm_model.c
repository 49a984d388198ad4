/* gemm_model.c - see gemm_model.h.
 *
 * A workgroup executes its steps in order. In each, its SIMDs multiply, operands are read from LDS, tiles arrive from
 * the caches; with enough stages these overlap and the slowest one counts. Otherwise they follow one another, and each
 * step waits for memory. Workgroups run in rounds, each as large as the CUs hold.
 *
 * Numbers: matrix instructions' passes from layout/mfma_table.c; LDS serves 128 bytes a clock of a CU (CDNA3 white
 * paper; CDNA4 doubles it); bandwidths and latencies from machine.c and HipKittens' cost model (300 ns to miss L2, 500
 * ns the LLC). */
#include "target/cdna/gemm_model.h"

#include <math.h>

static const double LATENCY = 5e-7, BARRIER_CYCLES = 60, OVERHEAD_CYCLES = 2500;

static double ceil_div(double a, double b) { return ceil(a / b); }

/* Multiply-adds per cycle of a CU: AMD's data sheets. */
static double rate_of(cdna_arch arch, tw_type t) {
  const double bf16 = arch == CDNA3 ? 1024 : 2048;
  return t == TW_F32 ? 128 : tw_type_bits(t) == 16 ? bf16 : tw_is_float6(t) ? 4 * bf16 : 2 * bf16;
}

/* The fraction of the shorter time (products or reads) that does not overlap with the longer one. */
static double apart(const tw_tile_multistage_plan *p) {
  return p->hand_scheduled ? 0 : p->pingpong ? 0.05 : p->ahead ? 0.15 : 0.25;
}

/* How much longer reads of LDS take than reads of 16 bytes without conflicts. A read of 12 bytes takes 8 phases, with
 * copies of 16 bytes each four times (HipKittens, table 5 and appendix F). */
static double read_factor(const tw_tile_multistage_plan *p) {
  const double twelve = 16. / 12 * 8 / 4;
  return p->loads == TW_TILE_X4_B96 ? 4 * twelve : p->loads == TW_TILE_X3_B96 ? twelve : p->no_swizzle ? 4 : 1;
}

double cdna_gemm_seconds(const cdna_machine *m, cdna_arch arch, const tw_gemm *g, const tw_tile_multistage_plan *p) {
  const double clock = m->clock_mhz * 1e6, cus = m->caches.xcds * m->caches.cus, size = tw_type_bits(g->a) / 8.0;
  const double groups = p->groups_m * p->groups_n * p->shares, rows = ceil_div((double)g->m, p->m),
               cols = ceil_div((double)g->n, p->n);
  const double lds_rate = arch == CDNA3 ? 128 : 256;
  const double step_bytes = (p->m + p->n) * (double)p->k * size;
  const double simds = fmin(groups, m->simds);
  /* smaller products leave the unit idle more often, between dependent ones */
  const double multiply =
      (double)p->m * p->n * p->k / rate_of(arch, g->a) * m->simds / simds * (p->side == 16 ? 1.02 : 1);
  /* Sums of a block of k are added to other sums, two per instruction of 4 cycles. Other products hide this in the
   * hand-scheduled loop. */
  const double scale = g->scales == TW_GEMM_SCALES_BLOCK && !p->hand_scheduled
                           ? (double)p->m * p->n * p->k / TW_GEMM_SCALE_BLOCK / 32 / simds
                           : 0;
  const double reads =
      ((double)p->m * p->groups_n + (double)p->n * p->groups_m) * p->k * size / lds_rate * read_factor(p);
  const bool elements = p->way_a == TW_TILE_ELEMENTS || p->way_b == TW_TILE_ELEMENTS;
  const double lay = p->keep_in_registers ? 0 : step_bytes / 128 * (p->way_a == TW_TILE_DIRECT ? 1 : elements ? 8 : 2);
  /* The fraction of requests that L2 serves, because concurrent tiles share operands. */
  const double shared = p->window ? 0.8 : 0.6,
               fetch_rate = (m->caches.l2_tbs * shared + m->caches.llc_tbs * (1 - shared)) * 1e12;
  const double fetch = step_bytes / (fetch_rate / cus) * clock;
  const double of_simd = ceil_div(groups + p->producers, 4),
               held = p->keep_in_registers * step_bytes / 256 / (p->groups_m * p->groups_n);
  const double resident = fmax(1, fmin(p->keep_in_registers ? floor(m->registers / (p->sums + held + 40) / of_simd)
                                                            : floor((double)m->lds_bytes / (double)p->shared_bytes),
                                       floor(8 / of_simd)));
  const double busy = multiply + scale + BARRIER_CYCLES;
  /* Operands kept in registers pass through L1 once for each wave; the wave waits for that many steps at once. Waves
   * that divide k have their steps in flight at the same time. */
  const double own = ((double)p->m * p->groups_n + (double)p->n * p->groups_m) * p->k * size / 64;
  const double work = p->keep_in_registers
                          ? fmax(fmax(fmax(multiply, own), fetch), LATENCY * clock / (p->keep_in_registers * p->shares))
                      : p->stages > 1 ? fmax(fmax(busy, reads + lay), fetch) + fmin(multiply, reads) * apart(p)
                                      : busy + reads + lay + fetch + LATENCY * clock / fmin(resident, 4);
  const double steps = ceil_div((double)g->k, p->k) / p->split;
  const double blocks = rows * cols * p->split, at_once = fmin(resident, ceil_div(blocks, cus));
  /* C leaves a CU at 64 bytes per clock at most, and all CUs together at the rate of the memory that receives it. */
  const double c_bytes = tw_type_bits(g->c) / 8.0,
               operands = ((double)g->m * (double)g->k + (double)g->n * (double)g->k) * size +
                          (double)g->m * (double)g->n * c_bytes;
  const double stream = cdna_stream_rate(m, operands), active = fmin(cus, blocks);
  const double store = fmax(p->m * (double)p->n * 4 / 64, p->m * (double)p->n * c_bytes / (stream / active) * clock);
  /* Partial sums are written to LDS and read once. */
  const double meet = p->shares > 1 ? 2 * p->shares * p->m * (double)p->n * 4 / lds_rate + BARRIER_CYCLES : 0;
  const double each = steps * work + OVERHEAD_CYCLES + LATENCY * clock + meet + store;
  /* Blocks that share a CU share its units. */
  const double seconds = ceil_div(blocks, cus * at_once) * each *
                         (p->stages > 1 || p->keep_in_registers ? at_once : fmax(1, at_once * (busy + reads) / work)) /
                         clock;
  return fmax(seconds, LATENCY + operands / stream); /* each operand passes at least once */
}

/* Cycles of a workgroup beside its steps. A division of scalars takes about 30 instructions, one after the other, on
 * the vector unit, 8 cycles each. A workgroup finds its tile with two: by the columns of tiles, and by the rows of a
 * band. The number of parts is a constant already. */
static double beside_cycles(const cdna_machine *m, const tw_tile_block_scaled_plan *p) {
  enum { DIVISION = 30 * 8, DIVISIONS = 2 };
  return OVERHEAD_CYCLES - (p->preload ? m->rates.arguments_ns * 1e-3 * m->clock_mhz : 0) -
         (p->fixed_shape ? DIVISIONS * DIVISION : 0);
}

/* Kernels that pack operands of f32 before the main one: each waits for memory twice and reads its operand once. */
static double pack_seconds(const cdna_machine *m, const tw_gemm *g, bool packs_a, double bits_of_a) {
  double bytes = 0, kernels = 0;
  if (packs_a && !tw_tile_block_scaled_given(g, 'a'))
    kernels++, bytes += (double)g->m * (double)g->k * (tw_type_bits(tw_tile_block_scaled_stored(g)) + bits_of_a) / 8;
  if (!tw_tile_block_scaled_given(g, 'b'))
    kernels++, bytes += (double)g->n * (double)g->k * (32 + tw_type_bits(g->b)) / 8;
  return bytes > 0 ? 2 * LATENCY * kernels + bytes / cdna_stream_rate(m, bytes) : 0;
}

/* The hand-scheduled plan: its loop has the cost of other hand-scheduled GEMM loops; the kernels that pack are added. */
static double pinned_seconds(const cdna_machine *m, const tw_gemm *g, const tw_tile_block_scaled_plan *p) {
  const double clock = m->clock_mhz * 1e6, cus = m->caches.xcds * m->caches.cus, size = tw_type_bits(g->b) / 8.0;
  const double rows = ceil_div((double)g->m, p->m), cols = ceil_div((double)g->n, p->n), step = 128 / size;
  const double multiply = (double)p->m * p->n * step / (tw_type_bits(g->b) == 4 ? 8192 : 4096);
  const double bytes = (p->m + p->n) * (128 + step / 32);
  const double fetch = bytes / ((0.6 * m->caches.l2_tbs + 0.4 * m->caches.llc_tbs) * 1e12 / cus) * clock;
  const double pack = pack_seconds(m, g, true, 8 * size);
  const double add = p->split > 1 ? 2e-6 + (double)g->m * (double)g->n * 4 * p->split / (m->memory_tbs * 1e12) : 0;
  const double each = ceil_div((double)g->k, step) / p->split * (fmax(multiply, fetch) + BARRIER_CYCLES) +
                      beside_cycles(m, p) + LATENCY * clock + p->m * (double)p->n * 4 / 64;
  return ceil_div(rows * cols * p->split, cus) * each / clock + pack + add;
}

/* Short kernels: latencies of a launch matter more than rates. A wave waits for memory unless steps are prefetched;
 * quantizing a block of A takes about 60 instructions of a wave. */
double cdna_mx_seconds(const cdna_machine *m, const tw_gemm *g, const tw_tile_block_scaled_plan *p) {
  if (p->hand_scheduled) return pinned_seconds(m, g, p);
  const double clock = m->clock_mhz * 1e6, cus = m->caches.xcds * m->caches.cus, step = 256;
  const double rows = ceil_div((double)g->m, p->m), cols = ceil_div((double)g->n, p->n),
               blocks = rows * cols * p->split;
  const double steps = ceil(ceil_div((double)g->k, step) / p->split);
  const double eight = g->b == TW_MXFP8 || g->a == TW_MXFP8 || g->quantize == TW_GEMM_QUANTIZE_MXFP8 ? 2 : 1;
  const double multiply = eight * p->m * (double)p->n * step / 8192 * 4 / fmin(p->groups, 4);
  const double quantize = p->lines ? 0 : ceil_div(p->m / 8.0, p->groups) * 60 * 4;
  const double of_a = p->lines ? (tw_type_bits(g->a) + 0.25) / 8 * p->groups : 2;
  const double bytes = p->m * step * of_a + p->n * step * (tw_type_bits(g->b) + 0.25) / 8;
  const double at_once = fmin(blocks, cus * 4), fetch = bytes / fmin(m->memory_tbs * 1e12 / at_once * 2, 5e10) * clock;
  const double work = fmax(fmax(multiply + quantize + BARRIER_CYCLES, fetch), LATENCY * clock / p->ahead);
  const double add = p->split > 1 ? 2e-6 + (double)g->m * (double)g->n * 4 * p->split / (m->memory_tbs * 1e12) : 0;
  return ceil_div(blocks, cus * 4) * (steps * work + beside_cycles(m, p)) / clock + 2 * LATENCY +
         pack_seconds(m, g, p->lines > 0, tw_type_bits(g->a)) + add;
}
