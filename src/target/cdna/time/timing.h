/* timing.h - the state of one timed launch, shared by the stages of time.c. */
#ifndef TW_CDNA_TIMING_H
#define TW_CDNA_TIMING_H

#include "target/cdna/time/reuse.h"
#include "target/cdna/time/time.h"

enum { CDNA_PLACES_FIRST = 2, CDNA_PLACES = 8 };
/* Workgroups whose work differs by less count as equal, as far as sums of floats can tell. */
#define CDNA_WORK_ROUNDED 1e-4

typedef struct cdna_timing {
  const cdna_machine *machine;
  const cdna_rates *rates;
  const cdna_dispatch *dispatch;
  cdna_cu_setup setup;
  cdna_reuse reuse;
  cdna_occupancy occupancy;
  uint64_t groups, of_xcd; /* number of workgroups; maximum number on one XCD */
  bool by_order;           /* atomics: the work of a workgroup may depend on the order of arrival */
  int cus, together;
  bool has_matrix;
  /* timed places of the grid: workgroups of XCD 0 from this one on */
  int n_places;
  uint64_t place[CDNA_PLACES];
  int xcd[CDNA_PLACES];
  int at_once[CDNA_PLACES];
  cdna_cu_result result[CDNA_PLACES];
  tw_status status[CDNA_PLACES];
  tw_error error[CDNA_PLACES];
  cdna_spans *spans;
  cdna_cu_setup setups[CDNA_PLACES];
  uint64_t list[CDNA_PLACES][CDNA_TOGETHER_MAX];
  cdna_memory *memory;
  uint64_t seed;           /* seed of places; 0: not random */
  bool uneven;             /* workgroups are known to do different amounts of work */
  bool foreign;            /* the kernel is untrusted */
  bool xcds_differ;        /* by the sample of the check */
  const cdna_watch *watch; /* compares the timed work with the check; NULL: no comparison */
  double unit[CDNA_KINDS];
  double mhz;                                         /* clock of the last run of all places */
  cdna_work expected[CDNA_PLACES][CDNA_TOGETHER_MAX]; /* for each timed workgroup, executed alone */
} cdna_timing;

/* ---- places.c: which workgroups are timed ---- */

/* Chooses n places: at random if the timing has a seed; else spread over the rounds of the grid. */
void cdna_timing_choose_places(cdna_timing *, int n);
/* Fills in the workgroups that run together at place i. */
void cdna_timing_list_groups(cdna_timing *, int i);
/* Only some workgroups of an untrusted kernel were executed in the check. */
bool cdna_timing_is_sampled(const cdna_timing *);

/* ---- grid.c: from timed places to the whole grid ---- */

/* Runs the places at this clock. */
tw_status cdna_timing_run(cdna_timing *, double mhz, int jobs, tw_error *);
/* Work of one workgroup at place i, in cycles. */
double cdna_timing_work_at(const cdna_timing *, int i);
/* Chooses places, runs them at the clock that the power allows, and derives the time of the grid. */
tw_status cdna_timing_grid(cdna_timing *, int jobs, cdna_times *, tw_error *);

/* ---- compare.c: the timed work is the checked work ---- */

/* Finds cache hit rates. If accesses depend on products, matrix instructions are executed. */
tw_status cdna_timing_find_reuse(cdna_timing *, cdna_dispatch *, int jobs, tw_error *);
/* Times the grid. TW_FAILED if the timed workgroups do other work, or write other results, than in the check. */
tw_status cdna_timing_compare(cdna_timing *, cdna_dispatch *, const cdna_time_options *, int jobs, cdna_times *,
                              tw_error *);

#endif
