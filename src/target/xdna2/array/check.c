/* check.c - limits of tiles, channels, descriptors and switches; see check.h. */
#include "target/xdna2/array/check.h"

#include <inttypes.h>
#include <stdio.h>

static tw_status check_place(const xd_config *c, xd_place t, const char *what, tw_error *error) {
  if (t.column >= 0 && t.column < c->columns && t.row >= 0 && t.row < c->rows + 2) return TW_OK;
  return tw_fail(error, TW_USAGE,
                 "%s is at column %d, row %d, which is outside of the array (columns 0 to %d, rows 0 to %d)", what,
                 t.column, t.row, c->columns - 1, c->rows + 1);
}

static tw_status check_places(const xd_config *c, const xd_program *p, tw_error *error) {
  tw_status status = TW_OK;
  for (size_t i = 0; i < p->buffers.n && status == TW_OK; i++)
    if (!p->buffers.at[i].external) status = check_place(c, p->buffers.at[i].tile, p->buffers.at[i].name, error);
  for (size_t i = 0; i < p->locks.n && status == TW_OK; i++)
    status = check_place(c, p->locks.at[i].tile, p->locks.at[i].name, error);
  for (size_t i = 0; i < p->channels.n && status == TW_OK; i++)
    status = check_place(c, p->channels.at[i].tile, "a DMA channel", error);
  for (size_t i = 0; i < p->cores.n && status == TW_OK; i++) {
    status = check_place(c, p->cores.at[i].tile, "a core", error);
    if (status == TW_OK && xd_kind_of(p->cores.at[i].tile) != XD_COMPUTE)
      status = tw_fail(error, TW_USAGE, "%s has no core for a program", xd_place_label(p->cores.at[i].tile).text);
  }
  return status;
}

/* Bytes of the stack of the tile's core; 0: the tile has no core. */
static int64_t stack_of(const xd_config *c, const xd_program *p, xd_place t) {
  for (size_t i = 0; i < p->cores.n; i++)
    if (xd_same_place(p->cores.at[i].tile, t)) return p->cores.at[i].stack ? p->cores.at[i].stack : c->stack_bytes;
  return 0;
}

/* The simulator's buffers do not overlap. On the device their addresses are the design's. */
static tw_status check_addresses(const xd_program *p, xd_place t, int64_t size, int64_t stack, tw_error *error) {
  for (size_t i = 0; i < p->buffers.n; i++) {
    const xd_buffer *x = &p->buffers.at[i];
    if (x->external || !x->placed || !xd_same_place(x->tile, t)) continue;
    if (x->placed - 1 < 0 || x->placed - 1 > size - x->bytes)
      return tw_fail(error, TW_USAGE,
                     "%s: buffer %s of %" PRId64 " bytes at address %" PRId64 " exceeds the tile's %" PRId64 " bytes",
                     xd_place_label(t).text, x->name, x->bytes, x->placed - 1, size);
    if (x->placed - 1 < stack)
      return tw_fail(error, TW_USAGE,
                     "%s: buffer %s at address %" PRId64 " overlaps the core's stack (addresses 0 to %" PRId64
                     "); change the address, or leave it out",
                     xd_place_label(t).text, x->name, x->placed - 1, stack - 1);
    for (size_t k = 0; k < i; k++) {
      const xd_buffer *y = &p->buffers.at[k];
      if (y->external || !y->placed || !xd_same_place(y->tile, t)) continue;
      if (x->placed < y->placed + y->bytes && y->placed < x->placed + x->bytes)
        return tw_fail(error, TW_USAGE,
                       "%s: buffers %s and %s overlap (addresses %" PRId64 " and %" PRId64
                       "); change an address, or leave both out",
                       xd_place_label(t).text, y->name, x->name, y->placed - 1, x->placed - 1);
    }
  }
  return TW_OK;
}

static tw_status check_memory(const xd_config *c, const xd_program *p, xd_place t, tw_error *error) {
  const bool compute = xd_kind_of(t) == XD_COMPUTE;
  const int64_t size = xd_kind_of(t) == XD_SHIM ? 0 : compute ? c->l1_bytes : c->l2_bytes;
  int64_t used = 0;
  for (size_t i = 0; i < p->buffers.n; i++)
    if (!p->buffers.at[i].external && xd_same_place(p->buffers.at[i].tile, t)) used += p->buffers.at[i].bytes;
  const int64_t own = stack_of(c, p, t), stack = own ? own : c->stack_bytes;
  if (used && compute && used + stack > size)
    return tw_fail(error, TW_USAGE,
                   "%s: buffers need %" PRId64 " bytes and the stack %" PRId64 ", but the tile has %" PRId64,
                   xd_place_label(t).text, used, stack, size);
  if (used > size)
    return tw_fail(error, TW_USAGE, "%s: buffers need %" PRId64 " bytes, but the tile has %" PRId64,
                   xd_place_label(t).text, used, size);
  return check_addresses(p, t, size, own, error);
}

static tw_status check_locks(const xd_config *c, const xd_program *p, xd_place t, tw_error *error) {
  int used = 0;
  for (size_t i = 0; i < p->locks.n; i++) {
    const xd_lock *l = &p->locks.at[i];
    if (!xd_same_place(l->tile, t)) continue;
    used++;
    if (l->initial < 0 || l->initial > c->array.lock_max)
      return tw_fail(error, TW_USAGE, "%s: lock %s begins with %d; locks hold 0 to %d", xd_place_label(t).text, l->name,
                     l->initial, c->array.lock_max);
  }
  if (used <= c->array.locks[xd_kind_of(t)]) return TW_OK;
  return tw_fail(error, TW_USAGE, "%s needs %d locks, but has %d", xd_place_label(t).text, used,
                 c->array.locks[xd_kind_of(t)]);
}

static tw_status check_channels(const xd_config *c, const xd_program *p, xd_place t, tw_error *error) {
  static const char *const name[] = {"S2MM", "MM2S"};
  for (int direction = XD_S2MM; direction <= XD_MM2S; direction++) {
    const int limit = (direction == XD_S2MM ? c->array.dma_in : c->array.dma_out)[xd_kind_of(t)];
    int most = 0;
    for (size_t i = 0; i < p->channels.n; i++) {
      const xd_channel *h = &p->channels.at[i];
      if (xd_same_place(h->tile, t) && (int)h->direction == direction && h->id >= most) most = h->id + 1;
    }
    if (most > limit)
      return tw_fail(error, TW_USAGE, "%s needs %d %s channels, but has %d", xd_place_label(t).text, most,
                     name[direction], limit);
  }
  return TW_OK;
}

/* ---- descriptors ---- */

/* "descriptor 3 of memory (0,1) MM2S 1" */
static xd_label label_of(const xd_program *p, const xd_descriptor *d) {
  xd_label l = xd_channel_label(&p->channels.at[d->channel]), out;
  snprintf(out.text, sizeof out.text, "descriptor %d of %.40s", d->id, l.text);
  return out;
}

static bool pads(const xd_dim *d) { return d->before || d->after; }

/* Checks dimension i of the pattern; in hardware it has the number i - first. */
static tw_status check_padding(const xd_config *c, const xd_program *p, const xd_descriptor *d, int i, int first,
                               tw_error *error) {
  const xd_dim *dim = &d->pattern.dim[i];
  const xd_channel *channel = &p->channels.at[d->channel];
  if (!pads(dim)) return TW_OK;
  if (xd_kind_of(channel->tile) != XD_MEMORY || channel->direction != XD_MM2S)
    return tw_fail(error, TW_USAGE, "%s pads with zeros; only MM2S channels of memory tiles can", label_of(p, d).text);
  if (i - first >= XD_PADS)
    return tw_fail(error, TW_USAGE, "%s pads dimension %d with zeros; the innermost %d can be padded",
                   label_of(p, d).text, i - first, XD_PADS);
  const int unit = i ? 1 : c->array.word_bytes, most = (1 << c->array.pad_bits[i - first]) - 1;
  if (dim->before % unit || dim->after % unit)
    return tw_fail(error, TW_USAGE, "%s pads with %d and %d bytes of zeros; a DMA moves words of %d",
                   label_of(p, d).text, dim->before, dim->after, unit);
  if (dim->before < 0 || dim->after < 0 || dim->before / unit > most || dim->after / unit > most)
    return tw_fail(error, TW_USAGE, "%s pads dimension %d with %d and %d zeros; the fields hold %d",
                   label_of(p, d).text, i - first, dim->before / unit, dim->after / unit, most);
  return TW_OK;
}

static tw_status check_dims(const xd_config *c, const xd_program *p, const xd_descriptor *d, tw_error *error) {
  const xd_array *a = &c->array;
  const xd_channel *channel = &p->channels.at[d->channel];
  const xd_tile_kind kind = xd_kind_of(channel->tile);
  const int64_t word = a->word_bytes, run = d->pattern.dim[0].size;
  const int64_t wrap = ((int64_t)1 << a->wrap_bits[kind]) - 1, step = (int64_t)1 << a->step_bits[kind];
  const int first =
      run == word && d->pattern.n_dims > 1 && !pads(&d->pattern.dim[0]) ? 1 : 0; /* single words need no separate dim */
  if (d->pattern.n_dims - first > a->dims[kind])
    return tw_fail(error, TW_USAGE, "%s walks %d dimensions, but the tile's DMA has %d", label_of(p, d).text,
                   d->pattern.n_dims - first, a->dims[kind]);
  if (run % word || (d->pattern.offset % word) || (d->iteration_stride % word))
    return tw_fail(error, TW_USAGE,
                   "%s: runs of %" PRId64 " bytes from byte %" PRId64 ", but a DMA moves words of %" PRId64,
                   label_of(p, d).text, run, d->pattern.offset, word);
  for (int i = first; i < d->pattern.n_dims; i++) {
    const xd_dim *dim = &d->pattern.dim[i];
    const int64_t size = i ? dim->size : dim->size / word;
    const tw_status status = check_padding(c, p, d, i, first, error);
    if (status != TW_OK) return status;
    if (dim->size < 1)
      return tw_fail(error, TW_USAGE, "%s: dimension %d has size %" PRId64, label_of(p, d).text, i, dim->size);
    if (size > wrap && (i + 1 < d->pattern.n_dims || pads(dim)))
      return tw_fail(error, TW_USAGE, "%s: dimension %d has %" PRId64 " steps, but the field holds %" PRId64,
                     label_of(p, d).text, i, size, wrap);
    if (i && dim->size > 1 && (dim->stride % word || dim->stride <= 0 || dim->stride / word > step))
      return tw_fail(error, TW_USAGE,
                     "%s: dimension %d has a stride of %" PRId64 " bytes; expected a multiple of words of %" PRId64
                     ", 1 to %" PRId64,
                     label_of(p, d).text, i, dim->stride, word, step);
  }
  if (d->iterations < 1 || d->iterations > a->iterations || (d->iterations > 1 && d->iteration_stride / word > step))
    return tw_fail(error, TW_USAGE,
                   "%s: %" PRId64 " iterations of %" PRId64 " bytes exceed the fields, which hold %d and %" PRId64
                   " words",
                   label_of(p, d).text, d->iterations, d->iteration_stride, a->iterations, step);
  return TW_OK;
}

static tw_status check_range(const xd_program *p, const xd_descriptor *d, tw_error *error) {
  int64_t first, end;
  const xd_buffer *b = &p->buffers.at[d->buffer];
  xd_pattern_span(&d->pattern, &first, &end);
  const int64_t reach = (d->iterations - 1) * d->iteration_stride;
  if (reach < 0) first += reach;
  if (reach > 0) end += reach;
  if (first >= 0 && end <= b->bytes) return TW_OK;
  return tw_fail(error, TW_USAGE, "%s reaches bytes %" PRId64 " to %" PRId64 " of %s, which has %" PRId64,
                 label_of(p, d).text, first, end - 1, b->name, b->bytes);
}

tw_status xd_check_descriptor(const xd_config *c, const xd_program *p, const xd_descriptor *d, tw_error *error) {
  const xd_channel *channel = &p->channels.at[d->channel];
  const xd_tile_kind kind = xd_kind_of(channel->tile);
  const xd_buffer *b = &p->buffers.at[d->buffer];
  if (d->id < 0 || d->id >= c->array.descriptors[kind])
    return tw_fail(error, TW_USAGE, "%s: the tile has descriptors 0 to %d", label_of(p, d).text,
                   c->array.descriptors[kind] - 1);
  const int half = c->array.descriptors[XD_MEMORY] / 2;
  if (kind == XD_MEMORY && d->id / half != channel->id % 2)
    return tw_fail(error, TW_USAGE, "%s: out of reach; even channels use descriptors 0 to %d, odd channels %d to %d",
                   label_of(p, d).text, half - 1, half, 2 * half - 1);
  if (b->external != (kind == XD_SHIM) || (!b->external && !xd_same_place(b->tile, channel->tile)))
    return tw_fail(error, TW_USAGE, "%s moves %s, which is out of its reach", label_of(p, d).text, b->name);
  if (d->next >= 0 && p->descriptors.at[d->next].channel != d->channel)
    return tw_fail(error, TW_USAGE, "%s continues with a descriptor of another channel", label_of(p, d).text);
  const xd_lock_use use[] = {d->acquire, d->release};
  for (int i = 0; i < 2; i++)
    if (use[i].lock >= 0 && !xd_same_place(p->locks.at[use[i].lock].tile, channel->tile))
      return tw_fail(error, TW_USAGE, "%s uses lock %s of another tile", label_of(p, d).text,
                     p->locks.at[use[i].lock].name);
  const tw_status status = check_dims(c, p, d, error);
  return status == TW_OK ? check_range(p, d, error) : status;
}

/* Two descriptors of the free-running channels of a tile must not share a number. Descriptors of tasks may: run.c
 * checks them. */
static tw_status check_numbers(const xd_program *p, tw_error *error) {
  for (size_t i = 0; i < p->descriptors.n; i++) {
    const xd_descriptor *a = &p->descriptors.at[i];
    const xd_channel *ca = &p->channels.at[a->channel];
    if (ca->start < 0) continue;
    for (size_t j = 0; j < i; j++) {
      const xd_descriptor *b = &p->descriptors.at[j];
      if (a->id == b->id && xd_same_place(ca->tile, p->channels.at[b->channel].tile))
        return tw_fail(error, TW_USAGE, "%s: the number is used twice", label_of(p, a).text);
    }
  }
  return TW_OK;
}

/* ---- routes ---- */

static tw_status check_routes(const xd_config *c, const xd_program *p, tw_error *error) {
  static const char *const name[] = {"north", "south", "east", "west"};
  const int limit[] = {c->array.north, c->array.south, c->array.side, c->array.side};
  int used[64 * 66][4] = {{0}};
  /* true if the route of this step carries packets: packet routes may share links, because arbiters allow it */
  bool packets = false;
  for (size_t i = 0, route = 0; i < p->steps.n; i++) {
    while (route < p->routes.n && p->routes.at[route].first_step + p->routes.at[route].n_steps <= (int)i) route++;
    packets = route < p->routes.n && p->routes.at[route].packet;
    if (packets) continue;
    const xd_step *s = &p->steps.at[i];
    const int way = s->to.row > s->from.row ? 0 : s->to.row < s->from.row ? 1 : s->to.column > s->from.column ? 2 : 3;
    int *n = &used[s->from.column * (c->rows + 2) + s->from.row][way];
    if (++*n > limit[way])
      return tw_fail(error, TW_USAGE, "the switch of %s has %d circuits to the %s, but %d links",
                     xd_place_label(s->from).text, *n, name[way], limit[way]);
  }
  return TW_OK;
}

/* True if only routes of packets end at the channel: they may share their ends. */
static bool on_packets_alone(const xd_program *p, int channel) {
  int routes = 0;
  for (size_t i = 0; i < p->routes.n; i++) {
    const xd_route *r = &p->routes.at[i];
    bool is_end = r->source == channel;
    for (int s = 0; s < r->n_sinks; s++) is_end = is_end || r->sink[s] == channel;
    if (is_end && !r->packet) return false;
    routes += is_end;
  }
  return routes > 0;
}

static tw_status check_ends(const xd_program *p, tw_error *error) {
  for (size_t c = 0; c < p->channels.n; c++) {
    int sources = 0, sinks = 0;
    for (size_t i = 0; i < p->routes.n; i++) {
      sources += p->routes.at[i].source == (int)c;
      for (int s = 0; s < p->routes.at[i].n_sinks; s++) sinks += p->routes.at[i].sink[s] == (int)c;
    }
    const bool reads = p->channels.at[c].direction == XD_MM2S;
    if (on_packets_alone(p, (int)c) && !(reads ? sinks : sources)) continue;
    if ((reads ? sources : sinks) != 1 || (reads ? sinks : sources))
      return tw_fail(error, TW_USAGE, "%s is on %d circuits; it must be the %s of exactly one circuit",
                     xd_channel_label(&p->channels.at[c]).text, sources + sinks, reads ? "source" : "end");
  }
  return TW_OK;
}

static tw_status check_sequence(const xd_config *c, const xd_program *p, tw_error *error) {
  for (size_t i = 0; i < p->sequence.n; i++) {
    const xd_command *k = &p->sequence.at[i];
    if (k->kind == XD_START && (k->repeat < 1 || k->repeat > c->array.repeats))
      return tw_fail(error, TW_USAGE, "command %zu of the sequence runs a task %d times; expected 1 to %d", i,
                     k->repeat, c->array.repeats);
    if (k->kind == XD_SET_LOCK && (k->value < 0 || k->value > c->array.lock_max))
      return tw_fail(error, TW_USAGE, "command %zu of the sequence sets lock %s of %s to %" PRId64 "; expected 0 to %d",
                     i, p->locks.at[k->lock].name, xd_place_label(p->locks.at[k->lock].tile).text, k->value,
                     c->array.lock_max);
    if (k->kind == XD_START && p->descriptors.at[k->descriptor].channel != k->channel)
      return tw_fail(error, TW_USAGE, "command %zu of the sequence starts a descriptor that belongs to another channel",
                     i);
  }
  return TW_OK;
}

/* Every descriptor of a channel with packet routes must choose one of the routes. */
static tw_status check_packets(const xd_program *p, tw_error *error) {
  for (size_t i = 0; i < p->descriptors.n; i++) {
    const xd_descriptor *d = &p->descriptors.at[i];
    int routes = 0, fitting = 0;
    for (size_t r = 0; r < p->routes.n; r++) {
      const bool from = p->routes.at[r].source == d->channel;
      routes += from && p->routes.at[r].packet;
      fitting += from && p->routes.at[r].packet == d->packet;
    }
    if (routes && !fitting)
      return tw_fail(error, TW_USAGE, "%s sends %s, but no packet flow from there has that number", label_of(p, d).text,
                     d->packet ? "packets of another number" : "no packets");
  }
  return TW_OK;
}

tw_status xd_check(const xd_config *c, const xd_program *p, tw_error *error) {
  tw_status status = check_places(c, p, error);
  for (int column = 0; column < c->columns && status == TW_OK; column++)
    for (int row = 0; row < c->rows + 2 && status == TW_OK; row++) {
      const xd_place t = {column, row};
      if ((status = check_memory(c, p, t, error)) == TW_OK && (status = check_locks(c, p, t, error)) == TW_OK)
        status = check_channels(c, p, t, error);
    }
  for (size_t i = 0; i < p->descriptors.n && status == TW_OK; i++)
    status = xd_check_descriptor(c, p, &p->descriptors.at[i], error);
  if (status == TW_OK) status = check_numbers(p, error);
  if (status == TW_OK) status = check_sequence(c, p, error);
  if (status == TW_OK) status = check_ends(p, error);
  if (status == TW_OK) status = check_packets(p, error);
  if (status == TW_OK) status = check_routes(c, p, error);
  if (status == TW_OK) status = xd_check_sharing(p, error);
  return status == TW_OK ? xd_check_cores(p, error) : status;
}
