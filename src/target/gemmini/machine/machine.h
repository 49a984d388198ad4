/* machine.h - one run of a program on the simulated Rocket + Gemmini system.
 *
 * The RV64 core drives; commands that leave it enter the accelerator's clocked model, which advances to their cycle.
 * The model follows the RTL unit by unit (see internal.h); functional.h computes the values. */
#ifndef TW_GEMMINI_MACHINE_H
#define TW_GEMMINI_MACHINE_H

#include <stdio.h>

#include "target/gemmini/config.h"
#include "target/gemmini/core/rv64.h"
#include "target/gemmini/machine/functional.h"

typedef struct gm_machine gm_machine;

/* How the array's time is used: every cycle between the marks counts in exactly one counter of the first group. */
typedef struct gm_counters {
  uint64_t cycles;
  uint64_t array_busy;    /* rows of a compute enter the array */
  uint64_t array_preload; /* weights alone enter the array (no compute beside them) */
  uint64_t bank_conflict; /* an operand waits for its scratchpad bank: same-bank operands or a DMA write */
  uint64_t wait_load;     /* the next command of the array waits for a load */
  /* ... for a store that still reads its destination, or the full store queue blocks later commands */
  uint64_t wait_store;
  uint64_t wait_config;     /* the array drains before a config_ex */
  uint64_t wait_load_queue; /* the array is idle because a full load queue blocks later commands */
  uint64_t wait_cpu;        /* the core has not issued the next command of the array */
  uint64_t drain;           /* fence: the last stores leave */
  /* counts */
  uint64_t commands, loads, computes, stores, configs, fences;
  uint64_t load_bytes, store_bytes;
  uint64_t l2_hits, l2_fills, llc_misses;
  uint64_t short_strides; /* loads that end an RTL simulation: see gm_arch_short_strides */
  uint64_t macs;          /* useful multiply-accumulates */
} gm_counters;

/* `memory` is the program image; both must outlive the machine. NULL with an error on failure. */
gm_machine *gm_machine_new(const gm_config *, const rv64_memory *, tw_error *);
void gm_machine_free(gm_machine *);

/* The core's requests. */
rv64_ports gm_machine_ports(gm_machine *);

/* Sets a limit of cycles: a loop may keep the accelerator busy for very long while the core waits in one fence. The
 * run fails after this cycle. */
void gm_machine_limit(gm_machine *, uint64_t max_cycles);
/* Loads may read data of earlier stores without a fence: published programs that rely on it are timed this way. */
void gm_machine_allow_any_order(gm_machine *);

/* Writes a timeline of commands as they pass the units, in the Chrome trace format; call before the run. */
void gm_machine_trace(gm_machine *, FILE *);

/* A listener to the core's output: each command and each fence, the cycle at which the core offered it and the cycle at
 * which the core continued. */
typedef struct gm_listener {
  void *context;
  void (*command)(void *context, const gm_command *, uint64_t offered, uint64_t taken);
  void (*fence)(void *context, uint64_t offered, uint64_t passed);
} gm_listener;
void gm_machine_listen(gm_machine *, const gm_listener *); /* copied; call before the run */

/* After the run, whose marks were in cycles `begin` and `end`: closes the trace, completes the counters. Counts between
 * the harness's fence and the first mark are waits for the core, and dropped. */
gm_counters gm_machine_finish(gm_machine *, uint64_t begin, uint64_t end);
/* Called by the core's first mark (counters before it are dropped). */
void gm_machine_start(gm_machine *, uint64_t cycle);

gm_memory_use gm_machine_memory_use(const gm_machine *);

#endif
