/* model.c - a rough prediction for a schedule. It orders kernels for the search, which measures them.
 *
 * Time of the innermost loops = operations / (peak x efficiencies); plus the bytes that are moved more than once. */
#include <math.h>

#include "target/x86/bench.h"
#include "target/x86/cpu.h"
#include "target/x86/tune/tuning.h"

/* Multiply-adds, and loads, that a core starts in a cycle, and the cycles until a sum can be added to again: Zen 4 and
 * 5 and Intel's cores since Skylake, within a factor of two (A. Fog, instruction tables). */
static const double STARTS = 2, LATENCY = 4;
/* 16 x 16 x 16 units in 16 cycles; vectors do 2 x 16 in one cycle (Intel, Optimization Reference Manual, chapter
 * 20). */
static const double AMX = 8;
/* Clock rate; bytes per second of one core, from near caches and when packing: typical of recent servers
 * (x86-facts.md, section 1). */
static const double CLOCK = 3.5e9, NEAR = 100e9, PACKING = 20e9;

static double at_most_one(double x) { return x < 1 ? x : 1; }

/* The efficiency of a tile with this number of rows. */
static double tile_efficiency(const x86_variant *k, double rows) {
  if (k->isa == X86_AMX) return AMX * rows / k->rows;
  const double work = rows * k->vectors, extra = 2.0 / k->unroll; /* instructions of the loop itself */
  const double chains = at_most_one(work / (STARTS * LATENCY));
  const double loads = at_most_one(work / (rows + k->vectors));
  return chains * loads * work / (work + extra / 2);
}

double x86_model_seconds(const tw_gemm_spec *s, const x86_tuning *t) {
  const x86_variant *k = &t->kernel;
  x86_variant tile = *k;
  if (t->blocks.panels == 2) tile.rows = x86_wide_rows(k), tile.vectors = 2 * k->vectors;
  const x86_cpu *cpu = x86_this_cpu();
  const double group = x86_group(k->arithmetic), lanes = x86_isa_lanes(k->isa), columns = lanes * k->vectors;
  const int threads = s->threads ? s->threads : cpu->cores;
  x86_kernel kernel;
  tw_gemm_plan p;
  if (x86_tuning_plan(s, t, &kernel, &p, NULL) != TW_OK) p.parts_m = 1, p.parts_n = threads;
  const double tm = p.parts_m, tn = p.parts_n;
  const double m = ceil((double)s->m / tm), panels = ceil(ceil((double)s->n / columns) / tn);
  const double units = ceil((double)s->k / group), strips = ceil(m / tile.rows), rows = m / strips;
  const double l1_units = (double)cpu->l1 * 5 / 8 / X86_UNIT / k->rows;
  const double kc = fmin(units, t->blocks.kc ? ceil((double)t->blocks.kc / group) : l1_units);
  const double blocks = ceil(units / kc), rho = t->blocks.rho ? t->blocks.rho : 1;
  const double mc = fmin(m, t->blocks.mc ? (double)t->blocks.mc : (double)cpu->l2 / X86_UNIT / kc);
  double efficiency = tile_efficiency(&tile, rows) * (k->arithmetic == X86_S16 ? 0.5 : 1);
  if (kc * rows * X86_UNIT > (double)cpu->l1) efficiency *= 0.8;
  if (mc / rho * kc * X86_UNIT > (double)cpu->l2) efficiency *= 0.85;
  if (t->blocks.a == X86_READ_A_IN_PLACE && panels > 8 && t->blocks.panels != 2)
    efficiency *= 0.95;                         /* rows in place are far apart in memory */
  if (k->prefetch) efficiency *= 0.998;         /* costs one more instruction; its benefit is not modelled */
  const double turns = ceil(tm * tn / threads); /* parts that a thread computes in sequence */
  const double compute = 2 * group * units * m * panels * columns / (2 * group * lanes * STARTS * CLOCK * efficiency);
  const double sums = (blocks - 1) * 2 * m * panels * columns * X86_UNIT / NEAR;
  const double weights = units * panels * columns * X86_UNIT * ceil(m / mc) * rho / NEAR;
  const double packing = t->blocks.a == X86_READ_A_IN_PLACE ? 0 : m * units * X86_UNIT / PACKING;
  return turns * (fmax(compute, weights) + 0.1 * fmin(compute, weights) + sums + packing);
}

tw_status x86_predict(const tw_target *target, const tw_problem *p, const tw_schedule *schedule, double *cost,
                      tw_error *error) {
  x86_tuning t;
  const tw_gemm_spec s = x86_spec_of(p);
  (void)target;
  const tw_status status = x86_tuning_of(p, schedule, &t, error);
  if (status == TW_OK) *cost = x86_model_seconds(&s, &t);
  return status;
}
