/* schedule.c - which register does what (Scheduler.scala): one a cycle, in turn, when all that it asks for is free; and when the
 * next one may, so that nobody looks in between. */
#include "sim/l2/internal.h"

enum {
  OUTER_REQUEST = 1, /* scheduled -> at the cork: a buffer (Parameters.scala, outerBuf) */
  FETCHES = 2,       /* entries of the buffer towards the cork */
  CLEAN_RELEASES =
      4, /* that may wait for their answer: the cork's queue of two, two in SourceC's (room := count <= 1) */
  NUMBER_BACK =
      3, /* acknowledgement scheduled -> its number at SinkD with another grant: a buffer, the pool, a buffer */
};

/* The cycle from which SourceC takes another release, if fewer of the clean ones wait for their answer than may: it has read
 * the last one, whose beats but one are out of its queue. */
static uint64_t source_from(const l2_cache *c) { return later(c->evict_start + c->line_beats, c->put_end - 1); }

/* While the channel has an answer: another one cannot begin before. */
static uint64_t answered_from(const l2_cache *c) {
  return later(c->free_from, c->responded + 1 + (unsigned)c->beats_left);
}

static uint64_t after(uint64_t cycle, unsigned cycles) { return later(cycle, cycle + cycles); }

/* Registers that the directory was read for in that cycle. */
static uint32_t fresh(const l2_cache *c, uint64_t cycle) {
  return c->fresh[cycle & 1] & (0 - (uint32_t)(c->fresh_at[cycle & 1] == cycle)); /* no branches */
}

/* Those whose victims are still in the core's data cache. */
static uint32_t probing(l2_cache *c, uint64_t cycle) {
  for (uint32_t rest = c->probing; rest; rest &= rest - 1)
    if (c->probed[__builtin_ctz(rest)] <= cycle) c->probing &= ~(rest & -rest);
  return c->probing;
}

/* The first cycle after this one in which something may be scheduled, or sooner: what is asked for now, or what the outer
 * side may bring. */
static uint64_t next_schedule(const l2_cache *c, uint64_t cycle) {
  const uint64_t soon = cycle + 1;
  if (c->probing) return soon;
  uint64_t could = all_want(L2_WANT_END);
  could |= waiting(&c->fetches) < FETCHES ? all_want(L2_WANT_FETCH) : 0;
  could |= c->answering ? 0 : all_want(L2_WANT_ANSWER);
  could &= c->want;
  const uint32_t writers = c->writes_at_end & (0 - (uint32_t)(c->directory_written >= soon));
  const uint64_t not_yet = (fresh(c, cycle) | writers) * (want(0, 0) | want(1, 0) | want(2, 0) | want(3, 0));
  if (could & ~not_yet) return soon;
  uint64_t next = could ? soon + 1 : UINT64_MAX; /* as the directory is written in the next cycle */
  if (c->filling) {                              /* SinkD takes an acknowledgement only after the line */
    const bool asks = c->wants[c->of[c->fill_of].state | L2_GRANT_LAST];
    next = earlier(next, asks ? c->fill_last + 1 : after(c->back_next, 1));
  }
  next = earlier(next, after(later(next_grant(c), c->back_next), 1));
  if (waiting(&c->fetches)) {
    const bool room = c->want & all_want(L2_WANT_FETCH);
    const bool lines =
        waiting(&c->fetches) == 1 && !writes_whole_line(c, &c->of[first_message(&c->fetches)->of].request);
    next = earlier(next, c->fetch_next + 1 + (room ? 0 : lines ? (unsigned)c->p.fill_latency : OUTER_ANSWER));
  }
  if (c->lacks_release) next = earlier(next, after(c->back_next, 1));
  if (c->answering && c->want & all_want(L2_WANT_ANSWER)) next = earlier(next, later(soon, answered_from(c)));
  if (c->want & all_want(L2_WANT_RELEASE)) {
    const uint64_t room = waiting(&c->clean) < CLEAN_RELEASES ? 0 : after(c->back_next, 1);
    next = earlier(next, later(later(soon, c->directory_written + 1), later(source_from(c), room)));
  }
  return next;
}

void l2_schedule(l2_cache *c, uint64_t cycle) {
  l2_settle(c, cycle);
  if (c->filling && c->fill_last < cycle) l2_end_fill(c);
  if (c->answering && cycle >= answered_from(c) && c->want & all_want(L2_WANT_ANSWER)) l2_respond(c, cycle - 1);
  const bool directory_is_free = cycle > c->directory_written, source_is_free = cycle >= source_from(c);
  const bool has_room = waiting(&c->clean) < CLEAN_RELEASES;
  const bool releases = directory_is_free & source_is_free & has_room; /* no branches */
  uint64_t wanted = all_want(L2_WANT_END);
  wanted |= waiting(&c->fetches) < FETCHES ? all_want(L2_WANT_FETCH) : 0;
  wanted |= c->answering ? 0 : all_want(L2_WANT_ANSWER);
  wanted |= releases ? all_want(L2_WANT_RELEASE) : 0;
  wanted &= c->want;
  uint32_t could = (uint32_t)(wanted | wanted >> 32);
  could = (could | could >> L2_MISSES_MAX) & (uint32_t)all_want(0) & ~(fresh(c, cycle) | fresh(c, cycle - 1));
  could &= ~(c->writes_at_end & (0 - (uint32_t)!directory_is_free)); /* while its queue of one is full */
  if (c->probing) could &= ~probing(c, cycle);
  if (could) {
    const int i = __builtin_ctz(could & c->turn ? could & c->turn : could);
    l2_register *r = &c->of[i];
    c->turn = ~((2u << i) - 1);
    if (c->want & want(L2_WANT_RELEASE, i)) {
      l2_release(c, i, cycle);
      r->state |= L2_RELEASED;
      c->directory_written = cycle + 1;
      l2_ask(c, i);
    } else if (c->want & want(L2_WANT_FETCH, i)) {
      if (!waiting(&c->fetches)) c->fetch_next = cycle + OUTER_REQUEST;
      put_message(&c->fetches, cycle + OUTER_REQUEST, i);
      r->state |= L2_FETCHED;
      l2_ask(c, i);
    } else {
      if (c->want & want(L2_WANT_ANSWER, i)) {
        l2_begin_answer(c, i, cycle);
        r->state |= L2_ANSWERED;
      }
      if (!(r->state & L2_GRANTED)) put_message(&c->numbers, cycle + NUMBER_BACK, i);
      r->state |= L2_GRANTED;
      const unsigned all = L2_ANSWERED | L2_GRANT_LAST | L2_RELEASE_ACKNOWLEDGED;
      if ((r->state & all) == all) {
        if (r->writes_directory) c->directory_written = cycle + 1;
        l2_leave(c, i, cycle);
      } else {
        l2_ask(c, i);
      }
    }
  }
  c->schedule_next = next_schedule(c, cycle);
}
