/* artefact.h - a compiled kernel of a case: how its launches run. Used only by target.c, case.c and check.c.
 *
 *     target.c  compiles it, measures it
 *     case.c a launch of a case: operands in memory, arguments, kernels in order
 *     check.c   compares results: of all workgroups, or of some
 *     hand.c    a launch by hand, without a case */
#ifndef TW_CDNA_ARTEFACT_H
#define TW_CDNA_ARTEFACT_H

#include "launch/launch.h"
#include "target/cdna/checks/checks.h"
#include "target/cdna/emulator/emulator.h"
#include "target/cdna/object/object.h"
#include "target/cdna/time/report.h"
#include "tilewright/extend/target.h"

enum { CDNA_KEPT = 1 + TW_OPERANDS_MAX };
struct tw_artefact {
  const cdna_machine *machine;
  cdna_object object;
  char *bytes;
  tw_launch launch;
  cdna_result_counts counts; /* for the last run */
  double whole;              /* number of workgroups in the launch for each executed one */
  char coverage[240];        /* for the last check */
  tw_inspection *inspection; /* for checks; NULL: none */
  bool has_printed;          /* a launch of a user's kernel has printed text */
  bool trust;                /* the source is the library's own, or the user trusts it */
  cdna_checker *checker;     /* while one runs */
  /* for each kernel, its counts during the check, and the memory that it found: the workspace, then operands (NULL: as at
   * the start of the launch); for this case */
  cdna_watch watch[TW_LAUNCH_KERNELS];
  uint8_t *found[TW_LAUNCH_KERNELS][CDNA_KEPT];
  const tw_case *watched;
};

/* What the execution of a kernel adds to the artefact: of all workgroups, or of some that run in parallel with others. */
typedef struct cdna_left {
  struct cdna_left *next; /* of the same run; NULL: the last */
  size_t kernel;
  int64_t group;           /* the first; CDNA_ALL_GROUPS: all */
  double unit[CDNA_KINDS]; /* work of an operation of each kind */
  cdna_result_counts counts;
  cdna_checker *checker; /* its own; NULL: the artefact's, or no checks */
  tw_text printed;
} cdna_left;

/* How kernels run: some of their workgroups, or all of them; or they are timed, with the main kernel's spans. */
enum { CDNA_ALL_GROUPS = -1 };
typedef struct cdna_manner {
  int64_t group;
  uint64_t count;    /* one thread runs `group` and the next ones on its XCD, `count` in all; 0: only `group` */
  size_t first, end; /* range of kernels to run; end 0: all */
  bool adds;         /* keeps the results of earlier kernels */
  void *workspace;   /* a workspace that another run of the kernels left, or that this run leaves for another */
  cdna_left *left;   /* of one kernel: not added to the artefact but left to the caller; NULL: added */
  cdna_times *times;
  cdna_spans *spans;
  const tw_case *data; /* the timed kernel */
} cdna_manner;

/* Runs kernels of the launch on buffers of the case's operands. */
tw_status cdna_case_run(tw_artefact *, const tw_case *, void *const buffer[], const cdna_manner *, tw_error *);
/* Adds counts and findings to the artefact, and prints the text of its first workgroup that has any. */
void cdna_case_take(tw_artefact *, cdna_left *);
/* Keeps the workspace that a kernel finds when results are checked, so that it finds the same when it is timed. */
void cdna_keep_workspace(tw_artefact *, size_t kernel, const void *workspace);
/* Frees the counts and workspaces of the last check. */
void cdna_artefact_forget(tw_artefact *);

/* Checks the results of a case. For a large problem, some workgroups are executed alone, if they share only results
 * of kernels before the main kernel. If workgroups read data of other workgroups, which only a run shows, the whole
 * launch is executed. */
tw_status cdna_artefact_check(tw_artefact *, const tw_case *, tw_error *);

/* ---- hand.c ---- */

tw_status cdna_launch_by_hand(const tw_target *, const void *data, size_t size, tw_raw_launch *, tw_measurement *,
                              tw_error *);
/* Prints a kernel's text to stderr, without control characters of terminals, and frees it. */
void cdna_put_printed(tw_text *);

/* Limit of instructions for a timed wave, relative to the longest checked wave. Beyond it, the wave waits for data
 * that never come. */
static inline uint64_t cdna_patience(uint64_t most) { return most ? 2 * most + 4096 : 0; }

static inline uint64_t cdna_groups_of(const tw_launch_kernel *l) {
  return (uint64_t)l->grid[0] * (uint64_t)l->grid[1] * (uint64_t)l->grid[2];
}

#endif
