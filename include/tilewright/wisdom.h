/* wisdom.h - the best known kernel for (problem, target), kept across runs in one text file: its recipe, or its source
 * where it has none. One of each may be known; only recipes are of use to other shapes.
 *
 * The command reads wisdom before a search and keeps the result. tw_search does neither: a program calls the functions below.
 *
 * $TILEWRIGHT_WISDOM, else $XDG_DATA_HOME/tilewright/wisdom.json, else ~/.local/share/tilewright/wisdom.json.
 * Written to a temporary file and renamed, under a lock: two searches at once lose nothing. */
#ifndef TILEWRIGHT_WISDOM_H
#define TILEWRIGHT_WISDOM_H

#include "tilewright/schedule.h"
#include "tilewright/target.h"

#ifdef __cplusplus
extern "C" {
#endif
#pragma GCC visibility push(default)

typedef struct tw_wisdom_entry {
  char target[64];
  char problem[512];    /* as tw_problem_print writes it */
  tw_schedule schedule; /* the recipe; empty where there is a source */
  char *source;         /* malloc'ed; NULL: `schedule` is the recipe */
  double cost, utilization;
  char unit[16];
  int64_t found;        /* when it was measured: seconds since 1970; 0: not known */
  uint64_t reserved[4]; /* room to grow: 0 */
} tw_wisdom_entry;

typedef struct tw_wisdom {
  size_t n;
  tw_wisdom_entry *entry;
} tw_wisdom;

/* A missing file is empty wisdom; `path` NULL means the default place. */
tw_status tw_wisdom_load(const char *path, tw_wisdom *out, tw_error *);
void tw_wisdom_free(tw_wisdom *);
/* Adds the entry, or puts it in the place of the known recipe or, of a source, the known source, if it is better, or if what is
 * known cannot be true; other writers' entries are kept. TW_FAILED for an entry that is faster than the machine can be. */
tw_status tw_wisdom_keep(const char *path, const tw_wisdom_entry *, tw_error *);
/* Keeps many entries at once, all or none. An entry that is faster than the machine can be is left out; *refused (may be NULL)
 * counts these entries, and *why (may be NULL) tells the first. */
tw_status tw_wisdom_keep_all(const char *path, const tw_wisdom_entry *, size_t n, size_t *refused, tw_error *why,
                             tw_error *);
/* Replaces the recipe and the source for the problem by the entry, whatever their costs: the entry was measured against them. One
 * step: on failure the file is as it was. TW_FAILED for an entry that is faster than the machine can be. */
tw_status tw_wisdom_replace(const char *path, const tw_wisdom_entry *, const tw_problem *, tw_error *);
/* Takes the recipe and the source for this very problem out; *forgotten (may be NULL) is how many there were. */
tw_status tw_wisdom_forget(const char *path, const char *target, const tw_problem *, size_t *forgotten, tw_error *);
/* The recipe for this very problem; else the one of the same op, types and target whose shape is nearest
 * (*exact tells); NULL if there is none. */
const tw_wisdom_entry *tw_wisdom_find(const tw_wisdom *, const char *target, const tw_problem *, bool *exact);

/* The source for this very problem that is better than its recipe; NULL if there is none. */
const tw_wisdom_entry *tw_wisdom_find_source(const tw_wisdom *, const char *target, const tw_problem *);

/* Does the target's model predict that the schedule is much slower than the baseline? Such an entry is not applied: earlier
 * versions kept the best kernel of a search even where the library's own was faster. */
bool tw_wisdom_is_hopeless(const tw_target *, const tw_problem *, const tw_schedule *);

/* Lets the libraries of targets use what the file knows for their problems from now on, in this process: on `x86`,
 * tw_gemm_plan takes the kernel and blocks that a search found for the very description. Takes a second for each kernel
 * that is not in the cache and has to be compiled; planning takes no longer than before. *applied (may be NULL) is the
 * number of entries in use. Entries that cannot be used here (another machine's, no compiler) are passed over. TW_USAGE
 * for a damaged file. */
tw_status tw_wisdom_apply(const char *path, size_t *applied, tw_error *);

#pragma GCC visibility pop
#ifdef __cplusplus
}
#endif
#endif
