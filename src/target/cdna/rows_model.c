/* rows_model.c - predicts row kernels. */
#include <math.h>

#include "gpu/common/rows.h"
#include "target/cdna/models.h"

/* ---- the model of rows ----
 *
 * Memory's bandwidth determines the time, unless too few bytes are in flight to cover its latency (Little's law), or
 * the blocks run in too few rounds. The latency is that of a miss in both caches: HipKittens' cost model, 300 and
 * 500 ns. */

static const double MEMORY_LATENCY = 8e-7, PIECE_BYTES = 16 * CDNA_LANES;

double cdna_predict_rows(const void *with, const void *plan) {
  const cdna_model *r = with;
  const tw_tile_rows_plan *p = plan;
  const cdna_machine *m = r->machine;
  const double cus = m->caches.xcds * m->caches.cus, waves = ceil((double)p->block_threads / CDNA_LANES);
  /* A thread holds its chunks as they came and as floats, and some registers more; a block always fits. */
  const double of_simd = fmin(m->waves, floor(m->registers / (32 + 12 * (double)p->chunks)));
  const double resident = fmax(1, floor(of_simd * m->simds / waves)), blocks = fmin(resident, (double)p->blocks / cus);
  const double under_way = cus * blocks * waves * PIECE_BYTES * (double)p->chunks;
  const double bytes = r->problem->op->bytes(r->problem), bandwidth = cdna_stream_rate(m, bytes);
  const double needed = bandwidth * MEMORY_LATENCY, rounds = (double)p->blocks / (resident * cus);
  /* less than a round has fewer bytes in flight */
  return MEMORY_LATENCY + bytes / bandwidth * fmax(1, needed / under_way) * (rounds > 1 ? ceil(rounds) / rounds : 1);
}

/* Each operand passes at least once. */
double cdna_pass_seconds(const cdna_model *of) {
  const double bytes = of->problem->op->bytes(of->problem);
  return MEMORY_LATENCY + bytes / cdna_stream_rate(of->machine, bytes);
}
