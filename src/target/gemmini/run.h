/* run.h - runs a built program on the simulated machine, on a case's inputs, with poisoned outputs. */
#ifndef TW_GEMMINI_RUN_H
#define TW_GEMMINI_RUN_H

#include "target/gemmini/config.h"
#include "target/gemmini/core/rv64.h"
#include "target/gemmini/machine/machine.h"
#include "tilewright/op.h"

typedef struct gm_run_options {
  const char *trace;             /* file for a timeline; NULL = none */
  uint64_t max_cycles;           /* 0 = a generous multiple of what the plainest program needs */
  const volatile int *interrupt; /* may be NULL */
  const gm_listener *listener;   /* of the core's commands; may be NULL */
  bool any_order;        /* loads may take what a store before them writes, without a fence: it depends on timing */
  bool from_first_count; /* time starts where a pasted kernel reads the cycle counter, behind what it saves */
} gm_run_options;

typedef struct gm_run_result {
  rv64_result core;
  gm_counters counters;
  gm_memory_use memory;
} gm_run_result;

/* TW_OK: the program ended and its outputs are those of the case. TW_FAILED: it did not, or they are not; the error
 * says where and how. *out is filled in both cases. */
/* Of such an error: does the program only lack fences? Its result then depends on what is done first. */
bool gm_relies_on_timing(const tw_error *);
tw_status gm_run(const gm_config *, const void *elf, size_t size, const tw_case *, const gm_run_options *,
                 gm_run_result *out, tw_error *);

#endif
