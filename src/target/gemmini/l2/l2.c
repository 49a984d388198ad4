/* l2.c - see l2.h. Everything is stepped cycle by cycle while anything moves. Most cycles of a busy memory system
 * change something. A step is straight code over words with a bit for each register, which costs less than finding
 * the next register that acts. Within a cycle, parts run in the order of the RTL's wires: accept, schedule, the
 * memory side (which has priority in the banks), the response channel. A part sees another part's register from the
 * next cycle on. */
#include "target/gemmini/l2/schedule.h"

#include <stdlib.h>
#include <string.h>

tw_status l2_init(l2_cache *c, const l2_parameters *p, tw_error *error) {
  memset(c, 0, sizeof *c);
  c->p = *p;
  const int sets = p->bytes / (p->line_bytes * p->ways), llc_sets = p->llc_bytes / (p->line_bytes * LLC_WAYS);
  if (sets < 1 || llc_sets < 1 || sets & (sets - 1) || llc_sets & (llc_sets - 1) || p->misses < 1 ||
      p->misses > L2_MISSES_MAX)
    return tw_fail(error, TW_USAGE, "L2: %d bytes in %d ways with %d miss registers is not a valid cache", p->bytes,
                   p->ways, p->misses);
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
  c->secondary_free = (1u << L2_SECONDARY) - 1;
  c->in_next = c->next = c->outer_next = c->core_next = c->answer_from = UINT64_MAX;
  c->can = UINT64_MAX;
  l2_messages *const queues[] = {&c->fetches, &c->lines,  &c->acknowledged, &c->clean,   &c->permitted,
                                 &c->numbers, &c->probed, &c->probe_ends,   &c->core_has};
  for (size_t i = 0; i < sizeof queues / sizeof *queues; i++) queues[i]->from = UINT64_MAX;
  if (!c->tag || !c->llc_tag || !c->llc_filled || !c->sets_busy || !c->held) {
    l2_free(c);
    return tw_no_memory(error, "the simulated caches");
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

/* State that lasts one cycle, or advances in every cycle. */
static void begin(l2_cache *c, uint64_t cycle) {
  c->at = cycle;
  c->taken_banks = c->taken_banks << 1 & 0xffff;
  c->fresh <<= 16;
}

/* The same after several skipped cycles, in which no directory read was pending. */
static void resume(l2_cache *c, uint64_t cycle) {
  const uint64_t passed = cycle - c->at - 1;
  c->taken_banks = passed < 16 ? (c->taken_banks & 0xffff) << passed : 0;
  if (passed) c->fresh = 0;
}

void l2_make_edges(l2_cache *c, uint64_t last) {
  uint64_t cycle = c->next;
  while (cycle <= last) {
    if (cycle != c->at + 1) resume(c, cycle);
    do {
      begin(c, cycle);
      if (c->in_next == cycle) l2_take_in(c, cycle);
      const l2_wants could = c->want & c->can;
      if (could) schedule(c, could, cycle);
      if (c->outer_next <= cycle) move_outer(c, cycle);
      if (c->answering | in_stages(c)) move_channel(c, cycle);
      cycle++;
    } while (cycle <= last && (c->want | in_stages(c) | c->answering));
    if (!(c->want | in_stages(c) | c->answering)) cycle = later(cycle, earlier(c->in_next, c->outer_next));
  }
  c->next = cycle;
}

void l2_pop(l2_cache *c, uint64_t cycle) {
  if (c->taken) {
    l2_run(c, cycle - 1);
    notice_taken(c, cycle);
  }
  c->taken = c->pending[c->pending_first % L2_PENDING].beats;
  c->taken_at = cycle;
  c->pending_first++;
  const l2_response *next = l2_next(c);
  c->answer_from = next ? next->ready : UINT64_MAX;
}

/* The first cycle in which a register may leave: one that is answered, or whose answer is requested, if nothing else
 * is outstanding. If something is outstanding, a message must come back first. A permission takes two cycles to the
 * cork and one back. */
static uint64_t next_leave(const l2_cache *c) {
  if ((those(c->want, L2_ANSWER) | those(c->want, L2_END)) & last_steps(c)) return c->next;
  return earlier(later(c->next, c->outer_next + (c->outer_next != UINT64_MAX)), c->next + 4);
}

/* A beat that leaves the last buffer admits one a cycle later, and that one frees the previous buffer another cycle
 * later. */
uint64_t l2_next_room(const l2_cache *c) {
  const uint64_t in = c->refused ? earlier(c->in_next, next_leave(c) + 1) : c->in_next;
  if (c->dma.count < 2 || in == UINT64_MAX) return in;
  return in + 1 + (c->port.count >= 2 && c->port.at[(c->port.first + 1) % L2_BUFFER].request.from <= in);
}

/* A beat needs two cycles from the cycle in which it is scheduled, after the beats of the previous answer; the
 * scheduler sees a change of a register in the next cycle. */
uint64_t l2_next_answer(const l2_cache *c) {
  if (c->next == UINT64_MAX) return UINT64_MAX;
  const uint64_t asks = c->next + !those(c->want, L2_ANSWER), free = c->at + 1 + (unsigned)c->beats_left;
  return earlier(next_announcement(c), later(asks, free) + 2);
}
