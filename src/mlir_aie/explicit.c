/* explicit.c - ops below object FIFOs: locks, circuits, names of shim channels. The programs of DMA channels are in
 * program.c. */
#include <string.h>

#include "mlir_aie/reader.h"

/* ---- pieces ---- */

xd_place xd_read_tile_name(xd_reader *r) {
  const int line = r->token.line;
  const xd_value *tile = xd_value_named(r, xd_read_value_name(r), line);
  if (tile && tile->kind != XD_TILE_VALUE)
    xd_read_fail(r, line, "%%%s is not a tile", xd_read_excerpt(tile->name).text);
  return tile ? tile->place : (xd_place){0, 0};
}

xd_direction xd_read_direction(xd_reader *r) {
  if (xd_read_take_word(r, "MM2S")) return XD_MM2S;
  xd_read_expect_word(r, "S2MM");
  return XD_S2MM;
}

int xd_read_channel(xd_reader *r, xd_place tile, xd_direction direction, int id) {
  xd_program *p = &r->design->program;
  for (size_t i = 0; i < p->channels.n; i++) {
    const xd_channel *c = &p->channels.at[i];
    if (xd_same_place(c->tile, tile) && c->direction == direction && c->id == id) return (int)i;
  }
  const xd_channel c = {.tile = tile, .direction = direction, .id = id, .start = -1};
  return XD_ADD(p, channels, &c);
}

/* ---- locks ---- */

static void note_number(xd_reader *r, xd_place tile, int number, int line) {
  for (size_t i = 0; i < r->lock_numbers.n; i++)
    if (number >= 0 && r->lock_numbers.at[i] == number && xd_same_place(r->design->program.locks.at[i].tile, tile))
      xd_read_fail(r, line, "%s has two locks %d", xd_place_label(tile).text, number);
  xd_append(&r->lock_numbers, sizeof number, &number, &r->failed);
}

/* %name = aie.lock(%tile, number) {init = 2 : i32, sym_name = "name"} */
void xd_read_lock(xd_reader *r, xd_slice result) {
  const int line = r->token.line;
  xd_lock l = {.initial = 0};
  int number = -1;
  xd_attributes a;
  xd_read_expect(r, '(');
  l.tile = xd_read_tile_name(r);
  if (xd_read_take(r, ',')) {
    const int64_t most = xd_going(r) ? r->config->array.locks[xd_kind_of(l.tile)] - 1 : 0;
    number = (int)xd_read_number(r, 0, most);
  }
  xd_read_expect(r, ')');
  xd_read_attributes(r, &a);
  const int64_t initial = xd_attribute_number(r, &a, "init", 0);
  const xd_slice name = xd_attribute_text(r, &a, "sym_name"), called = name.length ? name : result;
  xd_attributes_end(r, &a, "aie.lock");
  if (!xd_going(r)) return;
  if (initial < 0 || initial > r->config->array.lock_max)
    xd_read_fail(r, line, "a lock begins with %lld; locks hold 0 to %d", (long long)initial, r->config->array.lock_max);
  l.initial = (int)initial;
  note_number(r, l.tile, number, line);
  xd_name_local(called, l.tile, l.name);
  xd_note_line(r, l.name, line);
  xd_define(
      r, (xd_value){
             .name = result, .kind = XD_LOCK_VALUE, .place = l.tile, .index = XD_ADD(&r->design->program, locks, &l)});
}

/* A number, or a constant (mlir-aie from 2026 on). */
static int read_count(xd_reader *r, int least) {
  const int line = r->token.line;
  const int64_t n = xd_read_index(r, least);
  if (xd_going(r) && n > r->config->array.lock_max)
    xd_read_fail(r, line, "%lld is out of range; expected %d to %d", (long long)n, least, r->config->array.lock_max);
  return xd_going(r) ? (int)n : least;
}

xd_lock_action xd_read_use_lock(xd_reader *r, xd_place tile) {
  const int line = r->token.line;
  xd_lock_action u = {.use = {-1, 1}, .line = line};
  xd_read_expect(r, '(');
  const xd_value *v = xd_value_named(r, xd_read_value_name(r), line);
  if (v && v->kind != XD_LOCK_VALUE) xd_read_fail(r, line, "%%%s is not a lock", xd_read_excerpt(v->name).text);
  if (v && xd_going(r) && !xd_same_place(v->place, tile) && !(r->options.raw && xd_kind_of(tile) == XD_COMPUTE))
    xd_read_fail(r, line, "lock %%%s is in %s, not in %s; locks of neighbours are unsupported",
                 xd_read_excerpt(v->name).text, xd_place_label(v->place).text, xd_place_label(tile).text);
  if (v) u.use.lock = v->index;
  xd_read_expect(r, ',');
  u.releases = xd_read_take_word(r, "Release");
  u.equal = !u.releases && xd_read_take_word(r, "Acquire");
  if (xd_read_at_kind(r, XD_TOKEN_STRING)) { /* the form of older texts */
    const xd_slice how = {r->token.at, r->token.length};
    u.releases = xd_slice_is(how, "Release");
    u.equal = xd_slice_is(how, "Acquire");
    if (!u.releases && !u.equal && !xd_slice_is(how, "AcquireGreaterEqual"))
      xd_read_fail(r, line, "expected Acquire, AcquireGreaterEqual or Release");
    xd_read_next(r);
  } else if (!u.releases && !u.equal) {
    xd_read_expect_word(r, "AcquireGreaterEqual");
  }
  if (xd_read_take(r, ',')) u.use.count = read_count(r, u.equal ? 0 : 1);
  xd_read_expect(r, ')');
  return u;
}

/* ---- circuits ---- */

static int read_end(xd_reader *r, xd_direction direction, bool *trace) {
  const xd_place t = xd_read_tile_name(r);
  xd_read_expect(r, ',');
  const int line = r->token.line;
  const xd_slice end = {r->token.at, r->token.length}; /* a word; in older texts a string */
  *trace = xd_slice_is(end, "Trace");
  if (*trace) {
    xd_read_next(r);
    xd_read_expect(r, ':');
    xd_read_number(r, 0, 31);
    return -1;
  }
  if (!xd_slice_is(end, "DMA"))
    xd_read_fail(r, line, "unsupported end '%s' of a flow; expected DMA", xd_read_excerpt(end).text);
  xd_read_next(r);
  xd_read_expect(r, ':');
  const int id = (int)xd_read_number(r, 0, 15);
  return xd_going(r) ? xd_read_channel(r, t, direction, id) : -1;
}

/* aie.flow(%tile, DMA : 0, %tile, DMA : 1): several from one channel make a broadcast. */
void xd_read_flow(xd_reader *r) {
  const int line = r->token.line;
  xd_program *p = &r->design->program;
  xd_read_expect(r, '(');
  bool trace = false, no = false;
  const int from = read_end(r, XD_MM2S, &trace);
  xd_read_expect(r, ',');
  const int to = read_end(r, XD_S2MM, &no);
  xd_read_expect(r, ')');
  r->design->skipped += trace;
  if (!xd_going(r) || from < 0 || to < 0) return;
  xd_note_line(r, xd_channel_label(&p->channels.at[to]).text, line);
  xd_route *route = NULL;
  for (size_t i = 0; i < p->routes.n; i++) {
    xd_route *other = &p->routes.at[i];
    if (other->source == from) route = other;
    for (int s = 0; s < other->n_sinks; s++)
      if (other->sink[s] == to) {
        xd_read_fail(r, line, "%s ends two flows: two writers of one stream",
                     xd_channel_label(&p->channels.at[to]).text);
        return;
      }
  }
  if (!route) {
    const xd_route added = {.source = from};
    xd_note_line(r, xd_channel_label(&p->channels.at[from]).text, line);
    if (XD_ADD(p, routes, &added) < 0) return;
    route = &p->routes.at[p->routes.n - 1];
  }
  if (route->n_sinks == XD_BROADCAST) xd_read_fail(r, line, "more than %d consumers", XD_BROADCAST);
  if (xd_going(r)) route->sink[route->n_sinks++] = to;
}

typedef struct packet_end {
  xd_place tile;
  int id;
  xd_slice other; /* the name of the port, if it is not DMA */
} packet_end;

/* <%tile, DMA : 0> */
static packet_end read_packet_end(xd_reader *r) {
  packet_end e = {.other = {"", 0}};
  xd_read_expect(r, '<');
  e.tile = xd_read_tile_name(r);
  xd_read_expect(r, ',');
  const xd_slice name = {r->token.at, r->token.length};
  if (!xd_read_take_word(r, "DMA")) {
    e.other = name;
    xd_read_next(r);
  }
  xd_read_expect(r, ':');
  e.id = (int)xd_read_number(r, 0, 31);
  xd_read_expect(r, '>');
  return e;
}

static void add_packet_routes(xd_reader *r, int number, int n_from, const packet_end from[], int n_to,
                              const packet_end to[], int line) {
  xd_program *p = &r->design->program;
  xd_route route = {.packet = number + 1, .n_sinks = n_to};
  for (int i = 0; i < n_to; i++) route.sink[i] = xd_read_channel(r, to[i].tile, XD_S2MM, to[i].id);
  for (int i = 0; i < n_from && !p->failed; i++) {
    route.source = xd_read_channel(r, from[i].tile, XD_MM2S, from[i].id);
    if (p->failed) return;
    xd_note_line(r, xd_channel_label(&p->channels.at[route.source]).text, line);
    XD_ADD(p, routes, &route);
  }
}

/* aie.packet_flow(0) { aie.packet_source<%tile, DMA : 0> aie.packet_dest<%tile, DMA : 1> .. } {..}: packets of that
 * number, from each source to all destinations. Flows from TileControl (tokens) and of traces are left out. */
void xd_read_packet_flow(xd_reader *r) {
  enum { ENDS = 16 };
  const int line = r->token.line;
  packet_end from[ENDS], to[ENDS];
  int n_from = 0, n_to = 0;
  xd_slice other = {"", 0};
  xd_read_expect(r, '(');
  const int number = (int)xd_read_number(r, 0, 255);
  xd_read_expect(r, ')');
  xd_read_expect(r, '{');
  while (xd_going(r) && !xd_read_at(r, '}')) {
    const bool is_source = xd_read_take_word(r, "aie.packet_source");
    if (!is_source && xd_read_take_word(r, "aie.end")) continue;
    if (!is_source) xd_read_expect_word(r, "aie.packet_dest");
    const packet_end e = read_packet_end(r);
    if (e.other.length && (is_source || !other.length)) other = e.other;
    if ((is_source ? n_from : n_to) == ENDS) xd_read_fail(r, line, "more than %d ends of a packet flow", ENDS);
    if (!xd_going(r)) return;
    *(is_source ? &from[n_from++] : &to[n_to++]) = e;
  }
  xd_read_expect(r, '}');
  xd_attributes a;
  xd_read_attributes(r, &a);
  if (!xd_going(r) || xd_slice_is(other, "TileControl")) return;
  if (xd_slice_is(other, "Trace")) {
    r->design->skipped++;
    return;
  }
  if (other.length || !n_from || !n_to) {
    xd_read_fail(r, line, "unsupported packets from or to %s; expected packets from DMA to DMA",
                 other.length ? xd_read_excerpt(other).text : "nowhere");
    return;
  }
  r->explicit_line = line;
  add_packet_routes(r, number, n_from, from, n_to, to, line);
}

/* aie.shim_dma_allocation @name(%tile, MM2S, 0); older: @name(MM2S, 0, column) */
void xd_read_allocation(xd_reader *r) {
  const int line = r->token.line;
  xd_allocation a = {.name = xd_read_symbol(r)};
  xd_attributes attributes;
  xd_read_expect(r, '(');
  const bool newer = xd_read_at_kind(r, XD_TOKEN_VALUE);
  if (newer) {
    a.channel.tile = xd_read_tile_name(r);
    xd_read_expect(r, ',');
  }
  a.channel.direction = xd_read_direction(r);
  xd_read_expect(r, ',');
  a.channel.id = (int)xd_read_number(r, 0, 15);
  if (!newer) {
    xd_read_expect(r, ',');
    a.channel.tile.column = (int)xd_read_number(r, 0, r->columns - 1);
  }
  xd_read_expect(r, ')');
  xd_read_attributes(r, &attributes);
  xd_attributes_end(r, &attributes, "aie.shim_dma_allocation");
  if (xd_going(r) && xd_kind_of(a.channel.tile) != XD_SHIM)
    xd_read_fail(r, line, "%s is not a shim", xd_place_label(a.channel.tile).text);
  xd_append(&r->allocations, sizeof a, &a, &r->failed);
}
