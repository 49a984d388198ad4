/* efficiency.c - equations 12, 13 and 15 of the ATB paper. */
#include "target/xdna2/model/efficiency.h"

#include <math.h>

tw_roofline tw_roofline_of(double intensity, double bandwidth, double core_efficiency, double core_peak, double cores) {
  tw_roofline r = {.memory = intensity * bandwidth, .compute = core_efficiency * core_peak * cores};
  r.rate = fmin(r.memory, r.compute);
  return r;
}

double tw_micro_efficiency(double eta, double epsilon, double ii, double t_k) {
  return eta * t_k / (epsilon + eta * ii * t_k);
}

double tw_core_efficiency(const tw_tile *t, double peak, double micro_efficiency, const tw_overhead *o) {
  const double operations = 2 * (double)t->m * (double)t->n * (double)t->k;
  return 1 / (1 / micro_efficiency + (o->per_switch * (double)t->rho + o->per_step) * peak / operations);
}
