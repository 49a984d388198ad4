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

#endif
