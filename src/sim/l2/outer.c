/* outer.c - the way to the memory and back (SourceC.scala, SinkD.scala; rocket-chip CacheCork.scala, ToAXI4.scala), and the
 * last-level cache there. */
#include "sim/l2/internal.h"

enum {
  RELEASE_STAGES = 3, /* read from the banked store -> at the cork (SourceC.scala: two registers, a queue) */
  PERMISSIONS = 2,    /* that may wait to go back: the cork's queue; another one keeps the fetches behind it waiting */
  WRITE_PATIENCE =
      7, /* in every eighth cycle that it waits the answer to a write goes before a line (ToAXI4.scala: b_delay,
                         three bits that wrap). Lines that follow each other at once begin in every eighth cycle, too: either
                         the first of them lets it pass, or none */
  GRANTS =
      8, /* lines and permissions that may wait for their acknowledgement: the cork has as many numbers (sinkIds) */
};

/* ---- the last-level cache ---- */

/* Is the line there? If not, it comes: where nothing is, or in the place of a random one. */
static bool touch_llc(l2_cache *c, uint64_t line) {
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
    touch_llc(c, line);
}

/* ---- to the memory ---- */

void l2_release(l2_cache *c, int i, uint64_t cycle) {
  const l2_register *r = &c->of[i];
  if (!r->victim_is_dirty) {
    put_back(c, &c->clean, cycle + RELEASE_STAGES + OUTER_ANSWER, i);
    return;
  }
  c->evict_start = cycle;
  l2_take_banks(c, cycle);
  c->put_from = cycle + RELEASE_STAGES;
  const uint64_t start = later(c->put_from, c->write_next);
  c->put_end = start + c->line_beats;
  if (waiting(&c->fetches)) c->fetch_next = earlier(c->fetch_next, later(first_message(&c->fetches)->from, cycle));
  c->write_next = start + (unsigned)c->p.write_interval;
  put_back(c, &c->acknowledged, c->put_end - 1 + (unsigned)c->p.write_latency, i);
  touch_llc(c, r->victim - 1);
  c->writebacks++;
}

/* The cork takes a fetch: permissions are answered at once, lines asked for unless an eviction has the channel. */
static void send_fetch(l2_cache *c, uint64_t cycle) {
  const int i = first_message(&c->fetches)->of;
  const l2_register *r = &c->of[i];
  if (writes_whole_line(c, &r->request)) {
    if (waiting(&c->granted) >= PERMISSIONS) {
      c->fetch_next = cycle + 1;
      return;
    }
    put_back(c, &c->granted, cycle + OUTER_ANSWER, i);
  } else {
    if (cycle >= c->put_from && cycle < c->put_end) {
      c->fetch_next = c->put_end;
      return;
    }
    uint64_t first = cycle + (unsigned)c->p.fill_latency;
    if (!touch_llc(c, r->line)) {
      first += (unsigned)c->p.llc_miss_extra;
      c->llc_misses++;
    }
    first = later(first, c->port_next);
    c->port_next = first + c->line_beats;
    c->fills++;
    put_back(c, &c->lines, first, i);
  }
  c->fetches.first++;
  c->fetch_next = later(first_message(&c->fetches)->from, cycle + 1);
}

/* ---- back ---- */

/* Has the cork a number for another grant? */
static bool has_number(l2_cache *c, uint64_t cycle) {
  for (; message(&c->numbers, cycle); c->numbers.first++) c->numbered--;
  return c->numbered < GRANTS;
}

static uint64_t next_back(const l2_cache *c) {
  return earlier(next_grant(c), earlier(first_message(&c->acknowledged)->from, first_message(&c->clean)->from));
}

/* What SinkD takes next in that cycle, NULL = nothing. */
static l2_messages *incoming(l2_cache *c, uint64_t cycle) {
  const l2_message *written = message(&c->acknowledged, cycle);
  const bool passes = written && ((cycle - later(written->from, c->written_from)) & 7) == WRITE_PATIENCE;
  l2_messages *from = NULL;
  if (!passes && message(&c->lines, cycle))
    from = &c->lines;
  else if (written)
    from = &c->acknowledged;
  else if (message(&c->clean, cycle))
    from = &c->clean;
  else if (message(&c->granted, cycle))
    from = &c->granted;
  const bool grants = from == &c->lines || from == &c->granted;
  if ((grants && !has_number(c, cycle)) || c->evict_start == cycle) return NULL;
  if (from) c->numbered += grants;
  return from;
}

/* The line that came in is there; the scheduler knows from the cycle after its last beat on. */
void l2_end_fill(l2_cache *c) {
  c->filling = false;
  c->of[c->fill_of].state |= L2_GRANT_LAST;
  l2_ask(c, c->fill_of);
}

/* SinkD in this cycle takes what waits; of a line the first beat, with which the others are settled: an eviction that begins
 * in another cycle meets none of them. */
static void sink(l2_cache *c, uint64_t cycle) {
  l2_messages *from = incoming(c, cycle);
  if (!from) {
    c->back_next = later(next_back(c), cycle + 1);
    return;
  }
  const int i = from->at[from->first++ % L2_MESSAGES].of;
  l2_register *r = &c->of[i];
  uint64_t until = cycle;
  if (from == &c->lines) {
    if (c->filling) l2_end_fill(c);
    c->filling = true;
    c->fill_of = (uint8_t)i;
    c->fill_last = until = cycle + c->line_beats - 1;
    r->state |= L2_GRANT_FIRST;
    l2_take_banks(c, cycle);
  } else {
    l2_take_bank(c, cycle);
    r->state |= from == &c->granted ? L2_GRANT_FIRST | L2_GRANT_LAST : L2_RELEASE_ACKNOWLEDGED;
    if (from == &c->acknowledged) c->written_from = cycle + 1;
  }
  c->back_next = later(next_back(c), until + 1);
  l2_ask(c, i);
}

/* The outer side up to before that cycle. Nothing of it is an event of its own: the scheduler comes to see what it may ask
 * for, and what else it does waits until then. */
void l2_follow(l2_cache *c, uint64_t before) {
  uint64_t cycle;
  while ((cycle = earlier(c->fetch_next, c->back_next)) < before) {
    if (c->fetch_next == cycle) send_fetch(c, cycle);
    if (c->back_next == cycle) sink(c, cycle);
  }
}
