/* memory.c - global memory: the caller's buffers at addresses of the machine. The same launch gives the same
 * addresses. */
#include <inttypes.h>
#include <stdio.h>

#include "target/cdna/emulator/emulator.h"

/* First address, and the least distance from one allocation to the next: far more than an index can be off by
 * little. */
static const uint64_t FIRST = 0x100000000000ull, APART = 1ull << 32;

uint64_t cdna_memory_add(cdna_memory *m, void *data, uint64_t size, bool writable, const char *name) {
  if (m->n == CDNA_ALLOCATIONS_MAX || size > APART * 1024) return 0;
  const uint64_t address = m->next ? m->next : FIRST;
  m->allocation[m->n++] = (cdna_allocation){address, size, data, name, writable, false, 0, 0};
  m->next = address + (size / APART + 2) * APART;
  return address;
}

void cdna_memory_undefined(cdna_memory *m, uint64_t defined_at, uint64_t defined_bytes) {
  cdna_allocation *a = &m->allocation[m->n - 1];
  a->undefined = true;
  a->defined_at = defined_at;
  a->defined_bytes = defined_bytes;
}

void cdna_memory_describe(const cdna_memory *m, uint64_t address, char *text, size_t size) {
  const cdna_allocation *below = NULL, *above = NULL;
  for (size_t i = 0; i < m->n; i++) {
    const cdna_allocation *a = &m->allocation[i];
    if (a->address <= address)
      below = a;
    else if (!above)
      above = a;
  }
  if (below && address - below->address < below->size)
    snprintf(text, size, "byte %" PRIu64 " of %s (%" PRIu64 " bytes)", address - below->address, below->name,
             below->size);
  else if (address < 65536)
    snprintf(text, size, "through a null pointer");
  else if (below && address - below->address < APART)
    snprintf(text, size, "%" PRIu64 " bytes past the end of %s (%" PRIu64 " bytes)",
             address - below->address - below->size, below->name, below->size);
  else if (above && above->address - address < APART)
    snprintf(text, size, "%" PRIu64 " bytes before %s", above->address - address, above->name);
  else
    snprintf(text, size, "where there is no memory");
}

uint8_t *cdna_reach(cdna_wave *w, uint64_t address, uint64_t bytes, bool write, int lane) {
  const cdna_allocation *a = w->last;
  if (!a || address - a->address >= a->size || bytes > a->size - (address - a->address)) {
    const cdna_memory *m = w->group->memory;
    a = NULL;
    for (size_t i = 0; i < m->n && !a; i++) {
      const cdna_allocation *t = &m->allocation[i];
      if (address - t->address < t->size && bytes <= t->size - (address - t->address)) a = t;
    }
    if (a) w->last = a;
  }
  if (a && (a->writable || !write)) return a->data + (address - a->address);
  if (w->group->unbounded) return cdna_nowhere(w);
  char where[200];
  cdna_memory_describe(w->group->memory, address, where, sizeof where);
  if (a)
    cdna_stop(w, "lane %d writes to 0x%" PRIx64 ", %s, which is read-only", lane, address, where);
  else
    cdna_stop(w, "lane %d %s %" PRIu64 " bytes at 0x%" PRIx64 ", %s", lane, write ? "writes" : "reads", bytes, address,
              where);
  return NULL;
}
