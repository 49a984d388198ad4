/* predict.c - estimates a design's time from bounds: for menus; the simulation decides. Computing, reading A and B,
 * writing C and the streams overlap, so the longest counts.
 *
 * The hand-over of a single buffer of C, the first tiles and the dispatch do not overlap. */
#include <limits.h>
#include <math.h>

#include "base/integers.h"
#include "target/xdna2/array/cost.h"
#include "target/xdna2/array/ddr.h"
#include "target/xdna2/array/plan.h"
#include "target/xdna2/rate.h"

/* Cycles of a core for one tile of C. */
static double tile_cycles(const xd_config *c, const xd_gemm *g, const xd_gemm_shape *s) {
  const double rho = (double)g->tile.rho;
  xd_cover plain = xd_gemm_cover(g);
  const double with = xd_micro_cycles(c, g->kernel, plain, g->tile.m / g->tile.rho, g->tile.k, g->tile.n);
  plain.beside = 0;
  const double micro = xd_micro_cycles(c, g->kernel, plain, g->tile.m / g->tile.rho, g->tile.k, g->tile.n);
  const xd_core_pass unpacking = g->kernel->scratch_b == TW_BFP16 ? XD_PASS_UNPACK_BFP16
                                 : g->kernel->scratch_b == TW_I4  ? XD_PASS_UNPACK_I4
                                                                  : XD_PASS_UNPACK_I8,
                     finishing = xd_gemm_staging(g) ? XD_PASS_ROUND_BFP16
                                 : g->c == TW_BF16  ? XD_PASS_NARROW_BF16
                                 : g->c == TW_I16   ? XD_PASS_NARROW_I16
                                                    : XD_PASS_NARROW_I8;
  const double unpack = xd_gemm_unpacked(g) ? xd_pass_cycles(unpacking, g->tile.k * g->tile.n) : 0;
  const double step = rho * micro + unpack + (g->kernel->switches ? rho * c->switch_cycles + c->step_cycles : 0);
  const int64_t area = g->tile.m * g->tile.n, result = area * s->c_bytes8 / 8;
  const double zero = xd_pass_cycles(XD_PASS_CLEAR, s->accumulators ? area * s->accumulators : result);
  const double finish = s->accumulators || xd_gemm_staging(g) ? xd_pass_cycles(finishing, area) : 0;
  const double steps = (double)(s->steps * g->depth);
  if (g->hide_unpacking) return unpack + (steps - 1) * rho * with + rho * micro + zero + finish;
  return steps * step + zero + finish;
}

/* Cycles until C has left the core, if the next tile needs its buffer. */
static double drain_cycles(const xd_config *c, const xd_gemm *g, const xd_gemm_shape *s) {
  const int64_t bytes = g->tile.m * g->tile.n * s->c_bytes8 / 8;
  return g->copies[2] > 1 ? 0 : (double)bytes / c->stream_bytes;
}

/* For one step of K in L1: the slowest stream. */
static double stream_cycles(const xd_config *c, const xd_gemm *g, const xd_gemm_shape *s) {
  const double a = (double)(s->a_parts * g->tile.m * g->tile.k * s->a_bytes8) / 8,
               b = (double)(g->tile.k * g->tile.n * s->b_bytes8) / 8;
  return fmax(a, b) / c->stream_bytes;
}

/* A transfer in runs of this number of bytes, `stride` apart; one run: 0. */
typedef struct operand {
  double bytes;
  int64_t run, stride;
  int together; /* shims that work on neighbouring runs at the same time */
} operand;

static operand rows_of(double bytes, int64_t run8, int64_t stride8, int together) {
  return (operand){bytes, run8 / 8, run8 == stride8 ? 0 : stride8 / 8, together};
}

/* All transfers of A, B and C; packed operands in tiles are one run. */
static void operands_of(const xd_gemm *g, const xd_gemm_shape *s, operand out[3]) {
  const double tiles = (double)(s->tiles_m * s->tiles_n), depth = tiles * (double)(s->steps * s->step) / 8;
  const int64_t turned = s->slice ? s->slice : s->step;
  const double a = depth * (double)(s->macro_m * s->a_bytes8), b = depth * (double)(s->macro_n * s->b_bytes8),
               c = tiles * (double)(s->macro_m * s->macro_n * s->c_bytes8) / 8;
  const int64_t deep = s->steps * s->step * 9, wide = s->tiles_n * s->macro_n * 9;
  if (g->in_rows) { /* parts of tiles; C and A may be bf16 */
    out[0] = rows_of(a, (g->kernel->a == TW_BFP16 ? g->tile.k : s->step) * s->a_bytes8, deep / 9 * s->a_bytes8, 1);
    out[1] = rows_of(b, g->tile.k * 9, deep, 1);
    out[2] = rows_of(c, g->tile.n * s->c_bytes8, wide / 9 * s->c_bytes8, g->columns);
    return;
  }
  out[0] = g->kernel->a == TW_BFP16 ? (operand){a, 0, 0, 1} : rows_of(a, s->step * s->a_bytes8, g->k * s->a_bytes8, 1);
  out[1] = s->packed_b          ? (operand){b, 0, 0, 1}
           : xd_gemm_turns_b(g) ? rows_of(b, turned * s->b_bytes8, g->k * s->b_bytes8, 1)
                                : rows_of(b, g->tile.n * s->b_bytes8, g->n * s->b_bytes8, g->columns);
  out[2] =
      g->c == TW_BFP16 ? (operand){c, 0, 0, 1} : rows_of(c, g->tile.n * s->c_bytes8, g->n * s->c_bytes8, g->columns);
}

/* Seconds of requests with the runs' alignment. With `at_least`: with the best alignment, without the cost of rows. */
static double request_seconds(const xd_config *c, const operand *o, bool writes, bool at_least) {
  const int64_t long_run = c->array.ddr_page_bytes, run = o->stride ? o->run : long_run;
  const int64_t stride = o->stride ? o->stride : long_run;
  const int64_t unit = at_least ? c->array.ddr_block_bytes : tw_common_divisor(run, stride);
  const int together = at_least ? INT_MAX : o->together;
  return o->bytes / (double)run * 1e-9 * xd_ddr_run_ns(&c->array, run, unit, stride, together, writes && !at_least);
}

/* Seconds of each part by itself. */
typedef struct terms {
  /* compute: time of the cores; drain: a single buffer of C must be sent before the next tile begins */
  double compute, drain;
  double streams, read, write, both, requests;
  double first, last; /* first: the first tiles are loaded; last: the last tile is sent */
} terms;

static terms terms_of(const xd_config *c, const xd_gemm *g, bool at_least) {
  const xd_gemm_shape s = xd_gemm_shape_of(g);
  const double tiles = (double)(s.tiles_m * s.tiles_n), steps = (double)(s.steps * g->depth), hz = c->clock_mhz * 1e6;
  operand o[3];
  operands_of(g, &s, o);
  const double whole = (double)g->k / (double)(s.steps * s.step); /* for B; zeros beyond K are one run */
  const double inputs = o[0].bytes + o[1].bytes, result = o[2].bytes;
  return (terms){
      .compute = tiles * tile_cycles(c, g, &s) / hz,
      .drain = tiles * drain_cycles(c, g, &s) / hz,
      .streams = tiles * steps * stream_cycles(c, g, &s) / hz,
      .read = inputs / (c->array.ddr_read_mbs * 1e6),
      .write = result / (c->array.ddr_write_mbs * 1e6),
      .both = (inputs + result) / (c->array.ddr_mbs * 1e6),
      .requests = request_seconds(c, &o[0], false, at_least) + whole * request_seconds(c, &o[1], false, at_least) +
                  request_seconds(c, &o[2], true, at_least),
      .first = inputs / tiles / steps / (c->array.ddr_read_mbs * 1e6),
      .last = result / tiles / (c->array.ddr_write_mbs * 1e6),
  };
}

static double longest(const terms *t, double compute) {
  return fmax(fmax(fmax(compute, t->streams), fmax(t->read, t->write)), fmax(t->both, t->requests));
}

double xd_plan_predict(const xd_config *c, const xd_gemm *g) {
  const terms t = terms_of(c, g, false);
  return longest(&t, t.compute + t.drain) + t.first + t.last + c->array.dispatch_us * 1e-6;
}

/* Partial tiles are not moved completely, and sums in a separate buffer continue while C is sent. */
double xd_plan_least(const xd_config *c, const xd_gemm *g) {
  const xd_gemm_shape s = xd_gemm_shape_of(g);
  const terms t = terms_of(c, g, true);
  const double compute = t.compute + (s.accumulators ? 0 : t.drain);
  const bool partly = s.small_a || s.small_b || s.small_c;
  return (partly ? t.compute : longest(&t, compute)) + c->array.dispatch_us * 1e-6;
}
