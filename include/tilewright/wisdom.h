/* wisdom.h - the best known kernel for each problem and target, kept between runs in one text file.
 *
 * An entry is a schedule or, if the kernel has none, a source. A problem may have one of each; only schedules are
 * useful for other shapes. tw_tune (tune.h) reads wisdom before a search and stores the result; the command and the
 * Python package call it. The functions below are for programs that keep wisdom themselves.
 *
 * $TILEWRIGHT_WISDOM, else $XDG_DATA_HOME/tilewright/wisdom.json, else ~/.local/share/tilewright/wisdom.json. The
 * file is written to a temporary file and renamed, under a lock: two concurrent searches lose nothing. */
#ifndef TILEWRIGHT_WISDOM_H
#define TILEWRIGHT_WISDOM_H

#include "tilewright/schedule.h"
#include "tilewright/target.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct tw_wisdom_entry {
  char target[64];
  /* The problem in the form of tw_problem_print. */
  char problem[512];
  /* The schedule; empty if the entry has a source. */
  tw_schedule schedule;
  /* The source, malloc'ed; NULL: the entry is `schedule`. */
  char *source;
  double cost, utilization;
  char unit[16];
  /* Time of the measurement in seconds since 1970; 0: unknown. */
  int64_t found;
  /* A digest of the machine, compiler, driver and version of tilewright that measured the cost (tw_wisdom_machine); 0: unknown.
   * Costs with different digests are not compared. */
  uint64_t machine;
} tw_wisdom_entry;

typedef struct tw_wisdom {
  size_t n;
  tw_wisdom_entry *entry;
} tw_wisdom;

/* The value of tw_wisdom_entry.machine for costs that this computer measures on the target; 0 without memory. */
TW_API uint64_t tw_wisdom_machine(const tw_target *);

/* A missing file is empty wisdom; `path` NULL means the default place. */
TW_API tw_status tw_wisdom_load(const char *path, tw_wisdom *out, tw_error *);
TW_API void tw_wisdom_free(tw_wisdom *);
/* Adds the entry. A schedule replaces the known schedule, and a source the known source, if it is faster or the known cost is
 * impossible. If machine or version differ, it always does. Entries of other writers stay. TW_FAILED: below the hard bound. */
TW_API tw_status tw_wisdom_keep(const char *path, const tw_wisdom_entry *, tw_error *);
/* Keeps many entries at once, all or none. An entry with a cost below the hard bound is skipped; *refused (may be NULL) counts
 * the skipped entries, and *why (may be NULL) describes the first. */
TW_API tw_status tw_wisdom_keep_all(const char *path, const tw_wisdom_entry *, size_t n, size_t *refused, tw_error *why,
                                    tw_error *);
/* Replaces schedule and source of the problem by the entry, whatever their costs, because the entry was measured against them.
 * On failure the file is unchanged. TW_FAILED for an entry that is below the hard bound. */
TW_API tw_status tw_wisdom_replace(const char *path, const tw_wisdom_entry *, const tw_problem *, tw_error *);
/* Removes schedule and source of exactly this problem; *forgotten (may be NULL) is the number of removed entries. */
TW_API tw_status tw_wisdom_forget(const char *path, const char *target, const tw_problem *, size_t *forgotten,
                                  tw_error *);
/* The schedule for this problem; else the schedule of the nearest shape with the same op, types and target (*exact
 * distinguishes the two); NULL if wisdom has none. */
TW_API const tw_wisdom_entry *tw_wisdom_find(const tw_wisdom *, const char *target, const tw_problem *, bool *exact);

/* The source for exactly this problem if it is better than the schedule; otherwise NULL. */
TW_API const tw_wisdom_entry *tw_wisdom_find_source(const tw_wisdom *, const char *target, const tw_problem *);

/* Does the target's model predict that the schedule is much slower than the baseline? Such an entry is not applied. Earlier
 * versions kept the best kernel of a search even if the library's own kernel was faster. */
TW_API bool tw_wisdom_is_hopeless(const tw_target *, const tw_problem *, const tw_schedule *);

/* From now on, libraries of targets in this process use the file's entries: on `x86`, tw_gemm_plan_create uses the tuned
 * kernel and blocks for exactly the tuned problem. The call takes a second for each kernel that must be compiled;
 * planning takes no longer than before. *applied (may be NULL) is the number of entries in use. Entries of another
 * machine, or that need a missing compiler, are skipped. TW_USAGE for a damaged file. */
TW_API tw_status tw_wisdom_apply(const char *path, size_t *applied, tw_error *);

#ifdef __cplusplus
}
#endif
#endif
