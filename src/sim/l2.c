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
  c->llc_set_shift = __builtin_ctz((unsigned)llc_sets);
  c->llc_tag = aligned_alloc(LLC_WAYS * sizeof *c->llc_tag, (size_t)llc_sets * LLC_WAYS * sizeof *c->llc_tag);
  if (c->llc_tag) memset(c->llc_tag, 0, (size_t)llc_sets * LLC_WAYS * sizeof *c->llc_tag);
  c->sets_busy = calloc((size_t)sets / 64 + 1, sizeof *c->sets_busy);
  c->llc_random = 0x9e3779b97f4a7c15u;
  c->lfsr = 1u << 15;
  c->evict_start = 0 - (uint64_t)c->line_beats;
  c->put_end = 1;
  c->secondary_free = (1u << L2_SECONDARY) - 1;
  c->in_next = c->back_next = c->answer_from = UINT64_MAX;
  l2_messages *const queues[] = {&c->fetches, &c->lines, &c->acknowledged, &c->clean, &c->granted, &c->numbers};
  for (size_t i = 0; i < sizeof queues / sizeof *queues; i++) queues[i]->at[0].from = UINT64_MAX;
  if (!c->tag || !c->llc_tag || !c->sets_busy) {
    l2_free(c);
    return tw_fail(error, TW_MISSING, "no memory for the simulated caches");
  }
  return TW_OK;
}

void l2_free(l2_cache *c) {
  free(c->tag);
  free(c->llc_tag);
  free(c->sets_busy);
  c->tag = c->sets_busy = NULL;
  c->llc_tag = NULL;
}

static uint64_t earlier(uint64_t a, uint64_t b) { return a < b ? a : b; }
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
  int victim = 0;
  while (victim < LLC_WAYS && set[victim]) victim++;
  if (victim == LLC_WAYS) {
    c->llc_random ^= c->llc_random << 13;
    c->llc_random ^= c->llc_random >> 7;
    c->llc_random ^= c->llc_random << 17;
    victim = (int)(c->llc_random % LLC_WAYS);
  }
  set[victim] = tag;
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
  c->in_next = earlier(c->in_next, cycle);
  c->move_next = earlier(c->move_next, later(cycle, c->edge_before + 1));
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
  return (b->count < 2) | (b->at[(b->first + 1) % L2_BUFFER].request.from > cycle);
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
/* Back to SinkD. */
static void put_back(l2_cache *c, l2_messages *q, uint64_t from, int of) {
  put_message(q, from, of);
  c->back_next = earlier(c->back_next, from);
}
static const l2_message *message(const l2_messages *q, uint64_t cycle) {
  return first_message(q)->from <= cycle ? first_message(q) : NULL;
}

/* ---- miss registers -------------------------------------------------------------------------------------- */

static uint64_t want(enum l2_want w, int i) { return UINT64_C(1) << (L2_MISSES_MAX * w + i); }
/* Registers that want it. */
static uint64_t all_want(enum l2_want w) { return ((UINT64_C(1) << L2_MISSES_MAX) - 1) << L2_MISSES_MAX * w; }

/* What register i asks for from the next cycle on, or, fresh from the directory, one later. Without branches, which nobody
 * could predict. */
static void ask(l2_cache *c, int i) {
  const l2_register *r = &c->of[i];
  const uint32_t bit = 1u << i;
  const bool answer = (!r->answered) & (r->grant_last | (r->grant_first & r->from_start));
  const bool end = (r->grant_first & (!r->granted)) | (r->answered & r->grant_last & r->release_acknowledged);
  uint64_t wants = end ? want(L2_WANT_END, 0) : 0;
  wants = answer ? want(L2_WANT_ANSWER, 0) : wants;
  wants = (r->missed & (!r->fetched)) ? want(L2_WANT_FETCH, 0) : wants;
  wants = ((r->victim != 0) & (!r->released)) ? want(L2_WANT_RELEASE, 0) : wants;
  c->want = (c->want & ~(want(0, i) | want(1, i) | want(2, i) | want(3, i))) | wants << i;
  const bool writes = r->writes_directory & r->grant_last & r->release_acknowledged;
  c->writes_directory = (c->writes_directory & ~bit) | (writes ? bit : 0);
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
  __builtin_prefetch(llc_set(c, r->line));
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
  if (is_write(request) && c->put_beats + beats > L2_PUT_BEATS) return false;
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

/* The next cycle in which a request or a beat may move on its way in. */
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

/* Channel A and the buffers before it, the last first: each sees the next as it was when the cycle began. */
static void take_in(l2_cache *c, uint64_t cycle) {
  const bool port_room = has_room(&c->port, cycle), dma_room = c->dma.count < 2, dma = c->dma.count;
  const l2_beat_in *beat = oldest(&c->port);
  if (c->port.count && cycle >= c->accept_next && cycle >= beat->request.from) {
    if (!beat->first) {
      pop(&c->port);
    } else if (!c->refused) {
      if (accept(c, beat, cycle)) pop(&c->port);
    }
  }
  if (port_room) pass_tile(c, dma, cycle);
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
  c->put_from = cycle + RELEASE_STAGES;
  const uint64_t start = later(c->put_from, c->write_next);
  c->put_end = start + c->line_beats;
  c->write_next = start + (unsigned)c->p.write_interval;
  put_back(c, &c->acknowledged, c->put_end - 1 + (unsigned)c->p.write_latency, i);
  touch_llc(c, r->victim - 1);
  c->writebacks++;
}

/* The cycle from which SourceC takes another release: it has read the last one, whose beats but one are out of its queue. Not
 * before one of the clean ones is answered: never. */
static uint64_t release_from(const l2_cache *c) {
  const uint64_t from = later(c->evict_start + c->line_beats, c->put_end - 1);
  return waiting(&c->clean) < CLEAN_RELEASES ? from : UINT64_MAX;
}

static void begin_answer(l2_cache *c, int i) {
  const l2_register *r = &c->of[i];
  const l2_request *q = &r->request;
  const bool writes = is_write(q);
  const int first_bank = (int)((q->address & (c->line_bytes - 1)) >> c->bank_shift), beats = beats_of(c, q);
  const uint32_t banks = ((1u << c->beat_banks) - 1) << first_bank;
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
                                       .interval = (uint8_t)(r->grant_last ? 1 : c->beat_banks)};
}

/* What the scheduler could grant, were none of them fresh, but releases. */
static uint64_t grantable(const l2_cache *c) {
  uint64_t could = all_want(L2_WANT_END);
  could |= waiting(&c->fetches) < FETCHES ? all_want(L2_WANT_FETCH) : 0;
  could |= c->answering ? 0 : all_want(L2_WANT_ANSWER);
  return c->want & could;
}

static void schedule(l2_cache *c, uint64_t cycle) {
  uint64_t wanted = grantable(c);
  const uint64_t releases = c->want & all_want(L2_WANT_RELEASE);
  if (releases && cycle >= release_from(c) && cycle > c->directory_written) wanted |= releases;
  uint32_t could = (uint32_t)(wanted | wanted >> 32);
  could = (could | could >> L2_MISSES_MAX) & (uint32_t)all_want(0) & ~(c->fresh[0] | c->fresh[1]);
  could &= cycle <= c->directory_written ? ~c->writes_directory : ~0u; /* its queue of one is full */
  if (!could) return;
  const int i = __builtin_ctz(could & c->turn ? could & c->turn : could);
  l2_register *r = &c->of[i];
  c->turn = ~((2u << i) - 1);
  if (c->want & want(L2_WANT_RELEASE, i)) {
    release(c, i, cycle);
    r->released = true;
    c->directory_written = cycle + 1;
  } else if (c->want & want(L2_WANT_FETCH, i)) {
    put_message(&c->fetches, cycle + OUTER_REQUEST, i);
    r->fetched = true;
  } else {
    if (c->want & want(L2_WANT_ANSWER, i)) {
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
    put_back(c, &c->granted, cycle + OUTER_ANSWER, i);
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
    put_back(c, &c->lines, first, i);
  }
  c->fetches.first++;
}

/* Has the cork a number for another grant? */
static bool has_number(l2_cache *c, uint64_t cycle) {
  for (; message(&c->numbers, cycle); c->numbers.first++) c->numbered--;
  return c->numbered < GRANTS;
}

static uint64_t next_back(const l2_cache *c) {
  return earlier(earlier(first_message(&c->lines)->from, first_message(&c->acknowledged)->from),
                 earlier(first_message(&c->clean)->from, first_message(&c->granted)->from));
}

/* SinkD in this cycle; returns the banks that it takes, as bits, given those of the eviction. */
static uint32_t sink(l2_cache *c, uint32_t evicted, uint64_t cycle) {
  l2_messages *from = NULL;
  if (!c->filling) {
    if (cycle < c->back_next) return 0;
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
    c->back_next = next_back(c);
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

/* A cycle of the channel, without branches, as nobody could predict them. From the way out: the last stage writes what a
 * put brought, if nobody else has its banks; a beat leaves the third one towards the client if there is room, its answer's
 * first one announces that, and of a put only that leaves; beats move up; the newest answer's next one comes when its banks
 * can be read, if it needs them, and there is room. */
static void respond(l2_cache *c, uint32_t outer, uint64_t cycle) {
  l2_beat s2 = c->stage[0], s3 = c->stage[1], s4 = c->stage[2];
  const uint32_t written = s4 & L2_BEAT_WRITES, taken = outer | written;
  s4 = written & outer ? s4 : 0;

  const bool leaves = ((s3 & L2_BEAT_LEAVES) != 0) & (c->undelivered < c->p.answer_buffer);
  const bool announced = leaves & ((s3 & L2_BEAT_FIRST) != 0);
  l2_response *r = &c->pending[c->pending_end % L2_PENDING];
  *r = c->answer[s3 >> L2_BEAT_ANSWER_SHIFT];
  r->ready = cycle + (unsigned)c->p.answer_latency;
  c->answer_from = (announced & (c->pending_first == c->pending_end)) ? r->ready : c->answer_from;
  c->pending_end += announced;
  c->undelivered += leaves;
  s3 &= ~(leaves ? (l2_beat)L2_BEAT_LEAVES : 0);

  const bool to_last = (s4 == 0) & !(s3 & L2_BEAT_LEAVES);
  s4 = to_last ? s3 : s4;
  s3 = to_last ? 0 : s3;
  const bool up = s3 == 0;
  s3 = up ? s2 : s3;
  s2 = up ? 0 : s2;
  c->put_beats -= up & ((s3 & L2_BEAT_WRITES) != 0);

  c->answer_read |= c->answering & !(c->reads & taken);
  const bool begins = c->answering & c->answer_read & (s2 == 0);
  s2 |= begins ? c->beat | c->first_beat | c->writes : 0;
  c->first_beat = begins ? c->later_beats : c->first_beat;
  const int shift = begins ? c->beat_banks : 0;
  c->reads = c->reads << shift & L2_BEAT_WRITES;
  c->writes = c->writes << shift & L2_BEAT_WRITES;
  c->answer_read &= !begins;
  c->beats_left -= begins;
  c->answering &= c->beats_left != 0;
  c->stage[0] = s2, c->stage[1] = s3, c->stage[2] = s4;
}

/* ---- the step -------------------------------------------------------------------------------------------- */

static bool responds(const l2_cache *c) { return c->answering || c->stage[0] | c->stage[1] | c->stage[2]; }
/* Banks that the eviction reads in this cycle. */
static uint32_t evicted(const l2_cache *c, uint64_t cycle) {
  const uint64_t beat = cycle - c->evict_start;
  return (uint32_t)(beat < c->line_beats) << (beat & 31);
}

/* The next cycle in which anything but the response channel, or a beat amid a line that comes in, may move. */
static uint64_t next_move(const l2_cache *c, uint64_t cycle) {
  const uint64_t soon = cycle + 1;
  const uint64_t fresh = c->fresh[cycle & 1] * (want(0, 0) | want(1, 0) | want(2, 0) | want(3, 0));
  const uint64_t grants = grantable(c), releases = c->want & all_want(L2_WANT_RELEASE);
  if (grants & ~fresh) return soon;
  uint64_t next = grants ? soon + 1 : UINT64_MAX;
  if (releases) next = earlier(next, later(release_from(c), releases & ~fresh ? soon : soon + 1));
  if (waiting(&c->fetches)) {
    const l2_message *m = &c->fetches.at[c->fetches.first % L2_MESSAGES];
    const uint64_t from = later(m->from, soon);
    const bool held = !writes_whole_line(c, &c->of[m->of].request) && from >= c->put_from && from < c->put_end;
    next = earlier(next, held ? c->put_end : from);
  }
  if (c->filling) {
    next = earlier(next, c->fill_start + c->line_beats - 1);
  } else {
    next = earlier(next, c->back_next);
  }
  next = earlier(next, c->in_next);
  return next > soon ? next : soon;
}

static void edge(l2_cache *c, uint64_t cycle) {
  if (cycle - c->edge_before > 1) c->fresh[~cycle & 1] = 0;
  c->fresh[cycle & 1] = 0;
  c->edge_before = cycle;
  if (cycle >= c->in_next) take_in(c, cycle);
  if (c->want) schedule(c, cycle);
  if (c->fetches.first != c->fetches.end) send_fetch(c, cycle);
  const uint32_t read = evicted(c, cycle), filled = sink(c, read, cycle);
  if (responds(c)) respond(c, read | filled, cycle);
}

/* Edges from the next one on, until one in which more moves, and not behind `last`, in which only the response channel does,
 * beside a line that comes in and an eviction. */
static void respond_alone(l2_cache *c, uint64_t last) {
  uint64_t cycle = c->next_edge;
  for (; cycle < c->move_next && cycle <= last && responds(c); cycle++) {
    c->fresh[cycle & 1] = 0;
    c->edge_before = cycle;
    respond(c, evicted(c, cycle) | (c->filling ? 1u << (cycle - c->fill_start) : 0), cycle);
    if (!c->answering && c->want & all_want(L2_WANT_ANSWER)) c->move_next = cycle + 1;
  }
  c->next_edge = responds(c) ? cycle : c->move_next;
}

uint64_t l2_make_edges(l2_cache *c, uint64_t cycle) {
  while (c->next_edge <= cycle) {
    if (c->next_edge >= c->move_next) {
      edge(c, c->next_edge);
      c->move_next = next_move(c, c->next_edge);
      c->next_edge++;
    }
    respond_alone(c, cycle);
  }
  return c->next_edge;
}
