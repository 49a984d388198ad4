/* cache.c - the L1 caches: which lines are there. Data stays in the memory, where the coprocessor sees it.
 *
 * Replacement is random in Rocket, by a 16-bit shift register that steps at each miss, and takes a way whether or
 * not another one is invalid (ICache.scala 396-408, DCache.scala 702-724, util/Replacement.scala). The register's
 * state at the start of a measurement depends on all that ran before on the real machine; here it starts at 1. */
#include <stdlib.h>
#include <string.h>

#include "target/gemmini/core/core.h"

tw_status rv64_cache_make(rv64_cache *cache, const char *name, int bytes, int ways, tw_error *error) {
  *cache = (rv64_cache){.ways = (unsigned)ways, .lfsr = 1};
  int sets = ways > 0 ? bytes / (ways << LINE_SHIFT) : 0;
  if (sets < 1 || sets & (sets - 1) || ways & (ways - 1) || bytes != sets * (ways << LINE_SHIFT))
    return tw_fail(
        error, TW_USAGE,
        "an L1 %s cache of %d bytes in %d ways has a number of sets that is not a power of two (lines of 64 bytes)",
        name, bytes, ways);
  size_t lines = (size_t)sets * (size_t)ways;
  cache->set_mask = (uint64_t)sets - 1;
  cache->tag = calloc(lines, sizeof *cache->tag);
  cache->state = calloc(lines, 1);
  return cache->tag && cache->state ? TW_OK
                                    : tw_fail(error, TW_NO_MEMORY, "not enough host memory for the L1 %s cache", name);
}

void rv64_cache_clear(rv64_cache *cache) {
  memset(cache->tag, 0, (cache->set_mask + 1) * cache->ways * sizeof *cache->tag);
  cache->last_line = 0;
}

void rv64_cache_free(rv64_cache *cache) {
  free(cache->tag);
  free(cache->state);
}

bool rv64_cache_find(rv64_cache *cache, uint64_t line) {
  size_t set = (line & cache->set_mask) * cache->ways;
  for (unsigned way = 0; way < cache->ways; way++) {
    if (cache->tag[set + way] == line + 1) {
      cache->last_line = line + 1;
      cache->last_state = &cache->state[set + way];
      return true;
    }
  }
  return false;
}

void rv64_cache_fill(rv64_cache *cache, uint64_t line, uint64_t *victim) {
  size_t slot = (line & cache->set_mask) * cache->ways + (cache->lfsr & (cache->ways - 1));
  if (cache->last_line == line + 1) slot = (size_t)(cache->last_state - cache->state);
  unsigned r = cache->lfsr;
  cache->lfsr = (uint16_t)(r << 1 | ((r >> 15 ^ r >> 13 ^ r >> 12 ^ r >> 10) & 1)); /* maximal period */
  *victim = cache->state[slot] == LINE_DIRTY ? cache->tag[slot] : 0;
  cache->tag[slot] = line + 1;
  cache->state[slot] = LINE_CLEAN;
  cache->last_line = line + 1;
  cache->last_state = &cache->state[slot];
  cache->misses++;
}

void rv64_lose_lines(rv64_core *core, uint64_t cycle) {
  rv64_cache *cache = &core->dcache;
  bool stays;
  for (uint64_t line; core->ports->lost(core->ports->context, cycle, &line, &stays);) {
    line >>= LINE_SHIFT;
    const size_t set = (line & cache->set_mask) * cache->ways;
    for (size_t slot = set; slot < set + cache->ways; slot++) {
      if (cache->tag[slot] != line + 1) continue;
      cache->state[slot] = stays ? LINE_READ_ONLY : LINE_CLEAN;
      if (!stays) cache->tag[slot] = 0;
    }
    if (!stays && cache->last_line == line + 1) cache->last_line = 0;
  }
}

/* The data cache accepts no access while probes wait: from one cycle before it turns to the first probe until it has
 * handled all that wait. The access issues again two cycles later (seen in the RTL: 0 to 4). */
uint64_t rv64_wait_for_probes(rv64_core *core, uint64_t issue) {
  enum { AGAIN = 2 };
  for (;;) {
    rv64_lose_lines(core, issue + 1);
    const uint64_t until = core->ports->loses_until ? core->ports->loses_until(core->ports->context, issue) : 0;
    if (until <= issue) return issue;
    issue = until + AGAIN;
  }
}

/* An access that leaves ID at `issue` misses: it is refused in WB, replayed, and waits in ID until the last beat
 * of the refill, when it issues again (DCache.scala 430, Core 888-893: "speculate that a blocked D$ will unblock
 * the cycle after a Grant"). A dirty victim leaves first: four beats through the array and two pipeline stages,
 * a tag write, and the replayed access misses again 12 cycles after it did (DCache.scala 727-735, 780-795).
 * Returns the cycle at which the access issues successfully. */
uint64_t rv64_data_miss(rv64_core *core, uint64_t pc, uint64_t line, uint64_t issue, rv64_miss why) {
  enum { DIRTY_VICTIM = 12, WRITEBACK_FIRST_BEAT = 3 };
  uint64_t victim, request = issue + STAGES_TO_WRITE_BACK;
  rv64_cache_fill(&core->dcache, line, &victim);
  if (victim) {
    if (core->ports->writeback)
      core->ports->writeback(core->ports->context, request + WRITEBACK_FIRST_BEAT, (victim - 1) << LINE_SHIFT);
    request += DIRTY_VICTIM;
  }
  const uint64_t again = rv64_fetch_again(core, pc, issue);
  uint64_t last = request;
  if (core->ports->refill) last = core->ports->refill(core->ports->context, request, line << LINE_SHIFT, why);
  if (core->ports->lost) rv64_lose_lines(core, later(last, again));
  rv64_waits_again(core, pc, later(last, again));
  return later(last, again);
}

uint64_t rv64_first_store(rv64_core *core, uint64_t pc, uint64_t line, uint64_t issue) {
  if (*core->dcache.last_state == LINE_READ_ONLY) issue = rv64_data_miss(core, pc, line, issue, RV64_RIGHT_MISS);
  if (core->ports->wrote) core->ports->wrote(core->ports->context, issue, line << LINE_SHIFT);
  *core->dcache.last_state = LINE_DIRTY;
  return issue;
}
