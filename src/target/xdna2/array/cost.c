/* cost.c - see cost.h. */
#include "target/xdna2/array/cost.h"

#include <math.h>
#include <string.h>

#include "target/xdna2/array/kernel.h"
#include "target/xdna2/array/kernel_weights.h"
#include "target/xdna2/core_design.h"
#include "target/xdna2/rate.h"

/* ---- micro-kernels ---- */

static double analytic(const xd_config *machine, const xd_kernel *kernel, int64_t m, int64_t k, int64_t n) {
  return (double)m * (double)k * (double)n / xd_vmac_macs(kernel) / xd_micro_efficiency(machine, kernel, k);
}

static bool is_published(const xd_kernel *k, xd_cover cover) {
  const xd_cover own = xd_cover_of(k);
  return cover.rows == own.rows && cover.columns == own.columns && cover.unroll == own.unroll;
}

/* The scheduler's input for the kernel; false: the scheduler does not support it. */
static bool call_of(const xd_kernel *kernel, xd_cover cover, int64_t m, int64_t k, int64_t n, xd_core_kernel *out) {
  if (!xd_core_call(kernel, m, k, n, out)) return false;
  out->shuffle_b = cover.turn_b;
  out->unpack = cover.beside > 0;
  if (xd_wide_sums(kernel)) out->c = XD_CORE_C_32; /* the sums over all of K; narrowing is a separate pass */
  if (is_published(kernel, cover)) return true;
  out->cluster[0] = cover.rows;
  out->cluster[1] = cover.columns;
  out->way = cover.unroll > 1 ? XD_CORE_UNROLLED : XD_CORE_IN_TURN;
  out->unroll = cover.unroll;
  return true;
}

/* Scheduled cycles of clusters that are alike; 0: unknown, or the kernel cannot be scheduled. The clusters that remain
 * after unrolling are at the end of each row of clusters, as in kernel.cc (aie/source.h). */
static double scheduled_alike(const xd_kernel *kernel, xd_cover cover, int64_t m, int64_t k, int64_t n) {
  const int64_t across = n / ((int64_t)kernel->vmac[2] * cover.columns), high = (int64_t)kernel->vmac[0] * cover.rows;
  const bool by_row = cover.unroll > 1 && across % cover.unroll && m % high == 0;
  const int64_t calls = by_row ? m / high : 1;
  xd_core_kernel call;
  double cycles = 0;
  if (!call_of(kernel, cover, by_row ? high : m, k, n, &call) || xd_core_cycles(&call, &cycles, NULL) != TW_OK)
    return 0;
  return cycles * (double)calls;
}

int64_t xd_bands_beside(const xd_kernel *kernel, xd_cover cover, int64_t m, int64_t n, int64_t *left) {
  const int64_t all = m / ((int64_t)kernel->vmac[0] * cover.rows),
                across = n / ((int64_t)kernel->vmac[2] * cover.columns),
                bands = across && cover.beside / across < all ? cover.beside / across : all;
  *left = cover.beside - bands * across;
  return bands;
}

static double pass_beside(const xd_kernel *kernel, int64_t vectors) {
  return vectors ? xd_pass_cycles(kernel->scratch_b == TW_I4 ? XD_PASS_UNPACK_I4 : XD_PASS_UNPACK_I8,
                                  vectors * XD_UNPACK_CODES)
                 : 0;
}

/* As above. The first rows of clusters unpack a vector of codes with each cluster; what remains is a pass, as in
 * kernel.cc. */
static double scheduled(const xd_kernel *kernel, xd_cover cover, int64_t m, int64_t k, int64_t n) {
  const int64_t high = (int64_t)kernel->vmac[0] * cover.rows;
  int64_t left;
  const int64_t bands = xd_bands_beside(kernel, cover, m, n, &left);
  xd_cover plain = cover;
  plain.beside = 0;
  const double with = bands ? scheduled_alike(kernel, cover, bands * high, k, n) : 0,
               without = m > bands * high ? scheduled_alike(kernel, plain, m - bands * high, k, n) : 0;
  if ((bands && with <= 0) || (m > bands * high && without <= 0)) return 0;
  return with + without + pass_beside(kernel, left);
}

/* The time of the published kernel by the model. For another cover of the same tile it is multiplied by the ratio of
 * the two schedules. */
static double scaled(const xd_config *c, const xd_kernel *kernel, xd_cover cover, int64_t m, int64_t k, int64_t n) {
  const double own = analytic(c, kernel, m, k, n);
  if (is_published(kernel, cover)) return own;
  const xd_cover published = xd_cover_of(kernel);
  const int64_t unit_m = (int64_t)kernel->vmac[0] * published.rows,
                unit_n = (int64_t)kernel->vmac[2] * published.columns;
  /* if the published clusters do not divide the tile: the time of the divisible part, scaled to the whole */
  const int64_t near_m = m < unit_m ? unit_m : m / unit_m * unit_m, near_n = n < unit_n ? unit_n : n / unit_n * unit_n;
  const double now = scheduled(kernel, cover, m, k, n), before = scheduled(kernel, published, near_m, k, near_n);
  if (now <= 0 || before <= 0) return own;
  return own * now / (before * ((double)m * (double)n) / ((double)near_m * (double)near_n));
}

double xd_micro_cycles(const xd_config *c, const xd_kernel *kernel, xd_cover cover, int64_t m, int64_t k, int64_t n) {
  const double cycles = kernel->scheduled ? scheduled(kernel, cover, m, k, n) : 0;
  return cycles > 0 ? cycles : scaled(c, kernel, cover, m, k, n);
}

tw_status xd_cover_check(const xd_kernel *kernel, xd_cover cover, int64_t m, int64_t k, int64_t n, tw_error *error) {
  xd_core_kernel call;
  double cycles;
  xd_cover plain = cover;
  plain.beside = 0;
  if (cover.beside && xd_cover_check(kernel, plain, m, k, n, error) != TW_OK) return TW_USAGE;
  if (is_published(kernel, cover) && !cover.turn_b && !kernel->scheduled) return TW_OK;
  const bool known = call_of(kernel, cover, m, k, n, &call);
  if (!known && is_published(kernel, cover)) return TW_OK;
  if (!known)
    return tw_fail(error, TW_USAGE, "kernel %s is not scheduled: its clusters are %dx%d, unrolled %d times",
                   kernel->name, kernel->cluster[0], kernel->cluster[1], xd_cover_of(kernel).unroll);
  return xd_core_cycles(&call, &cycles, error);
}

/* ---- calls ---- */

double xd_pass_cycles(xd_core_pass pass, int64_t count) {
  double cycles;
  return xd_core_pass_cycles(pass, count, &cycles, NULL) == TW_OK ? cycles : HUGE_VAL;
}

/* The cost of functions that pass once over a buffer. */
static double pass_of(const xd_call *c) {
  static const struct {
    const char *function;
    xd_core_pass pass;
  } known[] = {
      {"unpack_i8", XD_PASS_UNPACK_I8},
      {"unpack_i4", XD_PASS_UNPACK_I4},
      {"zero", XD_PASS_CLEAR},
      {"narrow_i16", XD_PASS_NARROW_I16},
      {"narrow_i8", XD_PASS_NARROW_I8},
      {"narrow_bf16", XD_PASS_NARROW_BF16},
      {"round_bfp16", XD_PASS_ROUND_BFP16},
      {"unpack_i4_bfp16", XD_PASS_UNPACK_BFP16},
  };
  for (size_t i = 0; i < sizeof known / sizeof *known; i++)
    if (!strcmp(c->function->name, known[i].function)) /* dimensions that the pass does not have are 1 */
      return xd_pass_cycles(known[i].pass, (int64_t)c->m * c->k * c->n);
  return 0;
}

static double cycles_of(const void *context, const xd_call *c) {
  const xd_config *machine = context;
  if (c->cycles > 0) return c->cycles;
  if (c->micro) {
    xd_cover cover = c->cover.rows ? c->cover : xd_cover_of(c->micro);
    cover.turn_b = strstr(c->function->name, "_turned") != NULL;
    cover.beside = xd_vectors_beside(c);
    return xd_micro_cycles(machine, c->micro, cover, c->m, c->k, c->n) +
           (c->micro->switches ? machine->switch_cycles : 0);
  }
  if (c->macs) return (double)c->m * c->k * c->n / c->macs;
  if (!strcmp(c->function->name, "step")) return machine->step_cycles;
  return pass_of(c);
}

xd_cost xd_cost_of(const xd_config *c) { return (xd_cost){cycles_of, c}; }
