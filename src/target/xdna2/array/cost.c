/* cost.c - see cost.h. */
#include "target/xdna2/array/cost.h"

#include <string.h>

#include "target/xdna2/array/kernel.h"
#include "target/xdna2/rate.h"

/* Bytes that a call stores. */
static double stored(const xd_call *c) {
  double bytes = 0;
  for (int i = 0; i < c->function->n_arguments; i++)
    if (c->function->access[i] & XD_WRITES) bytes += (double)c->function->bytes(c, i);
  return bytes;
}

static double cycles(const void *context, const xd_call *c) {
  const xd_config *machine = context;
  if (c->micro) {
    const double macs = (double)c->m * c->k * c->n;
    return macs / xd_vmac_macs(c->micro) / xd_micro_efficiency(machine, c->micro, c->k) + machine->switch_cycles;
  }
  if (!strcmp(c->function->name, "step")) return machine->step_cycles;
  return stored(c) / machine->array.store_bytes;
}

xd_cost xd_analytic_cost(const xd_config *c) { return (xd_cost){cycles, c}; }
