/* program.c - the programs of DMA channels, as blocks of one descriptor each:
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
#include <stdlib.h>

#include "mlir_aie/reader.h"

typedef struct block {
  xd_slice label, next;
  int descriptor, line; /* -1: none */
  bool ends, is_short;  /* is_short: for aie.dma */
  xd_lock_use acquire, release;
} block;

typedef struct start {
  xd_slice first, next;     /* blocks: of its ring, and the block where the program continues */
  int channel, line, again; /* again: repeat_count */
  int block;                /* that contains it */
} start;

enum { BLOCKS = 256, STARTS = 32 };

typedef struct dma_reader {
  xd_reader *r;
  xd_place tile;
  int n_blocks, n_starts;
  int current; /* the block that is read */
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
    s.again = (int)xd_read_number(r, 0, 255);
  }
  xd_read_expect(r, ')');
  xd_read_attributes(r, &a);
  xd_attributes_end(r, &a, "aie.dma_start");
  if (d->n_starts == STARTS) xd_read_fail(r, s.line, "more than %d channels of one tile", STARTS);
  s.block = d->current;
  if (d->at[s.block].descriptor >= 0 || d->at[s.block].acquire.lock >= 0)
    xd_read_fail(r, s.line, "aie.dma_start within a descriptor's block; the label of a block is missing above");
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
    xd_read_fail(r, line, "%%%s is in %s, not in %s; memory of neighbours is unsupported",
                 xd_read_excerpt(bd.of->name).text, xd_place_label(bd.of->place).text, xd_place_label(d->tile).text);
    return;
  }
  const xd_descriptor descriptor = {.channel = -1,
                                    .id = bd.id,
                                    .buffer = (int)bd.of->number,
                                    .pattern = xd_bd_pattern(r, &bd, XD_SIZES),
                                    .iterations = 1,
                                    .packet = bd.packet,
                                    .next = -1};
  b->line = line;
  b->descriptor = XD_ADD(&r->design->program, descriptors, &descriptor);
  xd_append(&r->descriptor_lines, sizeof line, &line, &r->failed);
}

static void read_use(dma_reader *d, block *b) {
  const xd_lock_action u = xd_read_use_lock(d->r, d->tile);
  if (u.equal)
    xd_read_fail(d->r, u.line, "unsupported Acquire (until the lock is equal) of a DMA; expected AcquireGreaterEqual");
  xd_lock_use *use = u.releases ? &b->release : &b->acquire;
  if (u.releases != (b->descriptor >= 0))
    xd_read_fail(d->r, u.line, "a descriptor must acquire before aie.dma_bd and release after it");
  else if (use->lock >= 0)
    xd_read_fail(d->r, u.line, "a descriptor %s two locks", u.releases ? "releases" : "acquires");
  *use = u.use;
}

static void begin_block(dma_reader *d, xd_slice label) {
  if (d->n_blocks == BLOCKS) xd_read_fail(d->r, d->r->token.line, "more than %d blocks", BLOCKS);
  for (int i = 0; i < d->n_blocks; i++)
    if (label.length && xd_slice_same(d->at[i].label, label))
      xd_read_fail(d->r, d->r->token.line, "block ^%s is defined twice", xd_read_excerpt(label).text);
  if (!xd_going(d->r)) return;
  d->at[d->n_blocks++] =
      (block){.label = label, .descriptor = -1, .line = d->r->token.line, .acquire = {-1, 0}, .release = {-1, 0}};
}

static void read_op(dma_reader *);

/* aie.dma(S2MM, 0) [{ a descriptor }, { the next }]: a ring, or, with {loop = false}, a chain. */
static void read_short(dma_reader *d) {
  xd_reader *r = d->r;
  const int line = r->token.line;
  xd_attributes a;
  xd_read_expect(r, '(');
  const xd_direction direction = xd_read_direction(r);
  xd_read_expect(r, ',');
  const int id = (int)xd_read_number(r, 0, 15);
  xd_read_expect(r, ')');
  xd_read_attributes(r, &a);
  const bool loops = !xd_attribute_false(r, &a, "loop");
  const int again = (int)xd_attribute_number(r, &a, "repeat_count", 0);
  xd_attribute_text(r, &a, "sym_name");
  xd_attributes_end(r, &a, "aie.dma");
  if (!xd_going(r)) return;
  const int channel = xd_read_channel(r, d->tile, direction, id), outer = d->current;
  xd_program *p = &r->design->program;
  if (channel < 0) return;
  if (p->channels.at[channel].start >= 0)
    xd_read_fail(r, line, "%s is started twice", xd_channel_label(&p->channels.at[channel]).text);
  if (again < 0 || again > 255) xd_read_fail(r, line, "repeat_count %d; expected 0 to 255", again);
  int first = -1, last = -1;
  xd_read_expect(r, '[');
  do {
    begin_block(d, (xd_slice){"", 0});
    if (!xd_going(r)) return;
    d->current = d->n_blocks - 1;
    d->at[d->current].is_short = true;
    xd_read_expect(r, '{');
    while (xd_going(r) && !xd_read_at(r, '}') && !xd_read_at_kind(r, XD_TOKEN_END)) read_op(d);
    xd_read_expect(r, '}');
    const block *b = &d->at[d->current];
    if (xd_going(r) && b->descriptor < 0) xd_read_fail(r, b->line, "a block of aie.dma has no descriptor (aie.dma_bd)");
    if (!xd_going(r) || p->failed) return;
    xd_descriptor *x = &p->descriptors.at[b->descriptor];
    x->channel = channel;
    x->acquire = b->acquire;
    x->release = b->release;
    if (first < 0) first = b->descriptor;
    if (last >= 0) p->descriptors.at[last].next = b->descriptor;
    last = b->descriptor;
  } while (xd_read_take(r, ','));
  xd_read_expect(r, ']');
  d->current = outer;
  if (!xd_going(r)) return;
  p->descriptors.at[last].next = loops ? first : -1;
  p->channels.at[channel].start = first;
  p->channels.at[channel].again = again;
}

static void read_op(dma_reader *d) {
  xd_reader *r = d->r;
  xd_slice op;
  if (xd_read_at(r, '^')) {
    const xd_slice label = xd_read_label(r);
    xd_read_expect(r, ':');
    begin_block(d, label);
    d->current = d->n_blocks - 1;
    return;
  }
  const int line = r->token.line;
  block *b = &d->at[d->current];
  const xd_slice result = xd_read_result(r, &op);
  if (b->ends || b->next.length) {
    xd_read_fail(r, line, "'%s' follows the end of its block", xd_read_excerpt(op).text);
    return;
  }
  if (xd_read_take_word(r, "aie.dma_start"))
    read_start(d);
  else if (xd_read_take_word(r, "aie.use_lock"))
    read_use(d, b);
  else if (xd_read_take_word(r, "aie.dma_bd"))
    read_bd(d, b);
  else if (xd_read_take_word(r, "arith.constant"))
    xd_read_constant(r, result);
  else if (xd_read_take_word(r, "aie.buffer"))
    xd_read_buffer(r, result);
  else if (xd_read_take_word(r, "aie.lock"))
    xd_read_lock(r, result);
  else if (xd_read_take_word(r, "aie.dma"))
    read_short(d);
  else if (xd_read_take_word(r, "aie.next_bd"))
    b->next = xd_read_label(r);
  else if (xd_read_take_word(r, "aie.end"))
    b->ends = true;
  else
    xd_read_fail(r, line, "unsupported operation '%s' in a DMA's program", xd_read_excerpt(op).text);
}

static block *block_named(dma_reader *d, xd_slice label, int line) {
  for (int i = 0; i < d->n_blocks; i++)
    if (xd_slice_same(d->at[i].label, label)) return &d->at[i];
  xd_read_fail(d->r, line, "unknown block ^%s", xd_read_excerpt(label).text);
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
    p->channels.at[s->channel].again = s->again;
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
      xd_read_fail(r, b->line, "the descriptors of %s do not return to the first",
                   xd_channel_label(&p->channels.at[s->channel]).text);
    else if (channel >= 0 && channel != s->channel)
      xd_read_fail(r, b->line, "block ^%s belongs to two channels", xd_read_excerpt(b->label).text);
    if (channel >= 0) return;
  }
}

static bool r_is_raw(const dma_reader *d) { return d->r->options.raw; }

/* Each start continues at the block of the next one, the last at a block without a descriptor. */
static void check_starts(dma_reader *d) {
  for (int i = 0; i < d->n_starts && xd_going(d->r); i++) {
    const start *s = &d->start[i];
    const block *b = block_named(d, s->next, s->line);
    if (!b) return;
    if (r_is_raw(d)) continue;
    if (i + 1 < d->n_starts ? b != &d->at[d->start[i + 1].block] : b->descriptor >= 0 || !b->ends)
      xd_read_fail(d->r, s->line, "block ^%s is not the next block of the program", xd_read_excerpt(s->next).text);
  }
}

void xd_read_dma(xd_reader *r, xd_tile_kind kind) {
  const int line = r->token.line;
  xd_read_expect(r, '(');
  const xd_place tile = xd_read_tile_name(r);
  xd_read_expect(r, ')');
  if (xd_going(r) && xd_kind_of(tile) != kind)
    xd_read_fail(r, line, "%s has no %s", xd_place_label(tile).text, kind == XD_MEMORY ? "aie.memtile_dma" : "aie.mem");
  dma_reader *d = calloc(1, sizeof *d);
  if (!d) {
    r->failed = true;
    return;
  }
  const size_t values = r->values.n;
  d->r = r;
  d->tile = tile;
  begin_block(d, (xd_slice){"", 0});
  xd_read_expect(r, '{');
  while (xd_going(r) && !xd_read_at(r, '}')) {
    if (xd_read_at_kind(r, XD_TOKEN_END)) xd_read_fail(r, r->token.line, "the text ends within a DMA's program");
    read_op(d);
  }
  xd_read_expect(r, '}');
  r->values.n = values;
  check_starts(d);
  for (int i = 0; i < d->n_starts && xd_going(r) && !r->design->program.failed; i++) close_ring(d, &d->start[i]);
  for (int i = 0; i < d->n_blocks && xd_going(r) && !r->design->program.failed; i++)
    if (d->at[i].descriptor >= 0 && r->design->program.descriptors.at[d->at[i].descriptor].channel < 0)
      xd_read_fail(r, d->at[i].line, "no channel reaches block ^%s", xd_read_excerpt(d->at[i].label).text);
  free(d);
}
