/* fifo.c - object FIFOs and their links. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/strings.h"

#include "mlir_aie/reader.h"

/* ---- ends ---- */

typedef struct ends {
  int n; /* the producer and its consumers */
  xd_place tile[1 + XD_BROADCAST];
  xd_dims dims[1 + XD_BROADCAST];
} ends;

static void read_end(xd_reader *r, ends *e, const char *word, const char *old_word) {
  const int line = r->token.line;
  const xd_value *tile = xd_value_named(r, xd_read_value_name(r), line);
  if (tile && tile->kind != XD_TILE_VALUE)
    xd_read_fail(r, line, "%%%s is not a tile", xd_read_excerpt(tile->name).text);
  if (e->n > XD_BROADCAST) xd_read_fail(r, line, "more than %d consumers", XD_BROADCAST);
  if (!tile || !xd_going(r)) return;
  e->tile[e->n] = tile->place;
  if (xd_read_take_word(r, word) || xd_read_take_word(r, old_word)) e->dims[e->n] = xd_read_dims(r);
  for (int i = 0; i < e->n; i++)
    if (xd_same_place(e->tile[i], e->tile[e->n]))
      xd_read_fail(r, line, "%s is at both ends of one object FIFO", xd_place_label(e->tile[i]).text);
  e->n++;
}

static ends read_ends(xd_reader *r) {
  ends e = {0};
  read_end(r, &e, "dimensionsToStream", "toStream");
  xd_read_expect(r, ',');
  xd_read_expect(r, '{');
  do read_end(r, &e, "dimensionsFromStream", "fromStream");
  while (xd_read_take(r, ','));
  xd_read_expect(r, '}');
  return e;
}

/* One for all, or a list: the producer's, then each consumer's. */
static bool read_depths(xd_reader *r, int n, int depth[1 + XD_BROADCAST]) {
  enum { MOST = 64 };
  const bool listed = xd_read_take(r, '[');
  for (int i = 0; i < (listed ? n : 1); i++) {
    if (i) xd_read_expect(r, ',');
    depth[i] = (int)xd_read_number(r, 1, MOST);
    if (xd_read_take(r, ':')) xd_read_type(r);
  }
  if (listed) xd_read_expect(r, ']');
  for (int i = 1; i < n && !listed; i++) depth[i] = depth[0];
  return listed;
}

/* ---- a FIFO ---- */

static void set_end(xd_reader *r, const ends *e, int i, int depth, const xd_shape *object, int line, xd_fifo_end *out) {
  out->tile = e->tile[i];
  out->depth = xd_kind_of(e->tile[i]) == XD_SHIM ? 0 : depth;
  out->n_dims = xd_dims_in_bytes(r, &e->dims[i], object->element_bits / 8, line, out->dim);
  if (out->n_dims && xd_kind_of(e->tile[i]) == XD_SHIM)
    xd_read_fail(r, line, "a walk at %s, where tasks of the runtime sequence set the order; remove it",
                 xd_place_label(e->tile[i]).text);
}

/* Neighbouring cores share memory, and need no DMA: mlir-aie then makes one set of buffers. */
static bool is_shared(const ends *e, bool by_dma) {
  const xd_place a = e->tile[0], b = e->tile[1];
  if (by_dma || e->n != 2 || e->dims[0].n || e->dims[1].n || a.row < 2 || b.row < 2) return false;
  return abs(a.column - b.column) + abs(a.row - b.row) == 1;
}

/* [dense<..> : memref<..>, ...]: of the first objects. */
static void read_initial(xd_reader *r, xd_fifo *f, const xd_shape *object, int line) {
  xd_read_expect(r, '[');
  while (xd_going(r) && !xd_read_at(r, ']')) {
    uint8_t *bytes = xd_read_dense(r, object),
            *grown = bytes ? tw_resize(f->initial, (size_t)(f->n_initial + 1), (size_t)object->bytes) : NULL;
    if (grown) {
      f->initial = grown;
      memcpy(f->initial + f->n_initial++ * object->bytes, bytes, (size_t)object->bytes);
    } else if (bytes) {
      r->failed = true;
    }
    free(bytes);
    if (!xd_read_take(r, ',')) break;
  }
  xd_read_expect(r, ']');
  if (xd_going(r) && f->n_initial > f->producer.depth)
    xd_read_fail(r, line, "%d initial values of %d objects", f->n_initial, f->producer.depth);
}

void xd_read_fifo(xd_reader *r) {
  const int line = r->token.line;
  xd_fifo f = {0};
  xd_attributes attributes;
  xd_fifo_note note = {.line = line, .name = xd_read_symbol(r)};
  int depth[1 + XD_BROADCAST] = {0};
  for (size_t i = 0; i < r->fifos.n; i++)
    if (xd_slice_same(r->fifos.at[i].name, note.name))
      xd_read_fail(r, line, "object FIFO @%s is defined twice, here and in line %d: two writers of one FIFO",
                   xd_read_excerpt(note.name).text, r->fifos.at[i].line);
  xd_read_expect(r, '(');
  ends e = read_ends(r);
  xd_read_expect(r, ',');
  note.listed = read_depths(r, e.n, depth);
  xd_read_expect(r, ')');
  xd_read_attributes(r, &attributes);
  const bool by_dma = xd_attribute_true(r, &attributes, "via_DMA");
  xd_attribute_padding(r, &attributes, "padDimensions", &e.dims[0]);
  if (xd_attribute_true(r, &attributes, "plio")) xd_read_fail(r, line, "unsupported attribute 'plio': an NPU has none");
  xd_attributes_end(r, &attributes, "aie.objectfifo");
  xd_read_expect(r, ':');
  note.object = xd_read_wrapped_type(r, "aie.objectfifo");
  if (!xd_going(r)) return;
  snprintf(f.name, sizeof f.name, "%.*s", (int)(note.name.length < XD_NAME ? note.name.length : XD_NAME - 1),
           note.name.at);
  f.bytes = note.object.bytes;
  f.type = xd_shape_type(&note.object);
  set_end(r, &e, 0, depth[0], &note.object, line, &f.producer);
  for (int i = 1; i < e.n; i++) set_end(r, &e, i, depth[i], &note.object, line, &f.consumer[i - 1]);
  f.n_consumers = e.n - 1;
  f.shared = is_shared(&e, by_dma);
  if (xd_read_take(r, '=')) read_initial(r, &f, &note.object, line);
  if (f.n_initial && xd_kind_of(f.producer.tile) != XD_COMPUTE)
    xd_read_fail(r, line, "unsupported initial values of an object FIFO whose producer is no core");
  XD_ADD(&r->design->program, fifos, &f);
  xd_append(&r->fifos, sizeof note, &note, &r->failed);
}

/* ---- a link ---- */

enum { PARTS = XD_DIMS * 2 };

static int read_names(xd_reader *r, int fifo[PARTS]) {
  int n = 0;
  xd_read_expect(r, '[');
  do {
    const int line = r->token.line;
    if (n == PARTS) xd_read_fail(r, line, "a link of more than %d object FIFOs", PARTS);
    const int f = xd_fifo_named(r, xd_read_symbol(r), line);
    if (!xd_going(r)) return n;
    if (r->fifos.at[f].links++)
      xd_read_fail(r, line, "object FIFO @%s is in two links", r->design->program.fifos.at[f].name);
    fifo[n++] = f;
  } while (xd_read_take(r, ','));
  xd_read_expect(r, ']');
  return n;
}

static int read_offsets(xd_reader *r, int64_t offset[PARTS]) {
  int n = 0;
  xd_read_expect(r, '[');
  while (xd_going(r) && !xd_read_at(r, ']')) {
    if (n == PARTS) xd_read_fail(r, r->token.line, "a link of more than %d object FIFOs", PARTS);
    if (xd_going(r)) offset[n++] = xd_read_number(r, 0, (int64_t)1 << 40);
    if (!xd_read_take(r, ',')) break;
  }
  xd_read_expect(r, ']');
  return n;
}

static bool ends_at(const xd_fifo *f, xd_place tile) {
  for (int i = 0; i < f->n_consumers; i++)
    if (xd_same_place(f->consumer[i].tile, tile)) return true;
  return false;
}

static void check_tile(xd_reader *r, const xd_link *l, int line) {
  const xd_fifo *fifos = r->design->program.fifos.at;
  const xd_place tile = fifos[l->out[0]].producer.tile;
  bool shared = true;
  for (int i = 0; i < l->n_in; i++) shared = shared && ends_at(&fifos[l->in[i]], tile);
  for (int i = 0; i < l->n_out; i++) shared = shared && xd_same_place(fifos[l->out[i]].producer.tile, tile);
  if (!shared) xd_read_fail(r, line, "the object FIFOs of a link do not meet in one tile");
  if (xd_kind_of(tile) != XD_MEMORY)
    xd_read_fail(r, line, "unsupported link in %s; expected a memory tile", xd_place_label(tile).text);
}

/* mlir-aie takes the length of a part from the offsets: they must follow each other. */
static void check_offsets(xd_reader *r, const xd_link *l, const int *part, int n, int whole, int line) {
  const xd_fifo *fifos = r->design->program.fifos.at;
  int64_t sum = 0, expected = 0;
  for (int i = 0; i < n; i++) sum += fifos[part[i]].bytes;
  for (int i = 0; i < n && sum; i++) {
    if (l->offset[i] != expected) {
      xd_read_fail(r, line,
                   "part %d of the link is at byte %" PRId64 " of @%s; expected %" PRId64
                   ", right after the previous part",
                   i, l->offset[i], fifos[whole].name, expected);
      return;
    }
    expected += fifos[part[i]].bytes * (fifos[whole].bytes / sum);
  }
}

void xd_read_link(xd_reader *r) {
  const int line = r->token.line;
  xd_link l = {0};
  int64_t from[PARTS] = {0}, to[PARTS] = {0};
  int n_from = 0, n_to = 0;
  l.n_in = read_names(r, l.in);
  if (xd_going(r) && !xd_read_at_kind(r, XD_TOKEN_ARROW)) xd_read_fail(r, r->token.line, "expected ->");
  xd_read_next(r);
  l.n_out = read_names(r, l.out);
  xd_read_expect(r, '(');
  if (xd_read_at(r, '[')) {
    n_from = read_offsets(r, from);
    n_to = read_offsets(r, to);
  }
  xd_read_expect(r, ')');
  if (xd_going(r) && l.n_in > 1 && l.n_out > 1)
    xd_read_fail(r, line, "a link joins and distributes at once; one side must have one object FIFO");
  if (xd_going(r) && ((l.n_in > 1 && n_from != l.n_in) || (l.n_out > 1 && n_to != l.n_out)))
    xd_read_fail(r, line, "the link needs an offset for each of its %d parts", l.n_in > 1 ? l.n_in : l.n_out);
  if (!xd_going(r)) return;
  check_tile(r, &l, line);
  const bool joins = l.n_in > 1;
  const int whole = joins ? l.out[0] : l.in[0];
  for (int i = 0; i < PARTS; i++)
    l.offset[i] = (joins ? from[i] : to[i]) * (r->fifos.at[whole].object.element_bits / 8);
  if (joins || l.n_out > 1) check_offsets(r, &l, joins ? l.in : l.out, joins ? l.n_in : l.n_out, whole, line);
  if (xd_going(r)) XD_ADD(&r->design->program, links, &l);
}
