/* count.h - helpers with which targets fill measurements and explanations. */
#ifndef TW_TARGET_COUNT_H
#define TW_TARGET_COUNT_H

#include <stdlib.h>

#include "tilewright/extend/target.h"

/* Texts must be static. Entries beyond the room are dropped. */
static inline void tw_count(tw_measurement *m, const char *name, const char *unit, const char *help, double value) {
  if (m->n_counters < TW_COUNTERS_MAX) m->counter[m->n_counters++] = (tw_counter){name, unit, help, value};
}

static inline int tw_by_time(const void *a, const void *b) {
  const double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

/* Sorts the times. */
static inline tw_spread tw_spread_of(double *time, size_t n) {
  if (!n) return (tw_spread){0};
  qsort(time, n, sizeof *time, tw_by_time);
  return (tw_spread){n, time[0], time[n / 4], time[n / 2], time[3 * n / 4], time[n - 1]};
}

static inline void tw_add_quantity(tw_explanation *e, const char *name, const char *unit, double value,
                                   const char *help) {
  if (e->n_quantities < TW_QUANTITIES_MAX) e->quantity[e->n_quantities++] = (tw_counter){name, unit, help, value};
}

#endif
