/* machine.h - engines, semaphores and transfers in time. */
#ifndef TW_TRAINIUM_MACHINE_H
#define TW_TRAINIUM_MACHINE_H

#include "target/trainium/timing/hazards.h"
#include "target/trainium/timing/timing.h"

/* The clock of the PE array: slow until a window in which the array was used enough. */
typedef struct trn_clock {
  const trn_config_tensor *config;
  double rate, window_end, used;
} trn_clock;

trn_clock trn_clock_start(const trn_config_tensor *);
/* Work from `start` on, in nanoseconds of the full clock, with part of the array in use: its end. Starts do not go back. */
double trn_clock_run(trn_clock *, double start, double work, double fill);

/* Fills spans, starts, ends, busy times, `device` and bytes. */
tw_status trn_run_machine(const trn_config *, const trn_compiled *, const trn_hazards *, trn_timing *out, tw_error *);

#endif
