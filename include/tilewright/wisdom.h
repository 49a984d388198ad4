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

/* The entries of a file, or entries that tw_wisdom_add made. Free it with tw_wisdom_free. Reading functions take NULL
 * as empty wisdom and never fail. Threads may read one wisdom at once. */
typedef struct tw_wisdom tw_wisdom;
/* The kernel of one problem. It belongs to its wisdom, and so does all that the functions below return: they are valid
 * until tw_wisdom_add or tw_wisdom_free. */
typedef struct tw_wisdom_entry tw_wisdom_entry;

/* A missing file is empty wisdom; `path` NULL means the default place. On failure *out is NULL. TW_USAGE: a damaged
 * file. */
TW_API tw_status tw_wisdom_load(const char *path, tw_wisdom **out, tw_error *);
TW_API void tw_wisdom_free(tw_wisdom *); /* NULL is fine */

/* ---- reading ---- */

/* Entries in the order of the file, by index; NULL past the last. */
TW_API const tw_wisdom_entry *tw_wisdom_at(const tw_wisdom *, size_t index);
/* The schedule for this problem; else the schedule of the nearest shape with the same op, types and target (*exact
 * distinguishes the two; it may be NULL); NULL if wisdom has none. */
TW_API const tw_wisdom_entry *tw_wisdom_find(const tw_wisdom *, const char *target, const tw_problem *, bool *exact);
/* The source for exactly this problem if it is better than the schedule; otherwise NULL. */
TW_API const tw_wisdom_entry *tw_wisdom_find_source(const tw_wisdom *, const char *target, const tw_problem *);

TW_API const char *tw_wisdom_entry_target(const tw_wisdom_entry *);
/* The problem in the form of tw_problem_print. */
TW_API const char *tw_wisdom_entry_problem(const tw_wisdom_entry *);
/* NULL if the entry has a source. */
TW_API const tw_schedule *tw_wisdom_entry_schedule(const tw_wisdom_entry *);
/* NULL if the entry has a schedule. */
TW_API const char *tw_wisdom_entry_source(const tw_wisdom_entry *);
/* In the unit of the target: "cycles" or "seconds". */
TW_API double tw_wisdom_entry_cost(const tw_wisdom_entry *);
TW_API const char *tw_wisdom_entry_unit(const tw_wisdom_entry *);
/* As in tw_measurement. */
TW_API double tw_wisdom_entry_utilization(const tw_wisdom_entry *);
/* Time of the measurement in seconds since 1970; 0: unknown. */
TW_API int64_t tw_wisdom_entry_found(const tw_wisdom_entry *);
/* A digest of the machine, compiler, driver and version of tilewright that measured the cost (tw_wisdom_machine); 0:
 * unknown. Costs with different digests are not compared. */
TW_API uint64_t tw_wisdom_entry_machine(const tw_wisdom_entry *);
/* The digest for costs that this computer measures on the target; 0 without memory. */
TW_API uint64_t tw_wisdom_machine(const tw_target *);

/* ---- writing ---- */

/* Adds an entry that is measured now: a schedule, or a source if `schedule` is NULL. Both are copied. Of the
 * measurement, cost and utilization are read. `machine` is tw_wisdom_machine, or 0 if the machine is unknown. If
 * *wisdom is NULL, it is created. TW_USAGE: neither schedule nor source, or a cost that is not positive. On failure
 * *wisdom is unchanged. */
TW_API tw_status tw_wisdom_add(tw_wisdom **wisdom, const tw_target *, const tw_problem *, const tw_schedule *schedule,
                               const char *source, const tw_measurement *, uint64_t machine, tw_error *);
/* Adds all entries to the file, or none. A schedule replaces the file's schedule of the problem, and a source the
 * source, if it is faster or the known cost is impossible. If machine or version differ, the later measurement stays.
 * Entries of other writers stay. An entry with a cost below the hard bound is skipped: *refused counts the skipped
 * entries, and *why (may be NULL) describes the first. If `refused` is NULL, such an entry is TW_FAILED. */
TW_API tw_status tw_wisdom_keep(const char *path, const tw_wisdom *, size_t *refused, tw_error *why, tw_error *);
/* The entries replace schedule and source of their problems, whatever their costs, because they were measured against
 * them. On failure the file is unchanged. TW_FAILED for an entry that is below the hard bound. */
TW_API tw_status tw_wisdom_replace(const char *path, const tw_wisdom *, tw_error *);
/* Removes schedule and source of exactly this problem; *forgotten (may be NULL) is the number of removed entries. */
TW_API tw_status tw_wisdom_forget(const char *path, const char *target, const tw_problem *, size_t *forgotten,
                                  tw_error *);

/* ---- using ---- */

/* Does the target's model predict that the schedule is much slower than the baseline? Such an entry is not applied.
 * Earlier versions kept the best kernel of a search even if the library's own kernel was faster. */
TW_API bool tw_wisdom_is_hopeless(const tw_target *, const tw_problem *, const tw_schedule *);

/* From now on, libraries of targets in this process use the file's entries: on `x86`, tw_gemm_plan_create uses the
 * tuned kernel and blocks for exactly the tuned problem. The call takes a second for each kernel that must be compiled;
 * planning takes no longer than before. *applied (may be NULL) is the number of entries in use. Entries of another
 * machine, or that need a missing compiler, are skipped. TW_USAGE for a damaged file. */
TW_API tw_status tw_wisdom_apply(const char *path, size_t *applied, tw_error *);

#ifdef __cplusplus
}
#endif
#endif
