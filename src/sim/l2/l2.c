/* l2.c - see l2.h. Two parts are stepped, from one cycle in which they may do anything to the next: what is accepted, and what is
 * scheduled, in this order, as the RTL's wires run. The others only follow, and lag behind until one of these two, or a client,
 * looks at them:
 *   - the outer side (outer.c): what goes to the memory and what comes from there. The scheduler looks at it in the first cycle in
 *     which it can bring something that it waits for (schedule.c), and each time it comes for another reason;
 *   - the response channel (channel.c), after the outer side, which has the banks first: the scheduler looks at it before an answer,
 *     a put when the put buffer may be full, the client.
 * What a part leaves for another one in a register is seen from the next cycle on. */
#include "sim/l2/internal.h"

#include <stdlib.h>
#include <string.h>

/* What a register in this state asks for; of several things the first. */
static uint64_t wants_of(unsigned state) {
  if (!(state & L2_RELEASED)) return want(L2_WANT_RELEASE, 0);
  if (!(state & L2_FETCHED)) return want(L2_WANT_FETCH, 0);
  const unsigned start = L2_GRANT_FIRST | L2_FROM_START, all = L2_ANSWERED | L2_GRANT_LAST | L2_RELEASE_ACKNOWLEDGED;
  if (!(state & L2_ANSWERED) && ((state & L2_GRANT_LAST) || (state & start) == start)) return want(L2_WANT_ANSWER, 0);
  const bool ends = (state & (L2_GRANT_FIRST | L2_GRANTED)) == L2_GRANT_FIRST || (state & all) == all;
  return ends ? want(L2_WANT_END, 0) : 0;
}

tw_status l2_init(l2_cache *c, const l2_parameters *p, tw_error *error) {
  memset(c, 0, sizeof *c);
  c->p = *p;
  const int sets = p->bytes / (p->line_bytes * p->ways), llc_sets = p->llc_bytes / (p->line_bytes * LLC_WAYS);
  if (sets < 1 || llc_sets < 1 || sets & (sets - 1) || llc_sets & (llc_sets - 1) || p->misses < 1 ||
      p->misses > L2_MISSES_MAX)
    return tw_fail(error, TW_USAGE, "L2: %d bytes in %d ways with %d miss registers make no cache", p->bytes, p->ways,
                   p->misses);
  c->sets = (uint64_t)sets, c->llc_sets = (uint64_t)llc_sets;
  c->line_bytes = (uint64_t)p->line_bytes;
  c->line_shift = __builtin_ctz((unsigned)p->line_bytes);
  c->beat_shift = __builtin_ctz((unsigned)p->beat_bytes);
  c->bank_shift = __builtin_ctz((unsigned)p->port_bytes);
  c->line_beats = (unsigned)(p->line_bytes / p->port_bytes);
  c->beat_banks = p->beat_bytes / p->port_bytes;
  c->banks = (1u << c->line_beats) - 1;
  const size_t tags = (size_t)sets * (size_t)p->ways * sizeof *c->tag;
  c->tag = aligned_alloc(64, (tags + 63) & ~(size_t)63); /* a set is one of the host's cache lines */
  if (c->tag) memset(c->tag, 0, tags);
  c->held = calloc((size_t)sets * (size_t)p->ways, 1);
  c->llc_set_shift = __builtin_ctz((unsigned)llc_sets);
  c->llc_tag = aligned_alloc(LLC_WAYS * sizeof *c->llc_tag, (size_t)llc_sets * LLC_WAYS * sizeof *c->llc_tag);
  if (c->llc_tag) memset(c->llc_tag, 0, (size_t)llc_sets * LLC_WAYS * sizeof *c->llc_tag);
  c->llc_filled = calloc((size_t)llc_sets, sizeof *c->llc_filled);
  c->sets_busy = calloc((size_t)sets / 64 + 1, sizeof *c->sets_busy);
  c->llc_random = 0x9e3779b97f4a7c15u;
  c->lfsr = 1u << 15;
  c->evict_start = 0 - (uint64_t)c->line_beats;
  c->put_end = 1;
  c->secondary_free = (1u << L2_SECONDARY) - 1;
  c->in_next = c->schedule_next = c->fetch_next = c->back_next = c->answer_from = c->announce_next = UINT64_MAX;
  for (unsigned state = 0; state < 256; state++) c->wants[state] = wants_of(state);
  l2_messages *const queues[] = {&c->fetches, &c->lines, &c->acknowledged, &c->clean, &c->granted, &c->numbers};
  for (size_t i = 0; i < sizeof queues / sizeof *queues; i++) queues[i]->at[0].from = UINT64_MAX;
  if (!c->tag || !c->llc_tag || !c->llc_filled || !c->sets_busy || !c->held) {
    l2_free(c);
    return tw_fail(error, TW_MISSING, "no memory for the simulated caches");
  }
  return TW_OK;
}

void l2_free(l2_cache *c) {
  free(c->tag);
  free(c->llc_tag);
  free(c->llc_filled);
  free(c->sets_busy);
  free(c->held);
  c->held = NULL;
  c->tag = c->sets_busy = NULL;
  c->llc_tag = NULL;
  c->llc_filled = NULL;
}

void l2_make_edges(l2_cache *c, uint64_t last) {
  uint64_t cycle;
  while ((cycle = l2_next_move(c)) <= last) {
    if (c->in_next == cycle) l2_take_in(c, cycle);
    if (c->schedule_next == cycle) l2_schedule(c, cycle);
  }
  if (c->announce_next <= last) {
    l2_settle(c, last + 1);
    l2_respond(c, last);
  }
}

/* The cycles that it takes at least from what may come next: a beat needs two from the cycle in which it is scheduled, a
 * request two to be scheduled, and what comes from the memory is seen by the scheduler in the cycle after. */
uint64_t l2_next_answer(const l2_cache *c) {
  uint64_t next = later(c->schedule_next, c->schedule_next + 2);
  next = earlier(next, later(c->in_next, c->in_next + L2_REQUEST_TO_ANSWER));
  return earlier(next, c->announce_next);
}
