/* time.h - the time of a launch on the machine: compute units are timed instruction by instruction (cu.h), caches
 * follow the order of the grid (reuse.h), and the rest of the grid is derived from these.
 *
 * A compute unit is timed with all workgroups that share it, at the first and the last place of the grid, and at six
 * more if these differ. The time of another workgroup is interpolated between its timed neighbours. CUs then execute
 * workgroups in order, each starting the next as soon as one ends. The clock depends on power, and so on the share of
 * time in which matrix and vector units work; a kernel limited by it is timed again, until the clock stays about the
 * same. The same for any number of threads. */
#ifndef TW_CDNA_TIME_H
#define TW_CDNA_TIME_H

#include "base/random.h"
#include "op/operand.h"
#include "target/cdna/grid/caches.h"
#include "target/cdna/time/cu.h"

typedef struct cdna_times {
  double seconds, mhz; /* seconds of the launch; clock */
  double cycles;
  double use[CDNA_UNITS];   /* fraction of the time in which units work, on the timed CUs */
  double stall[CDNA_WAITS]; /* parts of waves' time */
  double working;           /* fraction of CU time with work, over all rounds of the grid */
  double matrix_flops;      /* of the launch */
  double instructions;      /* waits of waves, in the launch */
  double waves;
  double bytes[CDNA_UNITS]; /* bytes through LDS, L1, L2, LLC and memory in the launch */
  double l2_hits, llc_hits; /* loads beyond L1 */
  double conflicts;         /* for LDS: turns relative to phases */
  int together, sampled;    /* workgroups of a CU; CUs that were timed */
  double charged; /* work of the grid beyond the timed workgroups' work, as a fraction: 0.1 adds a tenth to the time */
  const char *occupancy_limit;
  char bottleneck[160];
} cdna_times;

/* In the error of a launch that cannot be timed. */
#define CDNA_WAITS_FOR_OTHERS "it waits for other workgroups, which is not modelled"

/* The work that was executed in the check of results: timed workgroups must do the same. */
typedef struct cdna_watch {
  bool whole;             /* all of the grid was executed */
  double groups;          /* number of executed workgroups */
  uint64_t most;          /* instructions of one wave */
  double did[CDNA_KINDS]; /* work of all executed workgroups */
  /* For each workgroup, in cycles (cdna_work_units), if all of the grid was executed once; else NULL. */
  float *work;
  size_t room; /* number of elements of `work` */
  /* Where workgroups were sampled: their number, the sum of their work and of its squares, for each XCD. */
  struct cdna_sampled {
    double n, work, squares;
  } sampled[CDNA_XCDS_MAX];
} cdna_watch;

/* Cycles of a compute unit that work of each kind takes at least. With a seed, each kind weighs half to twice as much:
 * so workgroups of an unknown kernel only count as equal if they do equal amounts of each kind. */
void cdna_work_units(const cdna_rates *, uint64_t seed, double unit[CDNA_KINDS]);

typedef struct cdna_time_options {
  const cdna_machine *machine; /* NULL: the machine named like the architecture of the object */
  int jobs;
  cdna_spans *spans; /* timeline of the first CU; NULL: none */
  /* The kernel is judged: it must not see by the clock that it is timed. */
  bool judged;
  bool inspect;     /* the kernel is untrusted: its timed workgroups must have no missing waits, barriers or races */
  uint64_t seed;    /* places of the grid are chosen by chance; 0: the first, the last, and between */
  uint64_t weights; /* seed of cdna_work_units */
  const cdna_watch *watch; /* compares the timed work with the check; NULL: no comparison */
  /* Allocations of memory up to `end` are compared, too: from `results` on these operands, and before them the
   * workspace. */
  size_t results, end;
  const tw_operand *operand;
} cdna_time_options;

/* Executes workgroups on `memory`, which then holds no valid result. TW_FAILED if a kernel does not do the same work
 * as in the check. Matrix instructions are executed only if the work depends on them. */
tw_status cdna_time(const cdna_object *, const cdna_kernel *, const cdna_launch *, cdna_memory *,
                    const cdna_time_options *, cdna_times *, tw_error *);

#endif
