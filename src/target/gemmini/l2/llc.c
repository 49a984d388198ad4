/* llc.c - the last-level cache at the memory port. */
#include "target/gemmini/l2/internal.h"

bool l2_touch_llc(l2_cache *c, uint64_t line) {
  uint32_t *set = llc_set(c, line);
  const uint32_t tag = (uint32_t)(line >> c->llc_set_shift) + 1;
  uint32_t found = 0;
  for (int w = 0; w < LLC_WAYS; w++) found |= set[w] == tag;
  if (found) return true;
  uint8_t *filled = &c->llc_filled[line & (c->llc_sets - 1)];
  if (*filled < LLC_WAYS) {
    set[(*filled)++] = tag;
    return false;
  }
  c->llc_random ^= c->llc_random << 13;
  c->llc_random ^= c->llc_random >> 7;
  c->llc_random ^= c->llc_random << 17;
  set[c->llc_random % LLC_WAYS] = tag;
  return false;
}

void l2_warm_llc(l2_cache *c, uint64_t address, uint64_t bytes) {
  if (!bytes) return;
  for (uint64_t line = address / c->p.line_bytes; line <= (address + bytes - 1) / c->p.line_bytes; line++)
    l2_touch_llc(c, line);
}
