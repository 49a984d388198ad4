/* l2.c - see l2.h. A step makes one edge, the parts in the order in which the RTL's wires run within a cycle: what is accepted,
 * what is scheduled, who has which bank, and what of the response channel can move. What a part leaves for another one in a
 * register carries the cycle from which it may be seen. */
#include "sim/l2.h"

#include <stdlib.h>
#include <string.h>

enum {
  BUFFERS_IN = 3,     /* TLBuffers from the DMA's reader or writer to channel A; the core passes the last one */
  OUTER_REQUEST = 1,  /* scheduled -> at the cork: a buffer (Parameters.scala, outerBuf) */
  OUTER_ANSWER = 2,   /* at the cork -> at SinkD, of what the cork answers itself: its queue, a buffer */
  RELEASE_STAGES = 3, /* read from the banked store -> at the cork (SourceC.scala: two registers, a queue) */
  FETCHES = 2,        /* entries of the buffer towards the cork */
  CLEAN_RELEASES =
      4,           /* that may wait for their answer: the cork's queue of two, two in SourceC's (room := count <= 1) */
  PERMISSIONS = 2, /* that may wait to go back: the cork's queue; another one keeps the fetches behind it waiting */
  WRITE_PATIENCE = 7, /* cycles after which the answer to a write goes before the next line (TLToAXI4: b_delay) */
  GRANTS =
      8, /* lines and permissions that may wait for their acknowledgement: the cork has as many numbers (sinkIds) */
  NUMBER_BACK =
      3, /* acknowledgement scheduled -> its number at SinkD with another grant: a buffer, the pool, a buffer */
  LLC_WAYS = 16,
};

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
  c->tag = calloc((size_t)sets * (size_t)p->ways, sizeof *c->tag);
  c->llc_tag = calloc((size_t)llc_sets * LLC_WAYS, sizeof *c->llc_tag);
  c->llc_random = 0x9e3779b97f4a7c15u;
  c->lfsr = 1u << 15;
  c->evict_start = 0 - (uint64_t)c->line_beats;
  c->put_end = 1;
  c->secondary_free = (1u << L2_SECONDARY) - 1;
  if (!c->tag || !c->llc_tag) {
    l2_free(c);
    return tw_fail(error, TW_MISSING, "no memory for the simulated caches");
  }
  return TW_OK;
}

void l2_free(l2_cache *c) {
  free(c->tag);
  free(c->llc_tag);
  c->tag = c->llc_tag = NULL;
}

static uint64_t earlier(uint64_t a, uint64_t b) { return a < b ? a : b; }
static uint64_t later(uint64_t a, uint64_t b) { return a > b ? a : b; }

/* ---- the last-level cache -------------------------------------------------------------------------------- */

static bool touch_llc(l2_cache *c, uint64_t line) {
  uint64_t *set = c->llc_tag + (line & (c->llc_sets - 1)) * LLC_WAYS;
  int victim = -1;
  for (int w = 0; w < LLC_WAYS; w++) {
    if (set[w] == line + 1) return true;
    if (!set[w] && victim < 0) victim = w;
  }
  if (victim < 0) {
    c->llc_random ^= c->llc_random << 13;
    c->llc_random ^= c->llc_random >> 7;
    c->llc_random ^= c->llc_random << 17;
    victim = (int)(c->llc_random % LLC_WAYS);
  }
  set[victim] = line + 1;
  return false;
}

void l2_warm_llc(l2_cache *c, uint64_t address, uint64_t bytes) {
  if (!bytes) return;
  for (uint64_t line = address / c->p.line_bytes; line <= (address + bytes - 1) / c->p.line_bytes; line++)
    touch_llc(c, line);
}

/* ---- clients --------------------------------------------------------------------------------------------- */

/* Cycles on the way in beyond the three buffers'. */
static uint64_t further(const l2_cache *c) {
  return c->p.request_latency > BUFFERS_IN ? (uint64_t)(c->p.request_latency - BUFFERS_IN) : 0;
}

static uint64_t edge_from(l2_cache *c, uint64_t cycle) {
  c->next_edge = earlier(c->next_edge, later(cycle, c->edge_before + 1));
  return c->next_edge;
}

uint64_t l2_send(l2_cache *c, enum l2_client client, uint64_t cycle, enum l2_kind kind, uint64_t address, int bytes,
                 uint32_t cookie) {
  const int i = (c->queue[client].head + c->queue[client].count++) & (L2_QUEUE - 1);
  /* the core has no buffer but the last */
  const uint64_t from = cycle + further(c) + (client == L2_CORE ? BUFFERS_IN - 1 : 1);
  c->queue[client].request[i] = (l2_request){from, address, cookie, (uint8_t)kind, (uint8_t)bytes, false};
  return edge_from(c, from);
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
  return b->count < 2 || b->at[(b->first + 1) % L2_BUFFER].request.from > cycle;
}

uint64_t l2_send_clear(l2_cache *c, uint64_t cycle, enum l2_kind kind, uint64_t address, int bytes, bool partial,
                       uint32_t cookie) {
  const l2_request r = {0, address, cookie, (uint8_t)kind, (uint8_t)bytes, partial};
  const uint64_t from = cycle + further(c) + BUFFERS_IN;
  push(&c->port, &(l2_beat_in){.request = r, .first = true, .last = true, .all = true}, from);
  return edge_from(c, from);
}

uint64_t l2_put(l2_cache *c, uint64_t cycle, uint64_t address, int bytes, bool partial, bool first, bool last) {
  const l2_request r = {0, address, 0, L2_WRITE, (uint8_t)bytes, partial};
  const uint64_t from = cycle + further(c) + 1;
  push(&c->writer, &(l2_beat_in){.request = r, .first = first, .last = last}, from);
  return edge_from(c, from);
}

void l2_pop(l2_cache *c) {
  c->undelivered -= c->pending[c->pending_first % L2_PENDING].beats;
  c->pending_first++;
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
}
static const l2_message *message(const l2_messages *q, uint64_t cycle) {
  const l2_message *m = &q->at[q->first % L2_MESSAGES];
  return q->first != q->end && m->from <= cycle ? m : NULL;
}

/* ---- miss registers -------------------------------------------------------------------------------------- */

/* What register i asks for from the next cycle on, or, fresh from the directory, one later. */
static void ask(l2_cache *c, int i) {
  const l2_register *r = &c->of[i];
  const uint32_t bit = 1u << i;
  for (int w = 0; w < L2_WANTS; w++) c->want[w] &= ~bit;
  c->writes_directory &= ~bit;
  if (r->writes_directory && r->grant_last && r->release_acknowledged) c->writes_directory |= bit;
  if (r->victim && !r->released)
    c->want[L2_WANT_RELEASE] |= bit;
  else if (r->missed && !r->fetched)
    c->want[L2_WANT_FETCH] |= bit;
  else if (!r->answered && (r->grant_last || (r->grant_first && r->from_start)))
    c->want[L2_WANT_ANSWER] |= bit;
  else if ((r->grant_first && !r->granted) || (r->answered && r->grant_last && r->release_acknowledged))
    c->want[L2_WANT_END] |= bit;
}

/* The directory is read for the register's request, before what waits to be written. Fibonacci LFSR, taps 15, 13, 12, 10, a step a read; the victim is the way
 * of its bits 9 to 7. */
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
    return true;
  }
  r->writes_directory = true;
  r->victim = set[victim] >> 1;
  r->victim_is_dirty = set[victim] & 1;
  set[victim] = (r->line + 1) << 1 | is_write(&r->request);
  return false;
}

/* A request enters register i in `cycle`; `repeats`: behind one to the same line. */
static void enter(l2_cache *c, int i, const l2_request *request, bool repeats, uint64_t cycle) {
  l2_register *r = &c->of[i];
  r->request = *request;
  r->line = request->address >> c->line_shift;
  r->set = (uint32_t)(r->line & (c->sets - 1));
  r->victim = 0;
  r->released = r->fetched = r->answered = r->granted = false;
  r->writes_directory = false;
  const bool hit = repeats || look_up(c, r, cycle);
  if (repeats && is_write(request)) { /* the line is there; it becomes dirty */
    uint64_t *set = c->tag + (size_t)r->set * (unsigned)c->p.ways;
    for (int w = 0; w < c->p.ways; w++)
      if (set[w] >> 1 == r->line + 1) r->writes_directory = !(set[w] & 1), set[w] |= 1;
  }
  c->hits += hit;
  r->missed = !hit;
  r->granted = r->grant_first = r->grant_last = hit;
  r->release_acknowledged = !r->victim;
  r->from_start = (request->address & (c->line_bytes - 1)) == 0;
  c->valid |= 1u << i;
  /* neither in this cycle nor in the next: the directory's answer has to come, and to go into the register */
  if (!repeats) c->fresh[cycle & 1] |= 1u << i;
  ask(c, i);
}

static void leave(l2_cache *c, int i, uint64_t cycle) {
  l2_register *r = &c->of[i];
  for (int w = 0; w < L2_WANTS; w++) c->want[w] &= ~(1u << i);
  if (r->first < 0) {
    c->valid &= ~(1u << i);
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
  if (is_write(request) && c->put_beats + beats > L2_PUT_BEATS) return false;
  const uint32_t set = (uint32_t)(request->address >> c->line_shift & (c->sets - 1));
  for (uint32_t left = c->valid; left; left &= left - 1) {
    const int i = __builtin_ctz(left);
    if (c->of[i].set != set) continue;
    if (!c->secondary_free) return false;
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
  if (!free) return false;
  const int i = __builtin_ctz(free);
  c->of[i].first = -1;
  enter(c, i, request, false, cycle);
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

/* The tile's: the DMA and the core. */
static void pass_tile(l2_cache *c, bool dma, uint64_t cycle) {
  const l2_request *core = queued(c, L2_CORE);
  const bool cores = core && core->from <= cycle && !c->port_locked;
  if (dma && (!cores || c->last_in == L2_CORE)) {
    const l2_beat_in *beat = oldest(&c->dma);
    c->port_locked = !beat->last;
    push(&c->port, beat, cycle + 1);
    pop(&c->dma);
    c->last_in = L2_READER;
  } else if (cores) {
    push(&c->port, &(l2_beat_in){.request = *core, .first = true, .last = true, .all = true}, cycle + 1);
    drop_head(c, L2_CORE);
    c->last_in = L2_CORE;
  }
}

/* Channel A and the buffers before it, the last first: each sees the next as it was when the cycle began. */
static void take_in(l2_cache *c, uint64_t cycle) {
  const bool port_room = has_room(&c->port, cycle), dma_room = c->dma.count < 2, dma = c->dma.count;
  const l2_beat_in *beat = oldest(&c->port);
  if (c->port.count && cycle >= c->accept_next && cycle >= beat->request.from) {
    if (!beat->first) {
      pop(&c->port);
    } else if (!c->refused) {
      c->refused = !accept(c, beat, cycle);
      if (!c->refused) pop(&c->port);
    }
  }
  if (port_room) pass_tile(c, dma, cycle);
  if (dma_room) pass_dma(c, cycle);
}

/* The next cycle in which one of them may move. */
static uint64_t next_in(const l2_cache *c, uint64_t soon) {
  uint64_t next = UINT64_MAX;
  const l2_beat_in *beat = &c->port.at[c->port.first];
  if (c->port.count && !(c->refused && beat->first)) next = later(later(soon, c->accept_next), beat->request.from);
  if (has_room(&c->port, soon)) {
    if (c->dma.count) return soon;
    const l2_request *core = queued(c, L2_CORE);
    if (core && !c->port_locked) next = earlier(next, later(soon, core->from));
  }
  if (c->dma.count < 2) {
    const l2_request *read = queued(c, L2_READER);
    if (read && !c->dma_locked) next = earlier(next, later(soon, read->from));
    if (c->writer.count) next = earlier(next, later(soon, c->writer.at[c->writer.first].request.from));
  }
  return next;
}

/* The first beat of an answer leaves the channel in that cycle. */
static void announce(l2_cache *c, const l2_answer *a, uint64_t cycle) {
  c->pending[c->pending_end++ % L2_PENDING] = (l2_response){cycle + (unsigned)c->p.answer_latency, a->cookie, a->kind,
                                                            (uint8_t)(a->writes ? 1 : a->beats), a->interval};
}

/* ---- schedule -------------------------------------------------------------------------------------------- */

static void release(l2_cache *c, int i, uint64_t cycle) {
  const l2_register *r = &c->of[i];
  if (!r->victim_is_dirty) {
    put_message(&c->clean, cycle + RELEASE_STAGES + OUTER_ANSWER, i);
    return;
  }
  c->evict_start = cycle;
  c->put_from = cycle + RELEASE_STAGES;
  const uint64_t start = later(c->put_from, c->write_next);
  c->put_end = start + c->line_beats;
  c->write_next = start + (unsigned)c->p.write_interval;
  put_message(&c->acknowledged, c->put_end - 1 + (unsigned)c->p.write_latency, i);
  touch_llc(c, r->victim - 1);
  c->writebacks++;
}

/* The cycle from which SourceC takes another release: it has read the last one, whose beats but one are out of its queue. Not
 * before one of the clean ones is answered: never. */
static uint64_t release_from(const l2_cache *c) {
  return waiting(&c->clean) < CLEAN_RELEASES ? later(c->evict_start + c->line_beats, c->put_end - 1) : UINT64_MAX;
}

static void begin_answer(l2_cache *c, int i) {
  const l2_register *r = &c->of[i];
  const int first_bank = (int)((r->request.address & (c->line_bytes - 1)) >> c->bank_shift);
  c->answering = true;
  c->newest = (uint8_t)((c->newest + 1) % L2_ANSWERS);
  c->answer[c->newest] = (l2_answer){.writes = is_write(&r->request),
                                     .reads = !is_write(&r->request) || r->request.partial,
                                     .kind = r->request.kind,
                                     .beats = (uint8_t)beats_of(c, &r->request),
                                     .interval = (uint8_t)(r->grant_last ? 1 : c->beat_banks),
                                     .banks = (uint16_t)(((1u << c->beat_banks) - 1) << first_bank),
                                     .cookie = r->request.cookie};
}

static void schedule(l2_cache *c, uint64_t cycle) {

  uint32_t could = c->want[L2_WANT_END];
  if (waiting(&c->fetches) < FETCHES) could |= c->want[L2_WANT_FETCH];
  if (!c->answering) could |= c->want[L2_WANT_ANSWER];
  if (c->want[L2_WANT_RELEASE] && cycle >= release_from(c)) could |= c->want[L2_WANT_RELEASE];
  if (cycle <= c->directory_written) /* its queue of one is full */
    could &= ~(c->want[L2_WANT_RELEASE] | c->writes_directory);
  could &= ~(c->fresh[0] | c->fresh[1]);
  if (!could) return;
  const int i = __builtin_ctz(could & c->turn ? could & c->turn : could);
  const uint32_t bit = 1u << i;
  l2_register *r = &c->of[i];
  c->turn = ~((bit << 1) - 1);
  c->refused = false;
  if (c->want[L2_WANT_RELEASE] & bit) {
    release(c, i, cycle);
    r->released = true;
    c->directory_written = cycle + 1;
  } else if (c->want[L2_WANT_FETCH] & bit) {
    put_message(&c->fetches, cycle + OUTER_REQUEST, i);
    r->fetched = true;
  } else {
    if (c->want[L2_WANT_ANSWER] & bit) {
      begin_answer(c, i);
      r->answered = true;
    }
    if (!r->granted) put_message(&c->numbers, cycle + NUMBER_BACK, i);
    r->granted = true;
    if (r->answered && r->grant_last && r->release_acknowledged) {
      if (r->writes_directory) c->directory_written = cycle + 1;
      leave(c, i, cycle);
      return;
    }
  }
  ask(c, i);
}

/* ---- outer side ------------------------------------------------------------------------------------------ */

/* The cork takes a fetch: permissions are answered at once, lines asked for unless an eviction has the channel. */
static void send_fetch(l2_cache *c, uint64_t cycle) {
  const l2_message *m = message(&c->fetches, cycle);
  if (!m) return;
  const int i = m->of;
  const l2_register *r = &c->of[i];
  if (writes_whole_line(c, &r->request)) {
    if (waiting(&c->granted) >= PERMISSIONS) return;
    put_message(&c->granted, cycle + OUTER_ANSWER, i);
  } else {
    if (cycle >= c->put_from && cycle < c->put_end) return;
    uint64_t first = cycle + (unsigned)c->p.fill_latency;
    if (!touch_llc(c, r->line)) {
      first += (unsigned)c->p.llc_miss_extra;
      c->llc_misses++;
    }
    first = later(first, c->port_next);
    c->port_next = first + c->line_beats;
    c->fills++;
    put_message(&c->lines, first, i);
  }
  c->fetches.first++;
}

/* Has the cork a number for another grant? */
static bool has_number(l2_cache *c, uint64_t cycle) {
  for (; message(&c->numbers, cycle); c->numbers.first++) c->numbered--;
  return c->numbered < GRANTS;
}

/* SinkD in this cycle; returns the banks that it takes, as bits, given those of the eviction. */
static uint32_t sink(l2_cache *c, uint32_t evicted, uint64_t cycle) {
  l2_messages *from = NULL;
  if (!c->filling) {
    const l2_message *written = message(&c->acknowledged, cycle);
    const bool waits_long = written && written->from + WRITE_PATIENCE <= cycle;
    if (!waits_long && message(&c->lines, cycle))
      from = &c->lines;
    else if (written)
      from = &c->acknowledged;
    else if (message(&c->clean, cycle))
      from = &c->clean;
    else if (message(&c->granted, cycle))
      from = &c->granted;
    else
      return 0;
    const bool grants = from == &c->lines || from == &c->granted;
    if (grants && !has_number(c, cycle)) return 0;
    if (evicted & 1) return 1;
    c->numbered += grants;
    const int i = from->at[from->first++ % L2_MESSAGES].of;
    l2_register *r = &c->of[i];
    if (from != &c->lines) {
      if (from == &c->granted)
        r->grant_first = r->grant_last = true;
      else
        r->release_acknowledged = true;
      ask(c, i);
      return 1;
    }
    c->filling = true;
    c->fill_start = cycle;
    c->fill_of = (uint8_t)i;
    r->grant_first = true;
    ask(c, i);
    return 1;
  }
  const unsigned beat = (unsigned)(cycle - c->fill_start);
  const uint32_t bank = 1u << beat;
  if (evicted & bank) {
    c->fill_start++;
  } else if (beat + 1 == c->line_beats) {
    c->filling = false;
    c->of[c->fill_of].grant_last = true;
    ask(c, c->fill_of);
  }
  return bank;
}

/* ---- response channel ------------------------------------------------------------------------------------ */

/* A beat leaves towards the client if there is room; its first one announces the answer. Of a write only that leaves. */
static bool deliver(l2_cache *c, l2_beat *b, uint64_t cycle) {
  if (c->undelivered >= c->p.answer_buffer) return false;
  const l2_answer *a = &c->answer[b->of];
  if (b->first) announce(c, a, cycle);
  c->undelivered++;
  b->leaves = false;
  return true;
}

static void respond(l2_cache *c, uint32_t outer, uint64_t cycle) {
  l2_beat *s2 = &c->stage[0], *s3 = &c->stage[1], *s4 = &c->stage[2];
  const uint32_t written = s4->written;
  if (!(written & outer)) s4->full = false, s4->written = 0;
  if (s3->full && (!s3->leaves || deliver(c, s3, cycle)) && !s4->full) {
    *s4 = *s3;
    s3->full = false;
  }
  if (s2->full && !s3->full) {
    *s3 = *s2;
    s2->full = false;
    c->put_beats -= s3->written != 0;
  }
  if (!c->answering) return;
  l2_answer *a = &c->answer[c->newest];
  if (a->reads && !c->answer_read) c->answer_read = !(a->banks & (outer | written));
  if ((a->reads && !c->answer_read) || s2->full) return;
  *s2 = (l2_beat){.full = true,
                  .first = a->beat == 0,
                  .leaves = !a->writes || a->beat == 0,
                  .of = c->newest,
                  .written = a->writes ? a->banks : 0};
  c->answer_read = false;
  a->banks = (uint16_t)(a->banks << c->beat_banks);
  if (++a->beat == a->beats) c->answering = false;
}

/* ---- the step -------------------------------------------------------------------------------------------- */

static uint64_t next_message(const l2_messages *q, uint64_t next) {
  return q->first != q->end ? earlier(next, q->at[q->first % L2_MESSAGES].from) : next;
}

static bool responds(const l2_cache *c) {
  return c->answering | c->stage[0].full | c->stage[1].full | c->stage[2].full;
}
static uint32_t wanted(const l2_cache *c) { return c->want[0] | c->want[1] | c->want[2] | c->want[3]; }

/* The next cycle in which any of this may move. */
static uint64_t next_move(const l2_cache *c, uint64_t cycle) {
  const uint64_t soon = cycle + 1;
  if (responds(c) || c->want[L2_WANT_END] || (c->want[L2_WANT_FETCH] && waiting(&c->fetches) < FETCHES)) return soon;
  uint64_t next = c->filling ? c->fill_start + c->line_beats - 1 : UINT64_MAX;
  if (c->want[L2_WANT_ANSWER]) next = soon;
  if (c->want[L2_WANT_RELEASE]) next = earlier(next, release_from(c));
  if (waiting(&c->fetches)) {
    const l2_message *m = &c->fetches.at[c->fetches.first % L2_MESSAGES];
    const uint64_t from = later(m->from, soon);
    const bool held = !writes_whole_line(c, &c->of[m->of].request) && from >= c->put_from && from < c->put_end;
    next = earlier(next, held ? c->put_end : from);
  }
  if (!c->filling) {
    next = next_message(&c->lines, next);
    next = next_message(&c->acknowledged, next);
    next = next_message(&c->clean, next);
    next = next_message(&c->granted, next);
  }
  next = earlier(next, next_in(c, soon));
  return next > soon ? next : soon;
}

static void edge(l2_cache *c, uint64_t cycle) {
  if (cycle - c->edge_before > 1) c->fresh[~cycle & 1] = 0;
  c->fresh[cycle & 1] = 0;
  c->edge_before = cycle;
  if (c->port.count | c->dma.count | c->writer.count | (unsigned)(c->queue[L2_READER].count | c->queue[L2_CORE].count))
    take_in(c, cycle);
  if (wanted(c)) schedule(c, cycle);
  if (c->fetches.first != c->fetches.end) send_fetch(c, cycle);
  const uint32_t evicted = cycle - c->evict_start < c->line_beats ? 1u << (cycle - c->evict_start) : 0;
  const uint32_t filled = sink(c, evicted, cycle);
  if (responds(c)) respond(c, evicted | filled, cycle);
}

uint64_t l2_run(l2_cache *c, uint64_t cycle) {
  while (c->next_edge <= cycle) {
    edge(c, c->next_edge);
    c->next_edge = next_move(c, c->next_edge);
  }
  return c->next_edge;
}
