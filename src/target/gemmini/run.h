/* run.h - runs a built program on the simulated machine, on a case's inputs, with poisoned outputs. */
#ifndef TW_GEMMINI_RUN_H
#define TW_GEMMINI_RUN_H

#include "target/gemmini/config.h"
#include "target/gemmini/core/rv64.h"
#include "target/gemmini/machine/machine.h"
#include "tilewright/extend/op.h"

typedef struct gm_run_options {
  const char *trace;             /* file for a timeline; NULL = none */
  uint64_t max_cycles;           /* 0 = a large multiple of the time of the simplest program */
  const volatile int *interrupt; /* may be NULL */
  const gm_listener *listener;   /* receives the core's commands; may be NULL */
  bool any_order;                /* loads may read data of earlier stores without a fence: this depends on timing */
  bool from_first_count; /* time starts where a pasted kernel reads the cycle counter, after it has saved registers */
} gm_run_options;

typedef struct gm_run_result {
  rv64_result core;
  gm_counters counters;
  gm_memory_use memory;
} gm_run_result;

/* TW_OK: the program ended and its outputs equal the case's. TW_FAILED: it did not end, or outputs differ; the error
 * gives the place and the reason. *out is filled in both cases. */
/* For such an error: true if the program only lacks fences. Its result then depends on the order of completion. */
bool gm_relies_on_timing(const tw_error *);
tw_status gm_run(const gm_config *, const void *elf, size_t size, const tw_case *, const gm_run_options *,
                 gm_run_result *out, tw_error *);

#endif
