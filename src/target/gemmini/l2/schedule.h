/* schedule.h - the actions of registers (Scheduler.scala): one per cycle, round robin, when all that it needs is
 * free. */
#ifndef TW_GEMMINI_L2_SCHEDULE_H
#define TW_GEMMINI_L2_SCHEDULE_H

#include "target/gemmini/l2/channel.h"
#include "target/gemmini/l2/outer.h"

enum {
  OUTER_REQUEST = 1, /* cycles from scheduling to the cork: a buffer (Parameters.scala, outerBuf) */
  FETCHES = 2,       /* entries of the buffer towards the cork */
  NUMBER_BACK =
      /* cycles from scheduling an acknowledgement until SinkD sees its number with another grant: a buffer, the
       * pool, a buffer */
  3,
  /* cycles from scheduling a line until the core's acknowledgement of the first beat arrives (seen in the RTL) */
  CORE_ANSWERS = 4,
};

/* Does SourceB have room? The data cache must have turned to enough of the probes between them, and this must be
 * known here. */
static inline bool may_probe(const l2_cache *c, uint64_t cycle) {
  enum { ROOM_SEEN = 3 };
  return cycle >= c->probe_at[c->probes_sent % L2_PROBES_SENT] + ROOM_SEEN;
}

/* Register i performs its action. */
static inline void carry_out(l2_cache *c, int i, uint64_t cycle) {
  const l2_registers it = 1u << i;
  if (c->to_probe & it) {
    c->want ^= want(L2_END, i);
    l2_send_probe(c, i, cycle);
  } else if (c->want & want(L2_RELEASE, i)) {
    release(c, i, cycle);
    c->want ^= want(L2_RELEASE, i) | want(L2_FETCH, i);
    c->directory_written = cycle + 1;
  } else if (c->want & want(L2_FETCH, i)) {
    put_message(&c->fetches, cycle + OUTER_REQUEST, i);
    if (waiting(&c->fetches) == FETCHES) c->can &= ~of_all(L2_FETCH);
    c->outer_next = earlier(c->outer_next, cycle + OUTER_REQUEST);
    c->want ^= want(L2_FETCH, i);
  } else {
    if (c->want & want(L2_ANSWER, i)) {
      begin_answer(c, i);
      c->answered |= it;
      if (!(c->acknowledges & it)) {
        put_message(&c->core_has, cycle + CORE_ANSWERS, i);
        c->core_next = earlier(c->core_next, cycle + CORE_ANSWERS);
        c->outer_next = earlier(c->outer_next, c->core_next);
      }
    }
    c->want &= ~(want(L2_ANSWER, i) | want(L2_END, i));
    if (!(c->granted & it)) put_message(&c->numbers, cycle + NUMBER_BACK, i);
    c->granted |= it;
    if (it & c->answered & last_steps(c)) {
      if (it & c->writes_directory) c->directory_written = cycle + 1;
      l2_leave(c, i, cycle);
    }
  }
}

/* One cycle, in which registers may request things for which there is room. */
static inline void schedule(l2_cache *c, l2_wants could, uint64_t cycle) {
  l2_registers not_yet =
      c->fresh | c->fresh >> 16; /* the directory's answer must arrive and be stored in the register first */
  if (c->to_probe && !may_probe(c, cycle)) not_yet |= c->to_probe;
  const bool directory_is_full = cycle <= c->directory_written; /* the directory's write queue has one entry */
  could &= ~(of_all(L2_RELEASE) & (0 - (l2_wants)(directory_is_full | (cycle < c->release_from))));
  not_yet |= c->writes_directory & last_steps(c) & if_so(directory_is_full);
  could |= could >> 32;
  const l2_registers these = (l2_registers)(could | could >> 16) & 0xffff & ~not_yet;
  if (!these) return;
  const int i = __builtin_ctz(these & c->turn ? these & c->turn : these);
  c->turn = ~((2u << i) - 1);
  carry_out(c, i, cycle);
}

#endif
