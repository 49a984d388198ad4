/* checks.h - mistakes of a kernel that its results may hide, found during a run by an observer (observe.h).
 *
 * A finding is behaviour that may differ between two runs on a machine, or between a machine and this emulator. It is
 * reported once for each instruction, at its first occurrence (in the workgroup of the lowest number, for any number of
 * threads), with the number of occurrences. Suspected defects of machines are warnings.
 *
 *     undefined.c  unwritten values decide an address, a branch or a stored value
 *     lds.c        waves that use the same bytes of LDS without a barrier, or without a wait before it
 *     waits.c      registers used before an s_waitcnt guarantees their value
 *     hazards.c    wait states between instructions that the hardware does not insert
 *     global.c     alignment; workgroups that write the same bytes
 *     checks.c     the list of findings; barriers; defects
 *     counts.h     counts for each instruction */
#ifndef TW_CDNA_CHECKS_H
#define TW_CDNA_CHECKS_H

#include "base/strings.h"
#include "target/cdna/emulator/observe.h"
#include "target/cdna/machine.h"
#include "tilewright/extend/target.h"

typedef enum cdna_check {
  CDNA_CHECK_BOUNDS, /* found by the emulator itself, which stops the kernel */
  CDNA_CHECK_UNINITIALIZED,
  CDNA_CHECK_RACES,
  CDNA_CHECK_WAITS,
  CDNA_CHECK_HAZARDS,
  CDNA_CHECK_ALIGNMENT,
  CDNA_CHECK_BARRIERS,
  CDNA_CHECK_OVERLAPS,
  CDNA_CHECK_DEFECTS, /* warnings */
  CDNA_CHECKS
} cdna_check;

const char *cdna_check_name(cdna_check); /* "races", ... */
/* A comma-separated list, "all", "none", or "usual": all checks, but hazards are warnings, because AMD's own kernels
 * have some. Gives bits of cdna_check, and CDNA_CHECKS_LENIENT. TW_USAGE with the list of checks. */
enum { CDNA_CHECKS_LENIENT = 1 << 30 };
tw_status cdna_checks_parse(const char *text, unsigned *out, tw_error *);
/* True if the inspection ignores accesses out of bounds. Without inspection they are detected. */
bool cdna_checks_ignore_bounds(const tw_inspection *);

typedef struct cdna_finding {
  cdna_check check;
  size_t at; /* dword of the instruction in its program */
  uint64_t group, times;
  uint32_t position[3];
  int wave, lane; /* lane -1: the wave as a whole */
  char text[560];
} cdna_finding;

typedef struct cdna_checker cdna_checker;

/* The observer of the inspection; *out is NULL if no check needs one. */
tw_status cdna_checker_new(const tw_inspection *, cdna_checker **out, tw_error *);
void cdna_checker_free(cdna_checker *);
/* The observer for a run; call it before each run. */
const cdna_observer *cdna_checker_start(cdna_checker *);
/* Adds findings and counts of another checker of the same inspection, after its run. */
void cdna_checker_add(cdna_checker *, const cdna_checker *);
/* Call after the runs: adds findings and counts to the inspection, as text. */
void cdna_checker_report(cdna_checker *, const cdna_object *, const cdna_kernel *, const cdna_machine *,
                         tw_inspection *);
/* Findings of the last run: missing barriers and waits first, each by instruction, then check. */
size_t cdna_checker_findings(const cdna_checker *, const cdna_finding **out);

#endif
