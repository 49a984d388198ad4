/* lower.c - see lower.h. Rules of ObjectFifo of mlir-aie (design/xdna2-facts.md, section 3); locks of each part are
 * what its joins and distributes have. */
#include "target/xdna2/array/lower.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/strings.h"

static bool has_end_at(const xd_fifo *f, xd_place tile, bool *is_producer, const xd_fifo_end **end) {
  *is_producer = xd_same_place(f->producer.tile, tile);
  *end = &f->producer;
  for (int i = 0; !*is_producer && i < f->n_consumers; i++)
    if (xd_same_place(f->consumer[i].tile, tile)) *end = &f->consumer[i];
  return xd_same_place((*end)->tile, tile);
}

int xd_fifo_port(xd_program *p, int fifo, xd_place core) {
  for (size_t i = 0; i < p->ports.n; i++)
    if (p->ports.at[i].fifo == fifo && xd_same_place(p->ports.at[i].tile, core)) return (int)i;
  xd_port port = {.tile = core, .fifo = fifo, .acquire.lock = -1, .release.lock = -1};
  const xd_fifo_end *end;
  if (fifo < 0 || !has_end_at(&p->fifos.at[fifo], core, &port.is_producer, &end)) {
    p->failed = true;
    return -1;
  }
  snprintf(port.name, sizeof port.name, "%s", p->fifos.at[fifo].name);
  return XD_ADD(p, ports, &port);
}

static int add_buffer(xd_program *p, xd_place tile, const char *name, int number, int64_t bytes, tw_type type) {
  xd_buffer b = {.tile = tile, .bytes = bytes, .type = type};
  snprintf(b.name, sizeof b.name, number < 0 ? "%.25s" : "%.25s_%d", name, number);
  return XD_ADD(p, buffers, &b);
}

int xd_own_port(xd_program *p, xd_place core, const char *name, int64_t bytes) {
  xd_port port = {.tile = core, .fifo = -1, .n_buffers = 1, .acquire.lock = -1, .release.lock = -1};
  snprintf(port.name, sizeof port.name, "%s", name);
  port.first_buffer = add_buffer(p, core, name, -1, bytes, TW_TYPE_NONE);
  return XD_ADD(p, ports, &port);
}

int xd_own_words(xd_program *p, xd_place core, const char *name, int words) {
  const int port = xd_own_port(p, core, name, 4 * (int64_t)words);
  if (!p->failed) p->buffers.at[p->ports.at[port].first_buffer].type = TW_I32;
  return port;
}

/* ---- parts of ends ---- */

static int add_lock(xd_program *p, xd_place tile, const char *name, const char *state, int part, int initial) {
  xd_lock l = {.tile = tile, .initial = initial};
  snprintf(l.name, sizeof l.name, part < 0 ? "%.25s_%s" : "%.25s_%s_%d", name, state, part);
  return XD_ADD(p, locks, &l);
}

typedef struct lock_pair {
  int free, full;
} lock_pair;

static lock_pair add_locks(xd_program *p, xd_place tile, const char *name, int part, int depth, int full) {
  return (lock_pair){add_lock(p, tile, name, "free", part, depth - full), add_lock(p, tile, name, "full", part, full)};
}

static int add_channel(xd_program *p, xd_place tile, xd_direction direction) {
  xd_channel c = {.tile = tile, .direction = direction, .start = -1};
  for (size_t i = 0; i < p->channels.n; i++)
    c.id += p->channels.at[i].direction == direction && xd_same_place(p->channels.at[i].tile, tile);
  return XD_ADD(p, channels, &c);
}

static xd_pattern end_pattern(const xd_fifo_end *end, int64_t offset, int64_t bytes) {
  xd_pattern pattern = xd_linear(offset, bytes);
  if (!end->n_dims) return pattern;
  pattern.n_dims = end->n_dims;
  memcpy(pattern.dim, end->dim, sizeof pattern.dim);
  return pattern;
}

/* Appends a descriptor to a channel's ring; close_ring closes the ring. */
static void add_to_ring(xd_program *p, int channel, int buffer, xd_pattern pattern, lock_pair lock) {
  if (channel < 0) return;
  const bool fills = p->channels.at[channel].direction == XD_S2MM;
  const xd_descriptor d = {.channel = channel,
                           .id = -1,
                           .buffer = buffer,
                           .pattern = pattern,
                           .iterations = 1,
                           .acquire = {fills ? lock.free : lock.full, 1},
                           .release = {fills ? lock.full : lock.free, 1},
                           .next = -1};
  const int at = XD_ADD(p, descriptors, &d);
  if (at < 0) return;
  if (p->channels.at[channel].start < 0)
    p->channels.at[channel].start = at;
  else
    p->descriptors.at[at - 1].next = at;
  p->descriptors.at[at].next = p->channels.at[channel].start;
}

/* ---- ends ---- */

/* For a buffer: the FIFO's object that it holds initially. */
static void set_initial(xd_program *p, const xd_fifo *f, int object, int buffer) {
  if (object >= f->n_initial || buffer < 0) return;
  uint8_t *bytes = tw_new((size_t)f->bytes, 1);
  if (!bytes) {
    p->failed = true;
    return;
  }
  memcpy(bytes, f->initial + object * f->bytes, (size_t)f->bytes);
  p->buffers.at[buffer].initial = bytes;
}

static void lower_core_end(xd_program *p, int fifo, const xd_fifo_end *end, int channel) {
  const int at = xd_fifo_port(p, fifo, end->tile);
  const xd_fifo f = p->fifos.at[fifo];
  if (at < 0) return;
  const int full = xd_same_place(end->tile, f.producer.tile) ? f.n_initial : 0;
  const lock_pair lock = add_locks(p, end->tile, f.name, -1, end->depth, full);
  xd_port *port = &p->ports.at[at];
  port->n_buffers = end->depth;
  port->acquire = (xd_lock_use){port->is_producer ? lock.free : lock.full, 1};
  port->release = (xd_lock_use){port->is_producer ? lock.full : lock.free, 1};
  for (int i = 0; i < end->depth; i++) {
    const int buffer = add_buffer(p, end->tile, f.name, i, f.bytes, f.type);
    if (!i) port->first_buffer = buffer;
    if (full) set_initial(p, &f, i, buffer);
    add_to_ring(p, channel, buffer, end_pattern(end, 0, f.bytes), lock);
  }
}

/* A FIFO whose producer and consumer share memory: both ends use the same buffers. */
static void lower_shared(xd_program *p, int fifo) {
  const xd_fifo f = p->fifos.at[fifo];
  lower_core_end(p, fifo, &f.producer, -1);
  const int from = xd_fifo_port(p, fifo, f.producer.tile), to = xd_fifo_port(p, fifo, f.consumer[0].tile);
  if (from < 0 || to < 0) return;
  const xd_port *producer = &p->ports.at[from];
  xd_port *consumer = &p->ports.at[to];
  consumer->first_buffer = producer->first_buffer;
  consumer->n_buffers = producer->n_buffers;
  consumer->acquire = producer->release;
  consumer->release = producer->acquire;
}

/* The side of a link with one FIFO holds the objects of the other side's FIFOs, its parts: `whole` is that one FIFO.
 * Where both sides have one, the larger object is the whole (of equals, the incoming, as in mlir-aie). A part may be
 * several objects: all parts as many. */
typedef struct link_parts {
  int whole, n, part[XD_DIMS * 2];
  int64_t bytes[XD_DIMS * 2], offset[XD_DIMS * 2];
} link_parts;

static tw_status parts_of(const xd_program *p, const xd_link *l, link_parts *out, tw_error *error) {
  const bool padded = l->n_in == 1 && l->n_out == 1 && xd_end_pads(&p->fifos.at[l->out[0]].producer);
  const bool split =
      l->n_out > 1 || padded || (l->n_in == 1 && p->fifos.at[l->in[0]].bytes >= p->fifos.at[l->out[0]].bytes);
  out->whole = split ? l->in[0] : l->out[0];
  out->n = split ? l->n_out : l->n_in;
  const xd_fifo *whole = &p->fifos.at[out->whole];
  if ((l->n_in > 1 && l->n_out > 1) || l->n_in < 1 || l->n_out < 1)
    return tw_fail(error, TW_USAGE, "the link of %s has %d FIFOs in and %d out; one side must have exactly one",
                   whole->name, l->n_in, l->n_out);
  int64_t sum = 0;
  for (int i = 0; i < out->n; i++) sum += p->fifos.at[out->part[i] = split ? l->out[i] : l->in[i]].bytes;
  if (padded) { /* the outgoing walk says which part of the incoming object it sends */
    out->bytes[0] = whole->bytes;
    out->offset[0] = 0;
    return TW_OK;
  }
  if (!sum || whole->bytes % sum)
    return tw_fail(error, TW_USAGE,
                   "the link of %s: objects of %" PRId64 " bytes are linked to objects of %" PRId64 " bytes",
                   whole->name, whole->bytes, sum);
  for (int i = 0; i < out->n; i++) {
    const xd_fifo *part = &p->fifos.at[out->part[i]];
    out->bytes[i] = part->bytes * (whole->bytes / sum);
    out->offset[i] = out->n > 1 ? l->offset[i] : 0;
    if (out->offset[i] < 0 || out->offset[i] + out->bytes[i] > whole->bytes)
      return tw_fail(error, TW_USAGE, "the link of %s: %s would take bytes %" PRId64 " to %" PRId64 " of %" PRId64,
                     whole->name, part->name, out->offset[i], out->offset[i] + out->bytes[i], whole->bytes);
  }
  return TW_OK;
}

/* The end of fifo `f` in the memory tile of a link: the producer's end of an outgoing FIFO, a consumer's end of an
 * incoming FIFO. */
static const xd_fifo_end *link_end(const xd_program *p, int f, bool out, xd_place tile, int *channel) {
  const xd_fifo *fifo = &p->fifos.at[f];
  *channel = fifo->source;
  if (out) return &fifo->producer;
  for (int i = 0; i < fifo->n_consumers; i++) {
    *channel = fifo->sink[i];
    if (xd_same_place(fifo->consumer[i].tile, tile)) return &fifo->consumer[i];
  }
  return &fifo->consumer[0];
}

/* The buffers of a link, and the locks of each of its parts. */
typedef struct link_buffers {
  xd_place tile;
  int first, depth;
  lock_pair lock[XD_DIMS * 2];
} link_buffers;

/* Makes a ring for the side's FIFO `fifo` over parts first .. end - 1 of every buffer. */
static void lower_side(xd_program *p, int fifo, bool out, const link_parts *parts, int first, int end,
                       const link_buffers *b) {
  int channel;
  const xd_fifo_end fifo_end = *link_end(p, fifo, out, b->tile, &channel);
  for (int i = 0; i < b->depth; i++)
    for (int part = first; part < end; part++) {
      xd_pattern pattern = end_pattern(&fifo_end, 0, parts->bytes[part]);
      pattern.offset = parts->offset[part];
      add_to_ring(p, channel, b->first + i, pattern, b->lock[part]);
    }
}

static tw_status lower_link(xd_program *p, const xd_link *l, tw_error *error) {
  link_parts parts;
  const tw_status status = parts_of(p, l, &parts, error);
  if (status != TW_OK) return status;
  int channel;
  const bool whole_is_in = parts.whole == l->in[0];
  link_buffers b = {.tile = p->fifos.at[l->out[0]].producer.tile};
  const xd_fifo f = p->fifos.at[parts.whole];
  b.depth = link_end(p, parts.whole, !whole_is_in, b.tile, &channel)->depth;
  for (int i = 0; i < parts.n; i++) b.lock[i] = add_locks(p, b.tile, f.name, parts.n > 1 ? i : -1, b.depth, 0);
  for (int i = 0; i < b.depth; i++) {
    const int buffer = add_buffer(p, b.tile, f.name, i, f.bytes, f.type);
    if (!i) b.first = buffer;
  }
  lower_side(p, parts.whole, !whole_is_in, &parts, 0, parts.n, &b);
  for (int i = 0; i < parts.n; i++) lower_side(p, parts.part[i], whole_is_in, &parts, i, i + 1, &b);
  return TW_OK;
}

/* ---- all ---- */

static tw_status check_end(const xd_fifo *f, const xd_fifo_end *end, tw_error *error) {
  const xd_tile_kind kind = xd_kind_of(end->tile);
  if (kind == XD_SHIM && end->n_dims)
    return tw_fail(error, TW_USAGE,
                   "FIFO %s has dims at %s, where tasks of the runtime sequence set the order; remove them", f->name,
                   xd_place_label(end->tile).text);
  if (kind != XD_SHIM && end->depth < 1)
    return tw_fail(error, TW_USAGE, "FIFO %s has depth %d at %s; it must be at least 1", f->name, end->depth,
                   xd_place_label(end->tile).text);
  return TW_OK;
}

static tw_status lower_channels(xd_program *p, int fifo, tw_error *error) {
  xd_fifo *f = &p->fifos.at[fifo];
  if (f->bytes < 1) return tw_fail(error, TW_USAGE, "FIFO %s has objects of %" PRId64 " bytes", f->name, f->bytes);
  tw_status status = check_end(f, &f->producer, error);
  for (int i = 0; i < f->n_consumers && status == TW_OK; i++) status = check_end(f, &f->consumer[i], error);
  f->source = -1;
  if (status != TW_OK || f->shared) return status;
  xd_route route = {.source = add_channel(p, f->producer.tile, XD_MM2S), .n_sinks = f->n_consumers};
  f->source = route.source;
  for (int i = 0; i < f->n_consumers; i++) route.sink[i] = f->sink[i] = add_channel(p, f->consumer[i].tile, XD_S2MM);
  XD_ADD(p, routes, &route);
  return TW_OK;
}

static void lower_core_ends(xd_program *p, int fifo) {
  const xd_fifo f = p->fifos.at[fifo];
  if (f.shared) {
    lower_shared(p, fifo);
    return;
  }
  if (xd_kind_of(f.producer.tile) == XD_COMPUTE) lower_core_end(p, fifo, &f.producer, f.source);
  for (int i = 0; i < f.n_consumers; i++)
    if (xd_kind_of(f.consumer[i].tile) == XD_COMPUTE) lower_core_end(p, fifo, &f.consumer[i], f.sink[i]);
}

tw_status xd_lower(const xd_config *c, xd_program *p, tw_error *error) {
  tw_status status =
      p->failed ? tw_fail(error, TW_NO_MEMORY, "out of memory, or a port of a FIFO that does not end there") : TW_OK;
  for (size_t i = 0; i < p->fifos.n && status == TW_OK; i++) status = lower_channels(p, (int)i, error);
  for (size_t i = 0; i < p->links.n && status == TW_OK; i++) status = lower_link(p, &p->links.at[i], error);
  for (size_t i = 0; i < p->fifos.n && status == TW_OK; i++) lower_core_ends(p, (int)i);
  if (status == TW_OK && p->failed) status = tw_no_memory(error, NULL);
  if (status == TW_OK) status = xd_lay_routes(p, error);
  return status == TW_OK ? xd_number_descriptors(c, p, error) : status;
}

tw_status xd_number_descriptors(const xd_config *c, xd_program *p, tw_error *error) {
  for (size_t i = 0; i < p->descriptors.n; i++) {
    xd_descriptor *d = &p->descriptors.at[i];
    const xd_channel *channel = &p->channels.at[d->channel];
    if (d->id >= 0) continue;
    const xd_tile_kind kind = xd_kind_of(channel->tile);
    const int all = c->array.descriptors[kind];
    const int half = kind == XD_MEMORY ? all / 2 : all, low = kind == XD_MEMORY && channel->id % 2 ? half : 0;
    unsigned char taken[256] = {0};
    int wanted = 0;
    for (size_t j = 0; j < p->descriptors.n; j++) {
      const xd_descriptor *o = &p->descriptors.at[j];
      const xd_channel *other = &p->channels.at[o->channel];
      if (!xd_same_place(other->tile, channel->tile)) continue;
      if (o->id >= 0 && o->id < 256) taken[o->id] = 1;
      wanted += kind != XD_MEMORY || other->id % 2 == channel->id % 2;
    }
    for (d->id = low; d->id < low + half && taken[d->id];) d->id++;
    if (d->id == low + half)
      return tw_fail(error, TW_USAGE, "%s needs %d buffer descriptors%s, but has %d",
                     xd_place_label(channel->tile).text, wanted,
                     kind == XD_MEMORY ? channel->id % 2 ? " for odd channels" : " for even channels" : "", half);
  }
  return TW_OK;
}
