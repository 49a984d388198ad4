/* guarded.h - memory between two pages that nobody may touch: a byte read or written outside of it ends the test. */
#ifndef TW_TESTS_GUARDED_H
#define TW_TESTS_GUARDED_H

#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

typedef struct guarded {
  char *data; /* ends at the guard behind it, as far as `alignment` allows */
  char *map;
  size_t mapped;
} guarded;

/* QEMU 7.2 reads all of a vector whose masked-out lanes a CPU would not touch (vmaskmovps). Under TW_TEST_EMULATED that
 * much may be read behind the data; writes it masks as a CPU does. */
static inline size_t guarded_slack(void) { return getenv("TW_TEST_EMULATED") ? 64 : 0; }

/* `at_end`: the last byte lies before the guard; otherwise the first lies behind one. */
static inline guarded guarded_new(size_t bytes, size_t alignment, int at_end) {
  const size_t page = (size_t)sysconf(_SC_PAGESIZE), slack = guarded_slack();
  const size_t room = (bytes + slack + page - 1) / page * page;
  guarded g = {.mapped = room + 2 * page};
  g.map = mmap(NULL, g.mapped, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (g.map == MAP_FAILED || mprotect(g.map, page, PROT_NONE) || mprotect(g.map + page + room, page, PROT_NONE))
    abort();
  g.data = g.map + page + (at_end ? (room - slack - bytes) / alignment * alignment : 0);
  return g;
}

static inline void guarded_free(guarded *g) { munmap(g->map, g->mapped); }

#endif
