/* memory.c - global memory: the caller's buffers at addresses of the machine. The same launch with the same seed gives
 * the same addresses. */
#include <inttypes.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/random.h"
#include "base/strings.h"
#include "target/cdna/emulator/emulator.h"

/* First address, and the minimum distance between allocations, which is far larger than any small index error. */
static const uint64_t FIRST = 0x100000000000ull, APART = 1ull << 32;
/* With random distances, 64 allocations and their gaps fit into the machine's 47 bits. */
static const uint64_t PAGE = 4096, GAP_PAGES = 1ull << 28;

/* A random distance in whole pages, so that a pointer does not tell where another allocation begins. */
static uint64_t gap(const cdna_memory *m) {
  tw_random r;
  if (!m->scatter) return 0;
  tw_random_seed_stream(&r, m->scatter, m->next);
  return tw_random_below(&r, GAP_PAGES) * PAGE;
}

uint64_t cdna_memory_add(cdna_memory *m, void *data, uint64_t size, bool writable, const char *name) {
  if (m->n == CDNA_ALLOCATIONS_MAX || size > APART * 1024) return 0;
  const uint64_t modelled = m->next_modelled ? m->next_modelled : FIRST;
  const uint64_t address = (m->next ? m->next : m->scatter ? APART : FIRST) + gap(m);
  m->allocation[m->n++] = (cdna_allocation){
      .address = address, .size = size, .data = data, .name = name, .writable = writable, .modelled = modelled};
  m->next = address + (size / APART + 2) * APART;
  m->next_modelled = modelled + (size / APART + 2) * APART;
  return address;
}

uint64_t cdna_memory_modelled(const cdna_memory *m, uint64_t address) {
  for (size_t i = 0; i < m->n; i++)
    if (address - m->allocation[i].address < m->allocation[i].size)
      return m->allocation[i].modelled + (address - m->allocation[i].address);
  return address;
}

void cdna_memory_undefined(cdna_memory *m, uint64_t defined_at, uint64_t defined_bytes) {
  cdna_allocation *a = &m->allocation[m->n - 1];
  a->undefined = true;
  a->defined_at = defined_at;
  a->defined_bytes = defined_bytes;
}

/* ---- taking back ---- */

enum { CLEAN, BEING_KEPT, KEPT, COPIED }; /* COPIED: kept, and part of the copy for comparisons */
struct cdna_held {
  atomic_uchar *state; /* of pages */
  uint8_t *bytes;      /* as large as the allocation: the system commits pages when they are touched */
};

static size_t pages_of(const cdna_allocation *a) { return (size_t)((a->size + PAGE - 1) / PAGE); }
static size_t page_bytes(const cdna_allocation *a, size_t page) {
  const uint64_t left = a->size - (uint64_t)page * PAGE;
  return left < PAGE ? (size_t)left : PAGE;
}

static void save_bytes(const cdna_allocation *a, uint64_t at, uint64_t bytes) {
  for (size_t page = (size_t)(at / PAGE); page <= (at + bytes - 1) / PAGE; page++) {
    atomic_uchar *state = &a->held->state[page];
    unsigned char clean = CLEAN;
    if (atomic_load_explicit(state, memory_order_acquire) >= KEPT) continue;
    if (atomic_compare_exchange_strong(state, &clean, BEING_KEPT)) {
      memcpy(a->held->bytes + page * PAGE, a->data + page * PAGE, page_bytes(a, page));
      atomic_store_explicit(state, KEPT, memory_order_release);
    }
    while (atomic_load_explicit(state, memory_order_acquire) < KEPT) sched_yield();
  }
}

bool cdna_memory_hold(cdna_memory *m) {
  for (size_t i = 0; i < m->n; i++) {
    cdna_allocation *a = &m->allocation[i];
    if (!a->writable || a->hidden || !a->size) continue;
    if (!(a->held = tw_new(1, sizeof *a->held))) return false;
    a->held->state = tw_new(pages_of(a), sizeof *a->held->state);
    a->held->bytes = malloc(a->size);
    if (!a->held->state || !a->held->bytes) return false;
  }
  return true;
}

void cdna_memory_restore(const cdna_memory *m) {
  for (size_t i = 0; i < m->n; i++) {
    const cdna_allocation *a = &m->allocation[i];
    for (size_t page = 0; a->held && page < pages_of(a); page++)
      if (a->held->state[page] >= KEPT)
        memcpy(a->data + page * PAGE, a->held->bytes + page * PAGE, page_bytes(a, page));
  }
}

uint8_t *cdna_memory_copy_written(const cdna_memory *m, size_t index) {
  const cdna_allocation *a = &m->allocation[index];
  uint8_t *copy = a->held ? malloc(a->size) : NULL; /* pages that were not written stay untouched */
  for (size_t page = 0; copy && page < pages_of(a); page++) {
    if (a->held->state[page] < KEPT) continue;
    memcpy(copy + page * PAGE, a->data + page * PAGE, page_bytes(a, page));
    a->held->state[page] = COPIED;
  }
  return copy;
}

bool cdna_memory_is_written(const cdna_memory *m, size_t index, const uint8_t *copy, const uint8_t *skip) {
  const cdna_allocation *a = &m->allocation[index];
  for (size_t page = 0; a->held && page < pages_of(a); page++) {
    const size_t at = page * PAGE, n = page_bytes(a, page);
    if (a->held->state[page] == CLEAN) continue;
    const uint8_t *wanted = copy && a->held->state[page] == COPIED ? copy : a->held->bytes;
    for (size_t i = at; i < at + n; i++)
      if (a->data[i] != wanted[i] && !(skip && skip[i])) return false;
  }
  return true;
}

static uint64_t mixed_dword(const uint8_t *at, size_t bytes) {
  uint32_t v = 0;
  memcpy(&v, at, bytes < sizeof v ? bytes : sizeof v);
  return tw_random_mix(v + 1ull);
}

bool cdna_memory_is_permuted(const cdna_memory *m, size_t index, const uint8_t *copy, const uint8_t *skip) {
  const cdna_allocation *a = &m->allocation[index];
  uint64_t now = 0, then = 0;
  for (size_t page = 0; a->held && page < pages_of(a); page++) {
    const size_t end = page * PAGE + page_bytes(a, page);
    if (a->held->state[page] == CLEAN) continue;
    const uint8_t *wanted = copy && a->held->state[page] == COPIED ? copy : a->held->bytes;
    for (size_t i = page * PAGE; i < end; i += 4) {
      if (skip && skip[i]) continue;
      now += mixed_dword(a->data + i, end - i);
      then += mixed_dword(wanted + i, end - i);
    }
  }
  return now == then;
}

void cdna_memory_let_go(cdna_memory *m) {
  for (size_t i = 0; i < m->n; i++) {
    cdna_held *h = m->allocation[i].held;
    if (h) free(h->state), free(h->bytes);
    free(h);
    m->allocation[i].held = NULL;
  }
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
    snprintf(text, size, "byte %" PRIu64 " of %s (%" PRIu64 " bytes)%s", address - below->address, below->name,
             below->size, below->hidden ? ", which this kernel does not receive; add it to the kernel's args" : "");
  else if (address < 65536)
    snprintf(text, size, "through a null pointer");
  else if (below && address - below->address < APART)
    snprintf(text, size, "%" PRIu64 " bytes past the end of %s (%" PRIu64 " bytes)",
             address - below->address - below->size, below->name, below->size);
  else if (above && above->address - address < APART)
    snprintf(text, size, "%" PRIu64 " bytes before %s", above->address - address, above->name);
  else
    snprintf(text, size, "which is not mapped");
}

uint8_t *cdna_reach(cdna_wave *w, uint64_t address, uint64_t bytes, bool write, int lane) {
  const cdna_allocation *a = w->last;
  if (!a || address - a->address >= a->size || bytes > a->size - (address - a->address)) {
    const cdna_memory *m = w->group->memory;
    a = NULL;
    for (size_t i = 0; i < m->n && !a; i++) {
      const cdna_allocation *t = &m->allocation[i];
      if (!t->hidden && address - t->address < t->size && bytes <= t->size - (address - t->address)) a = t;
    }
    if (a) w->last = a;
  }
  if (a && (a->writable || !write)) {
    if (write && a->held) save_bytes(a, address - a->address, bytes);
    return a->data + (address - a->address);
  }
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
