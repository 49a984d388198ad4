/* channel.c - the response channel (SourceD.scala), and the banks that others take before it (BankedStore.scala). */
#include "sim/l2/internal.h"

enum { BANKS_AHEAD = 16, BANKS_BACK = 32 };

/* Banks that are taken from that cycle on, one in each, the first one first: by an eviction, a line that comes in. Bit i
 * of `outer` stands for one that begins i cycles before outer_from; so successive bits of it are the banks of a cycle. */
static void move_banks(l2_cache *c, uint64_t cycle) {
  const uint64_t past = cycle + BANKS_AHEAD - c->outer_from;
  if (cycle > c->responded + BANKS_BACK) l2_respond(c, cycle - 1);
  c->outer = past < 64 ? c->outer << past : 0;
  c->outer_once = past < 64 ? c->outer_once << past : 0;
  c->outer_from = cycle + BANKS_AHEAD;
}
void l2_take_banks(l2_cache *c, uint64_t cycle) {
  move_banks(c, cycle);
  c->outer |= 1u << BANKS_AHEAD;
}
/* The first one, in that cycle alone. */
void l2_take_bank(l2_cache *c, uint64_t cycle) {
  move_banks(c, cycle);
  c->outer_once |= 1u << BANKS_AHEAD;
}
/* Those of a cycle. */
static uint32_t taken(const l2_cache *c, uint64_t cycle) {
  const uint64_t back = c->outer_from - cycle;
  return back < 64 ? ((uint32_t)(c->outer >> back) & c->banks) | (uint32_t)(c->outer_once >> back & 1) : 0;
}

static void announce(l2_cache *c, l2_beat beat, uint64_t cycle) {
  l2_response *r = &c->pending[c->pending_end % L2_PENDING];
  *r = c->answer[beat >> L2_BEAT_ANSWER_SHIFT];
  r->ready = cycle + (unsigned)c->p.answer_latency;
  if (c->pending_first == c->pending_end) c->answer_from = r->ready;
  c->pending_end++;
}

/* The channel goes on to that cycle's end. In each cycle, from the way out: the last stage writes what a put brought, if
 * nobody else has its banks; a beat leaves the third one towards the client if there is room, its answer's first one
 * announces that, and of a put only that leaves; beats move up; the newest answer's next one comes when its banks can be
 * read, if it needs them, and there is room. Without branches where nobody could predict them. */
static void advance_all(l2_cache *c, uint64_t last) {
  l2_beat s2 = c->stage[0], s3 = c->stage[1], s4 = c->stage[2];
  bool answering = c->answering, answer_read = c->answer_read;
  uint32_t reads = c->reads, writes = c->writes;
  l2_beat first_beat = c->first_beat;
  int beats_left = c->beats_left, undelivered = c->undelivered, put_beats = c->put_beats;
  for (uint64_t cycle = c->responded + 1; cycle <= last && (answering | s2 | s3 | s4); cycle++) {
    const uint32_t outer = taken(c, cycle), written = s4 & L2_BEAT_WRITES, busy = outer | written;
    s4 = written & outer ? s4 : 0;

    const bool leaves = ((s3 & L2_BEAT_LEAVES) != 0) & (undelivered < c->p.answer_buffer);
    if (leaves & ((s3 & L2_BEAT_FIRST) != 0)) announce(c, s3, cycle);
    undelivered += leaves;
    s3 &= ~(leaves ? (l2_beat)L2_BEAT_LEAVES : 0);

    const bool to_last = (s4 == 0) & !(s3 & L2_BEAT_LEAVES);
    s4 = to_last ? s3 : s4;
    s3 = to_last ? 0 : s3;
    const bool up = s3 == 0;
    s3 = up ? s2 : s3;
    s2 = up ? 0 : s2;
    put_beats -= up & ((s3 & L2_BEAT_WRITES) != 0);

    answer_read |= answering & !(reads & busy);
    const bool begins = answering & answer_read & (s2 == 0);
    s2 |= begins ? c->beat | first_beat | writes : 0;
    first_beat = begins ? c->later_beats : first_beat;
    const int shift = begins ? c->beat_banks : 0;
    reads = reads << shift & L2_BEAT_WRITES;
    writes = writes << shift & L2_BEAT_WRITES;
    answer_read &= !begins;
    beats_left -= begins;
    answering &= beats_left != 0;
  }
  c->responded = last;
  c->answering = answering, c->answer_read = answer_read;
  c->reads = reads, c->writes = writes;
  c->first_beat = first_beat;
  c->beats_left = beats_left, c->undelivered = undelivered, c->put_beats = put_beats;
  c->stage[0] = s2, c->stage[1] = s3, c->stage[2] = s4;
}

/* The next cycle in which a first beat may leave. */
static uint64_t next_announcement(const l2_cache *c) {
  const l2_beat first = L2_BEAT_FIRST | L2_BEAT_LEAVES;
  const uint64_t begins = c->answering && c->first_beat & L2_BEAT_FIRST ? c->responded + 3 : UINT64_MAX;
  const uint64_t second = c->stage[0] & L2_BEAT_FIRST ? c->responded + 2 : begins;
  return (c->stage[1] & first) == first ? c->responded + 1 : second;
}

/* The same where no beat writes and there is room for all of them: each leaves two cycles after its banks were read. */
static void advance_reads(l2_cache *c, uint64_t last) {
  const uint64_t now = c->responded;
  const l2_beat moved[2] = {c->stage[1] & L2_BEAT_LEAVES ? c->stage[1] : 0, c->stage[0]}; /* begun at now - 1, now */
  for (int i = 0; i < 2; i++) {
    if (!moved[i] || now + 1 + (unsigned)i > last) continue;
    if (moved[i] & L2_BEAT_FIRST) announce(c, moved[i], now + 1 + (unsigned)i);
    c->undelivered++;
  }
  /* those begun at last - 1, last */
  l2_beat s3 = last == now + 1 ? moved[1] : 0, s2 = 0;
  uint64_t cycle = now + 1;
  for (; c->answering; cycle++) {
    if (!c->answer_read)
      while (cycle <= last && c->reads & taken(c, cycle)) cycle++;
    if (cycle > last) break;
    const l2_beat beat = c->beat | c->first_beat;
    if (cycle + 2 <= last) {
      if (beat & L2_BEAT_FIRST) announce(c, beat, cycle + 2);
      c->undelivered++;
    } else if (cycle == last) {
      s2 = beat;
    } else {
      s3 = beat;
    }
    c->first_beat = c->later_beats;
    c->reads = c->reads << c->beat_banks & L2_BEAT_WRITES;
    c->answer_read = false;
    c->answering = --c->beats_left != 0;
  }
  c->responded = last;
  c->stage[0] = s2, c->stage[1] = s3, c->stage[2] = 0;
}

static void advance(l2_cache *c, uint64_t last) {
  if (last <= c->responded) return;
  const l2_beat stages = c->stage[0] | c->stage[1] | c->stage[2];
  if (!(c->answering | stages)) {
    c->responded = last;
  } else if (!((stages | c->writes) & L2_BEAT_WRITES) && c->undelivered + 2 + c->beats_left <= c->p.answer_buffer) {
    advance_reads(c, last);
  } else {
    advance_all(c, last);
  }
  c->announce_next = next_announcement(c);
}

/* The same; the room that the client has made is there after its cycle. */
void l2_respond(l2_cache *c, uint64_t last) {
  if (c->taken && c->taken_at <= last) {
    advance(c, c->taken_at);
    c->undelivered -= c->taken;
    c->taken = 0;
  }
  advance(c, last);
}

void l2_pop(l2_cache *c, uint64_t cycle) {
  if (c->taken) {
    l2_run(c, cycle - 1);
    l2_settle(c, cycle);
    l2_respond(c, cycle - 1);
  }
  c->taken = c->pending[c->pending_first % L2_PENDING].beats;
  c->taken_at = cycle;
  c->pending_first++;
  const l2_response *next = l2_next(c);
  c->answer_from = next ? next->ready : UINT64_MAX;
}

void l2_begin_answer(l2_cache *c, int i, uint64_t cycle) {
  const l2_register *r = &c->of[i];
  const l2_request *q = &r->request;
  const bool writes = is_write(q);
  const int first_bank = (int)((q->address & (c->line_bytes - 1)) >> c->bank_shift), beats = beats_of(c, q);
  const uint32_t banks = ((1u << c->beat_banks) - 1) << first_bank;
  l2_respond(c, cycle - 1);
  c->answering = true;
  c->newest = (uint8_t)((c->newest + 1) % L2_ANSWERS);
  c->reads = writes && !q->partial ? 0 : banks;
  c->writes = writes ? banks : 0;
  c->beat = L2_BEAT | (l2_beat)c->newest << L2_BEAT_ANSWER_SHIFT;
  c->first_beat = L2_BEAT_FIRST | L2_BEAT_LEAVES;
  c->later_beats = writes ? 0 : L2_BEAT_LEAVES;
  c->beats_left = beats;
  c->answer[c->newest] = (l2_response){.cookie = q->cookie,
                                       .kind = q->kind,
                                       .beats = (uint8_t)(writes ? 1 : beats),
                                       .interval = (uint8_t)(r->state & L2_GRANT_LAST ? 1 : c->beat_banks)};
  c->announce_next = earlier(c->announce_next, cycle + 2);
  /* a beat a cycle, or behind a line that comes in */
  const uint64_t start = c->fill_last + 1 - c->line_beats;
  const bool behind = c->reads && !(r->state & L2_GRANT_LAST);
  c->free_from = behind ? start + (unsigned)(beats * c->beat_banks) + 1 : cycle + (unsigned)beats;
}
