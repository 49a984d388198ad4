/* outer.h - the way to the memory and back (SourceC.scala, SinkD.scala; rocket-chip CacheCork.scala, ToAXI4.scala). */
#ifndef TW_GEMMINI_L2_OUTER_H
#define TW_GEMMINI_L2_OUTER_H

#include "target/gemmini/l2/internal.h"

enum {
  OUTER_ANSWER = 2,   /* cycles from the cork to SinkD for answers of the cork itself: its queue, a buffer */
  RELEASE_STAGES = 3, /* cycles from reading the banked store to the cork (SourceC.scala: two registers, a queue) */
  CLEAN_RELEASES =
      4, /* releases that may wait for their answer: the cork's queue of two, and two in SourceC (room := count <= 1) */
  PERMISSIONS = 2, /* permissions that may wait to return: the cork's queue; one more makes later fetches wait */
  WRITE_PATIENCE =
      /* in every eighth cycle of its wait, the answer to a write goes before a line (ToAXI4.scala: b_delay, three
       * bits that wrap). Consecutive lines begin in every eighth cycle, too. So either the first of them lets the
       * answer pass, or none does */
  7,
  GRANTS = 8, /* lines and permissions that may wait for their acknowledgement: the number of the cork's sinkIds */
};

/* The first cycle with a line or a permission; with any message. */
static inline uint64_t next_grant(const l2_cache *c) { return earlier(c->lines.from, c->permitted.from); }
static inline uint64_t next_back(const l2_cache *c) {
  return earlier(next_grant(c), earlier(c->acknowledged.from, c->clean.from));
}

/* Receives messages of the core: answers to probes (SinkC.scala) and acknowledgements (SinkE.scala). */
static inline void hear_core(l2_cache *c, uint64_t cycle) {
  while (c->probed.from <= cycle) {
    const int i = take_message(&c->probed);
    c->want |= want(c->of[i].victim ? L2_RELEASE : L2_ANSWER, i);
  }
  while (c->probe_ends.from <= cycle) {
    const int i = take_message(&c->probe_ends);
    c->victim_is_gone |= 1u << i;
    may_end(c, i);
  }
  while (c->core_has.from <= cycle) {
    const int i = take_message(&c->core_has);
    c->acknowledges |= 1u << i;
    may_end(c, i);
  }
  c->core_next = earlier(c->probed.from, earlier(c->probe_ends.from, c->core_has.from));
}

/* The first cycle after this one in which a message departs or returns, or the last beat of a line arrives. */
static inline uint64_t next_outer(const l2_cache *c, uint64_t cycle) {
  const uint64_t back = later(next_back(c), c->fill_last + 1), fill = c->fill_last | (0 - (uint64_t)!c->filling);
  return later(cycle + 1, earlier(earlier(fill, c->core_next), earlier(c->fetches.from, back)));
}

/* Releases register i's victim: to the memory if it is dirty. */
static inline void release(l2_cache *c, int i, uint64_t cycle) {
  const l2_register *r = &c->of[i];
  if (!r->victim_is_dirty) {
    put_message(&c->clean, cycle + RELEASE_STAGES + OUTER_ANSWER, i);
    if (waiting(&c->clean) == CLEAN_RELEASES) c->can &= ~of_all(L2_RELEASE);
    c->outer_next = earlier(c->outer_next, c->clean.from);
    return;
  }
  c->evict_start = cycle;
  c->taken_banks |= 1;
  c->put_from = cycle + RELEASE_STAGES;
  const uint64_t start = later(c->put_from, c->write_next);
  c->put_end = start + c->line_beats;
  c->release_from = later(cycle + c->line_beats, c->put_end - 1);
  c->write_next = start + (unsigned)c->p.write_interval;
  put_message(&c->acknowledged, c->put_end - 1 + (unsigned)c->p.write_latency, i);
  c->outer_next = cycle; /* a waiting fetch may go now */
  l2_touch_llc(c, r->victim - 1);
  c->writebacks++;
}

/* The cork accepts a fetch. Permissions are answered at once. Lines are requested unless an eviction has the
 * channel. */
static inline void send_fetch(l2_cache *c, uint64_t cycle) {
  const int i = c->fetches.at[c->fetches.first % L2_MESSAGES].of;
  if (c->whole >> i & 1) {
    if (waiting(&c->permitted) >= PERMISSIONS) return;
    put_message(&c->permitted, cycle + OUTER_ANSWER, i);
  } else {
    if (cycle >= c->put_from && cycle < c->put_end) return;
    uint64_t first = cycle + (unsigned)c->p.fill_latency;
    if (!l2_touch_llc(c, c->of[i].line)) {
      first += (unsigned)c->p.llc_miss_extra;
      c->llc_misses++;
    }
    first = later(first, c->port_next);
    c->port_next = first + c->line_beats;
    c->fills++;
    put_message(&c->lines, first, i);
  }
  take_message(&c->fetches);
  c->can |= of_all(L2_FETCH);
}

/* Does the cork have a free number for another grant? */
static inline bool has_number(l2_cache *c, uint64_t cycle) {
  for (; c->numbers.from <= cycle; take_message(&c->numbers)) c->numbered--;
  return c->numbered < GRANTS;
}

/* The queue from which SinkD takes its next message in that cycle; NULL = none. */
static inline l2_messages *incoming(l2_cache *c, uint64_t cycle) {
  const bool line = c->lines.from <= cycle, written = c->acknowledged.from <= cycle;
  const uint64_t waits = cycle - later(c->acknowledged.from, c->written_from);
  if (c->evict_start == cycle) return NULL;
  if (written & (!line | ((waits & 7) == WRITE_PATIENCE))) return &c->acknowledged;
  if (!line & (c->clean.from <= cycle)) return &c->clean;
  if (!has_number(c, cycle)) return NULL;
  if (line) return &c->lines;
  return c->permitted.from <= cycle ? &c->permitted : NULL;
}

/* Register i received its line, or the permission to write it whole. */
static inline void have_line(l2_cache *c, int i) {
  const l2_registers it = 1u << i;
  c->has_line |= it;
  c->want &= ~want(L2_END, i);
  if (!(c->answered & it))
    c->want |= want(L2_ANSWER, i);
  else
    may_end(c, i);
}

/* SinkD accepts a waiting answer in this cycle. For a line it accepts the first beat, which fixes the times of the
 * other beats: an eviction that begins in another cycle does not meet them. */
static inline void sink(l2_cache *c, uint64_t cycle) {
  l2_messages *from = incoming(c, cycle);
  if (!from) return;
  const int i = take_message(from);
  if (from == &c->lines) {
    c->filling = true;
    c->fill_of = (uint8_t)i;
    c->fill_last = cycle + c->line_beats - 1;
    c->want |= want(c->from_start >> i & 1 ? L2_ANSWER : L2_END, i);
    c->taken_banks |= 1;
    c->numbered++;
    return;
  }
  c->taken_banks |= 1 << 16;
  if (from == &c->permitted) {
    have_line(c, i);
    c->numbered++;
    return;
  }
  c->victim_is_gone |= 1u << i;
  may_end(c, i);
  if (from == &c->acknowledged)
    c->written_from = cycle + 1;
  else
    c->can |= of_all(L2_RELEASE);
}

/* One cycle of the outer side, in which something may move. */
static inline void move_outer(l2_cache *c, uint64_t cycle) {
  if (c->core_next <= cycle) hear_core(c, cycle);
  if (c->fetches.from <= cycle) send_fetch(c, cycle);
  if ((next_back(c) <= cycle) & (c->fill_last < cycle)) sink(c, cycle);
  if (c->filling & (c->fill_last == cycle)) {
    c->filling = false;
    have_line(c, c->fill_of);
  }
  c->outer_next = next_outer(c, cycle);
}

#endif
