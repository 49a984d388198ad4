/* utilization.h - what tw_measurement.utilization is a fraction of. Where arithmetic limits a problem, it is of the
 * machine's peak. Where memory does, no kernel comes near peak, and it is of the bound: bound / cost. */
#ifndef TW_BASE_UTILIZATION_H
#define TW_BASE_UTILIZATION_H

#include "tilewright/extend/target.h"

static inline bool tw_is_memory_bound(const tw_bound *b) { return b->memory_cost > b->compute_cost; }

/* "85% of ..." */
static inline const char *tw_utilization_of(const tw_bound *b) {
  return tw_is_memory_bound(b) ? "the bound, which memory sets" : "the machine's peak";
}

/* Targets fill in the fraction of peak. This replaces it with the fraction of the bound where memory limits the
 * problem. */
static inline void tw_set_utilization(const tw_bound *b, tw_measurement *m) {
  if (tw_is_memory_bound(b) && m->cost > 0) m->utilization = b->cost / m->cost;
}

#endif
