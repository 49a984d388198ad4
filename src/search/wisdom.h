/* wisdom.h - the members of wisdom, for the command and for searches. */
#ifndef TW_SEARCH_WISDOM_H
#define TW_SEARCH_WISDOM_H

#include "tilewright/wisdom.h"

/* tilewright/wisdom.h describes the members, by the functions that return them. */
struct tw_wisdom_entry {
  char target[64];
  char problem[512];
  /* empty if the entry has a source */
  tw_schedule schedule;
  /* malloc'ed; NULL: the entry is `schedule` */
  char *source;
  double cost, utilization;
  char unit[16];
  int64_t found;
  uint64_t machine;
};

struct tw_wisdom {
  size_t n;
  tw_wisdom_entry *entry;
};

/* The target and the problem of a schedule; false if they are unknown, or if the entry is a source. */
bool tw_wisdom_problem(const tw_wisdom_entry *, const tw_target **, tw_problem *);
/* Keys may be in another order, as written by earlier versions of this program. */
bool tw_wisdom_is_named(const tw_wisdom_entry *, const tw_problem *);

/* The file under its lock, and its entries. */
typedef struct tw_wisdom_change {
  char *file;
  int fd;
  tw_wisdom *wisdom;
} tw_wisdom_change;
/* On failure, too, tw_wisdom_end must be called. Without `creates`, a missing file has no entries and is not locked. */
tw_status tw_wisdom_begin(const char *path, bool creates, tw_wisdom_change *, tw_error *);
/* Writes the file if the change succeeded and changed anything. Returns the status of all. */
tw_status tw_wisdom_end(tw_wisdom_change *, tw_status, bool any, tw_error *);

#endif
