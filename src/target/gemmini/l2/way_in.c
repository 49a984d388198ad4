/* way_in.c - requests: the buffers of the DMA and the core, the system bus, and channel A (gemmini Scratchpad.scala;
 * rocket-chip Buffer.scala, Arbiter.scala): l2.h describes their order. */
#include "target/gemmini/l2/internal.h"

enum {
  BUFFERS_IN = 3, /* TLBuffers from the DMA's reader or writer to the system bus; the core has one buffer */
};

/* ---- clients ---- */

/* Cycles on the way in beyond the three buffers. */
static uint64_t further(const l2_cache *c) {
  return c->p.request_latency > BUFFERS_IN ? (uint64_t)(c->p.request_latency - BUFFERS_IN) : 0;
}

/* Notes that a beat will be in a buffer from that cycle on. */
static void comes(l2_cache *c, uint64_t from) {
  c->in_next = earlier(c->in_next, from);
  c->next = earlier(c->next, from);
}

/* Prefetches the set of the lookup into the host's cache. */
static void expect(const l2_cache *c, uint64_t address) {
  __builtin_prefetch(c->tag + (address >> c->line_shift & (c->sets - 1)) * (unsigned)c->p.ways);
}

void l2_send(l2_cache *c, enum l2_client client, uint64_t cycle, enum l2_kind kind, uint64_t address, int bytes,
             uint32_t cookie) {
  expect(c, address);
  const int i = (c->queue[client].head + c->queue[client].count++) & (L2_QUEUE - 1);
  /* for the core: departure from its buffer */
  const uint64_t from = cycle + further(c) + (client == L2_CORE ? BUFFERS_IN : 1);
  c->queue[client].request[i] = (l2_request){from, address, cookie, (uint8_t)kind, (uint8_t)bytes, false};
  comes(c, from);
}

static void push(l2_buffer *b, const l2_beat_in *beat, uint64_t from) {
  l2_beat_in *last = &b->at[(b->first + b->count++) % L2_BUFFER];
  *last = *beat;
  last->request.from = from;
}
/* Inserts a beat before beats that enter later. */
static void insert(l2_buffer *b, const l2_beat_in *beat, uint64_t from) {
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
/* Is there room for a beat that leaves the previous buffer in that cycle? */
static bool has_room(const l2_buffer *b, uint64_t cycle) {
  return (b->count < 2) | (b->at[(b->first + 1) % L2_BUFFER].request.from > cycle);
}

void l2_send_clear(l2_cache *c, uint64_t cycle, enum l2_kind kind, uint64_t address, int bytes, bool partial,
                   uint32_t cookie) {
  expect(c, address);
  const l2_request r = {0, address, cookie, (uint8_t)kind, (uint8_t)bytes, partial};
  const uint64_t from = cycle + further(c) + BUFFERS_IN;
  insert(&c->port, &(l2_beat_in){.request = r, .first = true, .last = true, .all = true}, from);
  comes(c, from);
}

void l2_put(l2_cache *c, uint64_t cycle, uint64_t address, int bytes, bool partial, bool first, bool last) {
  if (first) expect(c, address);
  const l2_request r = {0, address, 0, L2_WRITE, (uint8_t)bytes, partial};
  const uint64_t from = cycle + further(c) + 1;
  push(&c->writer, &(l2_beat_in){.request = r, .first = first, .last = last}, from);
  comes(c, from);
}

/* ---- on the way ---- */

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

/* Does channel A accept that beat in that cycle? */
static bool accept_beat(l2_cache *c, const l2_beat_in *beat, uint64_t cycle) {
  if (cycle < c->accept_next) return false;
  return !beat->first || (!c->refused && l2_accept(c, beat, cycle));
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
  c->waits_before = !accept_beat(c, &c->before, cycle);
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

/* Steps channel A and the buffers before it, the last first: each sees the state of the next one at the beginning of
 * the cycle. */
void l2_take_in(l2_cache *c, uint64_t cycle) {
  const bool port_room = has_room(&c->port, cycle), dma_room = c->dma.count < 2, dma = c->dma.count;
  if (c->waits_before)
    c->waits_before = !accept_beat(c, &c->before, cycle);
  else
    pass_bus(c, cycle);
  if (port_room && dma) {
    insert(&c->port, oldest(&c->dma), cycle + 1);
    pop(&c->dma);
  }
  if (dma_room) pass_dma(c, cycle);
  c->in_next = next_in(c, cycle + 1);
}
