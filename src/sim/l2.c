/* l2.c - see l2.h. Two parts are stepped, from one cycle in which they may do anything to the next: what is accepted, and what is
 * scheduled, in this order, as the RTL's wires run. The others only follow, and lag behind until one of these two, or a client,
 * looks at them:
 *   - the outer side (settle): what goes to the memory and what comes from there. The scheduler looks at it in the first cycle in
 *     which it can bring something that it waits for (next_schedule), and each time it comes for another reason;
 *   - the response channel (respond), after the outer side, which has the banks first: the scheduler looks at it before an answer,
 *     a put when the put buffer may be full, the client.
 * What a part leaves for another one in a register is seen from the next cycle on. */
#include "sim/l2.h"

#include <stdlib.h>
#include <string.h>

enum {
  BUFFERS_IN = 3,     /* TLBuffers from the DMA's reader or writer to the system bus; the core has one of its own */
  OUTER_REQUEST = 1,  /* scheduled -> at the cork: a buffer (Parameters.scala, outerBuf) */
  OUTER_ANSWER = 2,   /* at the cork -> at SinkD, of what the cork answers itself: its queue, a buffer */
  RELEASE_STAGES = 3, /* read from the banked store -> at the cork (SourceC.scala: two registers, a queue) */
  FETCHES = 2,        /* entries of the buffer towards the cork */
  CLEAN_RELEASES =
      4,           /* that may wait for their answer: the cork's queue of two, two in SourceC's (room := count <= 1) */
  PERMISSIONS = 2, /* that may wait to go back: the cork's queue; another one keeps the fetches behind it waiting */
  WRITE_PATIENCE =
      7, /* in every eighth cycle that it waits the answer to a write goes before a line (ToAXI4.scala: b_delay,
                         three bits that wrap). Lines that follow each other at once begin in every eighth cycle, too: either
                         the first of them lets it pass, or none */
  GRANTS =
      8, /* lines and permissions that may wait for their acknowledgement: the cork has as many numbers (sinkIds) */
  NUMBER_BACK =
      3, /* acknowledgement scheduled -> its number at SinkD with another grant: a buffer, the pool, a buffer */
  PROBE_TO_L1 =
      4, /* the directory is read -> the core's data cache has lost the victim: register, SourceB, a buffer, its tags */
  PROBE = 6, /* it is read -> the register may release the victim, later than without a probe (seen in the RTL) */
  LLC_WAYS = 16,
};

static uint64_t want(enum l2_want w, int i) { return UINT64_C(1) << (L2_MISSES_MAX * w + i); }
/* Registers that want it. */
static uint64_t all_want(enum l2_want w) { return ((UINT64_C(1) << L2_MISSES_MAX) - 1) << L2_MISSES_MAX * w; }

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

static uint64_t earlier(uint64_t a, uint64_t b) { return l2_earlier(a, b); }
static uint64_t later(uint64_t a, uint64_t b) { return a > b ? a : b; }

/* ---- the last-level cache -------------------------------------------------------------------------------- */

static uint32_t *llc_set(const l2_cache *c, uint64_t line) {
  return c->llc_tag + (line & (c->llc_sets - 1)) * LLC_WAYS;
}

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

static void settle(l2_cache *, uint64_t before);
static void respond(l2_cache *, uint64_t last);

/* ---- clients --------------------------------------------------------------------------------------------- */

/* Cycles on the way in beyond the three buffers'. */
static uint64_t further(const l2_cache *c) {
  return c->p.request_latency > BUFFERS_IN ? (uint64_t)(c->p.request_latency - BUFFERS_IN) : 0;
}

/* The host fetches the set that it will be looked up in. */
static void expect(const l2_cache *c, uint64_t address) {
  __builtin_prefetch(c->tag + (address >> c->line_shift & (c->sets - 1)) * (unsigned)c->p.ways);
}

void l2_send(l2_cache *c, enum l2_client client, uint64_t cycle, enum l2_kind kind, uint64_t address, int bytes,
             uint32_t cookie) {
  expect(c, address);
  const int i = (c->queue[client].head + c->queue[client].count++) & (L2_QUEUE - 1);
  /* of the core: out of its buffer */
  const uint64_t from = cycle + further(c) + (client == L2_CORE ? BUFFERS_IN : 1);
  c->queue[client].request[i] = (l2_request){from, address, cookie, (uint8_t)kind, (uint8_t)bytes, false};
  c->in_next = earlier(c->in_next, from);
}

/* Before what enters later. */
static void push(l2_buffer *b, const l2_beat_in *beat, uint64_t from) {
  unsigned i = b->first + b->count++;
  for (; i != b->first && b->at[(i - 1) % L2_BUFFER].request.from > from; i--)
    b->at[i % L2_BUFFER] = b->at[(i - 1) % L2_BUFFER];
  b->at[i % L2_BUFFER] = *beat;
  b->at[i % L2_BUFFER].request.from = from;
}
static l2_beat_in *oldest(l2_buffer *b) { return &b->at[b->first]; }
static void pop(l2_buffer *b) {
  b->first = (b->first + 1) % L2_BUFFER;
  b->count--;
}
/* Is there room for what leaves the buffer before in that cycle? */
static bool has_room(const l2_buffer *b, uint64_t cycle) {
  return (b->count < 2) | (b->at[(b->first + 1) % L2_BUFFER].request.from > cycle);
}

void l2_send_clear(l2_cache *c, uint64_t cycle, enum l2_kind kind, uint64_t address, int bytes, bool partial,
                   uint32_t cookie) {
  expect(c, address);
  const l2_request r = {0, address, cookie, (uint8_t)kind, (uint8_t)bytes, partial};
  const uint64_t from = cycle + further(c) + BUFFERS_IN;
  push(&c->port, &(l2_beat_in){.request = r, .first = true, .last = true, .all = true}, from);
  c->in_next = earlier(c->in_next, from);
}

void l2_put(l2_cache *c, uint64_t cycle, uint64_t address, int bytes, bool partial, bool first, bool last) {
  expect(c, address);
  const l2_request r = {0, address, 0, L2_WRITE, (uint8_t)bytes, partial};
  const uint64_t from = cycle + further(c) + 1;
  push(&c->writer, &(l2_beat_in){.request = r, .first = first, .last = last}, from);
  c->in_next = earlier(c->in_next, from);
}

void l2_pop(l2_cache *c, uint64_t cycle) {
  if (c->taken) {
    l2_run(c, cycle - 1);
    settle(c, cycle);
    respond(c, cycle - 1);
  }
  c->taken = c->pending[c->pending_first % L2_PENDING].beats;
  c->taken_at = cycle;
  c->pending_first++;
  const l2_response *next = l2_next(c);
  c->answer_from = next ? next->ready : UINT64_MAX;
}

static bool is_write(const l2_request *r) { return r->kind == L2_WRITE || r->kind == L2_WRITEBACK; }
static bool writes_whole_line(const l2_cache *c, const l2_request *r) {
  return is_write(r) && !r->partial && r->bytes == c->p.line_bytes;
}
static int beats_of(const l2_cache *c, const l2_request *r) {
  return r->bytes > c->p.beat_bytes ? r->bytes >> c->beat_shift : 1;
}

/* ---- messages from and to the memory side ---------------------------------------------------------------- */

static unsigned waiting(const l2_messages *q) { return q->end - q->first; }
static void put_message(l2_messages *q, uint64_t from, int of) {
  q->at[q->end++ % L2_MESSAGES] = (l2_message){from, (uint8_t)of};
  q->at[q->end % L2_MESSAGES].from = UINT64_MAX;
}
static const l2_message *first_message(const l2_messages *q) { return &q->at[q->first % L2_MESSAGES]; }
/* Back to SinkD, which takes nothing before a line's last beat. */
static void put_back(l2_cache *c, l2_messages *q, uint64_t from, int of) {
  put_message(q, from, of);
  c->back_next = earlier(c->back_next, later(from, c->fill_last + 1));
}
static const l2_message *message(const l2_messages *q, uint64_t cycle) {
  return first_message(q)->from <= cycle ? first_message(q) : NULL;
}

/* ---- response channel ------------------------------------------------------------------------------------ */

enum { BANKS_AHEAD = 16, BANKS_BACK = 32 };

/* Banks that are taken from that cycle on, one in each, the first one first: by an eviction, a line that comes in. Bit i
 * of `outer` stands for one that begins i cycles before outer_from; so successive bits of it are the banks of a cycle. */
static void move_banks(l2_cache *c, uint64_t cycle) {
  const uint64_t past = cycle + BANKS_AHEAD - c->outer_from;
  if (cycle > c->responded + BANKS_BACK) respond(c, cycle - 1);
  c->outer = past < 64 ? c->outer << past : 0;
  c->outer_once = past < 64 ? c->outer_once << past : 0;
  c->outer_from = cycle + BANKS_AHEAD;
}
static void take_banks(l2_cache *c, uint64_t cycle) {
  move_banks(c, cycle);
  c->outer |= 1u << BANKS_AHEAD;
}
/* The first one, in that cycle alone. */
static void take_bank(l2_cache *c, uint64_t cycle) {
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
static void respond(l2_cache *c, uint64_t last) {
  if (c->taken && c->taken_at <= last) {
    advance(c, c->taken_at);
    c->undelivered -= c->taken;
    c->taken = 0;
  }
  advance(c, last);
}

/* ---- miss registers -------------------------------------------------------------------------------------- */

/* What register i asks for has changed. */
static void ask(l2_cache *c, int i) {
  const unsigned state = c->of[i].state, done = L2_GRANT_LAST | L2_RELEASE_ACKNOWLEDGED;
  const uint64_t wants = c->wants[state];
  const uint32_t ends = ((state & done) == done) & c->of[i].writes_directory;
  const uint32_t lacks = (state & (done | L2_ANSWERED)) == (L2_GRANT_LAST | L2_ANSWERED);
  c->want = (c->want & ~((want(0, 0) | want(1, 0) | want(2, 0) | want(3, 0)) << i)) | wants << i;
  c->writes_at_end = (c->writes_at_end & ~(1u << i)) | ends << i;
  c->lacks_release = (c->lacks_release & ~(1u << i)) | lacks << i;
}

/* The core's data cache asks for lines that it will hold. */
static bool is_held(const l2_request *r) { return r->kind == L2_REFILL && !r->cookie; }

/* The victim of register i is taken from the core's data cache. */
static void probe(l2_cache *c, int i, uint64_t line, uint64_t cycle) {
  c->probing |= 1u << i;
  c->probed[i] = cycle + 2 + PROBE;
  if (c->end_probe - c->first_probe < L2_PROBES)
    c->probe[c->end_probe++ % L2_PROBES] = (l2_probe){cycle + PROBE_TO_L1, line};
}

uint64_t l2_take_probe(l2_cache *c, uint64_t cycle) {
  l2_run(c, cycle);
  const l2_probe *p = &c->probe[c->first_probe % L2_PROBES];
  if (c->first_probe == c->end_probe || p->from > cycle) return 0;
  c->first_probe++;
  return p->line + 1;
}

/* The core's data cache takes, or gives back, the line of that way. */
static void note_held(l2_cache *c, const l2_register *r, int way) {
  uint8_t *held = c->held + (size_t)r->set * (unsigned)c->p.ways + (unsigned)way;
  if (r->request.kind == L2_WRITEBACK || is_held(&r->request)) *held = r->request.kind == L2_REFILL;
}

/* The directory is read for the register's request, before what waits to be written. Fibonacci LFSR, taps 15, 13, 12,
 * 10, a step a read; the victim is the way of its bits 9 to 7. */
static bool look_up(l2_cache *c, l2_register *r, uint64_t cycle) {
  if (c->directory_written == cycle) c->directory_written++;
  uint64_t *set = c->tag + (size_t)r->set * (unsigned)c->p.ways;
  const unsigned s = c->lfsr;
  const unsigned victim = (s & 1023) * (unsigned)c->p.ways >> 10;
  c->lfsr = (uint16_t)(s << 1 | ((s >> 15 ^ s >> 13 ^ s >> 12 ^ s >> 10) & 1));
  for (int w = 0; w < c->p.ways; w++) {
    if (set[w] >> 1 != r->line + 1) continue;
    r->writes_directory = is_write(&r->request) && !(set[w] & 1);
    set[w] |= is_write(&r->request);
    note_held(c, r, w);
    return true;
  }
  r->writes_directory = true;
  r->victim = set[victim] >> 1;
  r->victim_is_dirty = set[victim] & 1;
  __builtin_prefetch(llc_set(c, r->line));
  if (r->victim_is_dirty) __builtin_prefetch(llc_set(c, r->victim - 1));
  set[victim] = (r->line + 1) << 1 | is_write(&r->request);
  uint8_t *held = c->held + (size_t)r->set * (unsigned)c->p.ways + victim;
  if (*held) probe(c, (int)(r - c->of), r->victim - 1, cycle);
  *held = is_held(&r->request);
  return false;
}

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

/* A request enters register i in `cycle`; `repeats`: behind one to the same line. */
static void enter(l2_cache *c, int i, const l2_request *request, bool repeats, uint64_t cycle) {
  l2_register *r = &c->of[i];
  r->request = *request;
  r->line = request->address >> c->line_shift;
  r->set = (uint32_t)(r->line & (c->sets - 1));
  r->victim = 0;
  r->writes_directory = false;
  const bool hit = repeats || look_up(c, r, cycle);
  if (repeats && (is_write(request) || is_held(request))) { /* the line is there; it becomes dirty, or the core's */
    uint64_t *set = c->tag + (size_t)r->set * (unsigned)c->p.ways;
    for (int w = 0; w < c->p.ways; w++) {
      if (set[w] >> 1 != r->line + 1) continue;
      r->writes_directory = is_write(request) && !(set[w] & 1);
      set[w] |= is_write(request);
      note_held(c, r, w);
    }
  }
  c->hits += hit;
  r->state = (uint8_t)((hit ? L2_FETCHED | L2_GRANTED | L2_GRANT_FIRST | L2_GRANT_LAST : 0) |
                       (r->victim ? 0 : L2_RELEASED | L2_RELEASE_ACKNOWLEDGED) |
                       (request->address & (c->line_bytes - 1) ? 0 : L2_FROM_START));
  c->valid |= 1u << i;
  /* neither in this cycle nor in the next: the directory's answer has to come, and to go into the register */
  if (!repeats) {
    const int slot = cycle & 1;
    c->fresh[slot] = (c->fresh_at[slot] == cycle ? c->fresh[slot] : 0) | 1u << i;
    c->fresh_at[slot] = cycle;
  }
  ask(c, i);
}

static void leave(l2_cache *c, int i, uint64_t cycle) {
  l2_register *r = &c->of[i];
  if (c->refused) {
    c->refused = false;
    c->in_next = cycle + 1;
  }
  if (r->first < 0) {
    c->want &= ~(want(0, i) | want(1, i) | want(2, i) | want(3, i));
    c->valid &= ~(1u << i);
    c->sets_busy[r->set / 64] &= ~(UINT64_C(1) << r->set % 64);
    return;
  }
  const int slot = r->first;
  r->first = c->secondary_next[slot];
  c->secondary_free |= 1u << slot;
  const uint64_t line = r->line;
  enter(c, i, &c->secondary[slot], c->secondary[slot].address >> c->line_shift == line, cycle);
}

/* Channel A: a request's first beat. */
static bool accept(l2_cache *c, const l2_beat_in *beat, uint64_t cycle) {
  const l2_request *request = &beat->request;
  const int beats = beats_of(c, request);
  if (is_write(request) && c->put_beats + beats > L2_PUT_BEATS) {
    settle(c, cycle);
    respond(c, cycle - 1);
    if (c->put_beats + beats > L2_PUT_BEATS) return false;
  }
  const uint32_t set = (uint32_t)(request->address >> c->line_shift & (c->sets - 1));
  const uint64_t set_bit = UINT64_C(1) << set % 64;
  if (c->sets_busy[set / 64] & set_bit) {
    int i = __builtin_ctz(c->valid);
    for (uint32_t left = c->valid; c->of[i].set != set; left &= left - 1) i = __builtin_ctz(left);
    if (!c->secondary_free) return !(c->refused = true);
    const int slot = __builtin_ctz(c->secondary_free);
    c->secondary_free &= c->secondary_free - 1;
    c->secondary[slot] = *request;
    c->secondary_next[slot] = -1;
    if (c->of[i].first < 0)
      c->of[i].first = (int8_t)slot;
    else
      c->secondary_next[c->of[i].last] = (int8_t)slot;
    c->of[i].last = (int8_t)slot;
    goto accepted;
  }
  const uint32_t free = ~c->valid & ((UINT32_C(1) << c->p.misses) - 1);
  if (!free) return !(c->refused = true);
  const int i = __builtin_ctz(free);
  c->of[i].first = -1;
  c->sets_busy[set / 64] |= set_bit;
  enter(c, i, request, false, cycle);
  c->schedule_next = earlier(c->schedule_next, cycle + 2);
accepted:
  if (is_write(request)) c->put_beats += beats;
  c->accept_next = cycle + (beat->all && is_write(request) ? (unsigned)beats : 1);
  return true;
}

static void drop_head(l2_cache *c, enum l2_client client) {
  c->queue[client].head = (c->queue[client].head + 1) & (L2_QUEUE - 1);
  c->queue[client].count--;
}
static const l2_request *queued(const l2_cache *c, enum l2_client client) {
  return c->queue[client].count ? &c->queue[client].request[c->queue[client].head] : NULL;
}

/* The DMA's crossbar: reader and writer in turn, a put of several beats as a whole (rocket-chip Arbiter.scala). */
static void pass_dma(l2_cache *c, uint64_t cycle) {
  const l2_request *read = queued(c, L2_READER);
  const bool reads = read && read->from <= cycle && !c->dma_locked;
  const bool writes = c->writer.count && oldest(&c->writer)->request.from <= cycle;
  if (writes && (!reads || c->last_dma == L2_READER)) {
    const l2_beat_in *beat = oldest(&c->writer);
    c->dma_locked = !beat->last;
    push(&c->dma, beat, cycle + 1);
    pop(&c->writer);
    c->left_at[L2_WRITER] = cycle;
    c->last_dma = L2_WRITER;
  } else if (reads) {
    push(&c->dma, &(l2_beat_in){.request = *read, .first = true, .last = true}, cycle + 1);
    drop_head(c, L2_READER);
    c->left_at[L2_READER] = cycle;
    c->last_dma = L2_READER;
  }
}

/* Channel A takes that beat in that cycle, or not. */
static bool take(l2_cache *c, const l2_beat_in *beat, uint64_t cycle) {
  if (cycle < c->accept_next) return false;
  return !beat->first || (!c->refused && accept(c, beat, cycle));
}

/* The system bus: the DMA and the core in turn, straight to channel A or into the buffer before it. */
static void pass_bus(l2_cache *c, uint64_t cycle) {
  const l2_request *core = queued(c, L2_CORE);
  const bool cores = core && core->from <= cycle && !c->port_locked;
  const bool dma = c->port.count && oldest(&c->port)->request.from <= cycle;
  if (dma && (!cores || c->last_in == L2_CORE)) {
    c->before = *oldest(&c->port);
    c->port_locked = !c->before.last;
    pop(&c->port);
    c->last_in = L2_READER;
  } else if (cores) {
    c->before = (l2_beat_in){.request = *core, .first = true, .last = true, .all = true};
    drop_head(c, L2_CORE);
    c->last_in = L2_CORE;
  } else {
    return;
  }
  c->waits_before = !take(c, &c->before, cycle);
}

/* The next cycle in which a request or a beat may move on its way in. */
static uint64_t next_in(const l2_cache *c, uint64_t soon) {
  uint64_t next = UINT64_MAX;
  if (c->waits_before) {
    if (!(c->refused && c->before.first)) next = later(soon, c->accept_next);
  } else {
    const l2_request *core = queued(c, L2_CORE);
    if (c->port.count) next = later(soon, c->port.at[c->port.first].request.from);
    if (core && !c->port_locked) next = earlier(next, later(soon, core->from));
  }
  if (c->dma.count && has_room(&c->port, soon)) return soon;
  if (c->dma.count < 2) {
    const l2_request *read = queued(c, L2_READER);
    if (read && !c->dma_locked) next = earlier(next, later(soon, read->from));
    if (c->writer.count) next = earlier(next, later(soon, c->writer.at[c->writer.first].request.from));
  }
  return next;
}

/* Channel A and the buffers before it, the last first: each sees the next as it was when the cycle began. */
static void take_in(l2_cache *c, uint64_t cycle) {
  const bool port_room = has_room(&c->port, cycle), dma_room = c->dma.count < 2, dma = c->dma.count;
  if (c->waits_before)
    c->waits_before = !take(c, &c->before, cycle);
  else
    pass_bus(c, cycle);
  if (port_room && dma) {
    push(&c->port, oldest(&c->dma), cycle + 1);
    pop(&c->dma);
  }
  if (dma_room) pass_dma(c, cycle);
  c->in_next = next_in(c, cycle + 1);
}

/* ---- schedule -------------------------------------------------------------------------------------------- */

static void release(l2_cache *c, int i, uint64_t cycle) {
  const l2_register *r = &c->of[i];
  if (!r->victim_is_dirty) {
    put_back(c, &c->clean, cycle + RELEASE_STAGES + OUTER_ANSWER, i);
    return;
  }
  c->evict_start = cycle;
  take_banks(c, cycle);
  c->put_from = cycle + RELEASE_STAGES;
  const uint64_t start = later(c->put_from, c->write_next);
  c->put_end = start + c->line_beats;
  if (waiting(&c->fetches)) c->fetch_next = earlier(c->fetch_next, later(first_message(&c->fetches)->from, cycle));
  c->write_next = start + (unsigned)c->p.write_interval;
  put_back(c, &c->acknowledged, c->put_end - 1 + (unsigned)c->p.write_latency, i);
  touch_llc(c, r->victim - 1);
  c->writebacks++;
}

/* The cycle from which SourceC takes another release, if fewer of the clean ones wait for their answer than may: it has read
 * the last one, whose beats but one are out of its queue. */
static uint64_t source_from(const l2_cache *c) { return later(c->evict_start + c->line_beats, c->put_end - 1); }

static void begin_answer(l2_cache *c, int i, uint64_t cycle) {
  const l2_register *r = &c->of[i];
  const l2_request *q = &r->request;
  const bool writes = is_write(q);
  const int first_bank = (int)((q->address & (c->line_bytes - 1)) >> c->bank_shift), beats = beats_of(c, q);
  const uint32_t banks = ((1u << c->beat_banks) - 1) << first_bank;
  respond(c, cycle - 1);
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

/* ---- outer side ------------------------------------------------------------------------------------------ */

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

/* Has the cork a number for another grant? */
static bool has_number(l2_cache *c, uint64_t cycle) {
  for (; message(&c->numbers, cycle); c->numbers.first++) c->numbered--;
  return c->numbered < GRANTS;
}

/* From which cycle on is there a line or a permission? */
static uint64_t next_grant(const l2_cache *c) {
  return earlier(first_message(&c->lines)->from, first_message(&c->granted)->from);
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
static void end_fill(l2_cache *c) {
  c->filling = false;
  c->of[c->fill_of].state |= L2_GRANT_LAST;
  ask(c, c->fill_of);
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
    if (c->filling) end_fill(c);
    c->filling = true;
    c->fill_of = (uint8_t)i;
    c->fill_last = until = cycle + c->line_beats - 1;
    r->state |= L2_GRANT_FIRST;
    take_banks(c, cycle);
  } else {
    take_bank(c, cycle);
    r->state |= from == &c->granted ? L2_GRANT_FIRST | L2_GRANT_LAST : L2_RELEASE_ACKNOWLEDGED;
    if (from == &c->acknowledged) c->written_from = cycle + 1;
  }
  c->back_next = later(next_back(c), until + 1);
  ask(c, i);
}

/* The outer side up to before that cycle. Nothing of it is an event of its own: the scheduler comes to see what it may ask
 * for, and what else it does waits until then. */
static void settle(l2_cache *c, uint64_t before) {
  uint64_t cycle;
  while ((cycle = earlier(c->fetch_next, c->back_next)) < before) {
    if (c->fetch_next == cycle) send_fetch(c, cycle);
    if (c->back_next == cycle) sink(c, cycle);
  }
}

/* ---- schedule -------------------------------------------------------------------------------------------- */

/* While the channel has an answer: another one cannot begin before. */
static uint64_t answered_from(const l2_cache *c) {
  return later(c->free_from, c->responded + 1 + (unsigned)c->beats_left);
}

static uint64_t after(uint64_t cycle, unsigned cycles) { return later(cycle, cycle + cycles); }

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

static void schedule(l2_cache *c, uint64_t cycle) {
  settle(c, cycle);
  if (c->filling && c->fill_last < cycle) end_fill(c);
  if (c->answering && cycle >= answered_from(c) && c->want & all_want(L2_WANT_ANSWER)) respond(c, cycle - 1);
  const bool directory_is_free = cycle > c->directory_written;
  const bool releases = directory_is_free & (cycle >= source_from(c)) & (waiting(&c->clean) < CLEAN_RELEASES);
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
      release(c, i, cycle);
      r->state |= L2_RELEASED;
      c->directory_written = cycle + 1;
      ask(c, i);
    } else if (c->want & want(L2_WANT_FETCH, i)) {
      if (!waiting(&c->fetches)) c->fetch_next = cycle + OUTER_REQUEST;
      put_message(&c->fetches, cycle + OUTER_REQUEST, i);
      r->state |= L2_FETCHED;
      ask(c, i);
    } else {
      if (c->want & want(L2_WANT_ANSWER, i)) {
        begin_answer(c, i, cycle);
        r->state |= L2_ANSWERED;
      }
      if (!(r->state & L2_GRANTED)) put_message(&c->numbers, cycle + NUMBER_BACK, i);
      r->state |= L2_GRANTED;
      const unsigned all = L2_ANSWERED | L2_GRANT_LAST | L2_RELEASE_ACKNOWLEDGED;
      if ((r->state & all) == all) {
        if (r->writes_directory) c->directory_written = cycle + 1;
        leave(c, i, cycle);
      } else {
        ask(c, i);
      }
    }
  }
  c->schedule_next = next_schedule(c, cycle);
}

/* ---- the edges -------------------------------------------------------------------------------------------- */

void l2_make_edges(l2_cache *c, uint64_t last) {
  uint64_t cycle;
  while ((cycle = l2_next_move(c)) <= last) {
    if (c->in_next == cycle) take_in(c, cycle);
    if (c->schedule_next == cycle) schedule(c, cycle);
  }
  if (c->announce_next <= last) {
    settle(c, last + 1);
    respond(c, last);
  }
}

/* The cycles that it takes at least from what may come next: a beat needs two from the cycle in which it is scheduled, a
 * request two to be scheduled, and what comes from the memory is seen by the scheduler in the cycle after. */
uint64_t l2_next_answer(const l2_cache *c) {
  uint64_t next = later(c->schedule_next, c->schedule_next + 2);
  next = earlier(next, later(c->in_next, c->in_next + L2_REQUEST_TO_ANSWER));
  return earlier(next, c->announce_next);
}
