/* write.c - writes the device: tiles, FIFOs and links; chooses between the two forms. */
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "target/xdna2/mlir/moved.h"
#include "target/xdna2/mlir/rotate.h"
#include "target/xdna2/mlir/writer.h"

void xd_write_fail(xd_writer *w, const char *format, ...) {
  if (w->status != TW_OK) return;
  char text[400];
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(text, sizeof text, format, arguments);
  va_end(arguments);
  w->status = tw_fail(w->error, TW_USAGE, "not written as MLIR: %s", text);
}

/* ---- names and types ---- */

static const char *element_name(tw_type type) {
  switch (type) {
  case TW_I32: return "i32";
  case TW_I16: return "i16";
  case TW_BF16: return "bf16";
  case TW_F32: return "f32";
  default: return "i8";
  }
}

int64_t xd_write_element_bytes(tw_type type) {
  return type == TW_I32 || type == TW_F32 ? 4 : type == TW_BF16 || type == TW_I16 ? 2 : 1;
}

xd_memref xd_write_memref(int64_t bytes, tw_type type) {
  xd_memref m;
  snprintf(m.text, sizeof m.text, "memref<%" PRId64 "x%s>", bytes / xd_write_element_bytes(type), element_name(type));
  return m;
}

xd_tile_name xd_write_tile(xd_place t) {
  static const char *const kind[] = {"shim", "mem", "tile"};
  xd_tile_name n;
  snprintf(n.text, sizeof n.text, "%%%s_%d_%d", kind[xd_kind_of(t)], t.column, t.row);
  return n;
}

xd_local_name xd_write_local(const char *name, xd_place t) {
  xd_local_name n;
  snprintf(n.text, sizeof n.text, "%s_%d_%d", name, t.column, t.row);
  return n;
}

/* ---- tiles ---- */

static bool uses_tile(const xd_program *p, xd_place t) {
  for (size_t i = 0; i < p->channels.n; i++)
    if (xd_same_place(p->channels.at[i].tile, t)) return true;
  for (size_t i = 0; i < p->cores.n; i++)
    if (xd_same_place(p->cores.at[i].tile, t)) return true;
  return false;
}

static int columns_of(const xd_program *p) {
  int columns = 1;
  for (size_t i = 0; i < p->channels.n; i++)
    if (p->channels.at[i].tile.column >= columns) columns = p->channels.at[i].tile.column + 1;
  return columns;
}

static void write_tiles(xd_writer *w) {
  for (int row = 0; row < w->config->rows + 2; row++)
    for (int column = 0; column < w->config->columns; column++) {
      const xd_place t = {column, row};
      if (uses_tile(w->program, t))
        tw_text_add(&w->text, "    %s = aie.tile(%d, %d)\n", xd_write_tile(t).text, column, row);
    }
}

/* ---- FIFOs ---- */

/* The outermost dimension first, in elements. A dimension of one step is omitted, as in the reader. */
static void write_dims(xd_writer *w, const xd_fifo *f, const char *word, const xd_fifo_end *end) {
  const int64_t e = xd_write_element_bytes(f->type);
  if (!end->n_dims) return;
  if (xd_mlir_walked(end, false) != (double)xd_mlir_moved(w->program, (int)(f - w->program->fifos.at), end->tile))
    xd_write_fail(w, "FIFO %s moves a part of its objects at %s; descriptors of object FIFOs move whole objects",
                  f->name, xd_place_label(end->tile).text);
  tw_text_add(&w->text, " %s [", word);
  for (int i = end->n_dims - 1; i >= 0; i--) {
    const xd_dim *d = &end->dim[i];
    if (d->before || d->after) xd_write_fail(w, "FIFO %s pads with zeros", f->name);
    if (i ? d->stride % e : d->size % e) xd_write_fail(w, "FIFO %s walks parts of its elements", f->name);
    if (i && d->size == 1) continue;
    tw_text_add(&w->text, "<size = %" PRId64 ", stride = %" PRId64 ">%s", i ? d->size : d->size / e,
                i ? d->stride / e : 1, i ? ", " : "]");
  }
}

/* Writes depths as a list, which is kept. mlir-aie would reduce a single number at cores (it gives them one object
 * more than they acquire). Shims have no buffers, so any number is valid. */
static void write_depths(xd_writer *w, const xd_fifo *f) {
  int depth = f->producer.depth ? f->producer.depth : f->consumer[0].depth;
  bool same = depth <= 2;
  if (depth < 1) depth = 1;
  for (int i = 0; i < f->n_consumers; i++) same = same && (!f->consumer[i].depth || f->consumer[i].depth == depth);
  if (same) {
    tw_text_add(&w->text, "%d : i32", depth);
    return;
  }
  tw_text_add(&w->text, "[%d", f->producer.depth ? f->producer.depth : 1);
  for (int i = 0; i < f->n_consumers; i++)
    tw_text_add(&w->text, ", %d", f->consumer[i].depth ? f->consumer[i].depth : 1);
  tw_text_add_string(&w->text, "]");
}

static void write_fifo(xd_writer *w, const xd_fifo *f) {
  tw_text_add(&w->text, "    aie.objectfifo @%s(%s", f->name, xd_write_tile(f->producer.tile).text);
  write_dims(w, f, "dimensionsToStream", &f->producer);
  for (int i = 0; i < f->n_consumers; i++) {
    tw_text_add(&w->text, "%s%s", i ? ", " : ", {", xd_write_tile(f->consumer[i].tile).text);
    write_dims(w, f, "dimensionsFromStream", &f->consumer[i]);
  }
  tw_text_add_string(&w->text, "}, ");
  write_depths(w, f);
  tw_text_add(&w->text, ") : !aie.objectfifo<%s>\n", xd_write_memref(f->bytes, f->type).text);
}

/* ---- links ---- */

static void write_names(xd_writer *w, int n, const int fifo[]) {
  for (int i = 0; i < n; i++) tw_text_add(&w->text, "%s@%s", i ? ", " : "[", w->program->fifos.at[fifo[i]].name);
  tw_text_add_string(&w->text, "]");
}

static void write_offsets(xd_writer *w, const xd_link *l, int n, int64_t element) {
  tw_text_add_string(&w->text, "[");
  for (int i = 0; n > 1 && i < n; i++) tw_text_add(&w->text, "%s%" PRId64, i ? ", " : "", l->offset[i] / element);
  tw_text_add_string(&w->text, "]");
}

/* mlir-aie rejects it if a link distributes: "does not support objectFifos with dimensionsFromStreamPerConsumer". */
static void check_link(xd_writer *w, const xd_link *l) {
  if (l->n_out < 2) return;
  const xd_fifo *fifos = w->program->fifos.at;
  bool ordered = fifos[l->in[0]].consumer[0].n_dims > 0;
  for (int i = 0; i < l->n_out; i++) ordered = ordered || fifos[l->out[i]].consumer[0].n_dims > 0;
  if (ordered)
    xd_write_fail(w,
                  "the link of %s distributes and its consumers reorder, which mlir-aie rejects; use depth 1, or as "
                  "many columns as rows",
                  fifos[l->in[0]].name);
}

static void write_link(xd_writer *w, const xd_link *l) {
  const int64_t element = xd_write_element_bytes(w->program->fifos.at[l->in[0]].type);
  check_link(w, l);
  tw_text_add_string(&w->text, "    aie.objectfifo.link ");
  write_names(w, l->n_in, l->in);
  tw_text_add_string(&w->text, " -> ");
  write_names(w, l->n_out, l->out);
  tw_text_add_string(&w->text, "(");
  write_offsets(w, l, l->n_in, element);
  tw_text_add_string(&w->text, " ");
  write_offsets(w, l, l->n_out, element);
  tw_text_add_string(&w->text, ")\n");
}

/* ---- all ---- */

static void write_device(xd_writer *w) {
  const int columns = columns_of(w->program);
  if (columns < w->config->columns)
    tw_text_add(&w->text, "module {\n  aie.device(npu2_%dcol) {\n", columns);
  else
    tw_text_add_string(&w->text, "module {\n  aie.device(npu2) {\n");
}

static void write_fifos(xd_writer *w) {
  for (size_t i = 0; i < w->program->fifos.n; i++) write_fifo(w, &w->program->fifos.at[i]);
  for (size_t i = 0; i < w->program->links.n; i++) write_link(w, &w->program->links.at[i]);
}

/* What the trace unit of a core records. Names of events and syntax: mlir-aie's test/dialect/AIEX/trace. */
static void write_traces(xd_writer *w) {
  static const char *const events[] = {"INSTR_EVENT_0", "INSTR_EVENT_1", "LOCK_STALL", "STREAM_STALL", "MEMORY_STALL"};
  for (size_t i = 0, id = 1; i < w->program->cores.n; i++) {
    const xd_place t = w->program->cores.at[i].tile;
    if (!w->program->cores.at[i].traced) continue;
    tw_text_add(&w->text, "    aie.trace @%s(%s) {\n      aie.trace.mode \"Event-Time\"\n",
                xd_write_local("trace", t).text, xd_write_tile(t).text);
    tw_text_add(&w->text, "      aie.trace.packet id = %zu type = core\n", id++);
    for (size_t e = 0; e < sizeof events / sizeof *events; e++)
      tw_text_add(&w->text, "      aie.trace.event<\"%s\">\n", events[e]);
    tw_text_add_string(&w->text, "      aie.trace.start broadcast = 15\n      aie.trace.stop broadcast = 14\n    }\n");
  }
}

static tw_status write_form(const xd_config *c, const xd_program *p, const char *title, bool explicit, char **out,
                            tw_error *error) {
  xd_writer w = {.config = c, .program = p, .error = error, .explicit = explicit};
  tw_text_add(&w.text,
              "// %s\n// Made by tilewright: docs/reference/mlir-aie.md. `tilewright run` reads and simulates it.\n",
              title);
  write_device(&w);
  xd_write_functions(&w);
  write_tiles(&w);
  if (explicit)
    xd_write_memories(&w);
  else
    write_fifos(&w);
  xd_write_cores(&w);
  if (explicit) xd_write_channels(&w);
  write_traces(&w);
  xd_write_sequence(&w);
  tw_text_add_string(&w.text, "  }\n}\n");
  if (w.status == TW_OK && !(*out = tw_text_take(&w.text))) w.status = tw_no_memory(error, NULL);
  tw_text_free(&w.text);
  return w.status;
}

static tw_status write_explicit(const xd_config *c, const xd_program *p, const char *title, char **out,
                                tw_error *error) {
  xd_program rotated;
  if (!p->fifos.n) return write_form(c, p, title, true, out, error); /* as it was read */
  tw_status status = xd_rotate(p, &rotated, error);
  if (status != TW_OK) return status;
  status = write_form(c, &rotated, title, true, out, error);
  xd_rotate_free(&rotated);
  return status;
}

tw_status xd_mlir_write(const xd_config *c, const xd_program *p, const char *title, char **out, tw_error *error) {
  tw_error why;
  const tw_status status = p->fifos.n ? write_form(c, p, title, false, out, &why) : TW_USAGE;
  return status == TW_USAGE ? write_explicit(c, p, title, out, error) : status;
}
