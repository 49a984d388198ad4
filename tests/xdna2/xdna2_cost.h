/* xdna2_cost.h - costs of kernel calls with one source for all kernels, whatever the machine file selects. */
#ifndef TW_XDNA2_COST_H
#define TW_XDNA2_COST_H

#include "target/xdna2/array/cost.h"

static inline double cycles_by(const void *machine, const xd_call *call, bool scheduled) {
  const xd_cost cost = xd_cost_of(machine);
  xd_call c = *call;
  xd_kernel kernel;
  if (c.micro) {
    kernel = *c.micro;
    kernel.scheduled = scheduled;
    c.micro = &kernel;
  }
  return cost.cycles(cost.context, &c);
}

static inline double analytic_cycles(const void *machine, const xd_call *c) { return cycles_by(machine, c, false); }
static inline double scheduled_cycles(const void *machine, const xd_call *c) { return cycles_by(machine, c, true); }
static inline xd_cost analytic_cost(const xd_config *c) { return (xd_cost){analytic_cycles, c}; }
static inline xd_cost scheduled_cost(const xd_config *c) { return (xd_cost){scheduled_cycles, c}; }

#endif
