/* wisdom.h - the best known schedule for (problem, target), kept across runs in one text file.
 *
 * $TILEWRIGHT_WISDOM, else $XDG_DATA_HOME/tilewright/wisdom.json, else ~/.local/share/tilewright/wisdom.json.
 * Written to a temporary file and renamed, under a lock: two searches at once lose nothing. */
#ifndef TILEWRIGHT_WISDOM_H
#define TILEWRIGHT_WISDOM_H

#include "tilewright/op.h"
#include "tilewright/schedule.h"

#ifdef __cplusplus
extern "C" {
#endif
#pragma GCC visibility push(default)

typedef struct tw_wisdom_entry {
  char target[64];
  char problem[512]; /* as tw_problem_print writes it */
  tw_schedule schedule;
  double cost, utilization;
  char unit[16];
} tw_wisdom_entry;

typedef struct tw_wisdom {
  size_t n;
  tw_wisdom_entry *entry;
} tw_wisdom;

/* A missing file is empty wisdom; `path` NULL means the default place. */
tw_status tw_wisdom_load(const char *path, tw_wisdom *out, tw_error *);
void tw_wisdom_free(tw_wisdom *);
/* Adds or replaces if it is better; other writers' entries are kept. */
tw_status tw_wisdom_keep(const char *path, const tw_wisdom_entry *, tw_error *);
/* The entry for this very problem; else the one of the same op, types and target whose shape is nearest
 * (*exact tells); NULL if there is none. */
const tw_wisdom_entry *tw_wisdom_find(const tw_wisdom *, const char *target, const tw_problem *, bool *exact);

#pragma GCC visibility pop
#ifdef __cplusplus
}
#endif
#endif
