/* access.h - loads and stores: the host's bytes, and the L1 data cache with its store buffer. */
#ifndef TW_GEMMINI_RV64_ACCESS_H
#define TW_GEMMINI_RV64_ACCESS_H

#include "target/gemmini/core/core.h"

static inline uint8_t *at(rv64_core *core, uint64_t address, unsigned size, unsigned rights) {
  const rv64_region **hint = &core->hint[address >> 20 & (N_HINTS - 1)];
  if (unlikely(address & (size - 1))) return NULL;
  uint8_t *p = rv64_memory_at(core->memory, hint, address, size, rights);
  if (unlikely(p && rv64_is_in_flight(*hint, address - (*hint)->base, size))) return NULL;
  return p;
}

static inline bool in_buffer(const rv64_store *s, uint64_t address, unsigned mask, uint64_t t) {
  return t < s->time + 3 && s->word == address >> 3 && (s->mask & mask);
}

static inline unsigned byte_mask(uint64_t address, unsigned size) { return ((1u << size) - 1) << (address & 7); }

/* Reads and sc are replayed while some of their bytes are in the store buffer. The buffer drains in the first cycle
 * without a load in EX, from the store's WB on. A load that issues one or two cycles after the store delays it
 * (DCache.scala 479-500, 541-552). */
static inline uint64_t after_stores(rv64_core *core, uint64_t pc, uint64_t address, unsigned size, uint64_t t) {
  if (unlikely(t < core->store[0].time + 3)) {
    unsigned mask = byte_mask(address, size);
    if (in_buffer(&core->store[0], address, mask, t) || in_buffer(&core->store[1], address, mask, t))
      t = rv64_fetch_again(core, pc, t);
  }
  return t;
}

/* A load that issues at t; returns when it issues successfully. */
static inline uint64_t data_load(rv64_core *core, uint64_t pc, uint64_t address, unsigned size, uint64_t t) {
  t = after_stores(core, pc, address, size, t);
  uint64_t line = address >> LINE_SHIFT;
  if (unlikely(core->unfenced) && core->ports->lost) t = rv64_wait_for_probes(core, t);
  if (unlikely(line + 1 != core->dcache.last_line) && !rv64_cache_find(&core->dcache, line))
    t = rv64_data_miss(core, pc, line, t, RV64_LOAD_MISS);
  core->last_memory = t;
  return t;
}

static inline uint64_t data_store(rv64_core *core, uint64_t pc, uint64_t address, unsigned size, uint64_t t) {
  uint64_t line = address >> LINE_SHIFT;
  if (unlikely(core->unfenced) && core->ports->lost) t = rv64_wait_for_probes(core, t);
  if (unlikely(line + 1 != core->dcache.last_line) && !rv64_cache_find(&core->dcache, line))
    t = rv64_data_miss(core, pc, line, t, RV64_STORE_MISS);
  if (unlikely(*core->dcache.last_state != LINE_DIRTY)) t = rv64_first_store(core, pc, line, t);
  core->store[1] = core->store[0];
  core->store[0] = (rv64_store){address >> 3, (uint8_t)byte_mask(address, size), t};
  core->last_memory = t;
  return t;
}

#endif
