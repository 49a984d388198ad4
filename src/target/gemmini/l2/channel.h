/* channel.h - the response channel (SourceD.scala), and the banks that other parts take before it
 * (BankedStore.scala). */
#ifndef TW_GEMMINI_L2_CHANNEL_H
#define TW_GEMMINI_L2_CHANNEL_H

#include "target/gemmini/l2/internal.h"

/* The beat is the first of its answer and leaves in that cycle. */
static inline void announce(l2_cache *c, l2_beat beat, uint64_t cycle) {
  l2_response *r = &c->pending[c->pending_end % L2_PENDING];
  *r = c->answer[beat >> L2_BEAT_ANSWER_SHIFT];
  r->ready = cycle + (unsigned)c->p.answer_latency;
  if (c->pending_first == c->pending_end) c->answer_from = r->ready;
  c->pending_end++;
}

static inline l2_beat in_stages(const l2_cache *c) { return c->stage[0] | c->stage[1] | c->stage[2]; }

/* Room that the client makes in a cycle is available after that cycle. */
static inline void notice_taken(l2_cache *c, uint64_t before) {
  const int taken = c->taken_at < before ? c->taken : 0;
  c->undelivered -= taken;
  c->taken -= taken;
}

/* If the newest answer's beat begins, moves on to its next beat. */
static inline void move_answer(l2_cache *c, bool begins) {
  const int shift = begins ? c->beat_banks : 0;
  c->first_beat = begins ? c->later_beats : c->first_beat;
  c->reads = c->reads << shift & L2_BEAT_WRITES;
  c->writes = c->writes << shift & L2_BEAT_WRITES;
  c->answer_read &= !begins;
  c->beats_left -= begins;
  c->answering = c->beats_left != 0;
  c->can |= of_all(L2_ANSWER) & (0 - (l2_wants)!c->answering);
}

/* One cycle, from the output backwards. The last stage writes a put's data if its banks are free. A beat leaves the
 * third stage towards the client if there is room; the first beat of an answer announces it, and a put sends only
 * that beat. Then beats move up. The next beat of the newest answer enters when its banks can be read (if it needs
 * them) and there is room. The code has no unpredictable branches. */
static inline void move_stages(l2_cache *c, uint32_t outer, uint64_t cycle) {
  l2_beat s2 = c->stage[0], s3 = c->stage[1], s4 = c->stage[2];
  const uint32_t written = s4 & L2_BEAT_WRITES, busy = outer | written;
  s4 = written & outer ? s4 : 0;

  const bool leaves = ((s3 & L2_BEAT_LEAVES) != 0) & (c->undelivered < c->p.answer_buffer);
  if (leaves & ((s3 & L2_BEAT_FIRST) != 0)) announce(c, s3, cycle);
  c->undelivered += leaves;
  s3 &= ~(leaves ? (l2_beat)L2_BEAT_LEAVES : 0);

  const bool to_last = (s4 == 0) & !(s3 & L2_BEAT_LEAVES);
  s4 = to_last ? s3 : s4;
  s3 = to_last ? 0 : s3;
  const bool up = s3 == 0;
  s3 = up ? s2 : s3;
  s2 = up ? 0 : s2;
  c->put_beats -= up & ((s3 & L2_BEAT_WRITES) != 0);

  c->answer_read |= c->answering & !(c->reads & busy);
  const bool begins = c->answering & c->answer_read & (s2 == 0);
  s2 |= begins ? c->beat | c->first_beat | c->writes : 0;
  move_answer(c, begins);
  c->stage[0] = s2, c->stage[1] = s3, c->stage[2] = s4;
}

/* One cycle of the channel. A beat that is only read, meets no other beat in the stages and has room leaves two
 * cycles later in any case. */
static inline void move_channel(l2_cache *c, uint64_t cycle) {
  const uint32_t outer = (c->taken_banks | c->taken_banks >> 16) & c->banks;
  notice_taken(c, cycle);
  if (in_stages(c) | c->writes | (c->undelivered >= c->p.answer_buffer)) {
    move_stages(c, outer, cycle);
  } else {
    const bool begins = c->answer_read | !(c->reads & outer);
    if (begins & ((c->first_beat & L2_BEAT_FIRST) != 0)) announce(c, c->beat, cycle + 2);
    c->undelivered += begins;
    move_answer(c, begins);
  }
}

/* The answer to register i's request begins. */
static inline void begin_answer(l2_cache *c, int i) {
  const l2_register *r = &c->of[i];
  const l2_request *q = &r->request;
  const bool writes = is_write(q);
  const int first_bank = (int)((q->address & (c->line_bytes - 1)) >> c->bank_shift), beats = beats_of(c, q);
  const uint32_t banks = ((1u << c->beat_banks) - 1) << first_bank;
  c->answering = true;
  c->can &= ~of_all(L2_ANSWER);
  c->newest = (uint8_t)((c->newest + 1) % L2_ANSWERS);
  c->reads = (writes && !q->partial) || (q->kind == L2_REFILL && q->cookie & L2_RIGHT_ALONE) ? 0 : banks;
  c->writes = writes ? banks : 0;
  c->beat = L2_BEAT | (l2_beat)c->newest << L2_BEAT_ANSWER_SHIFT;
  c->first_beat = L2_BEAT_FIRST | L2_BEAT_LEAVES;
  c->later_beats = writes ? 0 : L2_BEAT_LEAVES;
  c->beats_left = beats;
  c->answer[c->newest] = (l2_response){.cookie = q->cookie,
                                       .kind = q->kind,
                                       .beats = (uint8_t)(writes ? 1 : beats),
                                       .interval = (uint8_t)(c->has_line >> i & 1 ? 1 : c->beat_banks)};
}

/* The next cycle in which a first beat may leave. */
static inline uint64_t next_announcement(const l2_cache *c) {
  const l2_beat first = L2_BEAT_FIRST | L2_BEAT_LEAVES;
  const uint64_t begins = c->answering && c->first_beat & L2_BEAT_FIRST ? c->at + 3 : UINT64_MAX;
  const uint64_t second = c->stage[0] & L2_BEAT_FIRST ? c->at + 2 : begins;
  return (c->stage[1] & first) == first ? c->at + 1 : second;
}

#endif
