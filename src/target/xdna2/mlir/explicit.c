/* explicit.c - what stands below object FIFOs: locks, circuits, names of shim channels, and the programs of DMA channels,
 * as blocks of one descriptor each:
 *
 *   aie.mem(%tile) {
 *       aie.dma_start(S2MM, 0, ^bb1, ^bb2)
 *     ^bb1:
 *       aie.use_lock(%free, AcquireGreaterEqual, 1)
 *       aie.dma_bd(%buffer : memref<64xi8>, 0, 64)
 *       aie.use_lock(%full, Release, 1)
 *       aie.next_bd ^bb1
 *     ^bb2:
 *       aie.end
 *   } */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "target/xdna2/mlir/reader.h"

/* ---- pieces ---- */

static xd_place read_tile_name(xd_reader *r) {
  const int line = r->token.line;
  const xd_value *tile = xd_value_named(r, xd_read_value_name(r), line);
  if (tile && tile->kind != XD_TILE_VALUE) xd_read_fail(r, line, "%%%s is no tile", xd_read_excerpt(tile->name).text);
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
  l.tile = read_tile_name(r);
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

xd_lock_action xd_read_use_lock(xd_reader *r, xd_place tile) {
  const int line = r->token.line;
  xd_lock_action u = {.use = {-1, 1}, .line = line};
  xd_read_expect(r, '(');
  const xd_value *v = xd_value_named(r, xd_read_value_name(r), line);
  if (v && v->kind != XD_LOCK_VALUE) xd_read_fail(r, line, "%%%s is no lock", xd_read_excerpt(v->name).text);
  if (v && xd_going(r) && !xd_same_place(v->place, tile))
    xd_read_fail(r, line, "lock %%%s is in %s, not in %s; locks of neighbours are not taken",
                 xd_read_excerpt(v->name).text, xd_place_label(v->place).text, xd_place_label(tile).text);
  if (v) u.use.lock = v->index;
  xd_read_expect(r, ',');
  u.releases = xd_read_take_word(r, "Release");
  if (xd_read_at_word(r, "Acquire"))
    xd_read_fail(r, line, "Acquire (until the lock is equal) is not taken; AcquireGreaterEqual is");
  if (!u.releases) xd_read_expect_word(r, "AcquireGreaterEqual");
  if (xd_read_take(r, ',')) u.use.count = (int)xd_read_number(r, 1, 63);
  xd_read_expect(r, ')');
  return u;
}

/* ---- circuits ---- */

static int read_end(xd_reader *r, xd_direction direction) {
  const xd_place t = read_tile_name(r);
  xd_read_expect(r, ',');
  const int line = r->token.line;
  if (!xd_read_take_word(r, "DMA"))
    xd_read_fail(r, line, "a flow from or to %s is not taken; DMA is",
                 xd_read_excerpt((xd_slice){r->token.at, r->token.length}).text);
  xd_read_expect(r, ':');
  const int id = (int)xd_read_number(r, 0, 15);
  return xd_going(r) ? xd_read_channel(r, t, direction, id) : -1;
}

/* aie.flow(%tile, DMA : 0, %tile, DMA : 1): several from one channel are a broadcast. */
void xd_read_flow(xd_reader *r) {
  const int line = r->token.line;
  xd_program *p = &r->design->program;
  xd_read_expect(r, '(');
  const int from = read_end(r, XD_MM2S);
  xd_read_expect(r, ',');
  const int to = read_end(r, XD_S2MM);
  xd_read_expect(r, ')');
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

/* aie.packet_flow(0) { aie.packet_source<%tile, TileControl : 0> aie.packet_dest<..> } {..}: tokens and commands of the
 * control network, which is not simulated. Packets of data are refused. */
void xd_read_packet_flow(xd_reader *r) {
  const int line = r->token.line;
  xd_read_expect(r, '(');
  xd_read_number(r, 0, 255);
  xd_read_expect(r, ')');
  xd_read_expect(r, '{');
  xd_read_expect_word(r, "aie.packet_source");
  xd_read_expect(r, '<');
  read_tile_name(r);
  xd_read_expect(r, ',');
  if (!xd_read_at_word(r, "TileControl")) xd_read_fail(r, line, "packets of data (aie.packet_flow) are not taken");
  while (xd_going(r) && !xd_read_at(r, '}') && !xd_read_at_kind(r, XD_TOKEN_END)) xd_read_next(r);
  xd_read_expect(r, '}');
  xd_attributes a;
  xd_read_attributes(r, &a);
}

/* aie.shim_dma_allocation @name(%tile, MM2S, 0); older: @name(MM2S, 0, column) */
void xd_read_allocation(xd_reader *r) {
  const int line = r->token.line;
  xd_allocation a = {.name = xd_read_symbol(r)};
  xd_attributes attributes;
  xd_read_expect(r, '(');
  const bool newer = xd_read_at_kind(r, XD_TOKEN_VALUE);
  if (newer) {
    a.channel.tile = read_tile_name(r);
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
    xd_read_fail(r, line, "%s is no shim", xd_place_label(a.channel.tile).text);
  xd_append(&r->allocations, sizeof a, &a, &r->failed);
}

/* ---- programs of channels ---- */

typedef struct block {
  xd_slice label, next;
  int descriptor, line; /* -1: none */
  bool ends;
  xd_lock_use acquire, release;
} block;

typedef struct start {
  xd_slice first, next; /* blocks: of its ring, and where the program goes on */
  int channel, line;
  int block; /* that it stands in */
} start;

enum { BLOCKS = 256, STARTS = 32 };

typedef struct dma_reader {
  xd_reader *r;
  xd_place tile;
  int n_blocks, n_starts;
  block at[BLOCKS];
  start start[STARTS];
} dma_reader;

static void read_start(dma_reader *d) {
  xd_reader *r = d->r;
  start s = {.line = r->token.line};
  xd_attributes a;
  xd_read_expect(r, '(');
  const xd_direction direction = xd_read_direction(r);
  xd_read_expect(r, ',');
  const int id = (int)xd_read_number(r, 0, 15);
  xd_read_expect(r, ',');
  s.first = xd_read_label(r);
  xd_read_expect(r, ',');
  s.next = xd_read_label(r);
  if (xd_read_take(r, ',')) {
    xd_read_expect_word(r, "repeat_count");
    xd_read_expect(r, '=');
    if (xd_read_number(r, 0, 255)) xd_read_fail(r, s.line, "repeat_count of aie.dma_start is not taken");
  }
  xd_read_expect(r, ')');
  xd_read_attributes(r, &a);
  xd_attributes_end(r, &a, "aie.dma_start");
  if (d->n_starts == STARTS) xd_read_fail(r, s.line, "more than %d channels of one tile", STARTS);
  s.block = d->n_blocks - 1;
  if (d->at[s.block].descriptor >= 0 || d->at[s.block].acquire.lock >= 0)
    xd_read_fail(r, s.line, "aie.dma_start within a descriptor's block: a block's label is missing above");
  if (!xd_going(r)) return;
  s.channel = xd_read_channel(r, d->tile, direction, id);
  for (int i = 0; i < d->n_starts; i++)
    if (d->start[i].channel == s.channel)
      xd_read_fail(r, s.line, "%s is started twice, here and in line %d",
                   xd_channel_label(&r->design->program.channels.at[s.channel]).text, d->start[i].line);
  d->start[d->n_starts++] = s;
}

static void read_bd(dma_reader *d, block *b) {
  xd_reader *r = d->r;
  const int line = r->token.line;
  const xd_bd bd = xd_read_bd(r, XD_BUFFER_VALUE);
  if (b->descriptor >= 0) xd_read_fail(r, line, "a second descriptor in a block of a DMA's program");
  if (!xd_going(r) || !bd.of) return;
  if (!xd_same_place(bd.of->place, d->tile)) {
    xd_read_fail(r, line, "%%%s is in %s, not in %s; memory of neighbours is not taken",
                 xd_read_excerpt(bd.of->name).text, xd_place_label(bd.of->place).text, xd_place_label(d->tile).text);
    return;
  }
  const xd_descriptor descriptor = {.channel = -1,
                                    .id = bd.id,
                                    .buffer = (int)bd.of->number,
                                    .pattern = xd_bd_pattern(r, &bd, XD_SIZES),
                                    .iterations = 1,
                                    .next = -1};
  b->line = line;
  b->descriptor = XD_ADD(&r->design->program, descriptors, &descriptor);
  xd_append(&r->descriptor_lines, sizeof line, &line, &r->failed);
}

static void read_use(dma_reader *d, block *b) {
  const xd_lock_action u = xd_read_use_lock(d->r, d->tile);
  xd_lock_use *use = u.releases ? &b->release : &b->acquire;
  if (u.releases != (b->descriptor >= 0))
    xd_read_fail(d->r, u.line, "a descriptor acquires before aie.dma_bd and releases behind it");
  else if (use->lock >= 0)
    xd_read_fail(d->r, u.line, "a descriptor %s two locks", u.releases ? "releases" : "acquires");
  *use = u.use;
}

static void begin_block(dma_reader *d, xd_slice label) {
  if (d->n_blocks == BLOCKS) xd_read_fail(d->r, d->r->token.line, "more than %d blocks", BLOCKS);
  for (int i = 0; i < d->n_blocks; i++)
    if (label.length && xd_slice_same(d->at[i].label, label))
      xd_read_fail(d->r, d->r->token.line, "block ^%s is there twice", xd_read_excerpt(label).text);
  if (!xd_going(d->r)) return;
  d->at[d->n_blocks++] =
      (block){.label = label, .descriptor = -1, .line = d->r->token.line, .acquire = {-1, 0}, .release = {-1, 0}};
}

static void read_op(dma_reader *d) {
  xd_reader *r = d->r;
  xd_slice op;
  if (xd_read_at(r, '^')) {
    const xd_slice label = xd_read_label(r);
    xd_read_expect(r, ':');
    begin_block(d, label);
    return;
  }
  const int line = r->token.line;
  block *b = &d->at[d->n_blocks - 1];
  xd_read_result(r, &op);
  if (b->ends || b->next.length) {
    xd_read_fail(r, line, "%s behind the end of its block", xd_read_excerpt(op).text);
    return;
  }
  if (xd_read_take_word(r, "aie.dma_start"))
    read_start(d);
  else if (xd_read_take_word(r, "aie.use_lock"))
    read_use(d, b);
  else if (xd_read_take_word(r, "aie.dma_bd"))
    read_bd(d, b);
  else if (xd_read_take_word(r, "aie.next_bd"))
    b->next = xd_read_label(r);
  else if (xd_read_take_word(r, "aie.end"))
    b->ends = true;
  else
    xd_read_fail(r, line, "%s is not taken in a DMA's program", xd_read_excerpt(op).text);
}

static block *block_named(dma_reader *d, xd_slice label, int line) {
  for (int i = 0; i < d->n_blocks; i++)
    if (xd_slice_same(d->at[i].label, label)) return &d->at[i];
  xd_read_fail(d->r, line, "there is no block ^%s", xd_read_excerpt(label).text);
  return NULL;
}

/* From the first block on, until the ring closes or ends. */
static void close_ring(dma_reader *d, const start *s) {
  xd_reader *r = d->r;
  xd_program *p = &r->design->program;
  block *b = block_named(d, s->first, s->line);
  while (b && xd_going(r)) {
    if (b->descriptor < 0) {
      xd_read_fail(r, b->line, "block ^%s has no descriptor (aie.dma_bd)", xd_read_excerpt(b->label).text);
      return;
    }
    xd_descriptor *x = &p->descriptors.at[b->descriptor];
    if (p->channels.at[s->channel].start < 0) p->channels.at[s->channel].start = b->descriptor;
    x->channel = s->channel;
    x->acquire = b->acquire;
    x->release = b->release;
    if (!b->next.length) {
      if (!b->ends)
        xd_read_fail(r, b->line, "block ^%s has neither aie.next_bd nor aie.end", xd_read_excerpt(b->label).text);
      return;
    }
    b = block_named(d, b->next, b->line);
    if (!b || b->descriptor < 0) continue;
    x->next = b->descriptor;
    const int channel = p->descriptors.at[b->descriptor].channel;
    if (channel == s->channel && b->descriptor != p->channels.at[s->channel].start)
      xd_read_fail(r, b->line, "the descriptors of %s do not come back to the first",
                   xd_channel_label(&p->channels.at[s->channel]).text);
    else if (channel >= 0 && channel != s->channel)
      xd_read_fail(r, b->line, "block ^%s belongs to two channels", xd_read_excerpt(b->label).text);
    if (channel >= 0) return;
  }
}

/* Each start goes on to the block of the next one, the last to one without a descriptor. */
static void check_starts(dma_reader *d) {
  for (int i = 0; i < d->n_starts && xd_going(d->r); i++) {
    const start *s = &d->start[i];
    const block *b = block_named(d, s->next, s->line);
    if (!b) return;
    if (i + 1 < d->n_starts ? b != &d->at[d->start[i + 1].block] : b->descriptor >= 0 || !b->ends)
      xd_read_fail(d->r, s->line, "block ^%s is not where the program goes on", xd_read_excerpt(s->next).text);
  }
}

void xd_read_dma(xd_reader *r, xd_tile_kind kind) {
  const int line = r->token.line;
  xd_read_expect(r, '(');
  const xd_place tile = read_tile_name(r);
  xd_read_expect(r, ')');
  if (xd_going(r) && xd_kind_of(tile) != kind)
    xd_read_fail(r, line, "%s has no %s", xd_place_label(tile).text, kind == XD_MEMORY ? "aie.memtile_dma" : "aie.mem");
  dma_reader *d = calloc(1, sizeof *d);
  if (!d) {
    r->failed = true;
    return;
  }
  d->r = r;
  d->tile = tile;
  begin_block(d, (xd_slice){"", 0});
  xd_read_expect(r, '{');
  while (xd_going(r) && !xd_read_at(r, '}')) {
    if (xd_read_at_kind(r, XD_TOKEN_END)) xd_read_fail(r, r->token.line, "the text ends within a DMA's program");
    read_op(d);
  }
  xd_read_expect(r, '}');
  check_starts(d);
  for (int i = 0; i < d->n_starts && xd_going(r) && !r->design->program.failed; i++) close_ring(d, &d->start[i]);
  for (int i = 0; i < d->n_blocks && xd_going(r) && !r->design->program.failed; i++)
    if (d->at[i].descriptor >= 0 && r->design->program.descriptors.at[d->at[i].descriptor].channel < 0)
      xd_read_fail(r, d->at[i].line, "no channel comes to block ^%s", xd_read_excerpt(d->at[i].label).text);
  free(d);
}
