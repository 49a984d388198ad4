/* write_dma.c - the explicit form: the lowered object FIFOs of mlir-aie, for programs that object FIFOs cannot express.
 * Buffers, counting locks and circuits; each DMA channel as a ring of blocks, of one descriptor each; names of the
 * shims' channels. */
#include <inttypes.h>
#include <stdio.h>

#include "target/xdna2/mlir/writer.h"

static const char *const direction_name[] = {"S2MM", "MM2S"};

/* ---- memories ---- */

static void write_buffer(xd_writer *w, const xd_buffer *b) {
  const xd_local_name name = xd_write_local(b->name, b->tile);
  tw_text_add(&w->text, "    %%%s = aie.buffer(%s) {sym_name = \"%s\"} : %s\n", name.text, xd_write_tile(b->tile).text,
              name.text, xd_write_memref(b->bytes, b->type).text);
}

/* Locks are numbered in the order of the program. */
static void write_lock(xd_writer *w, size_t at) {
  const xd_lock *l = &w->program->locks.at[at];
  const xd_local_name name = xd_write_local(l->name, l->tile);
  int number = 0;
  for (size_t i = 0; i < at; i++) number += xd_same_place(w->program->locks.at[i].tile, l->tile);
  tw_text_add(&w->text, "    %%%s = aie.lock(%s, %d) {init = %d : i32, sym_name = \"%s\"}\n", name.text,
              xd_write_tile(l->tile).text, number, l->initial, name.text);
}

static void write_flow(xd_writer *w, const xd_route *r) {
  const xd_channel *from = &w->program->channels.at[r->source];
  for (int i = 0; i < r->n_sinks; i++) {
    const xd_channel *to = &w->program->channels.at[r->sink[i]];
    tw_text_add(&w->text, "    aie.flow(%s, DMA : %d, %s, DMA : %d)\n", xd_write_tile(from->tile).text, from->id,
                xd_write_tile(to->tile).text, to->id);
  }
}

void xd_write_memories(xd_writer *w) {
  const xd_program *p = w->program;
  for (size_t i = 0; i < p->buffers.n; i++)
    if (!p->buffers.at[i].external) write_buffer(w, &p->buffers.at[i]);
  for (size_t i = 0; i < p->locks.n; i++) write_lock(w, i);
  for (size_t i = 0; i < p->routes.n; i++) write_flow(w, &p->routes.at[i]);
}

/* ---- channels ---- */

/* Writes offset and length, and the dimensions, the outermost first, in elements. A dimension of one step is
 * omitted. */
static void write_walk(xd_writer *w, const xd_descriptor *d) {
  const xd_pattern *p = &d->pattern;
  const int64_t e = xd_write_element_bytes(w->program->buffers.at[d->buffer].type);
  tw_text_add(&w->text, "%" PRId64 ", %" PRId64, p->offset / e, xd_pattern_bytes(p) / e);
  bool is_run = true;
  for (int i = 0; i < p->n_dims; i++) {
    const xd_dim *dim = &p->dim[i];
    is_run = is_run && (!i || dim->size == 1);
    if (dim->before || dim->after) xd_write_fail(w, "a descriptor pads with zeros");
    if (p->offset % e || (i ? dim->stride % e : dim->size % e))
      xd_write_fail(w, "a descriptor walks parts of elements");
  }
  if (d->iterations > 1) xd_write_fail(w, "unsupported descriptor in a ring: it moves its address in each iteration");
  if (is_run) return;
  tw_text_add_string(&w->text, ", [");
  for (int i = p->n_dims - 1; i >= 0; i--)
    if (!i || p->dim[i].size > 1)
      tw_text_add(&w->text, "<size = %" PRId64 ", stride = %" PRId64 ">%s", i ? p->dim[i].size : p->dim[0].size / e,
                  i ? p->dim[i].stride / e : 1, i ? ", " : "]");
}

static void write_use(xd_writer *w, xd_lock_use use, const char *action) {
  if (use.lock < 0) return;
  const xd_lock *l = &w->program->locks.at[use.lock];
  tw_text_add(&w->text, "      aie.use_lock(%%%s, %s, %d)\n", xd_write_local(l->name, l->tile).text, action, use.count);
}

static int ring_length(const xd_program *p, int start) {
  int n = 1;
  for (int d = p->descriptors.at[start].next; d >= 0 && d != start; d = p->descriptors.at[d].next) n++;
  return n;
}

static void write_descriptor(xd_writer *w, const xd_descriptor *d) {
  const xd_buffer *b = &w->program->buffers.at[d->buffer];
  write_use(w, d->acquire, "AcquireGreaterEqual");
  tw_text_add(&w->text, "      aie.dma_bd(%%%s : %s, ", xd_write_local(b->name, b->tile).text,
              xd_write_memref(b->bytes, b->type).text);
  write_walk(w, d);
  tw_text_add(&w->text, ") {bd_id = %d : i32", d->id);
  if (d->next >= 0) tw_text_add(&w->text, ", next_bd_id = %d : i32", w->program->descriptors.at[d->next].id);
  tw_text_add_string(&w->text, "}\n");
  write_use(w, d->release, "Release");
}

/* Starts a channel, with its ring from block `block` on; returns the number of the next block. */
static int write_ring(xd_writer *w, const xd_channel *c, int block) {
  const int n = ring_length(w->program, c->start);
  int at = c->start;
  tw_text_add(&w->text, "      %%dma_%d = aie.dma_start(%s, %d, ^bb%d, ^bb%d)\n", block, direction_name[c->direction],
              c->id, block, block + n);
  for (int i = 0; i < n; i++) {
    tw_text_add(&w->text, "    ^bb%d:\n", block + i);
    write_descriptor(w, &w->program->descriptors.at[at]);
    at = w->program->descriptors.at[at].next;
    if (at < 0)
      tw_text_add_string(&w->text, "      aie.end\n");
    else
      tw_text_add(&w->text, "      aie.next_bd ^bb%d\n", block + (i + 1) % n);
  }
  tw_text_add(&w->text, "    ^bb%d:\n", block + n);
  return block + n;
}

static void write_tile_channels(xd_writer *w, xd_place t) {
  const char *name = xd_kind_of(t) == XD_MEMORY ? "memtile_dma" : "mem";
  int block = 0;
  for (size_t i = 0; i < w->program->channels.n; i++) {
    const xd_channel *c = &w->program->channels.at[i];
    if (c->start < 0 || !xd_same_place(c->tile, t)) continue;
    if (!block)
      tw_text_add(&w->text, "    %%%s_%d_%d = aie.%s(%s) {\n", name, t.column, t.row, name, xd_write_tile(t).text);
    block = write_ring(w, c, block + 1);
  }
  if (block) tw_text_add_string(&w->text, "      aie.end\n    }\n");
}

xd_local_name xd_write_allocation(const xd_channel *c) {
  xd_local_name n;
  snprintf(n.text, sizeof n.text, "shim_%d_%s_%d", c->tile.column, c->direction == XD_S2MM ? "in" : "out", c->id);
  return n;
}

void xd_write_channels(xd_writer *w) {
  for (int row = 1; row < w->config->rows + 2; row++)
    for (int column = 0; column < w->config->columns; column++) write_tile_channels(w, (xd_place){column, row});
  for (size_t i = 0; i < w->program->channels.n; i++) {
    const xd_channel *c = &w->program->channels.at[i];
    if (xd_kind_of(c->tile) == XD_SHIM)
      tw_text_add(&w->text, "    aie.shim_dma_allocation @%s(%s, %s, %d)\n", xd_write_allocation(c).text,
                  xd_write_tile(c->tile).text, direction_name[c->direction], c->id);
  }
}
