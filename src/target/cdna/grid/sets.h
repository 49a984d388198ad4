/* sets.h - a cache of sets: a set evicts its least recently used line. */
#ifndef TW_CDNA_SETS_H
#define TW_CDNA_SETS_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

typedef struct cdna_sets {
  uint64_t *tag; /* [set][way]: line + 1, the newest first; 0: empty */
  size_t sets;
  int ways;
} cdna_sets;

static inline size_t cdna_sets_lines(const cdna_sets *c) { return c->sets * (size_t)c->ways; }

/* Makes the line the newest of its set. Returns how many lines were newer; `ways`: the line was absent. */
static inline int cdna_sets_newer(const cdna_sets *c, size_t set, uint64_t line) {
  uint64_t *way = c->tag + set * (size_t)c->ways;
  int newer = 0;
  while (newer < c->ways && way[newer] != line + 1) newer++;
  memmove(way + 1, way, (size_t)(newer < c->ways ? newer : c->ways - 1) * sizeof *way);
  way[0] = line + 1;
  return newer;
}

/* True if the line was present. In any case it is the newest of its set afterwards. */
static inline bool cdna_sets_touch(const cdna_sets *c, size_t set, uint64_t line) {
  return cdna_sets_newer(c, set, line) < c->ways;
}

#endif
