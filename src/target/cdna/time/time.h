/* time.h - what a launch takes on the machine: compute units timed instruction by instruction (cu.h), caches by the
 * order of the grid (reuse.h), and the rest of the grid by these.
 *
 * A compute unit is timed with as many workgroups as share it, at the first and the last place of the grid, and where
 * these differ at six more. A workgroup elsewhere takes what lies between its neighbours of these; CUs then take
 * workgroups in order, each the next as soon as one leaves. The clock is that which power allows at the part of the
 * time in which matrix units work, so a kernel that is limited by it is timed twice. The same for any number of
 * threads. */
#ifndef TW_CDNA_TIME_H
#define TW_CDNA_TIME_H

#include "base/random.h"
#include "target/cdna/time/cu.h"

typedef struct cdna_times {
  double seconds, mhz; /* of the launch; the clock */
  double cycles;
  double use[CDNA_UNITS];   /* parts of the time in which units work, of the CUs that were timed */
  double stall[CDNA_WAITS]; /* parts of waves' time */
  double working;           /* of CUs' time: while they have work, over all rounds of the grid */
  double matrix_flops;      /* of the launch */
  double instructions;      /* of waves, of the launch */
  double waves;
  double bytes[CDNA_UNITS]; /* through LDS, L1, L2, LLC, memory, of the launch */
  double l2_hits, llc_hits; /* of loads beyond L1 */
  double conflicts;         /* of LDS: turns over phases */
  int together, sampled;    /* workgroups of a CU; CUs that were timed */
  double charged; /* work of the grid that no timed workgroup did, in parts of what they did: 0.1 costs a tenth more */
  const char *occupancy_limit;
  char bottleneck[160];
} cdna_times;

/* In the error of a launch that cannot be timed. */
#define CDNA_WAITS_FOR_OTHERS "it waits for other workgroups, which is not modelled"

/* What was executed when results were checked: workgroups that are timed must do the same. */
typedef struct cdna_watch {
  bool whole;             /* all of the grid was executed */
  double groups;          /* that were executed */
  uint64_t most;          /* instructions of one wave */
  double did[CDNA_KINDS]; /* work of all that were executed */
  /* Of each workgroup, in cycles (cdna_work_units): where all of the grid was executed, once; else NULL. */
  float *work;
  size_t room; /* of `work` */
} cdna_watch;

/* Cycles of a compute unit that work of each kind takes at least. */
void cdna_work_units(const cdna_rates *, double unit[CDNA_KINDS]);

typedef struct cdna_time_options {
  const cdna_machine *machine; /* NULL: that which is named like the architecture of the object */
  int jobs;
  cdna_spans *spans; /* of the first CU; NULL: none */
  /* The kernel is judged: it must not see by the clock that it is timed. */
  bool judged;
  uint64_t seed;           /* places of the grid are chosen by chance; 0: the first, the last, and between */
  const cdna_watch *watch; /* compares the timed work with the check; NULL: no comparison */
  size_t results, end;     /* allocations of memory, from `results` to before `end`, that are compared then */
} cdna_time_options;

/* Executes workgroups on `memory`, which afterwards holds no result. TW_FAILED if a kernel does other work than when it was
 * checked. Matrix instructions are executed only where it does without. */
tw_status cdna_time(const cdna_object *, const cdna_kernel *, const cdna_launch *, cdna_memory *,
                    const cdna_time_options *, cdna_times *, tw_error *);

#endif
