/* frontend.c - instruction fetch: misses of the I-cache and the tables of the branch predictor.
 *
 * What happens on every packet is inline in run.c; here is what happens seldom. */
#include "sim/rv64/core.h"

/* A packet in s2 at cycle `s2` lies in a line that is not there. Speculative fetches refill, too: the chicken bit
 * disableSpeculativeICacheRefill, set at reset, is cleared by the boot ROM (rocket-chip bootrom/bootrom.S:6), so
 * the line is asked for at once (Frontend 168). Until the last beat has come, the fetch is tried every second
 * cycle (s2_replay, Frontend 113); a try that reads the tags in s0 after that beat succeeds in s2. Returns the
 * cycle at which the packet is available. */
uint64_t rv64_fetch_line(rv64_core *core, uint64_t packet, uint64_t s2) {
  uint64_t line = packet >> (LINE_SHIFT - 2), victim;
  core->fetch.line = line;
  if (rv64_cache_find(&core->icache, line)) return 0;
  rv64_cache_fill(&core->icache, line, &victim);
  uint64_t first = s2;
  if (core->ports->refill) first = core->ports->refill(core->ports->context, s2, line << LINE_SHIFT, true);
  uint64_t ready = first + core->last_beat + 3; /* s0 a cycle after the last beat, s2 two later */
  return s2 + ((ready - s2 + 1) & ~1ull);
}

/* gshare over packets: BTB.scala 78-93. floor(sqrt(3) / 2 * 2^8) = 221 spreads the history over 3 bits. */
unsigned rv64_history_index(const rv64_predictor *p, uint64_t packet) {
  unsigned address = (unsigned)((packet & (HISTORY_ENTRIES - 1)) ^ (packet >> 9 & 3));
  unsigned history = (221u * p->history) >> 5 & 7;
  return address ^ history << 6;
}

int rv64_target_find(const rv64_predictor *p, const rv64_insn *in, uint64_t branch) {
  uint32_t i = in->target_buffer;
  return p->branch[i] == branch ? (int)i : -1;
}

/* One entry for each packet, as the RTL looks up packets. Its pseudo-LRU replacement is replaced by true LRU. */
void rv64_target_train(rv64_predictor *p, rv64_insn *in, uint64_t branch, uint64_t target, uint64_t now) {
  int oldest = 0;
  for (int i = 0; i < TARGET_ENTRIES; i++) {
    if (p->branch[i] >> 1 == branch >> 1) {
      oldest = i;
      break;
    }
    if (p->used[i] < p->used[oldest]) oldest = i;
  }
  p->branch[oldest] = branch;
  p->target[oldest] = target;
  p->used[oldest] = now;
  in->target_buffer = (uint32_t)oldest;
}
