/* internal.h - what the parts of the L2 share: l2.c is the flow, way_in.c what leads to channel A, registers.c the miss registers and
 * the directory, schedule.c what they do and when, channel.c the response channel, outer.c the way to the memory and back. All is
 * of one l2_cache (sim/l2.h), on which nothing else works. */
#ifndef TW_SIM_L2_INTERNAL_H
#define TW_SIM_L2_INTERNAL_H

#include <stddef.h>

#include "sim/l2.h"

enum {
  OUTER_ANSWER = 2, /* at the cork -> at SinkD, of what the cork answers itself: its queue, a buffer */
  LLC_WAYS = 16,
};

/* ---- requests ---- */

static inline bool is_write(const l2_request *r) { return r->kind == L2_WRITE || r->kind == L2_WRITEBACK; }
static inline bool writes_whole_line(const l2_cache *c, const l2_request *r) {
  return is_write(r) && !r->partial && r->bytes == c->p.line_bytes;
}
static inline int beats_of(const l2_cache *c, const l2_request *r) {
  return r->bytes > c->p.beat_bytes ? r->bytes >> c->beat_shift : 1;
}

/* ---- what registers ask for ---- */

static inline uint64_t want(enum l2_want w, int i) { return UINT64_C(1) << (L2_MISSES_MAX * w + i); }
/* Registers that want it. */
static inline uint64_t all_want(enum l2_want w) { return ((UINT64_C(1) << L2_MISSES_MAX) - 1) << L2_MISSES_MAX * w; }

/* What register i asks for has changed. */
static inline void l2_ask(l2_cache *c, int i) {
  const unsigned state = c->of[i].state, done = L2_GRANT_LAST | L2_RELEASE_ACKNOWLEDGED;
  const uint64_t wants = c->wants[state];
  const uint32_t ends = ((state & done) == done) & c->of[i].writes_directory;
  const uint32_t lacks = (state & (done | L2_ANSWERED)) == (L2_GRANT_LAST | L2_ANSWERED);
  c->want = (c->want & ~((want(0, 0) | want(1, 0) | want(2, 0) | want(3, 0)) << i)) | wants << i;
  c->writes_at_end = (c->writes_at_end & ~(1u << i)) | ends << i;
  c->lacks_release = (c->lacks_release & ~(1u << i)) | lacks << i;
}

/* ---- messages to and from the memory side ---- */

static inline unsigned waiting(const l2_messages *q) { return q->end - q->first; }
static inline void put_message(l2_messages *q, uint64_t from, int of) {
  q->at[q->end++ % L2_MESSAGES] = (l2_message){from, (uint8_t)of};
  q->at[q->end % L2_MESSAGES].from = UINT64_MAX;
}
static inline const l2_message *first_message(const l2_messages *q) { return &q->at[q->first % L2_MESSAGES]; }
/* Back to SinkD, which takes nothing before a line's last beat. */
static inline void put_back(l2_cache *c, l2_messages *q, uint64_t from, int of) {
  put_message(q, from, of);
  c->back_next = earlier(c->back_next, later(from, c->fill_last + 1));
}
static inline const l2_message *message(const l2_messages *q, uint64_t cycle) {
  return first_message(q)->from <= cycle ? first_message(q) : NULL;
}

/* From which cycle on is there a line or a permission? */
static inline uint64_t next_grant(const l2_cache *c) {
  return earlier(first_message(&c->lines)->from, first_message(&c->granted)->from);
}

/* ---- the parts ---- */

/* way_in.c: channel A and the buffers before it, in one cycle. */
void l2_take_in(l2_cache *, uint64_t cycle);

/* registers.c: channel A's request, by its first beat; false: not in this cycle. */
bool l2_accept(l2_cache *, const l2_beat_in *, uint64_t cycle);
/* Register i is done: it takes what is queued behind it, or is free. */
void l2_leave(l2_cache *, int i, uint64_t cycle);

/* schedule.c: one of the registers does what it asks for. */
void l2_schedule(l2_cache *, uint64_t cycle);

/* channel.c: goes on to that cycle's end; the room that the client has made is there after its cycle. */
void l2_respond(l2_cache *, uint64_t last);
/* The answer to register i's request begins. */
void l2_begin_answer(l2_cache *, int i, uint64_t cycle);
/* Banks that somebody else takes, from that cycle on one in each, the first one first; the first one, in that cycle alone. */
void l2_take_banks(l2_cache *, uint64_t cycle);
void l2_take_bank(l2_cache *, uint64_t cycle);

/* outer.c: the outer side up to before that cycle, unless it is there already. */
void l2_follow(l2_cache *, uint64_t before);
static inline void l2_settle(l2_cache *c, uint64_t before) {
  if (earlier(c->fetch_next, c->back_next) < before) l2_follow(c, before);
}
/* The line that came in is there; the scheduler knows from the cycle after its last beat on. */
void l2_end_fill(l2_cache *);
/* Register i's victim goes: to the memory if it is dirty. */
void l2_release(l2_cache *, int i, uint64_t cycle);

static inline uint32_t *llc_set(const l2_cache *c, uint64_t line) {
  return c->llc_tag + (line & (c->llc_sets - 1)) * LLC_WAYS;
}

#endif
