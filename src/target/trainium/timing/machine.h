/* machine.h - simulates engines, semaphores and transfers. */
#ifndef TW_TRAINIUM_MACHINE_H
#define TW_TRAINIUM_MACHINE_H

#include "target/trainium/timing/hazards.h"
#include "target/trainium/timing/timing.h"

/* The clock of the PE array: slow until the end of a window in which enough of the array was used. */
typedef struct trn_clock {
  const trn_config_tensor *config;
  double rate, window_end, used;
} trn_clock;

trn_clock trn_clock_start(const trn_config_tensor *);
/* The end of work that begins at `start`, takes `work` nanoseconds at the full clock, and uses the share `fill` of
 * the array. Starts never decrease. */
double trn_clock_run(trn_clock *, double start, double work, double fill);

/* Fills in spans, starts, ends, busy times, `device` and bytes. */
tw_status trn_run_machine(const trn_config *, const trn_compiled *, const trn_hazards *, trn_timing *out, tw_error *);

#endif
